//! Copies of members: beside them, and in their place.

use std::fs;

use super::*;
use crate::running::server::Server;

#[test]
fn a_copy_beside_its_member_is_left_out() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    fs::copy(bay.path("d1"), bay.path("copy")).unwrap();
    for drives in ["copy d0 d1 d2", "d2 d1 copy d0"] {
        let written = bay.run_with(&format!("write {drives}"), &pattern(BYTES, 1));
        one_line(&written, 0, &["copy is not used: it is a copy of d1"]);
    }
    // A member is itself, wherever it is moved.
    fs::rename(bay.path("d1"), bay.path("moved")).unwrap();
    fs::rename(bay.path("copy"), bay.path("d1")).unwrap();
    let written = bay.run_with("write d0 d1 d2 moved", &pattern(BYTES, 2));
    one_line(&written, 0, &["d1 is not used: it is a copy of moved"]);
    assert_eq!(reads(&bay, "d0 moved d2", 2), "");
    // Alone it is believed, as far as it claims nothing new.
    fs::copy(bay.path("moved"), bay.path("spare")).unwrap();
    assert_eq!(reads(&bay, "d0 spare d2", 2), "");
    // Nothing tells them apart.
    fs::remove_file(bay.path("moved")).unwrap();
    bay.refused("write d0 d1 d2 spare", 3, &["d1", "spare", "claim to be one member", "leave one of them out"]);
}

/// From the first write on its original would be out of date, though it is in its place.
#[test]
fn a_copy_does_not_go_on_where_its_original_still_is() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    fs::copy(bay.path("d1"), bay.path("copy")).unwrap();
    for command in ["write", "write --degraded", "run", "serve"] {
        bay.refused(&format!("{command} d0 copy d2"), 3, &["copy is a copy of", "d1, which is still there"]);
    }
    assert_eq!(reads(&bay, "d0 copy d2", 1), "");
    fs::rename(bay.path("d1"), bay.path("away")).unwrap();
    bay.write("write d0 copy d2", &pattern(BYTES, 2));
    // By now the original is the one that lacks something.
    fs::rename(bay.path("copy"), bay.path("new")).unwrap();
    fs::rename(bay.path("away"), bay.path("copy")).unwrap();
    bay.write("write d0 new d2", &pattern(BYTES, 3));
}

/// Leaves an array as a power cut does while it is written to.
pub(super) fn cut(bay: &Bay, drives: &[&str]) {
    for drive in drives {
        rewrite(bay, drive, |superblock| superblock.resync_offset_sectors = 0);
    }
}

#[test]
fn a_copy_made_while_the_array_ran_does_not_take_its_member_s_place() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    let copy_over = |drive: &str| {
        fs::copy(bay.path(drive), bay.path("copy")).unwrap();
        fs::rename(bay.path("copy"), bay.path(drive)).unwrap();
    };
    // A copy that was made at rest is as good as its original, and so is a member that was moved.
    copy_over("d1");
    fs::rename(bay.path("d2"), bay.path("moved")).unwrap();
    let written = bay.run_with("write d0 d1 moved", &pattern(BYTES, 2));
    assert_eq!((written.code, written.stderr.as_str()), (0, ""));
    fs::rename(bay.path("moved"), bay.path("d2")).unwrap();
    // After a crash members go on, wherever they were moved to, and a copy has to be vouched for.
    cut(&bay, &["d0", "d1", "d2"]);
    fs::rename(bay.path("d2"), bay.path("moved")).unwrap();
    let written = bay.run_with("write d0 d1 moved", &pattern(BYTES, 2));
    assert_eq!((written.code, written.stderr.as_str()), (0, ""));
    fs::rename(bay.path("moved"), bay.path("d2")).unwrap();
    cut(&bay, &["d0", "d1", "d2"]);
    copy_over("d1");
    for line in ["write d0 d1 d2", "write --degraded d0 d1 d2", "run d0 d1 d2", "serve d0 d1 d2", "rebuild d0 d1 d2"] {
        bay.refused(line, 3, &["d1 is on other hardware", "last seen as d1", "out and add it anew", "`shoal trust`"]);
    }
    assert!(bay.done(&format!("read --length {BYTES} d0 d1 d2")).stderr.contains("d1 is on other hardware"));
    bay.done("trust d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 3));
    bay.done("rebuild d0 d1 d2");
    // One that was made before the last orderly end is behind it, and no less in doubt.
    fs::copy(bay.path("d1"), bay.path("older")).unwrap();
    bay.write("write d0 d1 d2", &pattern(BYTES, 4));
    fs::rename(bay.path("older"), bay.path("d1")).unwrap();
    bay.refused("write d0 d1 d2", 3, &["d1 is on other hardware", "`shoal trust`"]);
    // Without it the array goes on, and as a new drive it is a member again.
    fs::rename(bay.path("d1"), bay.path("copy")).unwrap();
    bay.write("write d0 d2", &pattern(BYTES, 5));
    bay.done("add --force --drive copy d0 d2");
    assert_eq!(reads(&bay, "d0 copy d2", 5), "");
}

#[test]
fn a_copy_of_a_former_member_is_not_filled_by_the_bitmap() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --bitmap internal --assume-clean d0 d1");
    bay.done("fail --member d1 d0 d1");
    fs::copy(bay.path("d1"), bay.path("copy")).unwrap();
    bay.refused_running(
        "re-add --drive copy d0",
        2,
        &["copy cannot be re-added", "other hardware", "last seen as d1", "add it as a new drive"],
    );
    bay.done("re-add --drive d1 d0");
}

/// By their superblocks they are one: `recover` takes the one that this host knows, whatever it is
/// called, and says so.
#[test]
fn of_a_member_and_its_copy_the_member_is_recovered() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --assume-clean d0 d1 d2");
    // It is killed while the array is active: on a busy machine it may have come to rest before.
    let is_at_rest = || bay.json("examine d0")["drives"][0]["superblock"]["clean"] == true;
    while is_at_rest() {
        let server = Server::start(&bay, "d0 d1 d2");
        bay.write("write d0", &[2; 1 << 20]);
        server.kill();
    }
    for copy in ["a_copy", "e_copy"] {
        fs::copy(bay.path("d0"), bay.path(copy)).unwrap();
        let found = bay.json("recover .");
        let array = &found["arrays"][0];
        let members = array["members"].as_array().unwrap();
        let is_used =
            |drive: &str| members.iter().any(|it| it["drive"] == format!("./{drive}") && it["choice"] == "use");
        assert!(is_used("d0") && !is_used(copy), "{array}");
        let is_told = |loss: &str| [copy, "./d0", "give only the right one"].iter().all(|word| loss.contains(word));
        assert!(array["losses"].as_array().unwrap().iter().any(|loss| is_told(loss.as_str().unwrap())), "{array}");
        fs::remove_file(bay.path(copy)).unwrap();
    }
}
