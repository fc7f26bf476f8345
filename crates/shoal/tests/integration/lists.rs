//! All arrays of a machine, and how one is by its exit status.

use std::time::Instant;

use serde_json::Value;
use shoal_drive::{Access, Drive, IoLoop};
use shoal_volume::{BufferPlan, GrowOptions, Grown, RealWorld, grow};

use crate::running::server::{PATIENCE, Server};
use crate::support::{Bay, Ran, names};

fn rows(list: &Value) -> Vec<(String, String)> {
    // The host's name stands before a colon.
    let text = |array: &Value, key: &str| array[key].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    list["arrays"].as_array().unwrap().iter().map(|it| (text(it, "name"), text(it, "health"))).collect()
}

fn row(name: &str, health: &str) -> (String, String) {
    (name.to_owned(), health.to_owned())
}

#[test]
fn arrays_are_listed_whether_or_not_they_run() {
    let bay = Bay::new(11);
    let none = bay.done("list --scan .");
    assert!(String::from_utf8_lossy(&none.stdout).contains("none is in .: directories below"), "{none:?}");
    bay.done("create --level 5 --name pond d0 d1 d2");
    bay.done("create --level 1 --name brook d3 d4");
    bay.done("create --level 50 --name lake d5 d6 d7 d8 d9 d10");
    bay.done("fail --member d1 d0 d1 d2");
    let all = [row("brook", "optimal"), row("lake", "optimal"), row("pond", "degraded")];
    assert_eq!(rows(&bay.json("list --scan .")), all);
    // This host knows where they are.
    assert_eq!(rows(&bay.json("list")), all);
    let lines = |line: &str| String::from_utf8(bay.done(line).stdout).unwrap();
    let text = lines("list");
    let pond = text.lines().find(|line| line.contains("pond")).unwrap();
    assert!(["raid5", "degraded, 1 of 3 missing", "at rest"].iter().all(|word| pond.contains(word)), "{text}");

    let server = Server::start(&bay, &names(5..11));
    let running = bay.json("list --scan .");
    assert_eq!(rows(&running), all, "what is inside one is not listed by itself: {running}");
    let lake =
        running["arrays"].as_array().unwrap().iter().find(|it| it["name"].as_str().unwrap().ends_with("lake")).unwrap();
    assert!(lake["running"]["process_id"].is_u64(), "{lake}");
    assert!(lines("list").contains("runs, process "));
    drop(server);

    for drive in ["d3", "d4"] {
        std::fs::rename(bay.path(drive), bay.path(&format!("away-{drive}"))).unwrap();
    }
    let absent = bay.json("list");
    assert_eq!(rows(&absent), [row("lake", "optimal"), row("pond", "degraded")]);
    let drives = absent["absent"][0]["drives"].as_array().unwrap();
    assert!(drives.iter().any(|drive| drive.as_str().unwrap().ends_with("d3")), "{absent}");
    assert!(lines("list").contains("not here: array "));
    bay.refused("list --scan nowhere", 2, &["nowhere"]);
}

#[test]
fn an_array_is_found_by_its_name() {
    let bay = Bay::new(9);
    bay.done("create --level 5 --bitmap internal --name pond d0 d1 d2");
    bay.done("create --level 51 --name lake d3 d4 d5 d6 d7 d8");
    bay.write("write pond", b"by name");
    assert_eq!(bay.done("read --length 7 d0 d1 d2").stdout, b"by name");
    assert_eq!(bay.json("status lake")["level"], "raid1");
    // A member beside it changes nothing, and is what a command at rest is about.
    assert_eq!(bay.run("status --test pond d1").code, 0);
    bay.done("fail --member d1 pond");
    bay.done("re-add --drive d1 pond");
    // With the host's name before it, as `list` shows it, and among the files of a directory.
    let whole = bay.json("status pond")["name"].as_str().unwrap().to_owned();
    assert!(whole.ends_with(":pond"), "{whole}");
    bay.done(&format!("status {whole}"));
    bay.done("status pond --scan .");
    // One of another array is neither that one nor left out of account.
    let others = ["write pond d3", "read pond d3", "fail --member d3 pond", "remove --degraded --member d3 pond"];
    others.iter().for_each(|line| drop(bay.refused(line, 2, &["d3 is no member of array"])));
    assert_eq!(bay.json("status lake")["health"], "optimal");
    let server = Server::start(&bay, "pond");
    bay.refused_running("write pond d3", 2, &["d3 is no member of array"]);
    bay.done("fail --member d1 pond");
    assert_eq!(bay.json("status pond")["health"], "degraded");
    bay.done("stop pond");
    drop(server);
    bay.done("re-add --drive d1 pond");
    bay.done("bench pond --seconds 1 --no-book");
    assert_eq!(bay.json("recover pond")["arrays"].as_array().map(Vec::len), Some(1));
    bay.done("rename pond brook");
    bay.refused("status pond", 2, &["pond"]);
    // What is there as a file is one.
    std::fs::write(bay.path("brook"), b"no member").unwrap();
    bay.refused("status brook", 2, &["brook"]);
    std::fs::remove_file(bay.path("brook")).unwrap();
    bay.refused("status nobody", 2, &["nobody: not found", "`shoal list`"]);
    assert_eq!(bay.run("status --test nobody").code, 4);
    bay.done("rename lake brook");
    bay.refused("status brook", 2, &["several arrays are called brook", "--uuid"]);
}

#[test]
fn a_name_is_what_the_freshest_member_says_and_its_other_words_are_what_they_are() {
    let bay = Bay::new(9);
    bay.done("create --level 1 --name pond d0 d1 d2");
    bay.done("fail --member d0 pond");
    bay.done("rename pond brook");
    assert_eq!(bay.json("status brook")["health"], "degraded");
    bay.refused("status pond", 2, &["pond: not found"]);
    // The last word is the new name, though there is nothing else.
    bay.done("rename --scan . lake");
    assert!(bay.json("status lake")["name"].as_str().unwrap().ends_with(":lake"));
    // A member that cannot be read is told of, and the array shown without it.
    bay.poke("d2", 0, &[0; 64 << 10]);
    let status = bay.done("status lake d2");
    assert!(status.stderr.contains("d2: ") && status.stderr.contains("shown without it"), "{}", status.stderr);
    // One of a half that cannot be read may be the nest's.
    bay.done("create --level 51 --name sea d3 d4 d5 d6 d7 d8");
    ["d3", "d4"].iter().for_each(|drive| std::fs::rename(bay.path(drive), bay.path(&format!("{drive}-away"))).unwrap());
    bay.done("status sea d5");
    bay.refused("status sea d0", 2, &["d0 is no member of array"]);
}

/// Copies in a directory are what is asked for, and not what they were copied from.
#[test]
fn a_directory_is_listed_by_what_lies_there() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --name pond d0 d1");
    std::fs::create_dir(bay.path("copies")).unwrap();
    ["d0", "d1"].iter().for_each(|drive| {
        std::fs::copy(bay.path(drive), bay.path(&format!("copies/{drive}"))).unwrap();
    });
    let list = bay.json("list --scan copies");
    let members = list["arrays"][0]["members"].as_array().unwrap();
    assert!(members.iter().all(|it| it["drive"].as_str().unwrap().starts_with("copies/")), "{list}");
}

#[test]
fn an_array_that_a_process_out_of_reach_runs_is_not_at_rest() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --name pond d0 d1");
    let server = Server::start(&bay, "d0 d1");
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut command = bay.command(line.split(' '));
        Ran::of(command.env("SHOAL_RUNTIME_DIRECTORY", elsewhere.path()).output().unwrap())
    };
    let who = format!("in use by process {}, ", server.process_id());
    for line in ["list --scan .", "list", "status d0"] {
        let ran = run(line);
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.contains(&who) && !text.contains("at rest"), "{line}: {text} {}", ran.stderr);
    }
    assert_eq!(run("--json status d0").json()["held_by"], server.process_id());
    drop(server);
    // A process lets go of its files a moment after its end.
    let start = Instant::now();
    while bay.json("status d0 d1").as_object().unwrap().contains_key("held_by") {
        assert!(start.elapsed() < PATIENCE, "nobody has them");
    }
}

#[test]
fn status_says_by_its_exit_status_how_an_array_is() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let code = |line: &str| bay.run(line).code;
    assert_eq!(code("status --test d0 d1 d2"), 0);
    bay.done("fail --member d1 d0 d1 d2");
    let degraded = bay.run("status --test d0 d1 d2");
    assert_eq!((degraded.code, degraded.stderr.as_str()), (1, ""));
    assert!(String::from_utf8(degraded.stdout).unwrap().contains("health degraded"));
    assert_eq!(bay.run("--json status --test d0 d1 d2").json()["health"], "degraded", "one document");
    assert_eq!(code("status d0 d1 d2"), 0);
    std::fs::rename(bay.path("d2"), bay.path("away")).unwrap();
    assert_eq!(code("status --test --scan . d0"), 1, "it is found under its other name");
    std::fs::remove_file(bay.path("away")).unwrap();
    assert_eq!(code("status --test --scan . d0"), 2);
    let untold = bay.run("status --test nothing");
    assert!(untold.code == 4 && untold.stderr.contains("nothing"), "{}", untold.stderr);
}

/// The first window of a reshape is done, and no more.
fn grow_a_little(bay: &Bay) {
    let arena = BufferPlan::for_drives(4, 8, 256 << 10).arena().unwrap();
    let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 256).unwrap(), arena);
    let mut open = |number| world.add_drive(Drive::open(&bay.path(&format!("d{number}")), Access::Write).unwrap());
    let drives: Vec<_> = (0..4).map(|number| open(number).unwrap()).collect();
    let options = GrowOptions { raid_devices: Some(4), ..GrowOptions::default() };
    let grown = grow(&mut world, &drives[..3], &drives[3..], &options, &mut |done: u64, _: u64| done == 0);
    assert!(matches!(grown, Ok(Grown::Stopped { .. })), "{grown:?}");
}

/// Enough members are there: what is in the way is named, with what ends it.
#[test]
fn an_array_whose_growth_was_cut_short_is_unusable_and_has_not_failed() {
    let bay = Bay::new(4);
    bay.done("create --level 5 --chunk 64K --name pond d0 d1 d2");
    grow_a_little(&bay);
    let text = |line: &str| String::from_utf8(bay.done(line).stdout).unwrap();
    for (given, health) in [("d0 d1 d2 d3", "health unusable"), ("d0 d1 d3", "health unusable, 1 of 4 missing")] {
        if !given.contains("d2") {
            std::fs::rename(bay.path("d2"), bay.path("away")).unwrap();
        }
        let status = text(&format!("status {given}"));
        assert!(status.contains(health) && status.contains("`shoal grow --continue`"), "{status}");
        let recovered = text(&format!("recover {given}"));
        assert!(recovered.contains("pond is being reshaped") && !recovered.contains("elsewhere"), "{recovered}");
    }
    std::fs::rename(bay.path("away"), bay.path("d2")).unwrap();
    let list = text("list --scan .");
    assert!(list.contains("unusable") && list.contains("`shoal grow --continue`"), "{list}");
    bay.done("grow --continue d0 d1 d2 d3");
    assert_eq!(bay.json("status d0 d1 d2 d3")["health"], "optimal");
}
