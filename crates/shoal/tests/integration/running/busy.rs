//! Members that somebody else has for a moment.

use std::fs::File;
use std::io::{BufRead, BufReader};

use rustix::fs::{FlockOperation, flock};

use crate::support::{Bay, Ran};

/// What keeps a file from others until it is dropped, as another writer does.
fn taken(bay: &Bay, name: &str) -> File {
    let file = File::options().read(true).write(true).open(bay.path(name)).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

#[test]
fn busy_has_a_status_of_its_own() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let taken = taken(&bay, "d1");
    for line in ["run d0 d1 d2", "run --wait 0 d0 d1 d2", "serve d0 d1 d2", "write d0 d1 d2"] {
        bay.refused(line, 4, &["d1", "busy"]);
    }
    let ran = bay.run("--json run d0 d1 d2");
    assert_eq!(
        (ran.json()["error"]["kind"].as_str(), ran.json()["error"]["exit_status"].as_u64()),
        (Some("busy"), Some(4))
    );
    drop(taken);
}

#[test]
fn a_member_that_is_busy_at_the_start_is_waited_for() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    for command in ["run", "serve"] {
        let taken = taken(&bay, "d1");
        let line = format!("{command} --wait 600 d0 d1 d2");
        let mut child = bay.command(line.split(' ')).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let first = said.next().unwrap();
        assert!(first.contains("waiting") && first.contains("d1") && first.contains("busy"), "{first}");
        drop(taken);
        let second = said.next().unwrap();
        assert!(second.contains("administered at"), "{second}");
        bay.done("stop d0");
        assert_eq!(Ran::of(child.wait_with_output().unwrap()).code, 0);
    }
}
