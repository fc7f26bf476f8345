//! shoal's RAID0 over six files against fio on six files at once: throughput, IOPS and CPU time,
//! whole processes, in interleaved rounds.
//!
//! `cargo bench -p shoal --bench versus_fio -- [--directory DIR] [--rounds N] [--seconds S] [--mib
//! M] [--only WORD]`
//!
//! Both do the same: io_uring, direct I/O, one thread, the same depth and block size, on files of
//! one size that hold random bytes. fio spreads its I/O over its files by itself; shoal through an
//! array with a chunk of 512 KiB. fio's write buffers are made once, as shoal's are but for a
//! stamp. CPU time is what the system bills to the process and to the kernel's workers on its
//! behalf, over the bytes moved.

#[path = "versus/mod.rs"]
mod versus;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;
use versus::{Failure, Options, median, write_random};

const FILES: usize = 6;

/// One point of the comparison.
struct Point {
    name: &'static str,
    random: bool,
    write: bool,
    block_size: &'static str,
    depth: &'static str,
}

const POINTS: [Point; 4] = [
    Point { name: "1 MiB sequential read", random: false, write: false, block_size: "1M", depth: "4" },
    Point { name: "1 MiB sequential write", random: false, write: true, block_size: "1M", depth: "4" },
    Point { name: "4 KiB random read", random: true, write: false, block_size: "4k", depth: "32" },
    Point { name: "4 KiB random write", random: true, write: true, block_size: "4k", depth: "32" },
];

/// What one run of either program came to.
#[derive(Clone, Copy)]
struct Run {
    bytes_per_s: f64,
    cpu_ns_per_byte: f64,
}

fn main() -> ExitCode {
    let (directory, only) = (PathBuf::from("target"), String::new());
    let options = Options { directory, rounds: 5, seconds: 5, mib: FILES as u64 * 256, only };
    versus::run("versus_fio", &[("fio", "fio")], options, compare)
}

fn compare(options: &Options) -> Result<(), Failure> {
    let directory = tempfile::tempdir_in(&options.directory)?;
    let files = |prefix: &str| -> Vec<PathBuf> {
        (0..FILES).map(|number| directory.path().join(format!("{prefix}{number}"))).collect()
    };
    let (members, plain) = (files("member"), files("plain"));
    let file_mib = options.mib / FILES as u64;
    for path in members.iter().chain(&plain) {
        write_random(path, file_mib)?;
    }
    let create = shoal().args(["create", "--level", "0", "--force"]).args(&members).stdout(Stdio::null()).status()?;
    if !create.success() {
        return Err("shoal create failed".into());
    }
    println!(
        "six files of {file_mib} MiB, {} rounds of {} s, medians; ratios shoal / fio",
        options.rounds, options.seconds
    );
    println!(
        "{:24} {:>12} {:>12} {:>8} {:>20} {:>8}",
        "", "shoal MB/s", "fio MB/s", "ratio", "CPU ns per KiB", "ratio"
    );
    for point in POINTS.iter().filter(|point| point.name.contains(&options.only)) {
        let mut pairs = Vec::new();
        for round in 0..options.rounds {
            // Who goes first takes turns, so that a drift of the machine's speed favours neither.
            let (ours, theirs) = if round % 2 == 0 {
                let ours = run_shoal(point, &members, options)?;
                (ours, run_fio(point, &plain, options)?)
            } else {
                let theirs = run_fio(point, &plain, options)?;
                (run_shoal(point, &members, options)?, theirs)
            };
            pairs.push((ours, theirs));
        }
        print_point(point, &pairs);
    }
    Ok(())
}

fn print_point(point: &Point, pairs: &[(Run, Run)]) {
    let of = |value: &dyn Fn(&(Run, Run)) -> f64| median(pairs.iter().map(value).collect());
    let kib = 1024.0;
    println!(
        "{:24} {:12.0} {:12.0} {:8.2} {:>20} {:8.2}",
        point.name,
        of(&|(ours, _)| ours.bytes_per_s / 1e6),
        of(&|(_, theirs)| theirs.bytes_per_s / 1e6),
        of(&|(ours, theirs)| ours.bytes_per_s / theirs.bytes_per_s),
        format!(
            "{:.0} / {:.0}",
            of(&|(ours, _)| ours.cpu_ns_per_byte * kib),
            of(&|(_, theirs)| theirs.cpu_ns_per_byte * kib)
        ),
        of(&|(ours, theirs)| ours.cpu_ns_per_byte / theirs.cpu_ns_per_byte),
    );
}

fn shoal() -> Command {
    Command::new(env!("CARGO_BIN_EXE_shoal"))
}

fn run_shoal(point: &Point, members: &[PathBuf], options: &Options) -> Result<Run, Failure> {
    let mut command = shoal();
    command.args(["bench", "--json", "--quiet", "--no-book", "--repeat", "1", "--warm-up", "0", "--force"]);
    command.args(["--depth", point.depth]);
    command.args(["--block-size", &point.block_size.to_uppercase(), "--seconds", &options.seconds.to_string()]);
    command.arg(if point.random { "--random" } else { "--sequential" });
    if point.write {
        command.arg("--write");
    }
    let document = json(command.args(members))?;
    let result = &document["results"][0];
    let bytes = result["bytes"].as_f64().ok_or("no bytes")?;
    let cpu_ns =
        result["cpu"]["user_ns"].as_f64().ok_or("no CPU")? + result["cpu"]["system_ns"].as_f64().ok_or("no CPU")?;
    Ok(Run { bytes_per_s: result["bytes_per_s"].as_f64().ok_or("no rate")?, cpu_ns_per_byte: cpu_ns / bytes })
}

fn run_fio(point: &Point, files: &[PathBuf], options: &Options) -> Result<Run, Failure> {
    let names: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
    let direction = if point.write { "write" } else { "read" };
    let pattern = if point.random { format!("rand{direction}") } else { direction.to_owned() };
    let document = json(Command::new("fio").args([
        "--name=six",
        "--ioengine=io_uring",
        "--direct=1",
        "--time_based",
        "--end_fsync=1",
        "--output-format=json",
        &format!("--rw={pattern}"),
        &format!("--bs={}", point.block_size),
        &format!("--iodepth={}", point.depth),
        &format!("--runtime={}", options.seconds),
        &format!("--filename={}", names.join(":")),
        &format!("--size={}M", options.mib / FILES as u64 * FILES as u64),
    ]))?;
    let job = &document["jobs"][0];
    let result = &job[direction];
    let bytes = result["io_bytes"].as_f64().ok_or("no bytes")?;
    let percent = job["usr_cpu"].as_f64().ok_or("no CPU")? + job["sys_cpu"].as_f64().ok_or("no CPU")?;
    let cpu_ns = percent / 100.0 * job["job_runtime"].as_f64().ok_or("no runtime")? * 1e6;
    Ok(Run { bytes_per_s: result["bw_bytes"].as_f64().ok_or("no rate")?, cpu_ns_per_byte: cpu_ns / bytes })
}

fn json(command: &mut Command) -> Result<Value, Failure> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", command.get_program().display(), output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
