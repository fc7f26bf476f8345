//! The fuzzers of everything that is read from a drive, and of what clients say, on a stable
//! toolchain.
//!
//! `fuzz/` is a package of its own, laid out for cargo-fuzz. That program wants a nightly compiler,
//! but only for sanitizers, which safe code has little use for. What guides libFuzzer is LLVM's
//! coverage pass, and every compiler takes that.
//!
//! The seeds are what Linux and mdadm wrote on real members, the fixtures of `crates/md`, and what
//! well-behaved clients say, those of `crates/serve`. What a run adds to them stays below
//! `target/`, so that the next one goes on from there.

use crate::process;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of `fuzz/fuzz_targets`.
struct Fuzzer {
    name: &'static str,
    /// Its seeds are the fixtures of this crate whose names start and end so.
    fixtures: &'static str,
    seeds: (&'static str, &'static str),
    most_bytes: u32,
}

const FUZZERS: &[Fuzzer] = &[
    Fuzzer { name: "superblock", fixtures: MEMBERS, seeds: ("", ".superblocks"), most_bytes: 4096 },
    Fuzzer { name: "assembly", fixtures: MEMBERS, seeds: ("", ".superblocks"), most_bytes: 5 * 4096 },
    Fuzzer { name: "bitmap", fixtures: MEMBERS, seeds: ("bitmap-", ".bin"), most_bytes: 2 * 4096 },
    Fuzzer { name: "bad_blocks", fixtures: MEMBERS, seeds: ("bad-blocks", ".bin"), most_bytes: 2 * 4096 },
    Fuzzer { name: "ppl", fixtures: MEMBERS, seeds: ("ppl-", ".bin"), most_bytes: 13 * 4096 },
    Fuzzer { name: "journal", fixtures: MEMBERS, seeds: ("journal-", ".bin"), most_bytes: 20 * 4096 },
    Fuzzer { name: "nbd_handshake", fixtures: CLIENTS, seeds: ("handshake-", ".bin"), most_bytes: 4096 },
    Fuzzer { name: "nbd_transmission", fixtures: CLIENTS, seeds: ("transmission-", ".bin"), most_bytes: 16 << 10 },
];

const MEMBERS: &str = "crates/md/tests/fixtures";
const CLIENTS: &str = "crates/serve/tests/fixtures";
/// Seconds for all of them, in continuous integration.
pub(crate) const SHORT_SECONDS: u32 = 60;
/// An input that takes longer is a hang, however busy the machine is.
const HANG_SECONDS: u32 = 60;
/// What libFuzzer may keep; what the code under test may is limited by
/// `shoal_fuzz::MEMORY_LIMIT_BYTES`.
const RESIDENT_LIMIT_MIB: u32 = 512;

/// Edges and comparisons, as cargo-fuzz asks for them.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// What the fuzzers are given.
#[derive(Clone, Copy)]
enum Inputs {
    /// What is known: seeds, and what earlier runs have added to them.
    Known,
    /// What coverage leads to, from there on, for so many seconds each.
    New { seconds: u32 },
}

impl Inputs {
    /// The profile of `fuzz/Cargo.toml` that the programs are built with.
    fn profile(self) -> &'static str {
        match self {
            Self::Known => "corpus",
            Self::New { .. } => "release",
        }
    }
}

/// Builds the fuzzers and runs each for its share of `seconds`; the first find ends it.
///
/// # Errors
/// A find, or a program that cannot be built.
pub(crate) fn run(root: &Path, seconds: u32) -> Result<()> {
    let share = seconds.div_ceil(u32::try_from(FUZZERS.len())?).max(1);
    run_all(root, Inputs::New { seconds: share })
}

/// Builds the fuzzers and runs each on the inputs that are known.
///
/// # Errors
/// As [`run`].
pub(crate) fn replay(root: &Path) -> Result<()> {
    run_all(root, Inputs::Known)
}

fn run_all(root: &Path, inputs: Inputs) -> Result<()> {
    if !process::is_installed("c++") {
        println!("SKIPPED: the fuzzers need c++, for libFuzzer (apt: g++)");
        return Ok(());
    }
    let target = crate::target_directory(root).join("fuzz");
    let programs = build(root, &target, inputs.profile())?;
    for fuzzer in FUZZERS {
        fuzz(fuzzer, &programs.join(fuzzer.name), root, &target, inputs)?;
    }
    Ok(())
}

/// The folder with the programs.
fn build(root: &Path, target: &Path, profile: &str) -> Result<PathBuf> {
    let version = process::stdout_of(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let mut build = Command::new(env!("CARGO"));
    // With a target of its own, build scripts and macros go without the instrumentation.
    build.args(["build", "--profile", profile, "--locked", "--quiet", "--target", host, "--manifest-path"]);
    build.arg(root.join("fuzz/Cargo.toml")).arg("--target-dir").arg(target);
    build.env("RUSTFLAGS", COVERAGE.join(" ")).env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::pass(&mut build)?;
    Ok(target.join(host).join(profile))
}

fn fuzz(fuzzer: &Fuzzer, program: &Path, root: &Path, target: &Path, inputs: Inputs) -> Result<()> {
    let folder = |kind: &str| -> Result<PathBuf> {
        let folder = target.join(kind).join(fuzzer.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    };
    let [corpus, seeds, finds] = [folder("corpus")?, folder("seeds")?, folder("finds")?];
    copy_seeds(fuzzer, &root.join(fuzzer.fixtures), &seeds)?;
    let mut run = Command::new(program);
    run.arg(match inputs {
        Inputs::Known => "-runs=0".to_owned(),
        Inputs::New { seconds } => format!("-max_total_time={seconds}"),
    });
    run.arg(format!("-max_len={}", fuzzer.most_bytes));
    run.arg(format!("-timeout={HANG_SECONDS}")).arg(format!("-rss_limit_mb={RESIDENT_LIMIT_MIB}"));
    run.arg("-print_final_stats=1").arg(format!("-artifact_prefix={}/", finds.display())).arg(corpus).arg(seeds);
    let output = process::capture(&mut run)?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let told = report.lines().filter(|line| !line.starts_with(['#', '\t'])).collect::<Vec<_>>().join("\n");
        bail!(
            "{told}\nthe fuzzer {} found something; again: {} FILE, with the file named above",
            fuzzer.name,
            program.display()
        );
    }
    let stat = |name: &str| report.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim();
    let executed = stat("stat::number_of_executed_units:");
    let of = match inputs {
        Inputs::Known => "all that are known".to_owned(),
        Inputs::New { seconds } => format!("in {seconds} s"),
    };
    println!("fuzz: {}: {executed} inputs, {of}; nothing found", fuzzer.name);
    Ok(())
}

fn copy_seeds(fuzzer: &Fuzzer, fixtures: &Path, seeds: &Path) -> Result<()> {
    let (start, end) = fuzzer.seeds;
    let mut count = 0;
    for fixture in fs::read_dir(fixtures).with_context(|| format!("cannot read {}", fixtures.display()))? {
        let fixture = fixture?;
        let name = fixture.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end)) {
            fs::copy(fixture.path(), seeds.join(&name))?;
            count += 1;
        }
    }
    if count == 0 {
        bail!("the fuzzer {} has no seeds in {}", fuzzer.name, fixtures.display());
    }
    Ok(())
}
