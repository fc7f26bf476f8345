//! `shoal rename`: all members have the new name, and nobody who knows the array by its UUID
//! notices.

use serde_json::Value;

use crate::running::server::Server;
use crate::support::{Bay, has, names, pattern};

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

fn names_on(bay: &Bay, drives: &str) -> Vec<String> {
    let examined = bay.json(&format!("examine {drives}"));
    let name = |drive: &Value| drive["superblock"]["name"].as_str().unwrap().to_owned();
    examined["drives"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn every_member_says_the_new_name() {
    for (level, drives, spares) in [("5", 4, 1), ("0", 2, 0), ("1", 2, 0), ("10", 4, 0), ("51", 6, 0)] {
        let bay = Bay::new(drives);
        let all = names(0..drives);
        bay.done(&format!("create --level {level} --spares {spares} --name pond {all}"));
        let content = pattern(1_000_000, 1);
        bay.write(&format!("write {all}"), &content);
        let before = bay.json(&format!("status {all}"));
        let renamed = bay.json(&format!("rename --no-homehost {all} lake"));
        assert_eq!((&renamed["name"], &renamed["uuid"]), (&"lake".into(), &before["uuid"]), "level {level}");
        assert_eq!(bay.json(&format!("status {all}"))["name"], "lake", "level {level}");
        if level != "51" {
            assert_eq!(names_on(&bay, &all), vec!["lake"; drives], "level {level}");
        }
        assert!(bay.done(&format!("read {all} --length 1000000")).stdout == content, "level {level}");
    }
}

#[test]
fn the_name_of_the_host_comes_first_as_mdadm_has_it() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    let host = bay.json("status d0 d1 d2")["name"].as_str().unwrap().strip_suffix("pond").unwrap().to_owned();
    bay.done("rename d0 --scan . lake");
    assert_eq!(names_on(&bay, "d0 d1 d2"), vec![format!("{host}lake"); 3]);
    bay.done("rename d0 d1 d2 other:lake");
    assert_eq!(names_on(&bay, "d0 d1 d2"), vec!["other:lake"; 3]);
    if !has("mdadm") {
        eprintln!("SKIPPED: mdadm reads the new name: needs mdadm");
        return;
    }
    let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let examine = std::process::Command::new("mdadm").arg("--examine").arg(bay.path("d1")).env("PATH", search).output();
    let said = String::from_utf8(examine.unwrap().stdout).unwrap();
    assert!(said.contains("Name : other:lake") && said.contains("- correct"), "{said}");
}

/// Whoever forgets the name, or has the shell name all drives, does not name the array after a
/// drive.
#[test]
fn a_drive_is_no_name() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    for name in ["d2", "/dev/sdx", "a/b"] {
        bay.refused(&format!("rename d0 d1 {name}"), USAGE, &[name, "the last word is"]);
    }
}

#[test]
fn who_fails_after_that_is_named_by_its_drive_though_a_spare_has_its_place() {
    let bay = Bay::new(4);
    bay.done("create --level 5 --assume-clean --name pond d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    bay.done("add --drive d3 d0");
    bay.done("rename --no-homehost d0 lake");
    bay.done("fail --member d1 d0");
    let news = bay.json("status d0")["running"]["news"].to_string();
    assert!(news.contains("/d1) failed") && !news.contains("/d3) failed"), "{news}");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

#[test]
fn an_array_that_runs_is_renamed_by_its_process() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    assert_eq!(bay.json("rename --no-homehost d0 lake")["name"], "lake");
    assert_eq!(bay.json("status d0")["name"], "lake");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
    assert_eq!(names_on(&bay, "d0 d1 d2"), vec!["lake"; 3]);
}

#[test]
fn what_is_no_name_or_no_array_is_refused() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.refused("rename d0", USAGE, &["give the array's members, and then its new name"]);
    bay.refused("rename d3 lake", USAGE, &["d3"]);
    bay.refused("rename d0 d1 lake", REFUSED, &["--degraded"]);
    let long = "a".repeat(32);
    let ran = bay.run(&format!("rename d0 d1 d2 {long}"));
    assert_eq!(ran.code, USAGE, "{}", ran.stderr);
    ran.is_one_line("rename", &[&long, "at most 31 bytes"]);
}
