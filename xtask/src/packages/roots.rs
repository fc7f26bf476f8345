//! Bare systems, in which a package is installed, tried and removed.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::architecture::Architecture;
use super::tree;
use crate::process;

/// What is done in such a system, by its own shell.
const INSTALLED: &str = include_str!("installed.sh");
/// The part of it that tries the program, wherever that is.
const TRIED: &str = include_str!("tried.sh");
/// What makes the system, and says by this status that its archive is out of reach.
const MAKER: &str = "scripts/root";
const OUT_OF_REACH: i32 = 3;

/// The releases that packages are for, by the names of their archives.
pub(super) const SUITES: [&str; 3] = ["bookworm", "trixie", "noble"];
const OLDEST: &str = SUITES[0];

/// Installs it wherever it is to run. For another processor the oldest system is unpacked, and the
/// program is emulated.
///
/// # Errors
/// What does not work.
pub(super) fn try_package(root: &Path, package: &Path, architecture: Architecture) -> Result<()> {
    if !package.is_file() {
        bail!("no {}: cargo xtask packages {} makes it", package.display(), architecture.debian());
    }
    if architecture.emulator().is_some() {
        return emulate(root, package, architecture);
    }
    SUITES.into_iter().try_for_each(|suite| install(root, package, architecture, suite))
}

/// Installs a package in a new system, tries it, purges it, and compares the system with what it
/// was.
///
/// # Errors
/// What does not work, or is left behind.
pub(super) fn install(root: &Path, package: &Path, architecture: Architecture, suite: &str) -> Result<()> {
    let Some(system) = made(root, architecture, suite)? else { return Ok(()) };
    std::fs::copy(package, system.path().join("shoal.deb")).context("the package, into the system")?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
    command.args(["sh", "-euc", "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" /bin/sh -euc \"$1\""]);
    command.arg(system.path()).arg(format!("{INSTALLED}\ntried() {{\n{TRIED}}}\nall\n"));
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
    passed(&process::capture(&mut command)?, suite)?;
    println!("packages: installed, tried and purged: {} on {suite}", architecture.debian());
    Ok(())
}

/// Unpacks a system and the package for another processor, and tries that.
fn emulate(root: &Path, package: &Path, architecture: Architecture) -> Result<()> {
    let Some(system) = made(root, architecture, OLDEST)? else { return Ok(()) };
    process::pass(Command::new("dpkg").arg("--extract").arg(package).arg(system.path()))?;
    let emulated = architecture.runs(&system.path().join("usr/bin/shoal"), system.path())?;
    let words: Vec<_> = [emulated.get_program()].into_iter().chain(emulated.get_args()).collect();
    let words: Vec<_> = words.iter().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let caller = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
    tree::put(system.path(), "tried/bin/shoal", caller.as_bytes(), 0o755)?;
    let mut command = Command::new("sh");
    command.args(["-euc", &format!("PATH=$PWD/bin:$PATH\n{TRIED}")]).current_dir(system.path().join("tried"));
    passed(&process::capture(&mut command)?, OLDEST)?;
    println!("packages: unpacked and tried, emulated: {} on {OLDEST}", architecture.debian());
    Ok(())
}

/// A new system, or the line that says what it lacks.
fn made(root: &Path, architecture: Architecture, suite: &str) -> Result<Option<TempDir>> {
    let skipped = |why: &str| {
        println!("SKIPPED: a package for {} on {suite}: needs {why}", architecture.debian());
        Ok(None)
    };
    if !rustix::process::geteuid().is_root() {
        return skipped("root");
    }
    let tools = ["mmdebstrap", "unshare", "setpriv", "chroot"];
    if let Some(tool) = tools.into_iter().find(|tool| !process::is_installed(tool)) {
        return skipped(tool);
    }
    let folder = TempDir::new_in(super::output(root)?)?;
    let mut maker = Command::new(root.join(MAKER));
    let output = process::capture(maker.args([suite, architecture.debian()]).arg(folder.path()))?;
    if output.status.code() == Some(OUT_OF_REACH) {
        return skipped(String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("root: "));
    }
    passed(&output, suite)?;
    Ok(Some(folder))
}

fn passed(output: &Output, suite: &str) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let [said, complained] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    bail!("on {suite}: {}\n{said}{complained}", output.status)
}
