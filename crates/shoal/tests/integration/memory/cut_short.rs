//! Image files that are cut short under a running array, and made as long again before the next
//! start.

use std::fs::File;

use super::*;
use crate::running::server::Server;

/// Runs an array that waits for its drives no longer than a test has time for.
fn start(bay: &Bay, drives: &str) -> Server {
    Server::start_as(bay, "serve", &format!("--deadline 5 {drives}"))
}

/// Cuts a member of the array that runs on `drives` short, has that noticed by the command `write`,
/// and ends the array. Without `--force` the content is read first.
fn cut_under(bay: &Bay, drives: &str, cut: &str, write: &str) {
    let server = start(bay, drives);
    let first = drives.split(' ').next().unwrap();
    bay.write(&format!("write {first}"), &pattern(BYTES, 1));
    let file = File::options().write(true).open(bay.path(cut)).unwrap();
    let size = file.metadata().unwrap().len();
    file.set_len(size - (1 << 20)).unwrap();
    // Whether it fails depends on who else has the content.
    bay.run_with(&format!("{write} {first}"), &pattern(BYTES, 2));
    server.kill();
    file.set_len(size).unwrap();
}

#[test]
fn a_file_that_is_as_long_again_is_not_believed() {
    let striped = ("create --level 0 --chunk 64K d0 d1", None, "d0 d1", "d1");
    let mirror = ("create --level 1 --assume-clean d0 d1", Some("fail --member d1 d0 d1"), "d0", "d0");
    let mirrors = (
        "create --level 10 --chunk 64K --assume-clean d0 d1 d2 d3",
        Some("fail --member d1 d0 d1 d2 d3"),
        "d0 d2 d3",
        "d0",
    );
    let by_flush = [striped, mirror, mirrors].map(|it| (it, "write --force"));
    for ((create, fail, drives, cut), write) in by_flush.into_iter().chain([(mirror, "write")]) {
        let bay = Bay::new(4);
        bay.done(create);
        if let Some(fail) = fail {
            bay.done(fail);
        }
        cut_under(&bay, drives, cut, write);
        let fact = format!("{cut} cannot be missed, and its file was cut short");
        for command in ["write", "run", "serve", "rebuild", "write --degraded"] {
            bay.refused(&format!("{command} {drives}"), 3, &[&fact, "`shoal recover`", "`shoal trust`"]);
        }
        let read = bay.done(&format!("read --length 4096 {drives}"));
        assert!(read.stderr.contains(&fact), "{create}: {}", read.stderr);
        assert!(bay.done(&format!("status {drives}")).stderr.contains(&fact), "{create}");
        assert_eq!(bay.run(&format!("status --test {drives}")).code, 4, "{create}");
        bay.done(&format!("trust {drives}"));
        let written = bay.run_with(&format!("write {drives}"), &pattern(BYTES, 3));
        assert_eq!((written.code, written.stderr.as_str()), (0, ""), "{create}");
        assert_eq!(reads(&bay, drives, 3), "", "{create}");
    }
}

/// The bitmap knows nothing of what the file has lost.
#[test]
fn a_file_that_was_cut_short_is_not_filled_by_the_bitmap() {
    for write in ["write", "write --force"] {
        let bay = Bay::new(2);
        bay.done("create --level 1 --bitmap internal --assume-clean d0 d1");
        cut_under(&bay, "d0 d1", "d1", write);
        let status = String::from_utf8(bay.done("status d0 d1").stdout).unwrap();
        assert!(status.contains("not used:"), "{write}: {status}");
        bay.refused_running(
            "re-add --drive d1 d0",
            2,
            &["d1 cannot be re-added", "its file was cut short", "add it as a new drive"],
        );
        bay.done("add --force --drive d1 d0");
        assert_eq!(bay.json("status d0 d1")["health"], "optimal", "{write}");
    }
}

/// The member is found out by a read alone, before anything is flushed: the block that the read met
/// is not healed, which would make the file as long as before.
#[test]
fn a_file_that_a_read_finds_cut_short_is_remembered_as_spoilt() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K --bitmap internal --assume-clean d0 d1 d2");
    let content = pattern(bay.json("status d0 d1 d2")["capacity_bytes"].as_u64().unwrap() as usize, 1);
    bay.write("write d0 d1 d2", &content);
    let server = start(&bay, "d0 d1 d2");
    let file = File::options().write(true).open(bay.path("d1")).unwrap();
    let size = file.metadata().unwrap().len();
    file.set_len(size - (1 << 20)).unwrap();
    assert!(bay.done("read d0").stdout == content);
    server.kill();
    assert!(file.metadata().unwrap().len() < size, "nobody has made it longer");
    file.set_len(size).unwrap();
    let status = String::from_utf8(bay.done("status d0 d1 d2").stdout).unwrap();
    assert!(status.contains("not used: d1: its file was cut short"), "{status}");
    assert!(status.contains("`shoal add --force") && !status.contains("shoal re-add"), "{status}");
    assert!(bay.done("read d0 d1 d2").stdout == content);
    // The superblocks do not say it yet, and this host does.
    let recovered = bay.json("recover d0 d1 d2 --save saved");
    let losses = &recovered["arrays"][0]["losses"];
    assert!(losses.as_array().is_some_and(Vec::is_empty), "{recovered}");
    assert!(std::fs::read(bay.path("saved")).unwrap() == content, "without d1, which holds zeros");
    let recovered = String::from_utf8(bay.done("recover d0 d1").stdout).unwrap();
    assert!(recovered.contains("what d1 held where it was cut short"), "{recovered}");
    let trusted = bay.done("trust d0 d1 d2");
    assert!(trusted.stderr.contains("d1 was not used: its file was cut short"), "{}", trusted.stderr);
}

/// Its superblock says that it is in sync, and nothing that is written to the others changes that.
#[test]
fn a_file_that_was_cut_short_is_no_member_after_a_recovery_without_it() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let content = pattern(bay.json("status d0 d1 d2")["capacity_bytes"].as_u64().unwrap() as usize, 1);
    bay.write("write d0 d1 d2", &content);
    bay.done("fail --member d2 d0 d1 d2");
    let server = start(&bay, "d0 d1");
    let file = File::options().write(true).open(bay.path("d1")).unwrap();
    let size = file.metadata().unwrap().len();
    file.set_len(size - (1 << 20)).unwrap();
    assert_ne!(bay.run("read d0").code, 0, "nobody else has it");
    server.kill();
    file.set_len(size).unwrap();
    bay.done("recover --apply d0 d1 d2");
    let status = String::from_utf8(bay.done("status d0 d1 d2").stdout).unwrap();
    assert!(status.contains("not used: d1: its file was cut short"), "{status}");
    assert!(bay.done("read d0 d1 d2").stdout == content, "nothing was written since d2 left");
}

/// What it lost nobody has, and so nobody can write it again. Its name still leads to the process
/// that runs its array.
#[test]
fn a_last_copy_that_was_cut_short_takes_nothing_more_and_is_not_renewed() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    bay.done("fail --member d1 d0 d1");
    let _server = start(&bay, "d0");
    bay.write("write d0", &pattern(BYTES, 1));
    let file = File::options().write(true).open(bay.path("d0")).unwrap();
    let size = file.metadata().unwrap().len();
    file.set_len(size - (1 << 20)).unwrap();
    for seed in [2, 3] {
        assert_ne!(bay.run_with("write --force d0", &pattern(BYTES, seed)).code, 0);
        let status = bay.json("status d0").to_string();
        assert!(status.contains("did not keep what was written to it"), "{status}");
        assert!(!status.contains("written to it again"), "{status}");
        file.set_len(size).unwrap();
    }
}
