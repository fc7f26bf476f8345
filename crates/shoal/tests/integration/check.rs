//! `shoal check`: fakes are found, drives that are none are not, and nothing is overwritten that
//! somebody may want.

use crate::support::{Bay, pattern};

const FAILED: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;

/// The one drive of a check, and the exit status.
fn checked(bay: &Bay, line: &str) -> (i32, serde_json::Value) {
    let run = bay.run(&format!("--json {line}"));
    let mut document: serde_json::Value = serde_json::from_slice(&run.stdout).expect("it is one document");
    (run.code, document["drives"][0].take())
}

#[test]
fn simulated_fakes_are_told_by_kind_and_real_size() {
    let bay = Bay::new(0);
    let cases = [
        ("", "genuine", "good", 512_u64 << 20),
        (":fake.real=100M", "fake", "limbo", 100 << 20),
        (":fake.real=100M:fake.cache=3M", "fake", "limbo", 100 << 20),
        (":fake.real=99M:fake.repeat=99M", "fake", "wraparound", 99 << 20),
        (":fake.real=128M:fake.repeat=128M", "fake", "wraparound", 128 << 20),
        (":fake.real=100M:fake.repeat=128M", "fake", "chain", 100 << 20),
    ];
    for (change, verdict, kind, usable_bytes) in cases {
        let line = format!("check --write --budget 64M --seed 7 sim:cruzer-titanium:size=512M{change}");
        let (code, drive) = checked(&bay, &line);
        assert_eq!(code, if verdict == "genuine" { 0 } else { FAILED }, "{line}: {drive}");
        assert_eq!((drive["verdict"].as_str(), drive["kind"].as_str()), (Some(verdict), Some(kind)), "{line}: {drive}");
        assert_eq!(drive["usable_bytes"], usable_bytes, "{line}: {drive}");
        assert!(drive["written_bytes"].as_u64().unwrap() <= 64 << 20, "{line}: {drive}");
        assert_eq!((code, drive), checked(&bay, &line), "the same again");
    }
    assert!(bay.snapshot().is_empty(), "something is left");
}

#[test]
fn what_is_told_to_people_says_what_it_has_and_what_to_do() {
    let bay = Bay::new(0);
    let run = bay.run("check --write --budget 64M sim:cruzer-titanium:size=512M:fake.real=100M");
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.code, FAILED);
    for part in ["SIMULATED: ", "FAKE (limbo", "has         100 MiB", "held nothing", "return it", "one of up to"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let before = run.stderr;
    assert!(before.contains("over what is there") && before.contains("a slow stick takes"), "{before}");
}

#[test]
fn files_are_checked_in_full_and_kept_by_the_lab_book() {
    let bay = Bay::with_sizes(&[8 << 20, 8 << 20]);
    let (code, drive) = checked(&bay, "check --write --full d0");
    let is_direct = drive["verdict"] != "unsure";
    if is_direct {
        assert_eq!((code, &drive["verdict"]), (0, &"genuine".into()), "{drive}");
        assert_eq!(drive["usable_bytes"], 8 << 20);
    }
    assert_eq!(drive["tally"]["held_bytes"], 8 << 20, "{drive}");
    // What it has written itself it writes over again unasked.
    assert_eq!(checked(&bay, "check --write d0").0, code);
    assert!(String::from_utf8(bay.done("log").stdout).unwrap().contains("check"));
}

#[test]
fn what_somebody_may_want_is_not_written_over_unasked() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write d0 d1 d2", &pattern(100_000, 1));
    let before = bay.snapshot();
    assert_eq!(bay.run("check --write d0").code, REFUSED);
    assert_eq!(bay.run("check --full d0").code, USAGE, "--full needs --write");
    let (code, drive) = checked(&bay, "check d0");
    assert_eq!((code, &drive["verdict"], &drive["written_bytes"]), (FAILED, &"unsure".into(), &0.into()));
    assert!(bay.snapshot() == before, "something was written");
    assert_ne!(bay.run("check --write --force d0").code, REFUSED);
    assert!(bay.snapshot() != before, "it was told to");
}

#[test]
fn what_cannot_be_checked_is_told() {
    let bay = Bay::with_sizes(&[4096]);
    for (line, what) in [
        ("check d0", "no drive"),
        ("check --write --budget 64K sim:stick-64g", "--budget"),
        ("check --write sim:stick-64g:fake.real=64T", "fake.real"),
    ] {
        let run = bay.run(line);
        let said = run.stderr;
        assert_eq!(run.code, USAGE, "{line}: {said}");
        assert!(said.contains(what), "{line}: {said}");
    }
}
