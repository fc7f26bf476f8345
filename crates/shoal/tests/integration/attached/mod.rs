//! Arrays that are used while what they are made of fails: a drive is pulled out or stops to
//! answer, the server is killed and started again, the link to the client is cut. All under loads
//! that verify every byte, and nobody tells the array.
//!
//! The array is RAID5 with a partial parity log. After a crash that array is dirty, and without a
//! member it is degraded; both at once is the write hole, where shoal (as md) refuses to start the
//! array unless it is forced to, which may cost bytes. The log closes the hole: the array starts by
//! itself, and what was answered is there. The same load on an array without a log is killed while
//! it is whole, where a resync mends what the crash left.

mod fio;
mod hub;
mod hung;
mod link;
mod nbd;
mod stick;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Bay, has, names};
use fio::{Load, Verified};
use link::Link;
use stick::Stick;

const DRIVE_BYTES: u64 = 48 << 20;
/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(150);
const DEADLINE_S: u64 = 100;
/// How long nobody serves the array.
const AWAY: Duration = Duration::from_secs(2);
/// More than any member's chunk: it needs them all.
const CONTENT_BYTES: usize = 8 << 20;

/// Whether all is there; says loudly if not.
pub(crate) fn needs(what: &str, is_there: bool) -> bool {
    if !is_there {
        println!("SKIPPED: {}: needs {what}", std::thread::current().name().unwrap_or("a test"));
    }
    is_there
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn tell(story: &str, verified: Verified) {
    let Verified { outage, written_bytes, verified_bytes } = verified;
    println!("{story}: outage {:.1} s, {written_bytes} bytes written, {verified_bytes} verified", outage.as_secs_f64());
    assert_eq!(written_bytes, verified_bytes, "what was written was not all read back");
    assert!(outage < Duration::from_secs(DEADLINE_S), "longer than the deadline");
}

/// An array of image files, and of a drive that can be pulled out.
struct Pond {
    bay: Bay,
    stick: Stick,
    /// The drives that cannot be pulled out.
    count: usize,
}

impl Pond {
    fn new(options: &str) -> Self {
        Self::with(&format!("--level 5 --chunk 64K {options}"), 3)
    }

    /// Of any level; with so many drives that cannot be pulled out.
    fn with(options: &str, rest: usize) -> Self {
        let bay = Bay::with_sizes(&vec![DRIVE_BYTES; rest]);
        let pond = Self { bay, stick: Stick::new(DRIVE_BYTES), count: rest };
        let drives = pond.all();
        pond.bay.done(&format!("create --quiet --name pond {options} {drives}"));
        pond
    }

    /// The drives that cannot be pulled out.
    fn rest(&self) -> String {
        names(0..self.count)
    }

    fn all(&self) -> String {
        format!("d0 {} {}", self.stick.path().display(), names(1..self.count))
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.bay.json("status d0");
            if is_so(&status) {
                return;
            }
            assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}: {status}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The drive is pulled out, and the array has found out by itself.
    fn pull(&self) {
        self.stick.pull();
        self.wait_until("the drive is missed", |status| status["health"] == "degraded");
    }

    /// The drive is plugged back, and becomes a member again by a command.
    fn plug(&self, command: &str) {
        self.stick.plug(DRIVE_BYTES);
        // Unless told, a rebuild leaves a load nearly all of the drives.
        self.bay.done("speed --min 1G d0");
        self.bay.done(&format!("{command} --no-rebuild --drive {} d0", self.stick.path().display()));
        self.wait_until("the array is whole again", |status| status["health"] == "optimal");
    }

    /// Parity agrees with the data again, in spite of the load.
    fn resync(&self) {
        self.bay.done("speed --min 1G d0");
        self.bay.done("rebuild d0");
    }

    fn is_consistent(&self) {
        let scrub = self.bay.json(&format!("scrub {}", self.all()));
        assert_eq!(scrub["mismatched_bytes"].as_u64(), Some(0), "{scrub}");
    }
}

/// An attached array, detached even if the test fails.
struct Attached<'a> {
    bay: &'a Bay,
    device: PathBuf,
    is_over: bool,
}

impl<'a> Attached<'a> {
    fn new(bay: &'a Bay, drives: &str) -> Self {
        let line = format!("attach --as fuse --deadline {DEADLINE_S} {drives}");
        let device = bay.json(&line)["device"].as_str().unwrap().into();
        Self { bay, device, is_over: false }
    }

    /// Ends the process that runs the array, as a crash would; after a while it is started again
    /// with these drives, as whoever attaches it again does.
    fn kill_server(&self, away: Duration, drives: &str) {
        kill("-KILL", self.bay.json("status d0")["running"]["process_id"].as_u64().unwrap());
        std::thread::sleep(away);
        self.bay.done(&format!("attach {drives}"));
    }

    fn detach(mut self) {
        self.bay.done("detach d0");
        self.is_over = true;
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.bay.command(["detach", "d0"]).output();
        }
    }
}

fn kill(signal: &str, process_id: u64) {
    assert!(Command::new("kill").args([signal, &process_id.to_string()]).status().unwrap().success());
}

/// A process that serves an array; killed if the test ends before it does.
struct Served(Child);

impl Served {
    /// Of a server that was killed just before, the kernel may still be closing the drives.
    fn start(bay: &Bay, line: &str) -> Self {
        let begun = Instant::now();
        loop {
            let mut child = bay.command(line.split_whitespace()).spawn().unwrap();
            let mut told = String::new();
            BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
            let served = Self(child);
            if told.contains("is served at") {
                return served;
            }
            let is_busy = told.contains("busy: in use by");
            assert!(is_busy && begun.elapsed() < Duration::from_secs(60), "{told}");
        }
    }

    fn id(&self) -> u64 {
        u64::from(self.0.id())
    }

    fn stopped(mut self, bay: &Bay) {
        bay.done("stop d0");
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Done,
    Failed,
    /// By the test's patience.
    Never,
}

/// A copy by dd, in the bay.
fn copy(bay: &Bay, line: &str) -> Ended {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg("dd").args(line.split_whitespace()).current_dir(bay.path(""));
    let output = command.output().unwrap();
    match output.status.code() {
        Some(0) => Ended::Done,
        Some(124) => Ended::Never,
        _ => Ended::Failed,
    }
}

/// A load on a file or device of this machine.
fn load_on(bay: &Bay, device: &Path) -> Load {
    // fio takes colons as what separates several files.
    let name = device.display().to_string().replace(':', "\\:");
    let target = ["--ioengine=libaio".to_owned(), "--direct=1".to_owned(), format!("--filename={name}")];
    Load::start(&[], &target, &bay.path(""))
}

fn has_fuse() -> bool {
    needs("fio", has("fio"))
        && needs("/dev/fuse and the right to use it", File::options().write(true).open("/dev/fuse").is_ok())
}

#[test]
fn needs_fuse_a_drive_is_pulled_and_the_server_killed_under_a_verified_load() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new("--consistency-policy ppl");
    let attached = Attached::new(&pond.bay, &pond.all());
    let load = load_on(&pond.bay, &attached.device);
    load.another_pass();
    pond.pull();
    load.another_pass();
    attached.kill_server(AWAY, &pond.rest());
    load.another_pass();
    assert_eq!(pond.bay.json("status d0")["health"], "degraded");
    pond.plug("add --force");
    load.another_pass();
    tell("FUSE, drive pulled, server killed while degraded, drive added", load.finish());
    attached.detach();
    assert!(!pond.bay.runtime().join("pond").exists());
    pond.is_consistent();
}

#[test]
fn needs_fuse_a_drive_is_pulled_and_re_added_and_the_server_killed_under_a_verified_load() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new("--bitmap internal");
    let attached = Attached::new(&pond.bay, &pond.all());
    let load = load_on(&pond.bay, &attached.device);
    for _ in 0..2 {
        load.another_pass();
        pond.pull();
        load.another_pass();
        pond.plug("re-add");
        attached.kill_server(AWAY / 2, &pond.all());
        // Until parity agrees with the data again, it cannot stand for a drive that is pulled.
        pond.resync();
    }
    load.another_pass();
    tell("FUSE, drive pulled and re-added, server killed, twice", load.finish());
    attached.detach();
    pond.is_consistent();
}

#[test]
fn needs_fuse_what_is_used_is_not_detached() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::new("");
    let bay = &pond.bay;
    let attached = Attached::new(bay, &pond.all());
    bay.refused_running("attach --as ublk d0", 3, &["is attached by fuse", "detach it first"]);
    let same = bay.json("attach d0")["device"].clone();
    assert_eq!(same.as_str().map(Path::new), Some(&*attached.device));
    let opened = File::open(&attached.device).unwrap();
    bay.refused_running("detach d0", 3, &["is open in process"]);
    drop(opened);
    let line = format!("detach {}", attached.device.display());
    attached.detach();
    bay.refused_running(&line, 2, &[""]);
    let left: Vec<_> = std::fs::read_dir(bay.runtime()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["attaching.lock"], "something is left behind");
}

#[test]
fn needs_root_a_link_is_cut_under_a_verified_load() {
    if !(needs("fio", has("fio")) && needs("root and network namespaces", is_root() && has("ip"))) {
        return;
    }
    let cut = std::env::var("SHOAL_CUT_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let pond = Pond::new("");
    let link = Link::new();
    let uri = link.serve(&pond.bay, &pond.all());
    let target = ["--ioengine=nbd".to_owned(), format!("--uri={uri}")];
    let load = Load::start(&link.at_client(), &target, &pond.bay.path(""));
    load.another_pass();
    pond.pull();
    load.another_pass();
    link.until_sent(1 << 20);
    link.cut(Duration::from_secs(cut));
    load.another_pass();
    let verified = load.finish();
    tell(&format!("TCP, drive pulled, link cut for {cut} s"), verified);
    assert!(verified.outage >= Duration::from_secs(cut / 2), "the link was not cut");
}
