//! Drives that are to come to an array which counts on them already: always refused, whoever runs
//! the array, and nothing is written.

use crate::support::{Bay, names, pattern};

const REFUSED: i32 = 3;
/// What every refusal says; none says how to get past it.
const WHY: &str = "active member of array";

fn is_refused(bay: &Bay, line: &str, drive: &str) {
    let ran = bay.refused(line, REFUSED, &[drive, WHY]);
    assert!(!ran.stderr.contains("force"), "shoal {line}: {}", ran.stderr);
}

/// RAID5 of d0, d1 and d2, of which d1 has failed, with content; d3 is blank.
fn degraded() -> (Bay, Vec<u8>) {
    let bay = Bay::new(4);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    let content = pattern(3_000_000, 1);
    bay.write("write d0 d1 d2", &content);
    bay.done("fail --member d1 d0 d1 d2");
    (bay, content)
}

#[test]
fn a_member_in_sync_of_a_degraded_array_is_no_spare() {
    let (bay, content) = degraded();
    for force in ["", "--force"] {
        for array in ["d0 --scan .", "d0"] {
            is_refused(&bay, &format!("add --drive d2 {force} {array}"), "d2");
            is_refused(&bay, &format!("replace --member d0 --drive d2 {force} {array}"), "d2");
        }
    }
    assert!(bay.done("read d0 d2 --length 3000000").stdout == content);
    // What the array has given up is none of that.
    bay.refused("add --drive d1 d0 --scan .", REFUSED, &["d1 is or was a member", "--force"]);
    bay.done("add --drive d1 --force d0 --scan .");
    assert_eq!(bay.json("status d0 --scan .")["health"], "optimal");
    assert!(bay.done("read d0 d1 d2 --length 3000000").stdout == content);
}

#[test]
fn a_member_of_a_whole_array_is_no_spare() {
    for (level, drives) in [("5", 3), ("6", 5), ("1", 3), ("10", 4), ("51", 6)] {
        let bay = Bay::new(drives);
        bay.done(&format!("create --level {level} {}", names(0..drives)));
        for force in ["", "--force"] {
            is_refused(&bay, &format!("add --drive d1 {force} d0 --scan ."), "d1");
            is_refused(&bay, &format!("replace --member d0 --drive d1 {force} d0 --scan ."), "d1");
        }
        assert_eq!(bay.json("status d0 --scan .")["health"], "optimal", "level {level}");
    }
}

#[test]
fn a_member_is_no_spare_of_an_array_that_has_failed() {
    let (bay, content) = degraded();
    // Named alone, d0 is too little of the array; d2 is what brings it back.
    is_refused(&bay, "add --drive d2 --force d0", "d2");
    is_refused(&bay, "add --drive d0 --force d2", "d0");
    // The one that left knows nothing of that, and is no witness against the others.
    is_refused(&bay, "add --drive d2 --force d1", "d2");
    is_refused(&bay, "grow --raid-devices 4 --drive d2 --force d0", "d2");
    assert!(bay.done("read d0 d2 --length 3000000").stdout == content);
}

#[test]
fn a_spare_that_becomes_a_member_by_a_reshape_is_in_sync() {
    let bay = Bay::new(4);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    let content = pattern(3_000_000, 4);
    bay.write("write d0 d1 d2", &content);
    bay.done("add --drive d3 d0 d1 d2");
    bay.done("grow --raid-devices 4 d0 d1 d2 d3");
    assert_eq!(bay.json("status d0 --scan .")["health"], "optimal");
    assert!(bay.done("read d0 d1 d3 --degraded --length 3000000").stdout == content);
    bay.done("scrub d0 d1 d2 d3");
}

#[test]
fn members_that_failed_one_after_the_other_come_back_in_any_order() {
    for order in [["d1", "d2"], ["d2", "d1"]] {
        let bay = Bay::new(3);
        bay.done("create --level 1 --bitmap internal d0 d1 d2");
        for (member, seed) in [("d1", 1), ("d2", 2)] {
            bay.done(&format!("fail --member {member} d0 --scan ."));
            bay.write("write d0 --scan .", &pattern(100_000, seed));
        }
        for member in order {
            bay.done(&format!("re-add --drive {member} d0 --scan ."));
        }
        assert_eq!(bay.json("status d0 --scan .")["health"], "optimal");
        assert!(bay.done("read --degraded d2 --length 100000").stdout == pattern(100_000, 2));
    }
}
