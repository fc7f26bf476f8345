//! Arrays that run in a process of their own: administered while they are used, by several clients,
//! by hostile ones, and after a crash.

mod benches;
mod busy;
mod hostile;
mod incomplete;
mod newcomers;
mod places;
pub(crate) mod server;

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Bay, pattern};
use serde_json::{Value, json};
use server::{Client, PATIENCE, Server, sockets};

const BLOCK: usize = 4096;

/// Waits until nothing goes on beside requests.
fn at_rest(bay: &Bay, line: &str) -> Value {
    let start = Instant::now();
    loop {
        let state = bay.json(&format!("status {line}"));
        if state["background"].is_null() {
            return state;
        }
        assert!(start.elapsed() < PATIENCE, "{state}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_clean(bay: &Bay, line: &str) {
    let scrub = bay.json(&format!("scrub {line}"));
    assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&json!(true), &json!(0)), "{scrub}");
}

/// Writes blocks all over the content until it is told to end, and checks each, some time later.
/// Returns what it wrote last.
fn load(client: &mut Client, range: std::ops::Range<u64>, end: &AtomicBool) -> Vec<Option<u64>> {
    let count = usize::try_from((range.end - range.start) / BLOCK as u64).unwrap();
    let mut written = vec![None; count];
    let mut state = range.start | 1;
    let mut writes = 0;
    // However slow the machine is, they are some.
    while !end.load(Ordering::Relaxed) || writes <= 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let block = usize::try_from(state >> 33).unwrap() % count;
        let offset = range.start + (block * BLOCK) as u64;
        if let Some(seed) = written[block] {
            assert!(client.read(offset, BLOCK) == pattern(BLOCK, seed), "block {block}");
        }
        client.write(offset, &pattern(BLOCK, state));
        written[block] = Some(state);
        writes += 1;
    }
    written
}

fn holds(bay: &Bay, line: &str, start: u64, written: &[Option<u64>]) {
    let length = written.len() * BLOCK;
    let content = bay.done(&format!("read --offset {start} --length {length} {line}")).stdout;
    for (number, seed) in written.iter().enumerate() {
        let bytes = &content[number * BLOCK..(number + 1) * BLOCK];
        assert!(seed.is_none_or(|seed| bytes == pattern(BLOCK, seed)), "block {number} of {line}");
    }
}

#[test]
fn an_array_is_administered_while_it_is_used() {
    let bay = Bay::with_sizes(&[48 << 20; 5]);
    bay.done("create --level 5 --chunk 64K --bitmap internal --assume-clean d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    let end = AtomicBool::new(false);
    let mut clients = [server.client(), server.client()];
    let [first, second] = std::thread::scope(|scope| {
        let [first, second] = &mut clients;
        let loads =
            [scope.spawn(|| load(first, 0..8 << 20, &end)), scope.spawn(|| load(second, 16 << 20..20 << 20, &end))];
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| administer(&bay)));
        end.store(true, Ordering::Relaxed);
        let written = loads.map(|load| load.join().unwrap());
        told.unwrap();
        written
    });
    let stopped = bay.json("stop d0");
    assert_eq!((&stopped["health"], &stopped["running"]), (&json!("optimal"), &Value::Null), "{stopped}");
    assert_eq!(server.ended().code, 0);
    assert!(sockets(&bay.runtime()).is_empty());
    holds(&bay, "--scan . d0", 0, &first);
    holds(&bay, "--scan . d0", 16 << 20, &second);
    is_clean(&bay, "--scan . d0");
}

/// Everything that can be done to an array that is in use, by any of its members' names.
fn administer(bay: &Bay) {
    let failed = bay.json("fail --member d1 d0");
    assert_eq!((&failed["health"], &failed["members"][1]["state"]), (&json!("degraded"), &json!("missing")));
    let news = failed["running"]["news"].to_string();
    assert!(news.contains("member 1") && news.contains("d1") && news.contains("failed"), "{news}");
    let added = bay.run("add --drive d1 d2");
    assert_eq!(added.code, 3, "{}", added.stderr);
    added.is_one_line("add", &["d1 was a member", "re-add", "--force"]);
    assert_eq!(bay.json("re-add --drive d1 d2")["health"], "optimal");
    bay.done("fail --member d0 d1");
    let slow = bay.json("speed --min 100KB --max 200KB d1");
    assert_eq!(slow["running"]["speed_max_bytes_per_s"], 200_000);
    let added = bay.json("add --no-rebuild --drive d3 d2");
    assert_eq!(added["members"][0]["state"], "rebuilding", "{added}");
    let speed = rebuilding_bytes_per_s(bay);
    assert!(speed < 4_000_000, "{speed} bytes a second");
    bay.done("speed --min 1GB --max 10GB d1");
    assert_eq!(bay.json("rebuild d1")["health"], "optimal");
    let removed = bay.json("remove --member d0 d1");
    assert!(!removed["left_out"].to_string().contains("/d0"), "{removed}");
    bay.done("examine d0"); // it is let go, and can be had by others
    let spare = bay.json("add --drive d4 d3");
    assert!(spare["spares"][0].as_str().unwrap().ends_with("/d4"), "{spare}");
    let in_use = bay.run("remove --member d1 d3");
    assert_ne!(in_use.code, 0);
    in_use.is_one_line("remove", &["d1 is in use"]);
    let replaced = bay.json("replace --member d1 --drive d4 d3");
    assert!(replaced["members"][1]["drive"].as_str().unwrap().ends_with("/d4"), "{replaced}");
    assert_eq!(bay.json("remove --member d1 d3")["health"], "optimal");
    let back = bay.json("replace --force --member d4 --drive d0 d3");
    assert!(back["members"][1]["drive"].as_str().unwrap().ends_with("/d0"), "{back}");
    is_clean(bay, "d3");
    bay.done("scrub --repair --keep-data d1");
}

/// How fast it is rebuilt; it takes a moment until that is known.
fn rebuilding_bytes_per_s(bay: &Bay) -> u64 {
    let start = Instant::now();
    loop {
        let background = bay.json("status d3")["background"].clone();
        assert_eq!(background["work"], "rebuild");
        if let Some(speed) = background["bytes_per_s"].as_u64().filter(|&speed| speed > 0) {
            return speed;
        }
        assert!(start.elapsed() < PATIENCE, "it does not move: {background}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_killed_process_leaves_an_array_that_runs_again() {
    let bay = Bay::with_sizes(&[48 << 20; 3]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    let mut client = server.client();
    let content = pattern(1 << 20, 7);
    client.write(8 << 20, &content);
    client.flush();
    for number in 0..64 {
        let arguments = json!({"offset": number * 65536, "length": 65536});
        client.send(&json!({"id": number, "command": "write", "arguments": arguments}), &pattern(65536, number));
        if number >= 3 {
            client.answer().unwrap();
        }
    }
    server.kill();
    assert_eq!(sockets(&bay.runtime()).len(), 1, "the socket is left behind");
    assert_eq!(bay.json("status d0 d1 d2")["running"], Value::Null, "and leads nowhere");
    let server = Server::start(&bay, "d0 d1 d2");
    let state = at_rest(&bay, "d1");
    assert_eq!(state["health"], "optimal", "{state}");
    assert!(server.client().read(8 << 20, 1 << 20) == content, "what was flushed is there");
    assert!(bay.done("read --offset 8M --length 1M d1").stdout == content);
    bay.done("scrub --repair --keep-data d1");
    is_clean(&bay, "d2");
    server.signal("-TERM");
    let ended = server.ended();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let examined = bay.json("examine d0 d1 d2");
    for drive in examined["drives"].as_array().unwrap() {
        assert_eq!(drive["superblock"]["clean"], true, "{drive}");
    }
}

#[test]
fn whoever_has_the_members_runs_the_array() {
    let bay = Bay::new(6);
    bay.done("create --level 5 d0 d1 d2");
    bay.done("create --level 1 d3 d4");
    for line in ["stop d0", "speed --max 1MB d0", "scrub --stop d0"] {
        bay.refused(line, 2, &["no process runs the array"]);
    }
    bay.refused("status --socket nowhere", 2, &["nowhere", "no array runs there"]);
    bay.refused("run --socket somewhere", 2, &["naming its members"]);
    bay.refused("run --min 5MB --max 1MB d0 d1 d2", 2, &["above the greatest"]);
    let _server = Server::start(&bay, "d0 d1 d2");
    bay.refused("run d0 d1 d2", 4, &["busy"]);
    bay.refused("status d0 d3", 2, &["d0", "d3", "give the members of one"]);
    bay.refused("status d0 d5", 2, &["d5", "no md superblock"]);
    bay.refused("fail --member d3 d0", 2, &["d3 is no member"]);
    bay.refused("add --drive d1 d0", 3, &["d1", "active member of array"]);
    bay.refused("add --drive d3 d0", 3, &["d3 is or was a member of array"]);
    bay.refused("add --drive missing d0", 2, &["missing", "not found"]);
    bay.refused("create --force --level 1 d0 d5", 4, &["d0", "busy"]);
    bay.refused("speed --max 0 d0", 2, &["larger"]);
    bay.refused("write d0 --offset 1T", 2, &["beyond the content"]);
    assert_eq!(bay.json("status d3 d4")["running"], Value::Null, "another array is not concerned");
}

#[test]
fn a_socket_at_a_place_of_its_own() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let place = bay.runtime().with_file_name("mine");
    let line = format!("--socket {}", place.display());
    let server = Server::start(&bay, &format!("{line} d0 d1"));
    assert_eq!(server.socket, place);
    assert_eq!(bay.json(&format!("status {line}"))["health"], "optimal");
    bay.write(&format!("write {line}"), b"over the socket");
    assert_eq!(bay.done(&format!("read {line} --length 15")).stdout, b"over the socket");
    let taken = Bay::new(2);
    taken.done("create --level 1 --assume-clean d0 d1");
    taken.refused(&format!("run {line} d0 d1"), 3, &["another array is administered there"]);
    taken.refused("run --socket d0 d0 d1", 3, &["d0 is no socket"]);
    bay.done(&format!("stop {line}"));
    assert_eq!(server.ended().code, 0);
}

#[test]
fn an_array_of_arrays_is_found_by_any_drive() {
    let bay = Bay::new(7);
    bay.done("create --level 51 --chunk 64K --assume-clean d0 d1 d2 d3 d4 d5");
    let server = Server::start(&bay, "d0 d1 d2 d3 d4 d5");
    bay.write("write d1", &pattern(1_000_000, 5));
    assert_eq!(sockets(&bay.runtime()).len(), 3);
    let failed = bay.json("fail --member d4 d0");
    assert_eq!(failed["members"][1]["array"]["members"][1]["state"], "missing", "{failed}");
    let added = bay.json("add --drive d6 d5");
    assert_eq!(added["health"], "optimal", "{added}");
    assert!(bay.done("read d6 --length 1000000").stdout == pattern(1_000_000, 5));
    server.signal("-INT");
    assert_eq!(server.ended().code, 0);
    assert!(sockets(&bay.runtime()).is_empty());
}

#[test]
fn a_scrub_is_ended_and_tells_what_it_found() {
    let bay = Bay::with_sizes(&[64 << 20; 3]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    bay.poke("d1", 2 << 20, &pattern(4096, 2));
    let server = Server::start(&bay, "d0 d1 d2");
    let ran = bay.run("--json scrub d0");
    assert_eq!((ran.code, &ran.json()["mismatched_bytes"]), (1, &json!(4096)), "{}", ran.stderr);
    bay.done("speed --min 50KB --max 100KB d0");
    let mut client = server.client();
    let started = client.call(&json!({"id": 1, "command": "scrub", "arguments": {}}));
    assert_eq!(started["state"]["background"]["work"], "scrub", "{started}");
    let refused = bay.run("scrub d0");
    assert_eq!(refused.code, 4);
    refused.is_one_line("scrub", &["under way"]);
    bay.done("scrub --stop d0");
    let state = at_rest(&bay, "d0");
    assert_eq!(state["scrub"]["complete"], false, "{state}");
    bay.done("speed --max 10GB d0");
    bay.done("scrub --repair --keep-data d0");
    is_clean(&bay, "d0");
    assert!(bay.done("status d0").stdout.len() > 100);
}

#[test]
fn only_the_user_comes_in() {
    let bay = Bay::new(2);
    bay.done("create --level 1 --assume-clean d0 d1");
    let server = Server::start(&bay, "d0 d1");
    let socket = server.socket.symlink_metadata().unwrap();
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    server.kill();
    std::fs::set_permissions(bay.runtime(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = bay.run("run d0 d1");
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    refused.is_one_line("run", &["belongs to you alone", "--socket"]);
    // A start without a member leaves it behind for good: not one that never was.
    for line in ["run --degraded d0", "serve --degraded d0"] {
        bay.refused(line, 3, &["belongs to you alone"]);
    }
    std::fs::set_permissions(bay.runtime(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(bay.json("status d0 d1")["health"], "optimal");
}

#[test]
fn needs_root_another_user_is_turned_away() {
    use std::os::unix::process::CommandExt;
    let bay = Bay::new(2);
    if std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) != 0) {
        eprintln!("SKIPPED: another user at a running array: needs root");
        return;
    }
    bay.done("create --level 1 --assume-clean d0 d1");
    let server = Server::start(&bay, "d0 d1");
    let program = bay.runtime().with_file_name("program");
    std::fs::copy(env!("CARGO_BIN_EXE_shoal"), &program).unwrap();
    let ran = |wide: bool| {
        let mode = |narrow, open| std::fs::Permissions::from_mode(if wide { open } else { narrow });
        std::fs::set_permissions(bay.runtime(), mode(0o711, 0o755)).unwrap();
        std::fs::set_permissions(&server.socket, mode(0o600, 0o666)).unwrap();
        let mut command = std::process::Command::new(&program);
        command.arg("status").arg("--socket").arg(&server.socket).current_dir("/").uid(65534).gid(65534);
        support::Ran::of(command.output().unwrap())
    };
    let kept_out = ran(false);
    assert_eq!(kept_out.code, 3, "{}", kept_out.stderr);
    kept_out.is_one_line("status", &["only that user and root"]);
    let turned_away = ran(true);
    assert_ne!(turned_away.code, 0);
    turned_away.is_one_line("status", &["only the user who runs this array, and root"]);
    std::fs::set_permissions(bay.runtime(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(bay.json("status d0")["health"], "optimal");
}

#[test]
fn an_array_of_simulated_drives_runs_like_any_other() {
    let bay = Bay::new(1);
    let socket = bay.path("s");
    let server =
        Server::start(&bay, &format!("sim:cruzer-titanium:size=32M*3@usb2 --level 5 --socket {}", socket.display()));
    let named = format!("--socket {}", socket.display());
    let content = pattern(500_000, 5);
    bay.write(&format!("write {named}"), &content);
    let state = bay.json(&format!("fail --member sim:cruzer-titanium#1 {named}"));
    assert_eq!((&state["health"], &state["members"][1]["state"]), (&"degraded".into(), &"missing".into()));
    assert!(bay.done(&format!("read {named} --length 500000")).stdout == content, "degraded, it reads something else");
    bay.done(&format!("remove --member sim:cruzer-titanium#1 {named}"));
    bay.refused(&format!("add --drive d0 {named}"), 2, &["d0 is a real drive"]);
    bay.refused(&format!("add --drive sim:cruzer-titanium#7 {named}"), 2, &["sim:cruzer-titanium#7"]);
    bay.done(&format!("add --drive sim:cruzer-titanium#1 {named}"));
    let state = bay.json(&format!("status {named}"));
    assert_eq!((&state["health"], &state["needs_resync"]), (&"optimal".into(), &false.into()), "{state}");
    assert_eq!(state["simulated"]["drives"], "sim:cruzer-titanium:size=32M*3@usb2");
    assert!(bay.done(&format!("read {named} --length 500000")).stdout == content, "rebuilt, it reads something else");
    assert_eq!(bay.json(&format!("scrub {named}"))["mismatched_bytes"], 0);
    bay.done(&format!("stop {named}"));
    assert_eq!(server.ended().code, 0);
    bay.refused("run sim:cruzer-titanium*3", 2, &["--level"]);
    bay.refused("run --level 5 d0", 2, &["--level is for simulated drives"]);
    bay.refused("run --level 5 sim:cruzer-titanium:size=500T*3", 2, &["kept in memory", "make them smaller"]);
}
