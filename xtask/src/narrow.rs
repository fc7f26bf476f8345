//! A processor of 32 bits: every crate below which there is no library in C is checked for it.
//!
//! It is where a `usize` is no `u64`, and where crates of others have not been.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process;

const TARGET: &str = "armv7-unknown-linux-gnueabihf";
/// These, and what they use.
const CRATES: [&str; 8] = [
    "shoal-volume",
    "shoal-filesystem",
    "shoal-plan",
    "shoal-mdadm",
    "shoal-study",
    "shoal-swarm",
    "shoal-share",
    "shoal-network",
];

/// Checks them, or says in one loud line what that needs.
pub(crate) fn run(root: &Path) -> Result<()> {
    let library = process::stdout_of(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(library.trim()).is_dir() {
        println!("SKIPPED: 32 bits: need Rust's standard library for {TARGET} (rustup target add {TARGET})");
        return Ok(());
    }
    let mut check = Command::new(env!("CARGO"));
    check.args(["check", "--locked", "--target", TARGET]).current_dir(root);
    for name in CRATES {
        check.args(["--package", name]);
    }
    process::pass(&mut check)
}
