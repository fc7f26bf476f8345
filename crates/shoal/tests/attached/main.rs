//! Arrays that are used while what they are made of fails: a member is taken out, the server is killed and started again,
//! the link to the client is cut. All under a load that verifies every byte.
//!
//! The array is RAID5 with a partial parity log. After a crash that array is dirty, and without a member it is degraded; both at once
//! is the write hole, where shoal (as md) refuses to start the array unless it is forced to, which may cost bytes. The log closes the hole: the
//! array starts by itself, and what was answered is there. The same load on an array without a log is killed while it is whole,
//! where a resync mends what the crash left.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../support/mod.rs"]
mod support;

mod fio;
mod link;
mod nbd;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fio::{Load, Verified};
use link::Link;
use support::{Bay, has, names};

const DRIVE_BYTES: u64 = 48 << 20;
const LOAD_BYTES: u64 = 48 << 20;
/// With this rate a load takes 12 s, in the midst of which everything happens.
const LOAD_BYTES_PER_S: u64 = 4 << 20;
/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(150);
const DEADLINE_S: u64 = 100;
/// How long nobody serves the array.
const AWAY: Duration = Duration::from_secs(2);

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

fn pond(options: &str) -> Bay {
    let bay = Bay::with_sizes(&[DRIVE_BYTES; 4]);
    bay.done(&format!("create --quiet --level 5 --chunk 64K --name pond {options} {}", names(0..4)));
    bay
}

/// An attached array, detached even if the test fails.
struct Attached<'a> {
    bay: &'a Bay,
    device: PathBuf,
    is_over: bool,
}

impl<'a> Attached<'a> {
    fn new(bay: &'a Bay, options: &str) -> Self {
        let line = format!("attach {options} --deadline {DEADLINE_S} {}", names(0..4));
        let device = bay.json(&line)["device"].as_str().unwrap().into();
        Self { bay, device, is_over: false }
    }

    fn server(&self) -> u64 {
        self.bay.json("status d0")["running"]["process_id"].as_u64().unwrap()
    }

    /// Ends the process that runs the array, as a crash would.
    fn kill_server(&self) {
        kill("-KILL", self.server());
    }

    /// Starts it again, as whoever attaches it again does.
    fn serve_again(&self) {
        self.bay.done(&format!("attach {}", names(0..4)));
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

/// A load on a file or device of this machine.
fn load_on(bay: &Bay, device: &Path) -> Load {
    let target = ["--ioengine=libaio", "--direct=1"].map(str::to_owned).into_iter();
    // fio takes colons as what separates several files.
    let name = device.display().to_string().replace(':', "\\:");
    let target: Vec<String> = target.chain([format!("--filename={name}")]).collect();
    Load::start(&[], &target, LOAD_BYTES, LOAD_BYTES_PER_S, bay.path("report"))
}

fn has_fuse() -> bool {
    needs("fio", has("fio"))
        && needs("/dev/fuse and the right to use it", File::options().write(true).open("/dev/fuse").is_ok())
}

#[test]
fn needs_fuse_a_member_and_the_server_are_killed_under_a_verified_load() {
    if !has_fuse() {
        return;
    }
    let bay = pond("--consistency-policy ppl");
    let attached = Attached::new(&bay, "--as fuse");
    let load = load_on(&bay, &attached.device);
    std::thread::sleep(Duration::from_secs(2));
    bay.done("fail --member d1 d0");
    std::thread::sleep(Duration::from_secs(1));
    attached.kill_server();
    std::thread::sleep(AWAY);
    attached.serve_again();
    let verified = load.finish(PATIENCE);
    tell("FUSE, degraded, server killed", verified);
    assert!(verified.outage >= AWAY, "nobody has noticed that the server was gone");
    assert_eq!(bay.json("status d0")["health"], "degraded");
    attached.detach();
    assert!(!bay.runtime().join("pond").exists());
}

#[test]
fn needs_fuse_a_server_is_killed_twice_and_the_array_is_resynced() {
    if !has_fuse() {
        return;
    }
    let bay = pond("");
    let attached = Attached::new(&bay, "--as fuse");
    let load = load_on(&bay, &attached.device);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_secs(2));
        attached.kill_server();
        std::thread::sleep(AWAY / 2);
        attached.serve_again();
    }
    tell("FUSE, whole, server killed twice", load.finish(PATIENCE));
    attached.detach();
    let scrub = bay.json(&format!("scrub {}", names(0..4)));
    assert_eq!(scrub["scrub"]["mismatched_bytes"].as_u64().unwrap_or(0), 0, "{scrub}");
}

#[test]
fn needs_fuse_what_is_used_is_not_detached() {
    if !has_fuse() {
        return;
    }
    let bay = pond("");
    let attached = Attached::new(&bay, "--as fuse");
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
    let bay = pond("");
    let link = Link::new();
    let uri = link.serve(&bay, &names(0..4));
    let target = vec!["--ioengine=nbd".to_owned(), format!("--uri={uri}")];
    let launcher = link.at_client();
    let launcher = [&*launcher[0], &*launcher[1]];
    let load = Load::start(&launcher, &target, LOAD_BYTES, LOAD_BYTES_PER_S, bay.path("report"));
    std::thread::sleep(Duration::from_secs(2));
    bay.done("fail --member d1 d0");
    link.cut(Duration::from_secs(cut));
    let verified = load.finish(PATIENCE);
    tell(&format!("TCP, degraded, link cut for {cut} s"), verified);
    assert!(verified.outage >= Duration::from_secs(cut - 1), "the link was not cut");
}
