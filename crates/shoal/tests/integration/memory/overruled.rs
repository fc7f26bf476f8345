//! Who starts an array in spite of a doubt is told what is given up by that.

use super::*;

#[test]
fn force_has_what_is_there_believed() {
    let bay = Bay::new(2);
    bay.done("create --level 1 d0 d1");
    bay.write("write --degraded d1", &pattern(BYTES, 2));
    let forced = bay.run_with("write --force d0", &pattern(BYTES, 3));
    assert_eq!(forced.code, 0, "{}", forced.stderr);
    one_line(
        &forced,
        0,
        &["d0 holds an older state", "what was written after update", " UTC, is given up: it is on d1"],
    );
    bay.write("write d0", &pattern(BYTES, 4));
    bay.refused("write d1", 3, &["d1"]);
    // So does who only says that it is right; and of what is not in doubt there is nothing to say.
    let trusted = bay.done("trust d1");
    one_line(&trusted, 0, &["d1", "is given up"]);
    assert_eq!(bay.done("trust d1").stderr, "");
}
