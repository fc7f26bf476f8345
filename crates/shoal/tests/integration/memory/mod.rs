//! What a host remembers of its arrays: no array goes back in time, and no stranger gets in.

mod copies;
mod cut_short;
mod forged;
mod left_behind;
mod overruled;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{self, Bay, pattern};
use copies::cut;
use forged::{forge, rewrite};

/// What a command ends with while somebody else has a drive.
const BUSY: i32 = 4;
const BYTES: usize = 500_000;

/// What this host remembers of its arrays: a file for each.
fn books(bay: &Bay) -> Vec<PathBuf> {
    let files = fs::read_dir(bay.state()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// What it remembers of the only one.
fn book(bay: &Bay) -> PathBuf {
    let mut books = books(bay);
    assert_eq!(books.len(), 1, "{books:?}");
    books.remove(0)
}

fn reads(bay: &Bay, drives: &str, seed: u64) -> String {
    let ran = bay.done(&format!("read --length {BYTES} {drives}"));
    assert!(ran.stdout == pattern(BYTES, seed), "read {drives}");
    ran.stderr
}

fn one_line(ran: &support::Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    ran.is_one_line("", words);
}

#[test]
fn halves_of_a_mirror_are_not_started_in_turn() {
    let bay = Bay::new(2);
    bay.done("create --level 1 d0 d1");
    bay.write("write d0 d1", &pattern(BYTES, 1));
    bay.write("write --degraded d1", &pattern(BYTES, 2));
    bay.write("write d1", &pattern(BYTES, 2)); // no word is asked for: this host knows that d1 is the newest
    for line in ["write d0", "write --degraded d0", "run d0", "serve --read-only d0", "rebuild d0"] {
        bay.refused(line, 3, &["d0 holds an older state", "d1", "`shoal trust`"]);
    }
    // What only reads says so.
    assert!(reads(&bay, "d0", 1).contains("d0 holds an older state"));
    let status = bay.done("status d0");
    status.is_one_line("status", &["shown too: d1"]);
    assert_eq!(bay.json("status d0")["left_out"][0]["drive"], "d0");
    // With the newest beside it, or alone, all is as ever.
    assert!(reads(&bay, "d0 d1", 2).contains("d0 is not used: stale"));
    bay.write("write d0 d1", &pattern(BYTES, 3));
    assert_eq!(reads(&bay, "d1", 3), "");
    // Somebody may know better.
    let before = bay.snapshot();
    let trusted = bay.json("trust d0");
    assert_eq!(
        (trusted["health"].as_str(), trusted["members"][1]["state"].as_str()),
        (Some("degraded"), Some("missing"))
    );
    assert!(bay.snapshot() == before, "nothing is written to the members");
    assert_eq!(reads(&bay, "d0", 1), "");
    bay.write("write d0", &pattern(BYTES, 4));
    bay.refused("write d1", 3, &["d1", "`shoal trust`"]);
}

#[test]
fn an_array_goes_on_without_a_member_only_if_that_can_be_remembered() {
    let bay = Bay::new(2);
    bay.done("create --level 1 d0 d1");
    bay.write("write d0 d1", &pattern(BYTES, 1));
    // Where the next state of the book would be written to nothing can be, whoever asks.
    fs::create_dir(book(&bay).with_extension("json.new")).unwrap();
    fs::rename(bay.path("d1"), bay.path("away")).unwrap();
    let refused = bay.run_with("write d0", &pattern(BYTES, 2));
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot remember that"), "{}", refused.stderr);
    fs::rename(bay.path("away"), bay.path("d1")).unwrap();
    assert_eq!(bay.json("status d0 d1")["health"], "optimal");
    assert_eq!(reads(&bay, "d0 d1", 1), "");
    // A whole array needs no memory, and its owner hears that there is none.
    one_line(&bay.run_with("write d0 d1", &pattern(BYTES, 3)), 0, &["not remembered"]);
    fs::rename(bay.path("d1"), bay.path("away")).unwrap();
    let degraded = bay.run_with("write --degraded d0", &pattern(BYTES, 4));
    assert_eq!(degraded.code, 0, "{}", degraded.stderr);
}

#[test]
fn a_stick_with_a_higher_count_does_not_take_over() {
    for (level, drives, some) in [("1", "d0 d1", "d1"), ("5", "d0 d1 d2", "d1 d2")] {
        let bay = Bay::new(drives.split(' ').count());
        bay.done(&format!("create --level {level} {drives}"));
        bay.write(&format!("write {drives}"), &pattern(BYTES, 1));
        forge(&bay, "d0", "stick", |superblock| superblock.events += 1000);
        let written = bay.run_with(&format!("--json write {drives} stick"), &pattern(BYTES, 2));
        one_line(&written, 0, &["stick is not used: this host has never seen it"]);
        let status = bay.json(&format!("status stick {drives}"));
        assert_eq!((&status["health"], &status["left_out"][0]["drive"]), (&"optimal".into(), &"stick".into()));
        // With a member missing, it may be what became of the array elsewhere.
        bay.refused(&format!("write stick {some}"), 3, &["stick was never seen", "d0 is missing", "`shoal trust`"]);
        assert_eq!(
            bay.run(&format!("read --length {BYTES} {drives} stick")).stdout,
            pattern(BYTES, 2),
            "level {level}"
        );
        // At the array's own count, in the place of a member that is away.
        forge(&bay, "d0", "stick", |_| {});
        fs::rename(bay.path("d0"), bay.path("away")).unwrap();
        let written = bay.run_with(&format!("write stick {some}"), &pattern(BYTES, 3));
        assert_eq!((written.code, written.stderr.lines().count()), (0, 2), "{}", written.stderr);
        assert!(written.stderr.contains("stick is not used: this host has never seen it"), "{}", written.stderr);
        assert!(written.stderr.contains("is started without d0"), "{}", written.stderr);
        assert_eq!(reads(&bay, some, 3), "", "level {level}");
    }
}

#[test]
fn a_member_that_is_there_is_not_left_out_by_accident() {
    let bay = Bay::with_sizes(&[support::DRIVE_BYTES; 4]);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    for line in [
        "write d0 d2",
        "run d0 d2",
        "serve d0 d2",
        "rebuild d0 d2",
        "add --drive d3 d0 d2",
        "scrub --repair --keep-data d0 d2",
    ] {
        bay.refused(line, 3, &["pond", "add d1 to the list", "--degraded"]);
    }
    let bench = "bench --write --force --bytes 64K --block-size 64K --warm-up 0 --repeat 1";
    bay.refused(&format!("{bench} d0 d2"), 3, &["pond", "add d1 to the list", "--degraded"]);
    // Who only reads changes nothing, and is told nothing.
    assert_eq!(reads(&bay, "d0 d2", 1), "");
    assert_eq!(bay.json("status d0 d1 d2")["health"], "optimal");
    // Somebody says so, or it is not to be found.
    let written = bay.run_with("write --degraded d0 d2", &pattern(BYTES, 2));
    one_line(&written, 0, &["pond is started without d1"]);
    bay.write("write d0 d2", &pattern(BYTES, 3)); // it is known to be out
    bay.done("add --force --drive d1 d0 d2");
    fs::rename(bay.path("d1"), bay.path("away")).unwrap();
    let written = bay.run_with("write d0 d2", &pattern(BYTES, 4));
    one_line(&written, 0, &["pond is started without d1", "missing there"]);
    assert_eq!(bay.run_with("write d0 d2", &pattern(BYTES, 4)).stderr, "", "once");
    // Another drive at its place is not it.
    bay.done("add --force --drive away d0 d2");
    fs::copy(bay.path("d3"), bay.path("away")).unwrap();
    let written = bay.run_with("write d0 d2", &pattern(BYTES, 5));
    one_line(&written, 0, &["pond is started without away"]);
}

#[test]
fn who_reads_is_told_of_the_write_hole() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    cut(&bay, &["d0", "d1", "d2"]);
    assert_eq!(reads(&bay, "d0 d1 d2", 1), "", "nothing is made of parity");
    let ran = bay.done(&format!("read --length {BYTES} d0 d2"));
    ran.is_one_line("read", &["pond is degraded and was not shut down cleanly", "may be wrong", "missing drive"]);
    // A log mends that, whether the array is opened for writing or not.
    let bay = Bay::new(3);
    bay.done("create --level 5 --consistency-policy ppl --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    cut(&bay, &["d0", "d1", "d2"]);
    assert_eq!(reads(&bay, "d0 d2", 1), "");
    bay.write("write --degraded --offset 1M d0 d2", b"bytes");
    assert_eq!(reads(&bay, "d0 d2", 1), "");
}

#[test]
fn a_member_is_not_taken_out_of_an_array_whose_parity_may_be_wrong() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    cut(&bay, &["d0", "d1", "d2"]);
    bay.refused("fail --member d1 d0 d1 d2", 3, &["not shut down cleanly", "`shoal rebuild`", "--force"]);
    bay.done("rebuild d0 d1 d2");
    bay.done("fail --member d1 d0 d1 d2");
    assert_eq!(reads(&bay, "d0 d2", 1), "");
}

#[test]
fn what_recover_made_and_what_has_grown_is_remembered() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.done("fail --member d1 d0 d1 d2");
    bay.write("write d0 d2", &pattern(BYTES, 1));
    bay.refused("write d0 d1", 3, &["too few of its members were named", "add d2 to the list"]);
    assert_eq!(bay.json("recover d0 d1 --apply")["arrays"][0]["applied"], true);
    // The host knows the array as it was made, and asks for no word.
    bay.write("write d0 d1", &pattern(BYTES, 2));
    assert_eq!(reads(&bay, "d0 d1", 2), "");
    let bay = Bay::new(4);
    bay.done("create --level 5 --chunk 4K --name pond d0 d1 d2");
    bay.done("grow --raid-devices 4 --drive d3 d0 d1 d2");
    bay.refused("write d0 d1 d2", 3, &["pond", "add d3 to the list"]);
    bay.write("write d0 d1 d2 d3", &pattern(BYTES, 3));
}

#[test]
fn another_host_wants_a_word_for_a_degraded_array() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    fs::remove_dir_all(bay.state()).unwrap();
    for line in ["write d1 d2", "run d1 d2", "rebuild d1 d2"] {
        bay.refused(line, 3, &["pond", "1 of 3 members", "--degraded"]);
    }
    assert!(reads(&bay, "d1 d2", 1).contains("1 of 3 members"), "what only reads says so");
    bay.write("write --degraded d1 d2", &pattern(BYTES, 2));
    bay.write("write d1 d2", &pattern(BYTES, 3)); // it is known now
    // One that nobody counts on any more needs no word, on a host that knows nothing.
    fs::remove_dir_all(bay.state()).unwrap();
    bay.write("write d1 d2", &pattern(BYTES, 4));
    assert_eq!(reads(&bay, "d1 d2", 4), "");
}

#[test]
fn a_memory_that_cannot_be_used_is_told_and_counts_for_nothing() {
    let bay = Bay::new(2);
    bay.done("create --level 1 d0 d1");
    let good = fs::read(book(&bay)).unwrap();
    let path = book(&bay);
    let hostile: [&[u8]; 5] = [b"", b"\0\xff\xfe", b"{\"version\": 1}", &good[..good.len() / 2], &[b'['; 1 << 20]];
    for bytes in hostile {
        fs::write(&path, bytes).unwrap();
        let refused = bay.run_with("write d0", b"bytes");
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("--degraded") && !refused.stderr.contains("panicked"), "{}", refused.stderr);
        let whole = bay.run_with("write d0 d1", b"bytes");
        one_line(&whole, 0, &["what this host remembers of the array cannot be used", "array-"]);
        // It is mended by that.
        let again = bay.run_with("write d0 d1", b"bytes");
        assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    }
    // Not ours alone; a link; no file; nothing that can be written.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    one_line(&bay.run_with("write d0 d1", b"bytes"), 0, &["not this user's alone"]);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    one_line(&bay.run_with("write d0 d1", b"bytes"), 0, &["cannot be used"]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let ran = bay.run_with("write d0 d1", b"bytes");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn a_cut_between_memory_and_superblocks_is_no_reason_for_doubt() {
    for (level, drives, others) in [("1", "d0 d1", ["d0", "d1"]), ("5", "d0 d1 d2", ["d0 d1", "d1 d2"])] {
        let bay = Bay::new(drives.split(' ').count());
        bay.done(&format!("create --level {level} {drives}"));
        bay.write(&format!("write {drives}"), &pattern(BYTES, 1));
        for some in [drives, others[0]] {
            // What a process leaves that was killed before it wrote superblocks.
            let mut announced: Value = serde_json::from_slice(&fs::read(book(&bay)).unwrap()).unwrap();
            announced["events"] = (announced["events"].as_u64().unwrap() + 1).into();
            fs::write(book(&bay), announced.to_string()).unwrap();
            let ran = bay.run_with(&format!("write --degraded {some}"), &pattern(BYTES, 2));
            assert_eq!(ran.code, 0, "level {level} {some}: {}", ran.stderr);
            assert!(!ran.stderr.contains("older"), "level {level} {some}: {}", ran.stderr);
            assert_eq!(reads(&bay, some, 2), "");
        }
        // The others left in the update that was the last one.
        bay.refused(&format!("write {}", drives.rsplit(' ').next().unwrap()), 3, &["older state"]);
    }
}

#[test]
fn a_running_array_remembers_who_failed_before_it_answers() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let mut running = bay.command(["run", "d0", "d1"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    while bay.json("status d0 d1")["running"].is_null() {
        assert!(running.try_wait().unwrap().is_none(), "it ended");
    }
    bay.done("fail --member d0 d1");
    bay.write("write d1", &pattern(BYTES, 1));
    running.kill().unwrap();
    running.wait().unwrap();
    // The kernel lets go of a killed process's files when their I/O has ended.
    while bay.run("write d0").code == BUSY {}
    bay.refused("write d0", 3, &["d0 holds an older state", "d1"]);
    bay.write("write d0 d1", &pattern(BYTES, 2));
    assert_eq!(reads(&bay, "d1", 2), "");
}

#[test]
fn who_was_never_a_member_does_not_come_in_by_being_plugged_in() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --bitmap internal --assume-clean d0 d1");
    forge(&bay, "d1", "stick", |superblock| superblock.events += 1000);
    fs::copy(bay.path("d1"), bay.path("copy")).unwrap();
    let mut running = bay.command(["run", "d0", "d1"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    while bay.json("status d0 d1")["running"].is_null() {
        assert!(running.try_wait().unwrap().is_none(), "it ended");
    }
    bay.done("fail --member d1 d0");
    for drive in ["stick", "copy"] {
        let words = [drive, "was never seen in array", "is not taken by itself", "shoal re-add"];
        bay.refused_running(&format!("hot-plug {drive}"), 3, &words);
    }
    assert_eq!(bay.json("hot-plug d1")["members"][1]["drive"].as_str().map(|it| it.ends_with("d1")), Some(true));
    bay.done("stop d0");
    assert!(running.wait().unwrap().success());
}

#[test]
fn arrays_are_remembered_each_for_itself_and_inside_each_other() {
    let bay = Bay::new(10);
    bay.done("create --level 1 d0 d1");
    bay.done("create --level 1 d2 d3");
    bay.write("write --degraded d1", b"bytes");
    bay.write("write --degraded d2", b"bytes");
    assert_eq!(books(&bay).len(), 2);
    for drive in ["d0", "d3"] {
        bay.refused(&format!("write {drive}"), 3, &[drive, "older state"]);
    }
    bay.done("create --level 51 d4 d5 d6 d7 d8 d9");
    assert_eq!(books(&bay).len(), 5, "two inside, and the one of both");
    bay.write("write --degraded d4 d5 d6", &pattern(BYTES, 1));
    bay.refused("write d7 d8 d9", 3, &["older state"]);
    bay.write("write d4 d5 d7 d8 d6 d9", &pattern(BYTES, 2));
    assert_eq!(reads(&bay, "d4 d5 d6", 2), "");
}

#[test]
fn simulated_arrays_are_not_remembered() {
    let bay = Bay::new(0);
    bay.done("create --level 1 sim:cruzer-titanium*2");
    assert!(!bay.state().exists());
}

#[test]
fn a_user_has_a_memory_of_their_own() {
    use std::os::unix::process::CommandExt;
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // Somewhere that any user can get at.
    let program = tempfile::tempdir().unwrap();
    fs::set_permissions(program.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = (program.path().join("shoal"), program);
    fs::copy(env!("CARGO_BIN_EXE_shoal"), &program.0).unwrap();
    let drives = tempfile::tempdir().unwrap();
    fs::set_permissions(drives.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let drive = |name: &str| {
        let path = drives.path().join(name);
        fs::File::create(&path).unwrap().set_len(support::DRIVE_BYTES).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        path
    };
    let home = drives.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
    let run = |variable: &str, place: &std::path::Path| {
        let mut command = std::process::Command::new(&program.0);
        let two = ["one", "other"].map(|name| drive(&format!("{name}-{variable}")));
        command.args(["create", "--level", "1"]).args(two).current_dir("/");
        command.env_clear().env(variable, place);
        if is_root {
            command.uid(65534).gid(65534);
        }
        let ran = support::Ran::of(command.output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{variable}");
    };
    run("HOME", &home);
    run("XDG_STATE_HOME", &home.join("xdg"));
    for state in [home.join(".local/state/shoal"), home.join("xdg/shoal")] {
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "{}", state.display());
        assert_eq!(state.metadata().unwrap().mode() & 0o777, 0o700);
    }
}
