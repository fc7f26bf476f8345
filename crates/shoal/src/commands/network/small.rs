//! Blocks of 4 KiB one after the other and one at a time, past the page cache: how the study of a
//! Raspberry Pi measured its sticks, with fio, each alone and then all as one. Here `shoal bench`
//! does it: on each drive, if an array is yet to be made of them (of an array that is there members
//! are read and not written), and on the array or on a file of the directory.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_bench::{Measurement, Validity};

use super::named::Named;
use super::target::Target;
use super::testbed::temporary;
use crate::args::Cli;
use crate::exit::Failure;
use crate::progress::count_bar;

/// What the study wrote and read each time, of which the 99.99th percentile can be told.
const SMALL_BYTES: u64 = 1 << 30;

/// What `shoal bench --json` prints.
#[derive(Deserialize)]
struct Benched {
    results: Vec<Measurement>,
}

/// One table of the study: a drive or what is made of drives, written or read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SmallDocument {
    /// A drive's path, or what is served.
    pub(crate) target: String,
    /// The drive's place among those that were named, from 0; left out for what is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drive: Option<u32>,
    /// Which way.
    pub(crate) direction: SmallDirection,
    /// In the order in which they ran.
    pub(crate) runs: Vec<SmallRun>,
}

/// Which way blocks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SmallDirection {
    /// To the drive.
    Write,
    /// From it.
    Read,
}

/// One run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SmallRun {
    /// Its average rate.
    pub(crate) bytes_per_s: u64,
    /// What one in ten thousand requests took longer than; left out where there were too few to
    /// say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_99_99_ns: Option<u64>,
    /// Whether it can be trusted.
    pub(crate) validity: Validity,
}

impl SmallDirection {
    /// As a study's table names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Which drives are measured by themselves, and how: those that become an array are lost anyway,
/// members only give.
fn drives_alone(named: &Named) -> (&[PathBuf], &'static [SmallDirection]) {
    match named {
        Named::Target(Target::Directory(_)) => (&[], &[]),
        Named::Target(Target::Array { members, .. }) => (members, &[SmallDirection::Read]),
        Named::Drives(drives) => (drives.paths(), &[SmallDirection::Write, SmallDirection::Read]),
    }
}

/// How much is written and read in all, drives alone and what is served.
pub(super) fn bytes(named: &Named, repeats: u32) -> u64 {
    let (drives, directions) = drives_alone(named);
    (drives.len() as u64 * directions.len() as u64 + 2) * u64::from(repeats) * SMALL_BYTES
}

/// What is measured before there is an array: each drive by itself.
pub(super) fn measure_drives(cli: &Cli, named: &Named, repeats: u32) -> Result<Vec<SmallDocument>, Failure> {
    let (drives, directions) = drives_alone(named);
    let bar = count_bar(cli, (drives.len() * directions.len()) as u64, "drives alone");
    let mut all = Vec::new();
    for (drive, path) in (0..).zip(drives) {
        for &direction in directions {
            let name = path.display().to_string();
            bar.set_message(format!("{}: {name}", direction.name()));
            let runs = bench(std::slice::from_ref(path), &["--raw"], direction, repeats)?;
            all.push(SmallDocument { target: name, drive: Some(drive), direction, runs });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(all)
}

/// What is served, before it is served.
pub(super) fn measure_served(cli: &Cli, target: &Target, repeats: u32) -> Result<Vec<SmallDocument>, Failure> {
    let (targets, _own) = match target {
        Target::Array { members, .. } => (members.clone(), None),
        Target::Directory(path) => {
            let own = temporary(".shoal-network-", path)?;
            let file = own.path().join("small");
            let made = File::create(&file).and_then(|file| file.set_len(SMALL_BYTES));
            made.map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
            (vec![file], Some(own))
        }
    };
    let bar = count_bar(cli, 2, "small blocks");
    let mut all = Vec::new();
    for direction in [SmallDirection::Write, SmallDirection::Read] {
        let runs = bench(&targets, &[], direction, repeats)?;
        all.push(SmallDocument { target: target.description(), drive: None, direction, runs });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

fn bench(
    targets: &[PathBuf],
    options: &[&str],
    direction: SmallDirection,
    repeats: u32,
) -> Result<Vec<SmallRun>, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(Failure::failed)?);
    command.args(["--json", "bench", "--sequential", "--block-size", "4K", "--depth", "1", "--warm-up", "0"]);
    command.args(["--bytes", &SMALL_BYTES.to_string(), "--repeat", &repeats.to_string()]).args(options);
    match direction {
        SmallDirection::Write => command.args(["--write", "--force"]),
        SmallDirection::Read => command.arg("--read"),
    };
    let output = command.args(targets).stdin(Stdio::null()).output().map_err(Failure::failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let benched: Result<Benched, _> = serde_json::from_slice(&output.stdout);
    let benched = benched.map_err(|_| Failure::Failed(format!("4 KiB blocks: {}", said.trim().replace('\n', "; "))))?;
    let run = |one: Measurement| SmallRun {
        bytes_per_s: one.bytes_per_s,
        latency_99_99_ns: one.latency_ns.percentiles.get("99.99").copied(),
        validity: one.validity,
    };
    Ok(benched.results.into_iter().map(run).collect())
}
