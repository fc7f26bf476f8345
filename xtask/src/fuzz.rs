//! The fuzzers of everything that is read from a drive, and of what clients say, on a stable toolchain.
//!
//! `fuzz/` is a package of its own, laid out for cargo-fuzz. That program wants a nightly compiler, but only for sanitizers,
//! which safe code has little use for. What guides libFuzzer is LLVM's coverage pass, and every compiler takes that.
//!
//! The seeds are what Linux and mdadm wrote on real members, the fixtures of `crates/md`, and what well-behaved clients say,
//! those of `crates/serve`. What a run adds to them stays
//! below `target/`, so that the next one goes on from there.

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
/// What libFuzzer may keep; what the code under test may is limited by `shoal_fuzz::MEMORY_LIMIT_BYTES`.
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

/// Builds the fuzzers and runs each for its share of `seconds`; the first find ends it.
pub(crate) fn run(root: &Path, seconds: u32) -> Result<()> {
    if !process::is_installed("c++") {
        println!("SKIPPED: the fuzzers need c++, for libFuzzer (apt: g++)");
        return Ok(());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("fuzz");
    let programs = build(root, &target)?;
    let share = seconds.div_ceil(u32::try_from(FUZZERS.len())?).max(1);
    for fuzzer in FUZZERS {
        fuzz(fuzzer, &programs.join(fuzzer.name), root, &target, share)?;
    }
    Ok(())
}

/// The folder with the programs.
fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let version = process::stdout_of(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let mut build = Command::new(env!("CARGO"));
    // With a target of its own, build scripts and macros go without the instrumentation.
    build.args(["build", "--release", "--locked", "--quiet", "--target", host, "--manifest-path"]);
    build.arg(root.join("fuzz/Cargo.toml")).arg("--target-dir").arg(target);
    build.env("RUSTFLAGS", COVERAGE.join(" ")).env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::pass(&mut build)?;
    Ok(target.join(host).join("release"))
}

fn fuzz(fuzzer: &Fuzzer, program: &Path, root: &Path, target: &Path, seconds: u32) -> Result<()> {
    let folder = |kind: &str| -> Result<PathBuf> {
        let folder = target.join(kind).join(fuzzer.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    };
    let [corpus, seeds, finds] = [folder("corpus")?, folder("seeds")?, folder("finds")?];
    copy_seeds(fuzzer, &root.join(fuzzer.fixtures), &seeds)?;
    let mut run = Command::new(program);
    run.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={}", fuzzer.most_bytes));
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
    let inputs = stat("stat::number_of_executed_units:");
    println!("fuzz: {}: {inputs} inputs in {seconds} s, nothing found", fuzzer.name);
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
