//! Where running arrays are administered: a place is its array's own, and what is left of one that
//! was killed goes.

use std::path::PathBuf;
use std::time::Instant;

use crate::running::server::{PATIENCE, Server, sockets};
use crate::support::Bay;

/// Two arrays of two drives each, and their UUIDs.
fn arrays() -> (Bay, [String; 2]) {
    let bay = Bay::new(4);
    let uuids = ["d0 d1", "d2 d3"].map(|drives| {
        let created = bay.json(&format!("create --level 1 --assume-clean {drives}"));
        created["uuid"].as_str().unwrap().to_owned()
    });
    (bay, uuids)
}

fn socket(bay: &Bay, uuid: &str) -> PathBuf {
    bay.runtime().join(format!("{uuid}.sock"))
}

#[test]
fn an_array_is_not_run_at_another_one_s_place() {
    let (bay, [first, second]) = arrays();
    let [place, own] = [&first, &second].map(|uuid| socket(&bay, uuid));
    // The directory is there once an array has run.
    Server::start(&bay, "d0 d1").kill();
    for command in ["run", "serve"] {
        let line = format!("{command} --wait 0 --socket {} d2 d3", place.display());
        bay.refused_running(&line, 2, &[&first, "another array", "--socket"]);
    }
    for kind in ["sock", "nbd"] {
        let line = format!("serve --wait 0 --nbd unix:{} d2 d3", place.with_extension(kind).display());
        bay.refused_running(&line, 2, &[&first, "another array", "--nbd"]);
    }
    let server = Server::start(&bay, &format!("--socket {} d2 d3", own.display()));
    bay.done("stop d2");
    assert_eq!(server.ended().code, 0);
}

/// Whoever names drives beside a place means the array of both.
#[test]
fn a_place_that_is_named_beside_drives_is_that_of_their_array() {
    let (bay, [first, second]) = arrays();
    let place = bay.runtime().with_file_name("elsewhere.sock");
    let server = Server::start(&bay, &format!("--socket {} d0 d1", place.display()));
    for command in ["status", "fail --member d3", "stop"] {
        let line = format!("{command} --socket {} d2 d3", place.display());
        bay.refused_running(&line, 2, &[&first, "runs there", &second, "name that one's place with --socket"]);
    }
    for drives in ["d0", "d0 d1", ""] {
        assert_eq!(bay.json(&format!("status --socket {} {drives}", place.display()))["uuid"], first);
    }
    bay.refused_running(&format!("status --socket {} d0 d2", place.display()), 2, &[&first, &second]);
    bay.done(&format!("stop --socket {} d0", place.display()));
    assert_eq!(server.ended().code, 0);
}

#[test]
fn sockets_of_who_was_killed_are_removed_by_who_starts_next() {
    let (bay, [first, second]) = arrays();
    Server::start_as(&bay, "serve", "d0 d1").kill();
    assert_eq!(sockets(&bay.runtime()).len(), 2);
    let server = Server::start_as(&bay, "serve", "d2 d3");
    let begun = Instant::now();
    while sockets(&bay.runtime()).iter().any(|path| path.to_str().unwrap().contains(&first)) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", sockets(&bay.runtime()));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(socket(&bay, &second).exists());
    bay.done("stop d2");
    assert_eq!(server.ended().code, 0);
}
