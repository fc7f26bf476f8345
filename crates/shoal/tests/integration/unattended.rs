//! Arrays that nobody watches: found by UUID and waited for, run as services, under a watchdog, and
//! told of.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support;
use crate::support::Bay;
use rustix::fs::OFlags;
use serde_json::Value;

/// What takes longer hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// A running array that is killed at the end, if it has not been stopped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pond(bay: &Bay) -> String {
    let state = bay.json("create --name pond --level 1 --assume-clean --bitmap internal d0 d1");
    state["uuid"].as_str().unwrap().to_owned()
}

fn run(bay: &Bay, line: &str, change: impl FnOnce(&mut Command)) -> Running {
    let mut command = bay.command(line.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::inherit());
    change(&mut command);
    Running(command.spawn().unwrap())
}

fn until_it_runs(bay: &Bay, uuid: &str) -> Value {
    until_it_runs_at(bay, uuid, ".")
}

fn until_it_runs_at(bay: &Bay, uuid: &str, directory: &str) -> Value {
    let start = Instant::now();
    loop {
        let ran = bay.run(&format!("--json status --scan {directory} --uuid {uuid}"));
        if ran.code == 0 && ran.json()["running"].is_object() {
            return ran.json();
        }
        assert!(start.elapsed() < PATIENCE, "it does not run: {}", ran.stderr);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_array_is_found_by_its_uuid() {
    let bay = Bay::new(4);
    let uuid = pond(&bay);
    bay.done("create --name other --level 1 --assume-clean d2 d3");
    let state = bay.json(&format!("status --uuid {uuid} --scan ."));
    assert!(state["name"].as_str().unwrap().ends_with("pond") && state["health"] == "optimal", "{state}");
    let as_blkid = bay.json(&format!("status --uuid {} --scan .", uuid.replace(':', "")));
    assert_eq!(as_blkid["uuid"], state["uuid"]);
    bay.refused("status --uuid 01020304:05060708:090a0b0c:0d0e0f10 --scan .", 2, &["no drive", "01020304"]);
    assert!(bay.run("status --uuid pond").stderr.contains("32 hex digits"));
}

#[test]
fn an_array_of_arrays_is_found_by_its_uuid() {
    let bay = Bay::new(6);
    let state = bay.json("create --name lake --level 50 --assume-clean d0 d1 d2 d3 d4 d5");
    let found = bay.json(&format!("status --uuid {} --scan .", state["uuid"].as_str().unwrap()));
    assert_eq!((&found["uuid"], &found["health"]), (&state["uuid"], &"optimal".into()), "{found}");
}

#[test]
fn a_member_that_comes_late_is_waited_for() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    std::fs::rename(bay.path("d1"), bay.path("elsewhere")).unwrap();
    std::fs::create_dir(bay.path("bus")).unwrap();
    std::fs::rename(bay.path("d0"), bay.path("bus/d0")).unwrap();
    let _running = run(&bay, &format!("run --uuid {uuid} --scan bus --wait 600"), |_| {});
    std::thread::sleep(Duration::from_millis(700));
    assert!(!bay.runtime().join(format!("{uuid}.sock")).exists(), "it waits");
    std::fs::rename(bay.path("elsewhere"), bay.path("bus/d1")).unwrap();
    assert_eq!(until_it_runs(&bay, &uuid)["health"], "optimal");
    bay.done(&format!("stop --uuid {uuid}"));
}

#[test]
fn a_member_that_does_not_come_is_done_without_but_only_once() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    std::fs::rename(bay.path("d1"), bay.path("..").join(format!("away-{}", std::process::id()))).unwrap();
    let start = Instant::now();
    let running = run(&bay, &format!("run --uuid {uuid} --scan . --wait 1"), |_| {});
    assert_eq!(until_it_runs(&bay, &uuid)["health"], "degraded");
    assert!(start.elapsed() > Duration::from_secs(1));
    bay.write(&format!("write --uuid {uuid}"), b"written without it");
    bay.done(&format!("stop --uuid {uuid}"));
    drop(running);
    // That the member is gone is known now: nobody waits for it again.
    let start = Instant::now();
    let _running = run(&bay, &format!("run --uuid {uuid} --scan . --wait 600"), |_| {});
    until_it_runs(&bay, &uuid);
    assert!(start.elapsed() < PATIENCE);
    bay.done(&format!("stop --uuid {uuid}"));
    std::fs::remove_file(bay.path("..").join(format!("away-{}", std::process::id()))).unwrap();
}

/// The test's own service manager.
fn manager(bay: &Bay) -> (UnixDatagram, std::path::PathBuf) {
    std::fs::create_dir_all(bay.runtime().parent().unwrap()).unwrap();
    let path = bay.runtime().with_extension("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    (socket, path)
}

fn heard(socket: &UnixDatagram, patience: Duration) -> Option<String> {
    let mut bytes = [0; 4096];
    socket.set_read_timeout(Some(patience)).unwrap();
    socket.recv(&mut bytes).ok().map(|length| String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The loop that owns the array is made to hang, and nothing else of the process: it prints its
/// news on a pipe that nobody empties. Clients' threads live on, and yet the manager hears no more.
#[test]
fn a_loop_that_hangs_beats_no_more_and_the_process_alone_is_no_excuse() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    let (socket, path) = manager(&bay);
    let (mut errors, errors_in) = std::io::pipe().unwrap();
    let mut filler = errors_in.try_clone().unwrap();
    let start = Instant::now();
    let running = run(&bay, "run d0 d1", |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "600000").env_remove("WATCHDOG_PID").stderr(errors_in);
    });
    let ready = heard(&socket, PATIENCE).unwrap();
    assert!(ready.contains("READY=1") && ready.contains("pond: raid1, optimal"), "{ready}");
    for _ in 0..15 {
        assert_eq!(heard(&socket, PATIENCE).unwrap().trim_end(), "WATCHDOG=1");
    }
    assert!(start.elapsed() > Duration::from_millis(2500), "a beat is one third of the time: {:?}", start.elapsed());
    until_it_runs(&bay, &uuid);
    fill(&mut filler);
    // The loop takes the member out, and prints what has happened.
    let _failing = run(&bay, "fail --member d1 d0", |_| {});
    let start = Instant::now();
    while heard(&socket, Duration::from_millis(1500)).is_some() {
        assert!(start.elapsed() < PATIENCE, "twice the manager's patience has to pass without a beat");
    }
    other_threads_are_well(&bay.runtime().join(format!("{uuid}.sock")));
    // And the loop was well too, but for the pipe.
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 65536];
        while errors.read(&mut bytes).is_ok_and(|length| length > 0) {}
    });
    drop(filler);
    assert!(heard(&socket, PATIENCE).is_some(), "it goes on");
    bay.done("stop d0");
    while !heard(&socket, PATIENCE).expect("it says that it stops").contains("STOPPING=1") {}
    drop(running);
    reader.join().unwrap();
}

/// Fills a pipe while nobody who writes to it can notice; it is as it was before for whoever writes
/// next.
fn fill(pipe: &mut std::io::PipeWriter) {
    let flags = rustix::fs::fcntl_getfl(pipe.as_fd()).unwrap();
    rustix::fs::fcntl_setfl(pipe.as_fd(), flags | OFlags::NONBLOCK).unwrap();
    while pipe.write(b".").is_ok() {}
    rustix::fs::fcntl_setfl(pipe.as_fd(), flags).unwrap();
}

/// A client is let in, and its request is taken.
fn other_threads_are_well(socket: &Path) {
    let administered = std::os::unix::net::UnixStream::connect(socket).unwrap();
    (&administered).write_all(b"this is no request\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&administered).read_line(&mut answer).unwrap();
    assert!(answer.contains("this is no request"), "{answer}");
}

/// A server that takes everything.
fn webhook() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 204 -\r\nconnection: close\r\n\r\n");
            if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (address, posted)
}

/// What the next message tells, which is as the schema says.
fn told(posted: &Receiver<Value>) -> Vec<String> {
    let message = posted.recv_timeout(PATIENCE).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/alert.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&message).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {message}");
    let alerts = message["alerts"].as_array().unwrap();
    alerts.iter().map(|alert| alert["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn people_are_told_when_health_changes_while_it_runs_and_after_a_crash() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    let (url, posted) = webhook();
    let file = bay.path("alerts.toml");
    std::fs::write(&file, format!("[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let state = bay.path("state");
    let start = || {
        let running = run(&bay, &format!("run --alerts alerts.toml --uuid {uuid} --scan ."), |command| {
            command.env("SHOAL_STATE_DIRECTORY", &state);
        });
        until_it_runs(&bay, &uuid);
        running
    };
    let running = start();
    bay.done("fail --member d1 d0");
    assert_eq!(told(&posted), ["array-degraded", "member-failed"]);
    // A crash before that is written down would have it told twice.
    let kept = state.join(format!("alerts-{uuid}.json"));
    while !std::fs::read_to_string(&kept).unwrap().contains(r#""waiting":[]"#) {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(running);
    let _running = start();
    bay.done("re-add --drive d1 d0");
    let mut kinds = told(&posted);
    if kinds.len() == 1 {
        kinds.extend(told(&posted));
    }
    assert!(kinds.contains(&"array-recovered".to_owned()), "{kinds:?}");
    bay.done(&format!("stop --uuid {uuid}"));
    assert!(posted.try_recv().is_err(), "what was told before is not told again");
}

#[test]
fn people_are_told_when_an_array_does_not_start_and_when_it_does_after_all() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    let (url, posted) = webhook();
    let file = bay.path("alerts.toml");
    std::fs::write(&file, format!("[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(bay.path("drawer")).unwrap();
    let state = bay.path("state");
    let line = format!("serve --alerts alerts.toml --uuid {uuid} --scan drawer");
    let start = || {
        let mut command = bay.command(line.split_whitespace());
        command.env("SHOAL_STATE_DIRECTORY", &state).output().unwrap()
    };
    let failed = start();
    assert!(!failed.status.success());
    assert_eq!(told(&posted), ["array-not-started"]);
    // The service manager tries again and again, and people know.
    assert!(!start().status.success());
    for name in ["d0", "d1"] {
        std::fs::rename(bay.path(name), bay.path("drawer").join(name)).unwrap();
    }
    let _running = run(&bay, &line, |command| {
        command.env("SHOAL_STATE_DIRECTORY", &state);
    });
    assert_eq!(told(&posted), ["array-started"], "nothing was said of the second time");
    until_it_runs_at(&bay, &uuid, "drawer");
    bay.done(&format!("stop --uuid {uuid}"));
    // What the manager starts when it has given up; once is enough.
    for _ in 0..2 {
        let mut command = bay.command(["alert", "--gone", &uuid, "alerts.toml"]);
        assert!(command.env("SHOAL_STATE_DIRECTORY", &state).output().unwrap().status.success());
    }
    assert_eq!(told(&posted), ["array-not-started"]);
    assert!(posted.try_recv().is_err(), "it is told twice");
}

#[test]
fn a_service_is_shown_written_and_taken_away_again() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    let name = format!("{}-{}-{}", &uuid[..8], &uuid[9..13], &uuid[13..17]);
    let shown = bay.json("service install --dry-run --root machine --mount /srv/pond d0 d1");
    assert_eq!(shown["files"].as_array().unwrap().len(), 10, "{shown}");
    assert!(!bay.path("machine").exists());
    let written = bay.json("service install --root machine --mount /srv/pond d0 d1");
    assert_eq!(written, shown, "what is shown is what is written");
    for file in written["files"].as_array().unwrap() {
        let path = bay.path("machine").join(file["path"].as_str().unwrap().trim_start_matches('/'));
        let is_for_all = path.ends_with("shoal-hot-plug@.service") || path.ends_with("initramfs-tools/hooks/shoal");
        assert!(path.display().to_string().contains(&name) || is_for_all, "{path:?}");
        if let Some(text) = file["text"].as_str() {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
        }
    }
    let again = bay.json("service install --root machine --wait 5 d0 d1");
    let standings: Vec<_> =
        again["files"].as_array().unwrap().iter().map(|file| file["standing"].as_str().unwrap()).collect();
    assert_eq!(standings, ["same", "same", "changed", "same", "changed", "same"]);
    let there = bay.json(&format!("service show --root machine --uuid {uuid}"));
    assert_eq!(there["files"].as_array().unwrap().len(), 10, "{there}");
    bay.done(&format!("service remove --root machine --uuid {uuid}"));
    bay.refused(&format!("service show --root machine --uuid {uuid}"), 2, &["is no service here"]);
}

#[test]
fn a_drive_that_comes_back_is_handed_to_its_array() {
    let bay = Bay::new(2);
    let uuid = pond(&bay);
    bay.refused("hot-plug d1", 2, &["is not run by shoal", "shoal service install"]);
    let _running = run(&bay, "run d0 d1", |_| {});
    until_it_runs(&bay, &uuid);
    assert_eq!(bay.json("hot-plug d1")["health"], "optimal", "it is there already");
    bay.done("fail --member d1 d0");
    bay.write("write d0", b"written without it");
    bay.done("hot-plug d1");
    // It is filled without anybody's waiting for it.
    let state = bay.json("rebuild d0");
    assert_eq!(state["health"], "optimal", "{state}");
    let scrub = bay.json("scrub d0");
    assert_eq!(scrub["mismatched_bytes"], 0, "{scrub}");
    bay.done("stop d0");
}

/// udev's own judgement: with the rule of a service in its directories, a drive that carries a
/// member wants the unit that hands it over. In a mount namespace of its own, so that the machine's
/// udev never sees the rule.
#[test]
fn needs_root_udev_hands_a_member_to_its_array() {
    let bay = Bay::new(2);
    pond(&bay);
    if !(rustix::process::geteuid().is_root() && support::has("udevadm") && support::has("losetup")) {
        return eprintln!("SKIPPED: udev's judgement on the rules of services: needs root, udevadm and losetup");
    }
    let attached = Command::new("losetup").args(["-f", "--show"]).arg(bay.path("d0")).output().unwrap();
    let device = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
    if !attached.status.success() || device.is_empty() {
        return eprintln!("SKIPPED: udev's judgement on the rules of services: needs a loop device");
    }
    let _guard = Loop(device.clone());
    bay.done("service install --root machine d0 d1");
    let script = "mkdir -p /run/udev && mount -t tmpfs none /run/udev && cp -r etc/udev/rules.d /run/udev/
        [ -e /dev/disk ] && kept=yes
        udevadm test --action=add /sys/class/block/$1 2>&1
        [ -n \"${kept-}\" ] || rm -rf /dev/disk";
    let tested = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh", Path::new(&device).file_name().unwrap().to_str().unwrap()])
        .current_dir(bay.path("machine"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stdout);
    let wants = format!("SYSTEMD_WANTS=shoal-hot-plug@{}.service", device.trim_start_matches("/dev/"));
    assert!(said.lines().any(|line| line == wants), "no {wants} in: {said}");
    let complaint = said.lines().find(|line| line.contains("rules.d/63-shoal") && line.contains("nvalid"));
    assert_eq!(complaint, None);
}

/// Detached at the end.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}
