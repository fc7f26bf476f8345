//! Members that somebody else has for a moment.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use crate::running::server::Server;
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

#[test]
fn two_processes_of_one_host_do_not_run_halves_of_one_mirror() {
    let bay = Bay::new(3);
    bay.done("create --level 1 --assume-clean d0 d1");
    let place = |name: &str| bay.runtime().with_file_name(name).display().to_string();
    let server = Server::start(&bay, &format!("--degraded --socket {} d0", place("first")));
    let before = std::fs::read(bay.path("d1")).unwrap();
    let second = place("second");
    for line in [
        &format!("run --degraded --socket {second} d1"),
        &format!("serve --degraded --socket {second} d1"),
        &format!("serve --degraded --read-only --socket {second} d1"),
        "write --degraded d1",
        "grow --raid-devices 3 --add d2 --degraded d1",
        "recover --apply d1",
    ] {
        bay.refused_running(line, 4, &["busy", &format!("process {}", server.process_id()), "shoal stop"]);
    }
    bay.done("status d1");
    assert!(std::fs::read(bay.path("d1")).unwrap() == before, "the other half was written to");
    server.kill();
    bay.write("write d0 d1", b"whoever was killed keeps nobody out");
}

#[test]
fn a_process_that_is_stopped_is_named_and_not_waited_for() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let server = Server::start(&bay, "d0 d1");
    server.signal("-STOP");
    let process = format!("kill -CONT {}", server.process_id());
    for line in ["status d0", "stop d0", "read --length 4096 d0", "fail --member d1 d0"] {
        bay.refused_running(line, 4, &["is stopped", &process]);
    }
    server.signal("-CONT");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

#[test]
fn needs_root_whoever_listens_in_a_directory_of_others_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let bay = Bay::new(1);
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let socket = open.path().join("array.sock");
    let listens = format!(
        "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind('{}'); s.listen(); time.sleep(600)",
        socket.display()
    );
    let mut stranger = Command::new("python3").args(["-c", &listens]).uid(65534).spawn().unwrap();
    while !socket.exists() {
        assert!(stranger.try_wait().unwrap().is_none(), "nobody listens");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    bay.refused(&format!("status --socket {}", socket.display()), 3, &["another user"]);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}
