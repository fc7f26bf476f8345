//! The tiers of tests: what `make test`, `make proofs` and `make long` run.
//!
//! A tier is a list of [steps], each of them a command that can be run alone. Their output goes to
//! the terminal as it is; the first step that fails ends the tier. At its end a tier prints what
//! the time went into: its steps, and the ten slowest tests. Whatever was skipped is listed and
//! counted there: lines that begin with `SKIPPED`, of steps and of tests. So are tests that failed
//! and then passed: `.config/nextest.toml` says which are tried again.

mod busy;
mod report;
mod steps;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use busy::Busy;
use report::Tests;
use steps::Step;

/// What is proved when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// What finds mistakes early; minutes.
    Test,
    /// All that is proved of the present state; half an hour.
    Proofs,
    /// What does not fit into a day's work; hours.
    Long,
}

/// Whether the machine has something else to do meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// The tier has the machine for itself, as far as we can say.
    Idle,
    /// A loop on each processor takes what it can get.
    Busy,
}

/// What a step came to.
struct Done {
    name: &'static str,
    took: Duration,
    skipped: Vec<String>,
}

/// Runs all steps of a tier in their order, and says what they took.
///
/// # Errors
/// The first step that fails, by its command.
pub(crate) fn run(root: &Path, tier: Tier, load: Load) -> Result<()> {
    let busy = (load == Load::Busy).then(Busy::start);
    let mut done = Vec::new();
    let mut tests = Tests::default();
    for step in steps::of(tier)? {
        println!("\n=== {}: {}", step.name, step.words());
        let junit = step.junit(root);
        if let Some(junit) = junit.as_deref().filter(|junit| junit.exists()) {
            std::fs::remove_file(junit).with_context(|| format!("cannot remove {}", junit.display()))?;
        }
        let began = Instant::now();
        let skipped = carry_out(&step, root)?;
        done.push(Done { name: step.name, took: began.elapsed(), skipped });
        if let Some(junit) = junit {
            tests.read(&junit)?;
        }
    }
    drop(busy);
    summarise(&done, &tests);
    Ok(())
}

/// Runs one step to its end, and gives the lines in which it says what it skipped.
fn carry_out(step: &Step, root: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(step.program);
    command.args(&step.arguments).current_dir(root.join(step.directory)).envs(step.environment.iter().cloned());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", step.words()))?;
    let mut skipped = Vec::new();
    let mut output = BufReader::new(child.stdout.take().context("its output is a pipe")?);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        let text = String::from_utf8_lossy(&line);
        if text.trim_start().starts_with("SKIPPED") {
            skipped.push(text.trim().to_owned());
        }
        line.clear();
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("the step {} failed ({status}): {}", step.name, step.words());
    }
    Ok(skipped)
}

fn summarise(done: &[Done], tests: &Tests) {
    println!("\nWhat the time went into:");
    for step in done {
        println!("{:>8.1} s  {}", step.took.as_secs_f64(), step.name);
    }
    println!("\nThe slowest of {} tests:", tests.count());
    for (seconds, name) in tests.slowest(10) {
        println!("{seconds:>8.1} s  {name}");
    }
    let skipped: Vec<_> = done.iter().flat_map(|step| &step.skipped).chain(tests.skipped()).collect();
    println!("\nSkipped: {}", skipped.len());
    for line in skipped {
        println!("    {line}");
    }
    println!("\nPassed only when tried again: {}", tests.flaky().len());
    for name in tests.flaky() {
        println!("    {name}");
    }
    println!("{} passed, 0 failed", tests.count());
}
