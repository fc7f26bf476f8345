//! Arrays with more members gone than their level survives: not run and not served, and read by
//! force.

use std::fs;

use crate::running::server::Server;
use crate::support::{Bay, pattern};

const CHUNK: usize = 64 << 10;

/// RAID5 of d0, d1 and d2 with content, of which d1 has left and missed what was written after
/// that; d3 is blank.
fn array() -> (Bay, Vec<u8>) {
    let bay = Bay::new(4);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    let content = pattern(1 << 20, 1);
    bay.write("write d0 d1 d2", &content);
    bay.done("fail --member d1 d0 d1 d2");
    bay.write("write d0 d2", &content);
    (bay, content)
}

#[test]
fn an_array_that_has_lost_too_much_is_refused() {
    let (bay, _) = array();
    for line in ["run", "serve", "write", "rebuild", "add --drive d3", "fail --member d0"] {
        let ran = bay.refused(&format!("{line} d0"), 3, &["too few of its members were named", "add d2 to the list"]);
        assert!(!ran.stderr.contains("recover"), "{line}: {}", ran.stderr);
        bay.refused(&format!("{line} d0 d1"), 3, &["too few of its members were named", "add d2 to the list"]);
    }
    for members in ["d0 d2", "d0 d1 d2"] {
        assert_eq!(bay.json(&format!("status {members}"))["health"], "degraded");
    }
    // Who does not write content is told the same, unless he says that he knows it.
    for line in ["serve --read-only", "scrub", "bench --seconds 1", "format --fs ext4 --dry-run"] {
        bay.refused(&format!("{line} d0"), 3, &["too few of its members were named", "add d2 to the list"]);
    }
    // On a host that does not know where the others are.
    fs::remove_dir_all(bay.state()).unwrap();
    let ran = bay.refused("run d0", 3, &["lost more members", "2 of 3", "give the others too", "recover"]);
    assert!(!ran.stderr.contains("take in"), "{}", ran.stderr);
    // The one that left would do, if what it missed may be lost.
    bay.refused("run d0 d1", 3, &["lost more members", "`shoal recover` would take in", "d1, which missed"]);
}

#[test]
fn what_is_left_is_read_by_force_and_not_written() {
    let (bay, content) = array();
    let before = bay.snapshot();
    let server = Server::start(&bay, "--force d0");
    assert_eq!(bay.json("status d0")["health"], "failed");
    // Left-symmetric: chunk 0 is on member 0, chunk 1 on member 1.
    assert!(bay.done("read d0 --length 64K").stdout == content[..CHUNK]);
    bay.refused("read d0 --offset 64K --length 64K", 1, &["content at byte 65536"]);
    let ran = bay.run_with("write d0", &content[..CHUNK]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    bay.refused_running("add --drive d3 d0", 3, &["cannot be added"]);
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
    let names = |files: &[(std::path::PathBuf, std::time::SystemTime, Vec<u8>)]| {
        files.iter().map(|(path, _, bytes)| (path.clone(), bytes.clone())).collect::<Vec<_>>()
    };
    assert!(names(&bay.snapshot()) == names(&before), "a member was written");
}
