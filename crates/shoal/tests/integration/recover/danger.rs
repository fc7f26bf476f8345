//! Members that are not what `recover` could rely on: with holes, written to meanwhile, run by
//! somebody.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::raid5;
use crate::running::server::Server;

/// Zeros in a hole would be taken for content, by an array that runs.
#[test]
fn what_has_holes_is_not_made_an_array_that_runs() {
    let (bay, _) = raid5();
    bay.done("fail --member d1 d0 d1 d2");
    let size = fs::metadata(bay.path("d0")).unwrap().len();
    let start = 3 << 20;
    let map = format!(
        "# Mapfile. Created by GNU ddrescue\n0x0 + 1\n0x0 {start:#x} +\n{start:#x} 0x10000 -\n{:#x} {:#x} +\n",
        start + 0x10000,
        size - start - 0x10000
    );
    fs::write(bay.path("d0.map"), map).unwrap();
    let text = String::from_utf8(bay.done("recover d0 d1").stdout).unwrap();
    assert!(text.contains("1 of 3 incomplete") && text.contains("members that have holes"), "{text}");
    assert!(!text.contains("--apply"), "{text}");
    for line in ["recover d0 d1 --apply", "recover d0 d2 --apply", "recover d0 d1 --apply --save rescued"] {
        bay.refused(line, 3, &["d0", "65536 bytes", "copy the rest", "--save", "mapfile away"]);
    }
    fs::remove_file(bay.path("d0.map")).unwrap();
    bay.done("recover d0 d1 --apply");
}

/// Whoever writes to a member while it is copied makes a copy of several times: that is told, and
/// no success.
#[test]
fn a_member_that_is_written_to_while_it_is_copied_is_named() {
    let (bay, _) = raid5();
    let is_over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::options().write(true).open(bay.path("d1")).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                file.set_modified(SystemTime::now()).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let ran = bay.run("--json recover d0 d1 d2 --save rescued");
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    ran.is_one_line("recover --save", &["d1 changed while it was copied", "rescued", "several times", "save anew"]);
    let saved = &ran.json()["arrays"][0]["saved"];
    assert_eq!(saved["changed"].as_array().unwrap().len(), 1, "{saved}");
    assert_eq!(saved["changed"][0], "d1");
    fs::remove_file(bay.path("rescued")).unwrap();
    let saved = bay.json("recover d0 d1 d2 --save rescued");
    assert_eq!(saved["arrays"][0]["saved"]["changed"].as_array().unwrap().len(), 0);
}

/// Members that an array runs on are busy by name.
#[test]
fn who_runs_the_array_is_told() {
    let (bay, _) = raid5();
    let server = Server::start(&bay, "d0 d1 d2");
    let process = format!("process {}", server.process_id());
    for line in ["recover d0 d1 d2", "recover d0 d1 d2 --apply"] {
        bay.refused_running(line, 4, &["array", "pond", &process, "shoal run", "shoal stop --uuid"]);
    }
}
