//! Who starts an array without a member leaves that one behind; a command that fails anyway does
//! not.

use std::fs;
use std::process::Command;

use super::BYTES;
use crate::support::{self, Bay, pattern};

const USAGE: i32 = 2;
const FAILED: i32 = 1;
const REFUSED: i32 = 3;

/// What fails, with what status, and what is said.
const FAILING: [(&str, i32, &str); 17] = [
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
    ("serve --min 10M --max 1M", USAGE, "above the greatest"),
    ("run --socket file", REFUSED, "file is no socket"),
    ("run --min 10M --max 1M", USAGE, "above the greatest"),
    ("bench --write --force --offset 99G --warm-up 0 --repeat 1", USAGE, "nothing can be measured"),
    ("bench --write --force --block-size 3 --warm-up 0 --repeat 1", USAGE, "3"),
    ("scrub --repair --keep-data", FAILED, "nothing is left to compare"),
    ("bench --write --bytes 64K --block-size 64K --warm-up 0 --repeat 1", REFUSED, "pond"),
];

#[test]
fn a_command_that_fails_leaves_no_member_behind() {
    let bay = Bay::with_sizes(&[support::DRIVE_BYTES; 4]);
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    fs::write(bay.path("small"), [0; 4096]).unwrap();
    fs::write(bay.path("file"), "no socket").unwrap();
    let before = bay.json("status d0 d1 d2")["events"].clone();
    for (line, code, words) in FAILING {
        bay.refused(&format!("{line} --degraded d1 d2"), code, &[words]);
        let status = bay.json("status d0 d1 d2");
        assert_eq!((&status["health"], &status["events"]), (&"optimal".into(), &before), "{line}");
    }
    for command in ["run", "serve"] {
        let ran = bay.run(&format!("{command} --alerts nofile --degraded d1 d2"));
        assert!(ran.code != 0 && ran.stderr.contains("nofile"), "{}", ran.stderr);
        assert_eq!(bay.json("status d0 d1 d2")["events"], before, "{command}");
    }
    // One that is not at its place is left out without a word of anybody's.
    fs::rename(bay.path("d0"), bay.path("away")).unwrap();
    for (line, code, words) in FAILING {
        bay.refused(&format!("{line} d1 d2"), code, &[words]);
    }
    fs::rename(bay.path("away"), bay.path("d0")).unwrap();
    assert_eq!(bay.json("status d0 d1 d2")["events"], before);
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

/// Why a former member is not taken back is found out first, also what only the write-intent bitmap
/// knows.
#[test]
fn a_member_that_cannot_be_taken_back_leaves_nobody_behind() {
    for (bitmap, code) in [("none", REFUSED), ("internal", 0)] {
        let bay = Bay::new(5);
        bay.done(&format!("create --level 6 --bitmap {bitmap} d0 d1 d2 d3 d4"));
        bay.write("write d0 d1 d2 d3 d4", &pattern(BYTES, 1));
        bay.done("fail --member d0 d1 d2 d3 d4");
        let before = bay.json("status d1 d2 d3 d4")["events"].clone();
        let ran = bay.run("re-add --degraded --drive d0 d2 d3 d4");
        assert_eq!(ran.code, code, "{}", ran.stderr);
        let status = bay.json("status d1 d2 d3 d4");
        assert_eq!(status["events"] == before, code != 0, "{bitmap}: {}", ran.stderr);
    }
}

#[test]
fn a_growth_that_is_refused_changes_nothing_that_is_remembered() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --name pond d0 d1");
    bay.write("write d0 d1", &pattern(BYTES, 1));
    bay.refused("grow --continue d1", REFUSED, &["no reshape"]);
    bay.refused("write d1", REFUSED, &["pond", "d0", "--degraded"]);
}

/// Of a nest that lacks a whole group nothing is written either, though the other group could be.
#[test]
fn what_is_left_of_an_array_of_arrays_is_not_written_to() {
    let bay = Bay::new(6);
    bay.done("create --level 50 --name pond d0 d1 d2 d3 d4 d5");
    bay.write("write d0 d1 d2 d3 d4 d5", &pattern(BYTES, 1));
    super::cut(&bay, &["d0", "d1", "d2", "d3", "d4", "d5"]);
    let content = |bay: &Bay| bay.snapshot().into_iter().map(|(path, _, bytes)| (path, bytes)).collect::<Vec<_>>();
    let before = content(&bay);
    for _ in 0..2 {
        let server = crate::running::server::Server::start(&bay, "--force d0 d1 d2 d3");
        bay.done("stop d0");
        assert_eq!(server.ended().code, 0);
        assert!(content(&bay) == before);
    }
    bay.done("read --length 1M d0 d1 d2 d3 d4 d5");
}

/// A drive that is to be filled is filled, and then there is something to compare.
#[test]
fn a_scrub_of_a_degraded_array_with_a_spare_fills_it_first() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.done("fail --member d0 d1 d2");
    bay.done("add --no-rebuild --drive d3 d1 d2");
    bay.done("scrub --repair --degraded d1 d2 d3");
    assert_eq!(bay.json("status d1 d2 d3")["health"], "optimal");
}

/// The copy would be at an end without either of them.
#[test]
fn neither_a_replacement_that_is_being_filled_nor_its_original_is_left_out() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    bay.done("replace --no-rebuild --member d1 --drive d3 d0 d2");
    bay.refused("write d0 d1 d2", REFUSED, &["were not given", "d3"]);
    bay.refused("write d0 d2 d3", REFUSED, &["were not given", "d1"]);
    // It is shown, too, where not all are named; and what goes on with it is named.
    let status = String::from_utf8(bay.done("status d0").stdout).unwrap();
    assert!(status.contains("copied to ./d3") || status.contains("copied to d3"), "{status}");
    assert!(status.contains("`shoal rebuild` ends it"), "{status}");
    bay.refused("replace --member d1 --drive d3 d0 d2", REFUSED, &["d3 is an active member", "`shoal rebuild`"]);
    bay.write("write d0 d1 d2 d3", &pattern(BYTES, 2));
    bay.done("rebuild d0 d1 d2 d3");
    let array = bay.json("status d0 d2 d3");
    assert_eq!((&array["health"], &array["members"][1]["state"]), (&"optimal".into(), &"in-sync".into()));
    assert!(bay.done(&format!("read --length {BYTES} d0 d2 d3")).stdout == pattern(BYTES, 2));
}

/// As those of devices move when they are plugged in again.
#[test]
fn a_member_that_has_another_member_s_name_is_found() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    for (from, to) in [("d0", "away"), ("d1", "d0"), ("d2", "d1"), ("away", "d2")] {
        fs::rename(bay.path(from), bay.path(to)).unwrap();
    }
    for drive in ["d0", "d1", "d2"] {
        assert_eq!(bay.json(&format!("status {drive}"))["health"], "optimal", "{drive}");
    }
    bay.refused("write d0 d1", REFUSED, &["were not given", "d2"]);
    bay.refused("write d0 d2", REFUSED, &["were not given", "d1"]);
    bay.write("write d0 d1 d2", &pattern(BYTES, 2));
    assert_eq!(bay.json("status d0")["health"], "optimal");
}

#[test]
fn who_is_given_and_cannot_be_used_is_told() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write --degraded d0 d1", &pattern(BYTES, 1));
    for command in ["write", "scrub"] {
        let told = bay.run_with(&format!("{command} d0 d1 d2"), &pattern(BYTES, 2)).stderr;
        assert!(told.contains("d2 is not used: stale: it missed"), "{command}: {told}");
    }
    let added = bay.done("add --force --drive d2 d0 d1");
    assert!(!added.stderr.contains("not used"), "it comes just now: {}", added.stderr);
}

/// The limit on the length of files fails its writes, and nobody else's.
#[test]
fn a_drive_that_fails_while_it_is_filled_has_not_come_to_the_array() {
    const BYTES_MAX: u64 = 8 << 20;
    let bay = Bay::with_sizes(&[2 * BYTES_MAX; 4]);
    bay.done("create --level 5 d0 d1 d2");
    let limited = |line: &str| {
        let shoal = bay.command(line.split_whitespace());
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--fsize={BYTES_MAX}")).arg(shoal.get_program()).args(shoal.get_args());
        limited.current_dir(shoal.get_current_dir().unwrap());
        limited.envs(shoal.get_envs().filter_map(|(name, value)| Some((name, value?))));
        support::Ran::of(limited.output().unwrap())
    };
    let ran = limited("replace --member d1 --drive d3 d0 d1 d2");
    assert!(ran.code == FAILED && ran.stderr.contains("d3 failed while it was filled"), "{}", ran.stderr);
    assert_eq!(bay.json("status d0 d1 d2")["health"], "optimal");
    bay.done("fail --member d1 d0 d2");
    let ran = limited("add --force --drive d3 d0 d2");
    assert!(ran.code == FAILED && ran.stderr.contains("d3 failed while it was filled"), "{}", ran.stderr);
}

/// As `fail` does it.
#[test]
fn the_member_that_is_replaced_need_not_be_named_twice() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(BYTES, 1));
    bay.done("replace --member d0 --drive d3 d1 d2");
    fs::create_dir(bay.path("shelf")).unwrap();
    fs::rename(bay.path("d1"), bay.path("shelf/d1")).unwrap();
    bay.done("replace --member shelf/d1 --drive d0 --force --scan . d3");
    fs::rename(bay.path("d0"), bay.path("d1")).unwrap();
    assert_eq!(bay.json("status d1 d2 d3")["health"], "optimal");
    assert!(bay.done(&format!("read --length {BYTES} d1 d2 d3")).stdout == pattern(BYTES, 1));
}

/// Nor a half of an array of arrays: neither all of it, nor all but too little.
#[test]
fn an_array_inside_another_is_not_left_out_by_accident() {
    let bay = Bay::new(6);
    bay.done("create --level 51 --chunk 64K d0 d1 d2 d3 d4 d5");
    let content = pattern(100_000, 3);
    bay.write("write d0 d1 d2 d3 d4 d5", &content);
    for (given, lacking) in [
        ("d0 d1 d2", ["d3", "d5"]),
        ("d1 d4 d5", ["d0", "d2"]),
        ("d4 d5", ["d3", "d3"]),
        ("d0 d1 d2 d4 d5", ["d3", "d3"]),
    ] {
        bay.refused(&format!("write {given}"), REFUSED, &lacking);
    }
    // One drive of each half is not enough of either.
    for command in ["write", "write --degraded", "serve --degraded"] {
        bay.refused(&format!("{command} d0 d3"), REFUSED, &["array vm:shoal-0", "members"]);
    }
    assert_eq!(bay.done("read d0 d1 d2 --length 100000").stdout, content, "reading leaves nobody behind");
    let ran = bay.run_with("write --degraded d0 d1 d2", &content);
    assert!(ran.code == 0 && ran.stderr.contains("started without d3"), "{}", ran.stderr);
    // The array knows by now that it is not there.
    bay.write("write d0 d1 d2", &content);
}

/// Half of an array of arrays was away. None of its drives is wiped for a place in the other half,
/// whatever is forced; with all of them given any of them brings it back.
#[test]
fn an_array_inside_that_was_away_comes_back_as_a_whole() {
    let bay = Bay::new(6);
    bay.done("create --level 51 --chunk 64K d0 d1 d2 d3 d4 d5");
    let content = pattern(100_000, 3);
    assert_eq!(bay.run_with("write --degraded d0 d1 d2", &content).code, 0);
    for command in ["add --drive d3", "add --force --drive d3", "re-add --drive d3"] {
        bay.refused(&format!("{command} d0 d1 d2"), REFUSED, &["d3 is a member of", "re-add"]);
    }
    let status = String::from_utf8(bay.done("status d0 d1 d2 d3 d4 d5").stdout).unwrap();
    assert!(status.contains("the array inside that is missing comes back with"), "{status}");
    bay.done("re-add --drive d4 d0 d1 d2 d3 d4 d5");
    assert_eq!(bay.done("read --degraded d3 d4 d5 --length 100000").stdout, content);
}

/// The halves of an array of arrays were run apart, on two hosts. Each host goes on with its own,
/// and the other half becomes its copy where somebody says so.
#[test]
fn an_array_inside_that_was_run_apart_is_filled_anew_if_that_is_forced() {
    let bay = Bay::new(6);
    bay.done("create --level 51 --chunk 64K d0 d1 d2 d3 d4 d5");
    let here = bay.path("remembered-here");
    std::fs::rename(bay.state(), &here).unwrap();
    assert_eq!(bay.run_with("write --degraded d3 d4 d5", &pattern(100_000, 2)).code, 0);
    std::fs::remove_dir_all(bay.state()).unwrap();
    std::fs::rename(&here, bay.state()).unwrap();
    let content = pattern(100_000, 3);
    assert_eq!(bay.run_with("write --degraded d0 d1 d2", &content).code, 0);
    bay.refused("re-add --drive d3 d0 d1 d2 d3 d4 d5", REFUSED, &["run without the others", "add --force"]);
    bay.done("add --force --drive d3 d0 d1 d2 d3 d4 d5");
    assert_eq!(bay.done("read --degraded d3 d4 d5 --length 100000").stdout, content);
}
