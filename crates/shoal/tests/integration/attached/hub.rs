//! A hub that takes all drives of an array away, and brings them back, while the array is served:
//! who waits for it gets what was asked for, or an error when the time is up.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use shoal_attach::{Client, ClientOptions, Operation};

use crate::attached::stick::Stick;
use crate::attached::{DRIVE_BYTES, PATIENCE, Served, has_fuse};
use crate::support::{Bay, pattern};

const BLOCK: usize = 256 << 10;
/// More than anything takes, on whatever machine.
const LONG_S: u64 = 900;

/// How an operation ended: with its content, or the system's number of the error.
type Ended = Result<Vec<u8>, i32>;
const EIO: i32 = 5;

/// An array on a hub, served, and a client of it.
struct Pond {
    bay: Bay,
    sticks: Vec<Stick>,
    served: Served,
    client: Client,
    uuid: String,
}

impl Pond {
    fn new(count: usize, create: &str, deadline_s: u64) -> Self {
        let bay = Bay::new(0);
        let sticks: Vec<_> = (0..count).map(|_| Stick::new(DRIVE_BYTES)).collect();
        let drives = sticks.iter().map(|stick| stick.path().display().to_string()).collect::<Vec<_>>().join(" ");
        let uuid = bay.json(&format!("create --name pond {create} {drives}"))["uuid"].as_str().unwrap().to_owned();
        let socket = bay.runtime().with_file_name("pond.sock");
        let line = format!("serve --deadline {deadline_s} --nbd unix:{} {drives}", socket.display());
        let served = Served::start(&bay, &line);
        let client = connect(&socket);
        Self { bay, sticks, served, client, uuid }
    }

    fn pull(&self, numbers: &[usize]) {
        Stick::pull_together(&numbers.iter().map(|&number| &self.sticks[number]).collect::<Vec<_>>());
    }

    fn plug(&self, numbers: &[usize]) {
        numbers.iter().for_each(|&number| drop(self.sticks[number].plug(DRIVE_BYTES)));
    }

    fn status(&self) -> Value {
        self.bay.json(&format!("status --uuid {}", self.uuid))
    }

    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}: {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Begins something.
    fn begin(&self, operation: Operation) -> Receiver<Ended> {
        let (sender, ended) = channel();
        let done = move |answer: shoal_attach::Answer| {
            let _ = sender.send(answer.map_err(rustix::io::Errno::raw_os_error));
        };
        self.client.submit(operation, Box::new(done));
        ended
    }

    fn done(&self, operation: Operation) -> Ended {
        self.begin(operation).recv().unwrap()
    }

    fn is_consistent(&self) {
        self.until("it is in sync", |status| status["needs_resync"] == false && status["background"].is_null());
        let scrub = self.bay.json(&format!("scrub --uuid {}", self.uuid));
        assert_eq!(scrub["mismatched_bytes"].as_u64(), Some(0), "{scrub}");
    }

    fn stop(self) {
        self.bay.done(&format!("stop --uuid {}", self.uuid));
        drop(self.client);
        let mut served = self.served;
        assert!(served.0.wait().unwrap().success());
    }
}

fn connect(socket: &Path) -> Client {
    let options = ClientOptions { export: String::new(), deadline: Duration::from_secs(LONG_S), connections: 1 };
    Client::connect(socket, &options).unwrap()
}

fn write(block: usize, seed: u64) -> Operation {
    Operation::Write { offset: (block * BLOCK) as u64, data: pattern(BLOCK, seed), fua: false }
}

fn read(block: usize) -> Operation {
    Operation::Read { offset: (block * BLOCK) as u64, length: BLOCK as u32 }
}

fn is_paused(status: &Value) -> bool {
    status["paused"].is_object()
}

#[test]
fn needs_fuse_an_array_whose_drives_all_go_away_and_come_back_goes_on() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new(3, "--level 5 --chunk 64K --bitmap internal", LONG_S);
    assert_eq!(pond.done(write(0, 1)), Ok(vec![]));
    assert_eq!(pond.done(Operation::Flush), Ok(vec![]));
    // Answered and not flushed: the drives may forget it.
    assert_eq!(pond.done(write(1, 2)), Ok(vec![]));
    let under_way: Vec<_> = (2..6).map(|block| pond.begin(write(block, 3))).collect();
    pond.pull(&[0, 1, 2]);
    let held = [write(6, 4), write(6, 5), read(0), read(1)].map(|operation| pond.begin(operation));
    let flush = pond.begin(Operation::Flush);
    // One whose loss was just being written down is counted on again when that has come to nothing.
    pond.until("it waits for all", |status| status["paused"]["waits_for"].as_array().is_some_and(|it| it.len() == 3));
    std::thread::sleep(Duration::from_secs(2));
    assert!(held.iter().all(|it| it.try_recv().is_err()), "somebody was answered");
    is_not_administered(&pond);
    pond.plug(&[2, 0, 1]);
    for ended in under_way {
        assert_eq!(ended.recv().unwrap(), Ok(vec![]));
    }
    let contents = held.map(|it| it.recv().unwrap());
    assert!(contents == [Ok(vec![]), Ok(vec![]), Ok(pattern(BLOCK, 1)), Ok(pattern(BLOCK, 2))], "wrong bytes");
    assert_eq!(flush.recv().unwrap(), Err(EIO), "what was answered may be lost");
    assert_eq!(pond.done(Operation::Flush), Err(EIO), "so may parts of the writes that were under way, answered since");
    assert_eq!(pond.done(Operation::Flush), Ok(vec![]), "it is told once");
    let status = pond.until("it is whole", |status| status["health"] == "optimal");
    assert!(!is_paused(&status), "{status}");
    assert!(status["running"]["news"].to_string().contains("resumed after"), "{status}");
    goes_on_with_nothing_that_could_be_lost(&pond);
    for (block, seed) in [(0, 1), (1, 2), (2, 3), (5, 3), (6, 5), (7, 7)] {
        assert!(pond.done(read(block)) == Ok(pattern(BLOCK, seed)), "wrong bytes in block {block}");
    }
    pond.is_consistent();
    pond.stop();
}

/// While it is paused nothing about it is changed.
fn is_not_administered(pond: &Pond) {
    let uuid = &pond.uuid;
    let member = pond.sticks[0].path().display();
    // It is found by where its drives were.
    assert!(is_paused(&pond.bay.json(&format!("status {member}"))));
    for line in [format!("scrub --uuid {uuid}"), format!("fail --member {member} --uuid {uuid}")] {
        pond.bay.refused_running(&line, 4, &["is paused", "`shoal stop`"]);
    }
}

/// All that was answered is flushed: nobody is told of anything.
fn goes_on_with_nothing_that_could_be_lost(pond: &Pond) {
    pond.pull(&[0, 1, 2]);
    let flush = pond.begin(Operation::Flush);
    let writing = pond.begin(write(7, 7));
    pond.until("it is paused", is_paused);
    pond.plug(&[0, 1, 2]);
    assert_eq!((writing.recv().unwrap(), flush.recv().unwrap()), (Ok(vec![]), Ok(vec![])));
}

#[test]
fn needs_fuse_an_array_whose_drives_stay_away_ends_at_the_deadline() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new(2, "--level 0 --chunk 64K", 2);
    assert_eq!(pond.done(write(0, 1)), Ok(vec![]));
    assert_eq!(pond.done(Operation::Flush), Ok(vec![]));
    pond.pull(&[0, 1]);
    assert_eq!(pond.done(write(1, 2)), Err(EIO));
    let status = pond.until("it is given up", |status| !is_paused(status));
    assert_eq!(status["health"], "failed", "{status}");
    assert!(status["running"]["news"].to_string().contains("not resumed"), "{status}");
    pond.plug(&[0, 1]);
    assert_eq!(pond.done(read(0)), Err(EIO), "it ends as it would without a pause");
    let (names, uuid) = (pond.sticks.iter().map(|it| it.path().display().to_string()).collect::<Vec<_>>(), &pond.uuid);
    pond.bay.done(&format!("stop --uuid {uuid}"));
    let found = pond.bay.done(&format!("read --length {BLOCK} {}", names.join(" ")));
    assert!(found.stdout == pattern(BLOCK, 1), "what was flushed is not there");
}

#[test]
fn needs_fuse_an_array_goes_on_degraded_when_only_some_of_its_drives_are_back() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new(3, "--level 5 --chunk 64K --assume-clean --consistency-policy ppl", 60);
    assert_eq!(pond.done(write(0, 1)), Ok(vec![]));
    assert_eq!(pond.done(Operation::Flush), Ok(vec![]));
    pond.pull(&[0, 1, 2]);
    let begun = Instant::now();
    let writing = pond.begin(write(1, 2));
    pond.plug(&[0, 2]);
    assert_eq!(writing.recv().unwrap(), Ok(vec![]));
    assert!(begun.elapsed() >= Duration::from_secs(29), "the third was not waited for");
    let status = pond.until("it is degraded", |status| status["health"] == "degraded");
    assert!(!is_paused(&status), "{status}");
    for (block, seed) in [(0, 1), (1, 2)] {
        assert!(pond.done(read(block)) == Ok(pattern(BLOCK, seed)), "wrong bytes in block {block}");
    }
    pond.stop();
}

#[test]
fn needs_fuse_a_paused_array_is_stopped_at_once() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new(2, "--level 1 --assume-clean", LONG_S);
    pond.pull(&[0, 1]);
    let writing = pond.begin(write(0, 1));
    pond.until("it is paused", is_paused);
    pond.bay.done(&format!("stop --uuid {}", pond.uuid));
    assert_eq!(writing.recv().unwrap(), Err(EIO));
}

/// What udev does when a stick is plugged in is `hot-plug`; nobody does anything else.
#[test]
fn needs_fuse_a_stick_that_blinks_is_a_member_again_under_another_name() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new(3, "--level 5 --chunk 64K --bitmap internal --assume-clean", LONG_S);
    let mut took = Vec::new();
    for round in 0..5 {
        assert_eq!(pond.done(write(round, 1)), Ok(vec![]));
        pond.pull(&[1]);
        assert_eq!(pond.done(write(round, 2)), Ok(vec![]), "the others go on without it");
        pond.until("it is missed", |status| status["health"] == "degraded");
        std::thread::sleep(Duration::from_secs(1));
        let path = pond.sticks[1].plug_as(&format!("again{round}"), DRIVE_BYTES);
        let begun = Instant::now();
        pond.bay.done(&format!("hot-plug {}", path.display()));
        pond.until("it is whole", |status| status["health"] == "optimal");
        took.push(begun.elapsed());
        assert!(pond.done(read(round)) == Ok(pattern(BLOCK, 2)), "wrong bytes");
    }
    took.sort();
    println!("a stick that blinked is in sync again after {took:.2?} (from when it is there, five times)");
    pond.is_consistent();
    pond.stop();
}
