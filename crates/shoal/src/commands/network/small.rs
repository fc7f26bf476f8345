//! Blocks of 4 KiB one after the other and one at a time, past the page cache: how the study of a Raspberry Pi measured its
//! sticks, with fio. Here `shoal bench` does it, on the array or on a file of the directory.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use shoal_bench::Measurement;

use super::ground::{Target, temporary};
use super::published::SMALL;
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

/// Measures writes, then reads, so many times each; in the order of [`SMALL`].
pub(super) fn measure(cli: &Cli, target: &Target, repeats: u32) -> Result<Vec<Vec<Measurement>>, Failure> {
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
    let bar = count_bar(cli, SMALL.len() as u64, "small blocks");
    let mut all = Vec::new();
    for direction in ["--write", "--read"] {
        all.push(bench(&targets, direction, repeats)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

fn bench(targets: &[PathBuf], direction: &str, repeats: u32) -> Result<Vec<Measurement>, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(Failure::failed)?);
    command.args([
        "--json",
        "bench",
        direction,
        "--sequential",
        "--block-size",
        "4K",
        "--depth",
        "1",
        "--warm-up",
        "0",
    ]);
    command.args(["--bytes", &SMALL_BYTES.to_string(), "--repeat", &repeats.to_string()]);
    if direction == "--write" {
        command.arg("--force");
    }
    let output = command.args(targets).stdin(Stdio::null()).output().map_err(Failure::failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let benched: Result<Benched, _> = serde_json::from_slice(&output.stdout);
    let benched = benched.map_err(|_| Failure::Failed(format!("4 KiB blocks: {}", said.trim().replace('\n', "; "))))?;
    Ok(benched.results)
}
