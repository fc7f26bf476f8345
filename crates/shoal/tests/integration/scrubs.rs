//! What a scrub says and mends, by the whole program.

use serde_json::json;

use crate::running::server::Server;
use crate::support::{Bay, Ran, names, pattern};

fn text(ran: Ran) -> String {
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_scrub_names_who_is_wrong_where_that_can_be_told() {
    let content = pattern(4 << 20, 1);
    // Five blocks of a member rot.
    for (options, drives) in
        [("--level 6 --chunk 64K", 5), ("--level 1", 4), ("--level 1", 3), ("--level 10 --layout n3 --chunk 64K", 3)]
    {
        let bay = Bay::new(drives);
        let line = names(0..drives);
        bay.done(&format!("create {options} {line}"));
        bay.write(&format!("write {line}"), &content);
        (0..5).for_each(|chunk| bay.poke("d1", (2 << 20) + (chunk << 16), b"oops"));
        for command in ["scrub", "scrub --repair"] {
            let checked = bay.run(&format!("{command} {line}"));
            assert_eq!(checked.code, 1, "{options}: {}", checked.stderr);
            checked.is_one_line("scrub", &["20 KiB do not agree", "--repair --keep-data keeps the data"]);
            let told = text(checked);
            assert_eq!(told.matches("probably wrong").count(), 5, "{options}: {told}");
            assert_eq!(told.matches("member 1 (").count(), 5, "{options}: {told}");
        }
        let ran = bay.run(&format!("--json scrub {line}"));
        for found in ran.json()["mismatches"].as_array().unwrap() {
            assert_eq!((&found["blame"], &found["repaired"]), (&"likely".into(), &false.into()), "{options}: {found}");
        }
        if options.contains("6") && drives == 5 {
            // Data are never made to agree with parities: whoever takes the drive for the culprit
            // has it filled anew.
            bay.done(&format!("fail --member d1 {line}"));
            bay.done("add --force --drive d1 d0 d2 d3 d4");
        } else {
            bay.done(&format!("scrub --repair --keep-data {line}"));
        }
        assert!(bay.done(&format!("read --length 4M {line}")).stdout == content, "{options}");
        assert_eq!(bay.json(&format!("scrub {line}"))["mismatched_bytes"], 0);
    }
}

#[test]
fn a_repair_keeps_the_data_only_where_it_is_told_to() {
    for (options, drives) in [("--level 5 --chunk 64K", 3), ("--level 1", 2), ("--level 51", 6)] {
        let bay = Bay::new(drives);
        let line = names(0..drives);
        bay.done(&format!("create {options} {line}"));
        bay.refused(&format!("scrub --keep-data {line}"), 2, &["give --repair, too"]);
        bay.poke("d1", 4 << 20, b"oops");
        let before = bay.peek("d1", 4 << 20, 4096);
        let ran = bay.run(&format!("scrub --repair {line}"));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        ran.is_one_line("scrub", &["KiB do not agree", "--repair --keep-data keeps the data"]);
        assert!(bay.peek("d1", 4 << 20, 4096) == before, "{options}");
        bay.done(&format!("scrub --repair --keep-data {line}"));
        assert_eq!(bay.json(&format!("scrub {line}"))["mismatched_bytes"], 0, "{options}");
    }
    // Two wrong blocks of a stripe pass for no third.
    let bay = Bay::new(5);
    bay.done("create --level 6 --chunk 64K d0 d1 d2 d3 d4");
    bay.poke("d0", 2 << 20, b"oops");
    bay.poke("d1", (2 << 20) + 100, b"oops");
    let told = text(bay.run("scrub d0 d1 d2 d3 d4"));
    assert!(told.contains("either may be wrong") && !told.contains("probably"), "{told}");
    bay.done("scrub --repair --keep-data d0 d1 d2 d3 d4");
}

/// The array's owner is killed with a write under way.
fn crash(bay: &Bay, line: &str) {
    while bay.json(&format!("status {line}"))["needs_resync"] == false {
        let server = Server::start(bay, line);
        server.client().write(0, &pattern(4096, 3));
        server.kill();
    }
}

#[test]
fn a_scrub_of_an_array_that_is_not_in_sync_names_nobody_and_a_repair_says_what_comes_first() {
    let bay = Bay::new(3);
    bay.done("create --level 1 d0 d1 d2");
    bay.poke("d1", 4 << 20, b"oops");
    crash(&bay, "d0 d1 d2");
    let checked = bay.run("scrub d0 d1 d2");
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    checked.is_one_line("scrub", &["4 KiB do not agree", "not in sync"]);
    let told = text(checked);
    assert!(told.contains("not in sync") && !told.contains("wrong, as"), "{told}");
    let repaired = bay.done("scrub --repair d0 d1 d2");
    assert!(repaired.stderr.contains("not in sync: a resync comes first"), "{}", repaired.stderr);
    let told = text(repaired);
    assert!(told.contains("0 B disagree") && !told.contains("not in sync"), "{told}");
}

#[test]
fn members_of_arrays_inside_are_named_with_their_array() {
    let bay = Bay::new(6);
    let line = names(0..6);
    bay.done(&format!("create --name pond --level 50 --chunk 64K {line}"));
    bay.poke("d4", 2 << 20, b"oops");
    let told = text(bay.run(&format!("scrub {line}")));
    let named = told.lines().next().unwrap();
    let of_the_second = ["d3) of array", "d4) of array", "d5) of array"];
    assert!(named.contains("pond-1, 4096 bytes") && of_the_second.iter().any(|it| named.contains(it)), "{told}");
    let found = bay.run(&format!("--json scrub {line}")).json()["mismatches"][0]["range"].clone();
    assert!(found["array"].as_str().unwrap().ends_with("pond-1"), "{found}");
}

#[test]
fn a_scrub_says_what_it_has_found_so_far_and_ends_when_a_rebuild_begins() {
    let bay = Bay::with_sizes(&[64 << 20; 5]);
    bay.done("create --level 6 --spares 1 --chunk 64K --assume-clean d0 d1 d2 d3 d4");
    bay.poke("d1", 2 << 20, b"oops");
    let server = Server::start(&bay, "d0 d1 d2 d3 d4");
    bay.done("speed --min 1MB --max 4MB d0");
    let started = server.client().call(&json!({"id": 1, "command": "scrub", "arguments": {}}));
    assert_eq!(started["state"]["background"]["work"], "scrub", "{started}");
    let found = loop {
        let state = bay.json("status d0");
        assert_eq!(state["background"]["work"], "scrub", "{state}");
        if state["scrub"]["mismatches"].as_array().is_some_and(|found| !found.is_empty()) {
            break state["scrub"]["mismatched_bytes"].clone();
        }
    };
    assert_eq!(found, 4096);
    bay.done("fail --member d2 d0");
    let state = loop {
        let state = bay.json("status d0");
        if state["background"]["work"] != "scrub" {
            break state;
        }
    };
    assert_eq!((&state["background"]["work"], &state["scrub"]["complete"]), (&json!("rebuild"), &json!(false)));
}

#[test]
fn a_scrub_that_only_looks_does_not_wait_for_a_replacement() {
    for (options, drives) in [("--level 1", "d0 d1"), ("--level 5 --chunk 16K", "d0 d1 d2")] {
        let bay = Bay::new(4);
        bay.done(&format!("create {options} {drives}"));
        bay.write(&format!("write {drives}"), &pattern(1 << 20, 1));
        bay.done(&format!("replace --member d0 --drive d3 --no-rebuild {drives}"));
        assert_eq!(bay.json(&format!("scrub {drives} d3"))["mismatched_bytes"], 0, "{options}");
        bay.done(&format!("rebuild {drives} d3"));
    }
}
