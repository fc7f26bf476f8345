//! A load of fio's that verifies every byte: what is written carries its place and a checksum, and all of it is read back.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// What a load came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verified {
    /// The longest that a write took: the outage as a program sees it.
    pub(crate) outage: Duration,
    pub(crate) written_bytes: u64,
    pub(crate) verified_bytes: u64,
}

/// fio at work.
pub(crate) struct Load {
    child: Option<Child>,
    report: PathBuf,
}

/// Arguments that every load has: random writes of one pass over `bytes`, at a rate, and then all of it read and verified.
pub(crate) fn arguments(bytes: u64, rate_bytes_per_s: u64, report: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = ["--name=load", "--rw=randwrite", "--bs=16k", "--iodepth=8", "--thread"]
        .into_iter()
        .chain(["--verify=crc32c", "--verify_fatal=1", "--fsync=50", "--output-format=json"])
        .map(str::to_owned)
        .collect();
    arguments.push(format!("--size={bytes}"));
    arguments.push(format!("--rate={rate_bytes_per_s}"));
    arguments.push(format!("--output={}", report.display()));
    arguments
}

impl Load {
    /// Starts it; `launcher` is what it is started by, if anything.
    pub(crate) fn start(launcher: &[&str], target: &[String], bytes: u64, rate: u64, report: PathBuf) -> Self {
        let words: Vec<&str> = launcher.iter().copied().chain(["fio"]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(arguments(bytes, rate, &report)).args(target);
        // Whatever a load leaves behind, it leaves beside its report.
        command.current_dir(report.parent().unwrap()).stdin(Stdio::null()).stdout(Stdio::null());
        Self { child: Some(command.spawn().unwrap()), report }
    }

    /// Waits for its end, which has to come in time and without a wrong byte.
    pub(crate) fn finish(mut self, patience: Duration) -> Verified {
        let mut child = self.child.take().unwrap();
        let begun = std::time::Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > patience {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the load hangs");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let report = std::fs::read_to_string(&self.report).unwrap_or_default();
        assert!(status.success(), "fio: {status}: {report}");
        verified(&report)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reads fio's report.
pub(crate) fn verified(report: &str) -> Verified {
    let json = report.find('{').map_or(report, |start| &report[start..]);
    let report: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {report}"));
    let job = &report["jobs"][0];
    assert_eq!(job["error"], 0, "{job}");
    let longest = ["clat_ns", "lat_ns"].map(|kind| job["write"][kind]["max"].as_u64().unwrap_or(0));
    // fio 3.33 counts some from the start of the machine: what is longer than the whole job is none.
    let job_ns = job["job_runtime"].as_u64().unwrap_or(0) * 1_000_000;
    let sync = job["sync"]["lat_ns"]["max"].as_u64().filter(|&longest| longest <= job_ns).unwrap_or(0);
    Verified {
        outage: Duration::from_nanos(longest[0].max(longest[1]).max(sync)),
        written_bytes: job["write"]["io_bytes"].as_u64().unwrap(),
        verified_bytes: job["read"]["io_bytes"].as_u64().unwrap(),
    }
}
