//! Who starts an array without a member leaves that one behind; a command that fails anyway does not.

use std::fs;

use super::BYTES;
use crate::support::{self, Bay, pattern};

const USAGE: i32 = 2;
const FAILED: i32 = 1;
const REFUSED: i32 = 3;

#[test]
fn a_command_that_fails_leaves_no_member_behind() {
    let bay = Bay::with_sizes(&[support::DRIVE_BYTES; 4]);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    fs::write(bay.path("small"), [0; 4096]).unwrap();
    fs::write(bay.path("file"), "no socket").unwrap();
    let before = bay.json("status d0 d1 d2")["events"].clone();
    let cases: [(&str, i32, &str); 13] = [
        ("write --offset 99G", USAGE, "beyond the content"),
        ("replace --member d1 --drive nothere", USAGE, "nothere: not found"),
        ("replace --member d1 --drive d3", REFUSED, "lacks a member"),
        ("replace --member d3 --drive small", USAGE, "d3: no member"),
        ("add --drive nothere", USAGE, "nothere: not found"),
        ("add --drive small", USAGE, "small"),
        ("re-add --drive d3", USAGE, "d3 cannot be re-added"),
        ("serve --export a=512+99999999744", USAGE, "export `a`"),
        ("serve --nbd unix:nowhere/pond.nbd", FAILED, "nowhere/pond.nbd"),
        ("serve --socket nowhere/pond.sock", FAILED, "nowhere/pond.sock"),
        ("run --socket file", REFUSED, "file is no socket"),
        ("scrub --repair --keep-data", FAILED, "nothing is left to compare"),
        ("bench --write --bytes 64K --block-size 64K --warm-up 0 --repeat 1", REFUSED, "pond"),
    ];
    for (line, code, words) in cases {
        bay.refused(&format!("{line} --degraded d1 d2"), code, &[words]);
        let status = bay.json("status d0 d1 d2");
        assert_eq!((&status["health"], &status["events"]), (&"optimal".into(), &before), "{line}");
    }
    let idle = bay.done("rebuild --degraded d1 d2");
    assert!(idle.stderr.contains("nothing to rebuild"), "{}", idle.stderr);
    assert_eq!(bay.json("status d0 d1 d2")["events"], before);
    // What can be done is done.
    bay.done("add --degraded --drive d3 d1 d2");
    assert_eq!(bay.json("status d1 d2 d3")["health"], "optimal");
}

#[test]
fn what_is_left_of_an_array_is_not_written_to() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    bay.refused("write --force d1", REFUSED, &["pond lacks more members", "give the others too", "`shoal recover`"]);
    assert_eq!(bay.json("status d0 d1 d2")["health"], "optimal");
}

/// As `fail` does it.
#[test]
fn the_member_that_is_replaced_need_not_be_named_twice() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    bay.done("replace --member d0 --drive d3 d1 d2");
    assert_eq!(bay.json("status d1 d2 d3")["health"], "optimal");
    assert!(bay.done(&format!("read --length {BYTES} d1 d2 d3")).stdout == pattern(BYTES, 1));
}
