//! Drives that are to come to a running array which counts on them already: always refused.

use crate::running::server::Server;
use crate::support::{Bay, pattern};

#[test]
fn a_running_array_takes_none_of_its_members_for_a_spare() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    let content = pattern(3_000_000, 1);
    bay.write("write d0 d1 d2", &content);
    bay.done("fail --member d1 d0 d1 d2");
    let server = Server::start(&bay, "d0 d2");
    for line in ["add --drive d2 --force d0", "add --drive d2 d0", "replace --member d0 --drive d2 --force d0"] {
        let ran = bay.run(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.stderr);
        ran.is_one_line(line, &["d2", "active member of array"]);
        assert!(!ran.stderr.contains("force"), "{line}: {}", ran.stderr);
    }
    assert!(bay.done("read d0 --length 3000000").stdout == content);
    // What it has given up is taken.
    bay.refused_running("add --drive d1 d0", 3, &["d1 is or was a member", "--force"]);
    assert_eq!(bay.json("add --drive d1 --force d0")["health"], "optimal");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

#[test]
fn a_former_member_that_a_bitmap_knows_is_re_added_and_not_made_anew() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --consistency-policy bitmap d0 d1");
    let server = Server::start(&bay, "d0 d1");
    bay.done("fail --member d1 d0");
    bay.done("remove --member d1 d0");
    bay.refused_running("add --drive d1 d0", 3, &["d1 was a member", "`shoal re-add`", "--force"]);
    assert_eq!(bay.json("re-add --drive d1 d0")["health"], "optimal");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

/// A drive that failed is still the array's, which may have been started with it.
#[test]
fn a_failed_drive_that_the_running_array_has_is_filled_anew_if_that_is_forced() {
    let bay = Bay::new(4);
    bay.done("create --level 1 d0 d1 d2");
    bay.done("fail --member d1 d0 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    assert_eq!(bay.json("add --force --drive d1 d0")["health"], "optimal");
    bay.done("fail --member d1 d0");
    bay.refused_running("add --drive d1 d0", 3, &["d1 is or was a member", "--force"]);
    assert_eq!(bay.json("add --force --drive d1 d0")["health"], "optimal");
    bay.done("fail --member d1 d0");
    // Another file by its name is another drive.
    std::fs::rename(bay.path("d1"), bay.path("old")).unwrap();
    std::fs::copy(bay.path("old"), bay.path("d1")).unwrap();
    assert_eq!(bay.json("add --force --drive d1 d0")["health"], "optimal");
    bay.done("fail --member d1 d0");
    assert_eq!(bay.json("add --drive d3 d0")["health"], "optimal");
    let replaced = bay.json("replace --member d2 --with d1 --force d0");
    let drives: Vec<_> = replaced["members"].as_array().unwrap().iter().map(|it| it["drive"].to_string()).collect();
    assert!(drives[2].ends_with("/d1\""), "{replaced}");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}
