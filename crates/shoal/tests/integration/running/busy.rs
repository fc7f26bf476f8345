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
fn members_that_run_are_not_looked_at_for_recovery() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let _server = Server::start(&bay, "d0 d1");
    bay.refused_running("recover d0 d1", 4, &["busy"]);
}

#[test]
fn without_whom_an_array_is_started_is_not_told_of_one_that_is_not_started() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    std::fs::rename(bay.path("d1"), bay.path("elsewhere")).unwrap();
    let taken = taken(&bay, "d0");
    for line in ["run --degraded d0", "serve --degraded d0", "write --degraded d0"] {
        bay.refused(line, 4, &["d0", "busy"]);
    }
    drop(taken);
    let ran = bay.run_with("write --degraded d0", b"written");
    assert!(ran.code == 0 && ran.stderr.contains("is started without"), "{}", ran.stderr);
}

/// What others could run meanwhile is the array of arrays, with members of other groups.
#[test]
fn all_arrays_of_a_nest_are_held_by_who_changes_one() {
    let bay = Bay::new(7);
    bay.done("create --level 50 --assume-clean d0 d1 d2 d3 d4 d5");
    let uuid = bay.json("status d0 d1 d2 d3 d4 d5")["uuid"].as_str().unwrap().to_owned();
    let lock = bay.state().join(format!("array-{uuid}.lock"));
    let lock = File::options().create(true).truncate(false).read(true).write(true).open(lock).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    for line in ["grow --raid-devices 4 --drive d6 d0 d1 d2", "run --engine kernel d0 d1 d2 d3 d4 d5"] {
        bay.refused(line, 4, &["busy", &uuid]);
    }
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
        "grow --raid-devices 3 --drive d2 --degraded d1",
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
    for line in ["status d0", "stop d0", "read --length 4096 d0", "fail --member d1 d0", "run d0 d1", "serve d0 d1"] {
        bay.refused_running(line, 4, &["is stopped", &process]);
    }
    server.signal("-CONT");
    bay.done("stop d0");
    assert_eq!(server.ended().code, 0);
}

/// Stops a process at each system call, for a moment or for good.
const TRACER: &str = "
import ctypes, os, sys, time
pid, holds = int(sys.argv[1]), sys.argv[2] == 'holds'
libc = ctypes.CDLL(None, use_errno=True)
ATTACH, SYSCALL = 16, 24
if libc.ptrace(ATTACH, pid, 0, 0):
    sys.exit('no ptrace')
os.waitpid(pid, 0)
print('traced', flush=True)
while not holds:
    libc.ptrace(SYSCALL, pid, 0, 0)
    os.waitpid(pid, 0)
    time.sleep(0.05)
time.sleep(600)
";

#[test]
fn needs_root_a_process_that_is_traced_and_works_is_not_taken_for_stopped() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let server = Server::start(&bay, "d0 d1");
    for how in ["goes on", "holds"] {
        let mut command = Command::new("python3");
        command.args(["-c", TRACER, &server.process_id().to_string(), how]).stdout(std::process::Stdio::piped());
        let mut tracer = command.spawn().unwrap();
        let said = BufReader::new(tracer.stdout.take().unwrap()).lines().next();
        assert_eq!(said.unwrap().unwrap(), "traced");
        if how == "holds" {
            let held = format!("held by process {}", tracer.id());
            bay.refused_running("status d0", 4, &[&held]);
        } else {
            bay.done("status d0");
        }
        tracer.kill().unwrap();
        tracer.wait().unwrap();
    }
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
