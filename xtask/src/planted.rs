//! Deliberate bugs that the fault hunter has to find.
//!
//! The workspace is copied below `target/`. Each [bug](bugs) is put into the copy alone, the swarm is built there, and plays
//! seeds until one fails, ten thousand at most. A bug that survives them fails the gate, and so does a place that is not
//! what the table says any more: it has to follow the code that it is in.

mod bugs;

use crate::process;
use anyhow::{Context, Result, bail};
use bugs::{BUGS, Bug};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A bug has to be found within so many seeds.
const SEEDS: u64 = 10_000;

/// Those of the short form: found soon, in three different crates' worth of code.
pub(crate) const SHORT: &[&str] = &["bitmap-set-late", "rebuild-ahead", "flush-one-member"];

/// What became of a bug.
struct Outcome {
    seed: u64,
    checker: String,
    seconds: f64,
}

/// Plants the bugs of these names, one after the other; without names, all.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !BUGS.iter().any(|bug| bug.name == **name)) {
        let known: Vec<_> = BUGS.iter().map(|bug| bug.name).collect();
        bail!("there is no planted bug `{unknown}`: give some of {}", known.join(", "));
    }
    let wanted = |bug: &&Bug| names.is_empty() || names.contains(&bug.name);
    for bug in BUGS.iter().filter(wanted) {
        bug.planted_in(root)?; // before the first one costs minutes
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("planted");
    let copy = target.join("workspace");
    copy_workspace(root, &copy)?;
    println!("{:24} {:>6}  {:12} {:>7}", "bug", "seed", "checker", "seconds");
    let mut survivors = Vec::new();
    for bug in BUGS.iter().filter(wanted) {
        match hunt(bug, root, &copy, &target.join("build"))? {
            Some(Outcome { seed, checker, seconds }) => {
                println!("{:24} {seed:>6}  {checker:12} {seconds:>7.1}  {}", bug.name, bug.what);
            }
            None => {
                println!("{:24} {:>6}  {:12} {:>7}  {}", bug.name, "-", "survives", "", bug.what);
                survivors.push(bug.name);
            }
        }
    }
    if !survivors.is_empty() {
        bail!("{SEEDS} seeds do not find {}", survivors.join(", "));
    }
    Ok(())
}

impl Bug {
    /// The file with the bug in it.
    fn planted_in(&self, root: &Path) -> Result<String> {
        let path = root.join(self.file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match text.matches(self.right).count() {
            1 => Ok(text.replacen(self.right, self.wrong, 1)),
            count => bail!(
                "the planted bug {} wants to find its text once in {}, and finds it {count} times: mend the table in \
                 xtask/src/planted/bugs.rs",
                self.name,
                self.file
            ),
        }
    }
}

/// Copies what git knows of, and leaves alone what has not changed, so that little is built anew.
fn copy_workspace(root: &Path, copy: &Path) -> Result<()> {
    let listed = process::stdout_of(Command::new("git").arg("-C").arg(root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in listed.lines() {
        let from = root.join(file);
        let wanted = file.starts_with("Cargo") || file.starts_with("crates/") || file.starts_with("xtask/");
        if wanted && from.is_file() {
            let bytes = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
            put(&copy.join(file), &bytes)?;
        }
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Plants one bug, hunts it, and takes it out again.
fn hunt(bug: &Bug, root: &Path, copy: &Path, build: &Path) -> Result<Option<Outcome>> {
    let place = copy.join(bug.file);
    put(&place, bug.planted_in(root)?.as_bytes())?;
    let found = build_and_play(copy, build);
    put(&place, &fs::read(root.join(bug.file))?)?;
    found
}

fn build_and_play(copy: &Path, build: &Path) -> Result<Option<Outcome>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "-p", "shoal-swarm", "--example", "hunt", "--manifest-path"]);
    cargo.arg(copy.join("Cargo.toml")).env("CARGO_TARGET_DIR", build).env("RUSTFLAGS", "--cap-lints=warn -Awarnings");
    process::pass(&mut cargo)?;
    let began = Instant::now();
    let mut play = Command::new(build.join("debug/examples/hunt"));
    let output = process::capture(play.args(["0", &SEEDS.to_string(), "first"]))?;
    let seconds = began.elapsed().as_secs_f64();
    let told = String::from_utf8_lossy(&output.stdout);
    // A find is "SEED: CHECKER: WHAT".
    let found = told.lines().find_map(|line| {
        let (seed, rest) = line.split_once(": ")?;
        Some((seed.parse().ok()?, rest.split(':').next()?.to_owned()))
    });
    match found {
        Some((seed, checker)) => Ok(Some(Outcome { seed, checker, seconds })),
        None if output.status.success() => Ok(None),
        // A bug may take the whole program with it.
        None => Ok(Some(Outcome { seed: 0, checker: "ends badly".to_owned(), seconds })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what is planted and never looked at nobody would know that its place is gone.
    #[test]
    fn every_bug_has_its_place() {
        for bug in BUGS {
            let text = bug.planted_in(&crate::repository()).unwrap_or_else(|error| panic!("{error}"));
            assert!(text.contains(bug.wrong));
        }
        assert!(SHORT.iter().all(|name| BUGS.iter().any(|bug| bug.name == *name)));
    }
}
