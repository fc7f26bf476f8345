//! What people are told who are new to it: what an array survives now, who runs it, what is
//! missing, what to type.

use std::fs;

use crate::running::server::Server;
use crate::support::{Bay, Ran, names};

fn text(ran: Ran) -> String {
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn an_array_says_what_it_survives_now() {
    for (options, drives, failed, now) in [
        ("--level 5", 3, "d1", "survives no loss now; when whole, of any one drive"),
        ("--level 6", 4, "d1", "survives the loss of any one drive now; when whole, of any 2 drives"),
        ("--level 1", 3, "d1", "survives the loss of any one drive now; when whole, of any 2 drives"),
        ("--level 51", 6, "d1", "survives the loss of any 2 drives now; when whole, of any 3 drives"),
        ("--level 50", 6, "d1", "is not sure to survive the loss of another drive now; when whole, of any one drive"),
    ] {
        let bay = Bay::new(drives);
        bay.done(&format!("create {options} {}", names(0..drives)));
        let whole = text(bay.done(&format!("status {}", names(0..drives))));
        let line = whole.lines().nth(2).unwrap();
        assert!(line.starts_with("  survives the loss of any ") && !line.contains("now"), "{options}: {line}");
        let lacking = text(bay.done(&format!("fail --member {failed} {}", names(0..drives))));
        assert_eq!(lacking.lines().nth(2).unwrap().trim(), now, "{options}");
    }
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    for drive in ["d1", "d2"] {
        fs::rename(bay.path(drive), bay.path(&format!("away-{drive}"))).unwrap();
    }
    assert!(text(bay.done("status d0 d1 d2")).contains("has lost more members than it survives"));
}

/// Those that nobody named are looked for where this host saw them last. Of those that it has never
/// seen nothing is said.
#[test]
fn an_array_is_shown_by_some_of_its_members() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2 d3");
    let one = bay.done("status d0");
    one.is_one_line("status", &["shown too: d1 d2 d3"]);
    assert!(text(one).contains("health optimal"), "this host knows where the others are");
    fs::rename(bay.path("d3"), bay.path("away")).unwrap();
    let some = bay.json("status d0");
    assert_eq!((&some["health"], &some["members"][3]["state"]), (&"degraded".into(), &"missing".into()), "{some}");
    assert!(some["members"][3]["last_seen"].as_str().is_some_and(|last| last.ends_with("d3")), "{some}");
    let elsewhere = bay.command("status d0 d1 d2".split(' ')).env("SHOAL_STATE_DIRECTORY", bay.path("none")).output();
    let elsewhere = text(Ran::of(elsewhere.unwrap()));
    assert!(elsewhere.contains("how it is cannot be told: name its other members too"), "{elsewhere}");
    // One that is named and cannot be opened is missing.
    let all = bay.done("status d0 d1 d2 d3");
    all.is_one_line("status", &["d3", "is shown without it"]);
    let all = text(all);
    assert!(all.contains("health degraded, 1 of 4 missing"), "{all}");
    assert!(all.contains("(was ") && all.contains("d3)"), "whoever has to replace it looks for it by that: {all}");
    bay.refused("status d3", 2, &["d3"]);
    // One that was taken out is no part of it any more, though its drive is there.
    fs::rename(bay.path("away"), bay.path("d3")).unwrap();
    bay.done("fail --member d1 d0 d1 d2 d3");
    let failed = bay.json("status d0 d2 d3");
    assert_eq!(failed["members"][1]["state"], "missing", "{failed}");
}

#[test]
fn the_consistency_policy_is_shown() {
    let bay = Bay::new(8);
    for (options, drives, shown) in [
        ("--level 5 --consistency-policy ppl", "d0 d1 d2", "consistency policy ppl"),
        ("--level 1 --bitmap internal", "d3 d4", "consistency policy bitmap"),
        ("--level 10", "d5 d6", "consistency policy resync"),
    ] {
        bay.done(&format!("create {options} {drives}"));
        assert!(text(bay.done(&format!("status {drives}"))).contains(shown), "{options}");
    }
    bay.done("create --level 0 --force d5 d6");
    assert!(!text(bay.done("status d5 d6")).contains("consistency"), "it has none");
}

#[test]
fn a_directory_with_one_array_names_it() {
    let bay = Bay::new(6);
    bay.refused("status --scan .", 2, &["no member of an array"]);
    bay.done("create --level 5 --name pond d0 d1 d2");
    assert_eq!(bay.json("status --scan .")["name"].as_str().map(|name| name.ends_with("pond")), Some(true));
    assert_eq!(bay.json("status --scan .")["health"], "optimal");
    bay.write("write --scan .", b"bytes");
    let server = Server::start(&bay, "d0 d1 d2");
    assert!(bay.json("status --scan .")["running"].is_object());
    bay.done("stop --scan .");
    assert_eq!(server.ended().code, 0);
    bay.done("create --level 1 d3 d4");
    let uuid = bay.json("status d3")["uuid"].as_str().unwrap().to_owned();
    bay.refused("status --scan .", 2, &["several arrays", "--uuid", &uuid]);
    assert_eq!(bay.json(&format!("status --scan . --uuid {uuid}"))["level"], "raid1");
    // An array of arrays is one.
    let bay = Bay::new(6);
    bay.done(&format!("create --level 51 {}", names(0..6)));
    assert_eq!(bay.json("status --scan .")["health"], "optimal");
    for line in ["run --scan .", "serve --scan ."] {
        bay.refused(line, 2, &["naming its members"]);
    }
}

#[test]
fn who_runs_an_array_is_named_to_who_would_run_it_too() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    let server = Server::start_as(&bay, "serve", "d0 d1 d2");
    let process = bay.json("status d0")["running"]["process_id"].to_string();
    for line in ["run d0 d1 d2", "serve d2 d1 d0"] {
        let words = ["pond is busy: process", &process, "`shoal serve d0 d1 d2`", "`shoal stop --uuid"];
        bay.refused_running(line, 4, &words);
    }
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

#[test]
fn advice_is_what_would_help() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    fs::remove_dir_all(bay.state()).unwrap();
    // More members are missing than any word would bring back.
    for line in ["write d0", "run d0", "rebuild d0"] {
        let ran = bay.refused(line, 3, &["lost more members", "give the others too", "recover"]);
        assert!(!ran.stderr.contains("--degraded"), "{}", ran.stderr);
    }
    bay.done("fail --member d1 d0 d1 d2");
    // Nothing is left to compare, and that is no agreement.
    bay.refused_running("scrub d0 d2", 1, &["is degraded", "nothing is left to compare", "shoal add"]);
    bay.add("small", 4 << 20);
    bay.refused_running(
        "add --drive small d0 d2",
        2,
        &["small is too small: it has 4 MiB, and ", "more: give a larger drive"],
    );
    let ran = bay.run("create --level 5 d3");
    ran.is_one_line("create", &["1 member is too few"]);
    let ran = bay.run("bench sim:cruzer-titanum");
    ran.is_one_line("bench", &["no drive is called `cruzer-titanum`", "near names are `cruzer-titanium`, `"]);
    // With three copies or two parities something is.
    let bay = Bay::new(4);
    bay.done("create --level 6 d0 d1 d2 d3");
    bay.done("fail --member d1 d0 d1 d2 d3");
    let scrubbed = text(bay.done("scrub d0 d2 d3"));
    assert!(scrubbed.contains("1 member is missing or being filled, and not compared"), "{scrubbed}");
}

#[test]
fn trust_says_whom_it_is_about() {
    let bay = Bay::new(2);
    let help = text(bay.done("trust --help"));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("never seen") && help.contains("left out") && help.contains("Nothing is written"), "{help}");
    bay.done("create --level 1 d0 d1");
    assert!(text(bay.done("trust d0")).contains("takes these drives as the array"));
}

/// A start writes, and who is absent misses that: what will be refused is refused before.
#[test]
fn a_member_that_cannot_be_missed_is_not_taken_out_and_nothing_is_written() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2 d3");
    bay.refused("fail --member d1 d0", 3, &["too few of its members were named", "add d2 and d3 to the list"]);
    fs::File::options().write(true).open(bay.path("d3")).unwrap().set_len(5 << 20).unwrap();
    bay.refused("fail --member d1 d0 --scan .", 3, &["d1 cannot be taken out", "no redundancy"]);
    let named = bay.run("run d0 d1 d3");
    assert!(named.code != 0 && named.stderr.contains("`shoal recover` shows what can be had"), "{}", named.stderr);
}
