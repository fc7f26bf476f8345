//! Deliberate bugs that the fault hunter has to find.
//!
//! The workspace is copied below `target/`, all [bugs] are put into the copy, and the swarm is
//! built there once. An environment variable says which of them is active; with it the swarm plays
//! seeds until one fails, ten thousand at most. A bug that survives them fails the gate, and so
//! does a place that is not what the table says any more: it has to follow the code that it is in.

mod bugs;

use crate::process;
use anyhow::{Context, Result, bail};
use bugs::{BUGS, Bug};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A bug has to be found within so many seeds.
const SEEDS: u64 = 10_000;

/// The environment variable that names the active bug.
const VARIABLE: &str = "SHOAL_PLANTED";

/// What became of a bug.
struct Outcome {
    seed: u64,
    checker: String,
    seconds: f64,
}

/// Plants the bugs, and hunts those of these names, one after the other; without names, all.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !BUGS.iter().any(|bug| bug.name == **name)) {
        let known: Vec<_> = BUGS.iter().map(|bug| bug.name).collect();
        bail!("there is no planted bug `{unknown}`: give some of {}", known.join(", "));
    }
    let planted = planted_files(root)?;
    let target = crate::target_directory(root).join("planted");
    copy_workspace(root, &target.join("workspace"), &planted)?;
    let hunter = build(&target)?;
    println!("{:24} {:>6}  {:12} {:>7}", "bug", "seed", "checker", "seconds");
    let mut survivors = Vec::new();
    for bug in BUGS.iter().filter(|bug| names.is_empty() || names.contains(&bug.name)) {
        match hunt(bug, &hunter)? {
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
    /// Puts the bug into the text of its file.
    fn plant_in(&self, text: &str) -> Result<String> {
        // The engine does without the standard library, but for this.
        let is_active = format!(
            "{{ extern crate std as planted; static IT: planted::sync::OnceLock<bool> = planted::sync::OnceLock::new(); \
             *IT.get_or_init(|| planted::env::var_os(\"{VARIABLE}\").is_some_and(|name| name == \"{}\")) }}",
            self.name
        );
        match text.matches(self.right).count() {
            1 => Ok(text.replacen(self.right, &self.wrong.replace("PLANTED", &is_active), 1)),
            count => bail!(
                "the planted bug {} wants to find its text once in {}, and finds it {count} times: mend the table in \
                 xtask/src/planted/bugs.rs",
                self.name,
                self.file
            ),
        }
    }
}

/// The files that have bugs, with all of them.
fn planted_files(root: &Path) -> Result<BTreeMap<&'static str, String>> {
    let mut files = BTreeMap::new();
    for bug in BUGS {
        let text = match files.remove(bug.file) {
            Some(text) => text,
            None => fs::read_to_string(root.join(bug.file)).with_context(|| format!("cannot read {}", bug.file))?,
        };
        files.insert(bug.file, bug.plant_in(&text)?);
    }
    Ok(files)
}

/// Copies what git knows of, with these files in place of its own. What has not changed is left
/// alone, so that little is built anew.
fn copy_workspace(root: &Path, copy: &Path, changed: &BTreeMap<&str, String>) -> Result<()> {
    let listed = process::stdout_of(Command::new("git").arg("-C").arg(root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in listed.lines() {
        let from = root.join(file);
        let wanted = file.starts_with("Cargo") || file.starts_with("crates/") || file.starts_with("xtask/");
        if let Some(text) = changed.get(file) {
            put(&copy.join(file), text.as_bytes())?;
        } else if wanted && from.is_file() {
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

/// The swarm with all bugs.
fn build(target: &Path) -> Result<PathBuf> {
    let build = target.join("build");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "-p", "shoal-swarm", "--example", "hunt", "--manifest-path"]);
    cargo.arg(target.join("workspace/Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", &build).env("RUSTFLAGS", "--cap-lints=warn -Awarnings");
    process::pass(&mut cargo)?;
    Ok(build.join("debug/examples/hunt"))
}

/// Plays seeds with one bug active, until one fails.
fn hunt(bug: &Bug, hunter: &Path) -> Result<Option<Outcome>> {
    let began = Instant::now();
    let mut play = Command::new(hunter);
    let output = process::capture(play.args(["0", &SEEDS.to_string(), "first"]).env(VARIABLE, bug.name))?;
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
        planted_files(&crate::repository()).unwrap_or_else(|error| panic!("{error}"));
        assert!(BUGS.iter().all(|bug| bug.wrong.contains("PLANTED")));
    }
}
