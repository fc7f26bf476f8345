//! The lab book: what is measured is kept, found again, compared, and followed over time.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::Bay;

/// Quick, and the same each time.
const QUICK: &str = "--bytes 1M --warm-up 0";

fn text(bay: &Bay, line: &str) -> String {
    String::from_utf8(bay.done(line).stdout).unwrap()
}

fn book(bay: &Bay) -> std::path::PathBuf {
    bay.state().join("lab-book.sqlite")
}

fn runs(bay: &Bay, line: &str) -> Vec<Value> {
    bay.json(line)["runs"].as_array().unwrap().clone()
}

#[test]
fn what_is_measured_is_listed_shown_and_compared() {
    let bay = Bay::new(1);
    bay.done(&format!("bench d0 --write --force --seed 7 {QUICK}"));
    bay.done(&format!("bench sim:cruzer-titanium*2 --random {QUICK}"));
    bay.done(&format!("bench sim:cruzer-titanium*3 --level 5 --write {QUICK}"));
    let entries = runs(&bay, "log");
    let numbers: Vec<_> = entries.iter().map(|entry| entry["number"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert!(entries.iter().all(|entry| entry["state"] == "finished"), "{entries:?}");
    assert_eq!((&entries[2]["targets"][0], &entries[2]["is_simulated"]), (&"d0".into(), &false.into()));
    assert_eq!((&entries[1]["target_count"], &entries[1]["measurement_count"]), (&2.into(), &6.into()));
    assert_eq!(runs(&bay, "log --last 1").len(), 1);
    assert_eq!(runs(&bay, "log --drive d0")[0]["number"], 1);
    let listed = text(&bay, "log");
    assert!(listed.lines().count() == 4 && listed.contains("IOPS") && listed.contains("(simulated)"), "{listed}");
    let shown = text(&bay, "show 2");
    assert!(shown.contains("SIMULATED") && shown.contains("read latency p95") && shown.contains(" --seed "), "{shown}");
    let run = bay.json("show 1");
    let measured = &run["targets"][0]["measurements"][0];
    assert_eq!((&measured["settings"]["seed"], &measured["settings"]["pattern"]), (&"7".into(), &"sequential".into()));
    assert!(!measured["write_histogram"].as_array().unwrap().is_empty(), "{measured}");
    let uuid = run["uuid"].as_str().unwrap();
    assert_eq!(bay.json(&format!("show {uuid}")), run);
    // What a simulation repeats is the same: no difference, and that is sure enough to be called
    // noise.
    let compared = text(&bay, "compare 2 2");
    assert!(compared.contains("0 are better, 0 worse") && compared.contains("noise"), "{compared}");
    bay.refused("compare 1 2", 1, &["no workload in common"]);
    bay.refused("show 4", 2, &["no run `4`", "shoal log"]);
}

#[test]
fn the_line_that_reproduces_a_simulated_run_does() {
    let bay = Bay::new(0);
    bay.done(&format!("bench sim:cruzer-titanium --random {QUICK}"));
    let line = bay.json("show 1")["reproduced_by"].clone();
    let words: Vec<_> = line.as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    bay.done(&words.join(" "));
    let [first, second] = ["show 1", "show 2"].map(|line| bay.json(line)["targets"].clone());
    assert_eq!(first, second);
}

#[test]
fn a_drive_is_followed_over_its_runs() {
    let bay = Bay::new(1);
    bay.done(&format!("bench d0 --write --force {QUICK}"));
    let once = text(&bay, "trend d0");
    assert!(once.contains("Too few runs to say whether it gets slower"), "{once}");
    for _ in 0..4 {
        bay.done(&format!("bench sim:cruzer-titanium --random --seed 1 {QUICK}"));
    }
    let steady = text(&bay, "trend sim:cruzer-titanium#0");
    assert!(steady.contains("4 runs") && steady.contains("It does not get slower"), "{steady}");
    bay.refused("trend d9", 2, &["nothing was measured on a drive `d9`"]);
    // By another path it is the same drive, and under another name too.
    std::fs::rename(bay.path("d0"), bay.path("renamed")).unwrap();
    assert_eq!(bay.json("trend renamed")["drive"]["name"], "d0");
}

#[test]
fn studies_and_profiles_are_kept_too() {
    let bay = Bay::new(0);
    bay.done("study --levels 0 --chunks 64K --repeat 1 --seconds 1 --size 32M --no-fault sim:cruzer-titanium:size=64M*2@usb2");
    bay.done("profile sim:cruzer-titanium");
    let entries = runs(&bay, "log");
    assert_eq!((&entries[0]["command"], &entries[1]["command"]), (&"profile".into(), &"study".into()));
    let study = bay.json("show 1");
    let targets = study["targets"].as_array().unwrap();
    let of_kind = |kind: &str| targets.iter().filter(|target| target["kind"] == kind).count();
    assert_eq!((of_kind("simulated"), of_kind("array")), (2, 1), "{targets:?}");
    let array = targets.iter().find(|target| target["kind"] == "array").unwrap();
    assert_eq!(array["members"].as_array().unwrap().len(), 2);
    let drive = targets.iter().find(|target| target["kind"] == "simulated").unwrap();
    assert_eq!(drive["measurements"].as_array().unwrap().len(), 8, "alone and together");
    assert!(text(&bay, "show 2").contains("profile: "));
}

#[test]
fn who_says_so_keeps_nothing_or_keeps_it_elsewhere() {
    let bay = Bay::new(0);
    bay.done(&format!("bench sim:cruzer-titanium --no-book {QUICK}"));
    assert!(!book(&bay).exists());
    bay.refused("log", 2, &["there is no lab book"]);
    bay.done(&format!("bench sim:cruzer-titanium --book mine {QUICK}"));
    assert!(!book(&bay).exists());
    assert_eq!(runs(&bay, "log --book mine").len(), 1);
    let both = bay.run(&format!("bench sim:cruzer-titanium --book mine --no-book {QUICK}"));
    assert!(both.code == 2 && both.stderr.contains("cannot be used with '--no-book'"), "{}", both.stderr);
}

#[test]
fn a_lab_book_that_cannot_be_written_spoils_no_measurement() {
    let bay = Bay::new(1);
    std::fs::write(bay.path("letter"), "no directory, and no lab book either: of more than a hundred bytes, so that all of a head of SQLite's is there").unwrap();
    for place in ["letter", "letter/book", "none/book", "/dev/full", "d0"] {
        let ran = bay.run(&format!("--quiet bench sim:cruzer-titanium --book {place} {QUICK}"));
        assert_eq!(ran.code, 0, "{place}: {}", ran.stderr);
        ran.is_one_line(place, &["not kept in the lab book", place]);
    }
    let mut command = bay.command(format!("--quiet bench sim:cruzer-titanium {QUICK}").split_whitespace());
    let output = command.env("SHOAL_STATE_DIRECTORY", bay.path("letter")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.lines().count() == 1 && stderr.contains("not kept"), "{stderr}");
}

#[test]
fn a_run_that_was_killed_is_unfinished_and_one_that_could_not_begin_leaves_nothing() {
    let bay = Bay::new(0);
    let line = "bench sim:cruzer-titanium --real-time --seconds 600";
    let mut child = bay.command(line.split_whitespace()).spawn().unwrap();
    let has_target = |entry: &Value| entry["target_count"] == 1;
    while !(book(&bay).exists() && bay.run("log").code == 0 && runs(&bay, "log").iter().any(has_target)) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = &runs(&bay, "log")[0];
    assert_eq!((&killed["state"], &killed["targets"][0]), (&"unfinished".into(), &"sim:cruzer-titanium#0".into()));
    assert!(text(&bay, "show 1").contains("unfinished: it is under way, or was killed"));
    assert_eq!(bay.run(&format!("bench sim:cruzer-titanium --offset 1T {QUICK}")).code, 2);
    assert_eq!(runs(&bay, "log").len(), 1, "what was asked for makes no sense, and is no measurement");
}

#[test]
fn runs_go_to_another_lab_book_once() {
    let bay = Bay::new(0);
    bay.done(&format!("bench sim:cruzer-titanium {QUICK}"));
    bay.done("log --export runs.json");
    bay.done("log --export runs.csv");
    assert!(std::fs::read_to_string(bay.path("runs.csv")).unwrap().contains("read_bytes_per_s"));
    for (imported, known) in [(1, 0), (0, 1)] {
        let document = bay.json("log --book other --import runs.json");
        assert_eq!((&document["imported_count"], &document["known_count"]), (&imported.into(), &known.into()));
    }
    assert_eq!(bay.json("show 1 --book other")["targets"], bay.json("show 1")["targets"]);
    bay.refused("log --export runs.json", 1, &["runs.json", "there already"]);
    bay.refused("log --export runs", 2, &["FILE.json", "FILE.csv"]);
    bay.refused("log --import runs.csv", 2, &["runs.csv", "no export"]);
    bay.refused("log --import none", 1, &["none"]);
}

#[test]
fn what_the_file_says_moves_no_cursor() {
    let bay = Bay::new(0);
    let name = "d\u{1b}[2J\u{202e}";
    bay.add(name, 8 << 20);
    // Reads of what nobody wrote are invalid, and are not compared.
    let words = ["bench", name, "--write", "--force", "--bytes", "1M", "--warm-up", "0"];
    assert!(bay.command(words).status().unwrap().success());
    let plain = |words: &[&str]| {
        let output = bay.command(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("\\u{1b}"), "{words:?}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{words:?}: {text:?}");
    };
    plain(&["log"]);
    plain(&["show", "1"]);
    plain(&["compare", "1", "1"]);
    plain(&["trend", name]);
    bay.refused(&format!("log --book {name}"), 2, &["no lab book"]);
    let place = Path::new("/dev/null");
    bay.refused(&format!("log --book {}", place.display()), 2, &["no lab book"]);
}
