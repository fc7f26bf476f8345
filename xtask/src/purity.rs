//! The purity gate: the engine needs neither the standard library nor the system.
//!
//! A `no_std` static library that holds the engine is built for this machine, and its undefined
//! symbols are read. Two probes with a planted breach must fail, so that the gate is known to be
//! able to.

use crate::process;
use anyhow::{Context, Result, bail};
use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What compiled code may leave to whoever links it.
const PERMITTED: &[&str] = &[
    // The compiler writes these for copies, fills and comparisons; every system and every bare
    // machine has them.
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "strlen",
    // The precompiled core library is built to unwind; a program that aborts never calls these.
    "_Unwind_Resume",
    "rust_eh_personality",
    // The linker's own.
    "_GLOBAL_OFFSET_TABLE_",
];

/// Builds the probe three times: as it is, and with each planted breach.
pub(crate) fn run(root: &Path) -> Result<()> {
    let archive = build_probe(root, None)?.context("the engine does not build without the standard library")?;
    let asked = asked_of_system(&symbols(&archive)?);
    if !asked.is_empty() {
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        bail!("the engine asks the system for {}; it must get that as an argument or an event", asked.join(", "));
    }
    if build_probe(root, Some("planted-std"))?.is_ok() {
        bail!("the gate is blind: a probe with the standard library planted in it was built");
    }
    let archive = build_probe(root, Some("planted-clock"))?.context("the probe with a planted clock does not build")?;
    if !asked_of_system(&symbols(&archive)?).contains("clock_gettime") {
        bail!("the gate is blind: a planted call to clock_gettime was not seen");
    }
    println!("purity: shoal-array links without the standard library and asks the system for nothing");
    Ok(())
}

/// The built archive, or why it did not build; the outer error is for a cargo that cannot be run.
fn build_probe(root: &Path, planted: Option<&str>) -> Result<Result<PathBuf>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = target.join("purity");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--manifest-path"]).arg(root.join("xtask/purity-probe/Cargo.toml"));
    build.arg("--target-dir").arg(&target).args(planted.map(|feature| format!("--features={feature}")));
    let output = process::capture(&mut build)?;
    if !output.status.success() {
        return Ok(Err(anyhow::anyhow!("{}", String::from_utf8_lossy(&output.stderr).trim_end().to_owned())));
    }
    Ok(Ok(target.join("debug/libpurity_probe.a")))
}

/// The symbols of an archive.
#[derive(Debug, Default)]
struct Symbols {
    defined: BTreeSet<String>,
    undefined: BTreeSet<String>,
}

fn symbols(archive: &Path) -> Result<Symbols> {
    let bytes = std::fs::read(archive).with_context(|| format!("cannot read {}", archive.display()))?;
    let mut symbols = Symbols::default();
    for member in ArchiveFile::parse(bytes.as_slice())?.members() {
        let object = File::parse(member?.data(bytes.as_slice())?)?;
        for symbol in object.symbols() {
            let name = symbol.name()?.to_owned();
            let is_wanted = symbol.is_undefined() && !name.is_empty();
            if is_wanted {
                symbols.undefined.insert(name)
            } else {
                symbols.defined.insert(name)
            };
        }
    }
    Ok(symbols)
}

/// Symbols that nothing in the archive defines and that are not permitted.
fn asked_of_system(symbols: &Symbols) -> BTreeSet<String> {
    let asked = symbols.undefined.difference(&symbols.defined);
    asked.filter(|name| !PERMITTED.contains(&name.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_member_defines_is_asked_of_the_system() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let symbols = Symbols { defined: set(&["here"]), undefined: set(&["here", "memcpy", "clock_gettime"]) };
        let asked = asked_of_system(&symbols);
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["clock_gettime"]);
    }
}
