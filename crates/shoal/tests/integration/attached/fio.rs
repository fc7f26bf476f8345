//! A load of fio's that verifies every byte: what is written carries its place and a checksum, and
//! all of it is read back.
//!
//! A load goes on, pass after pass, each with content of its own, until it is told that it is
//! enough. So whatever happens, happens in its midst, however fast or slow the machine is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// What a pass writes, and reads back.
const PASS_BYTES: u64 = 8 << 20;
/// With this rate a pass takes two seconds.
const PASS_BYTES_PER_S: u64 = 4 << 20;
/// How long anything may take on a machine that does much else: who is not done by then hangs.
const PATIENCE: Duration = Duration::from_secs(200);
/// How often it is looked how far a load is.
const LOOK_DISTANCE: Duration = Duration::from_millis(50);

const GOING_ON: u32 = 0;
const ENOUGH: u32 = 1;
const ABANDONED: u32 = 2;

/// What a load came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verified {
    /// The longest that a request took: the outage as a program sees it.
    pub(crate) outage: Duration,
    pub(crate) written_bytes: u64,
    pub(crate) verified_bytes: u64,
}

/// fio at work.
pub(crate) struct Load {
    state: Arc<State>,
    passes: Option<JoinHandle<Verified>>,
}

#[derive(Default)]
struct State {
    order: AtomicU32,
    /// Passes that are over.
    over: AtomicU64,
}

/// Arguments of a pass: random writes over `bytes`, at a rate, and then all of it read and
/// verified.
pub(crate) fn arguments(bytes: u64, rate_bytes_per_s: u64) -> Vec<String> {
    ["--name=load", "--rw=randwrite", "--bs=16k", "--iodepth=8", "--thread", "--verify=crc32c", "--verify_fatal=1"]
        .into_iter()
        .chain(["--fsync=50", "--output-format=json"])
        .map(str::to_owned)
        .chain([format!("--size={bytes}"), format!("--rate={rate_bytes_per_s}")])
        .collect()
}

impl Load {
    /// Starts it; `launcher` is what it is started by, if anything. What fio leaves behind, it
    /// leaves in `directory`.
    pub(crate) fn start(launcher: &[String], target: &[String], directory: &Path) -> Self {
        let words: Vec<String> = launcher.iter().cloned().chain(["fio".to_owned()]).collect();
        let words = [words, arguments(PASS_BYTES, PASS_BYTES_PER_S), target.to_vec()].concat();
        let (state, directory) = (Arc::new(State::default()), directory.to_owned());
        let its = Arc::clone(&state);
        let passes = std::thread::spawn(move || go_on(&words, &directory, &its));
        Self { state, passes: Some(passes) }
    }

    /// Waits until a pass is over that began after this.
    pub(crate) fn another_pass(&self) {
        let wanted = self.state.over.load(Ordering::Relaxed) + 2;
        let deadline = Instant::now() + PATIENCE;
        while self.state.over.load(Ordering::Relaxed) < wanted {
            assert!(!self.is_over(), "the load broke off");
            assert!(Instant::now() < deadline, "the load hangs");
            std::thread::sleep(LOOK_DISTANCE);
        }
    }

    /// Lets the pass under way end, which has to come in time and without a wrong byte.
    pub(crate) fn finish(mut self) -> Verified {
        self.state.order.store(ENOUGH, Ordering::Relaxed);
        let deadline = Instant::now() + PATIENCE;
        while !self.is_over() {
            assert!(Instant::now() < deadline, "the load hangs");
            std::thread::sleep(LOOK_DISTANCE);
        }
        self.passes.take().unwrap().join().unwrap()
    }

    fn is_over(&self) -> bool {
        self.passes.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.state.order.store(ABANDONED, Ordering::Relaxed);
        if let Some(passes) = self.passes.take() {
            let _ = passes.join();
        }
    }
}

/// Pass after pass, until that is to end.
fn go_on(words: &[String], directory: &Path, state: &State) -> Verified {
    let mut all = Verified::default();
    while state.order.load(Ordering::Relaxed) == GOING_ON {
        let seed = state.over.load(Ordering::Relaxed) + 1;
        let report = directory.join(format!("report{seed}"));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(format!("--randseed={seed}")).arg(format!("--output={}", report.display()));
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
        let Some(pass) = pass(command.spawn().unwrap(), report, state) else { break };
        all = all.and(pass);
        state.over.fetch_add(1, Ordering::Relaxed);
    }
    all
}

/// One pass to its end; none if it is abandoned.
fn pass(mut fio: Child, report: PathBuf, state: &State) -> Option<Verified> {
    let status = loop {
        if let Some(status) = fio.try_wait().unwrap() {
            break status;
        }
        if state.order.load(Ordering::Relaxed) == ABANDONED {
            let _ = fio.kill();
            let _ = fio.wait();
            return None;
        }
        std::thread::sleep(LOOK_DISTANCE);
    };
    let report = std::fs::read_to_string(report).unwrap_or_default();
    assert!(status.success(), "fio: {status}: {report}");
    Some(verified(&report))
}

impl Verified {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            outage: self.outage.max(other.outage),
            written_bytes: self.written_bytes + other.written_bytes,
            verified_bytes: self.verified_bytes + other.verified_bytes,
        }
    }
}

/// Reads fio's report of a pass.
pub(crate) fn verified(report: &str) -> Verified {
    let json = report.find('{').map_or(report, |start| &report[start..]);
    let report: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {report}"));
    let job = &report["jobs"][0];
    assert_eq!(job["error"], 0, "{job}");
    let longest = |direction: &str, kind: &str| job[direction][kind]["max"].as_u64().unwrap_or(0);
    // fio 3.33 counts some from the start of the machine: what is longer than the whole job is
    // none.
    let job_ns = job["job_runtime"].as_u64().unwrap_or(0) * 1_000_000;
    let kinds =
        [("write", "clat_ns"), ("write", "lat_ns"), ("read", "clat_ns"), ("read", "lat_ns"), ("sync", "lat_ns")];
    let longest =
        kinds.map(|(direction, kind)| longest(direction, kind)).into_iter().filter(|&longest| longest <= job_ns);
    Verified {
        outage: Duration::from_nanos(longest.max().unwrap_or(0)),
        written_bytes: job["write"]["io_bytes"].as_u64().unwrap(),
        verified_bytes: job["read"]["io_bytes"].as_u64().unwrap(),
    }
}
