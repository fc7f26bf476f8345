//! What runs an array, on another processor: tests that are built for aarch64 and run under
//! emulation.
//!
//! The emulator runs NEON, so the kernels that a Raspberry Pi would use are held against the scalar
//! reference here. Engine, format, memory, simulator and volume follow: what they assume of words
//! and alignment holds there too, or a test fails. Speed under it means nothing.

use crate::process;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATORS: &[&str] = &["qemu-aarch64-static", "qemu-aarch64"];
/// Where Debian's cross packages put the C library that the programs load.
const C_LIBRARY: &str = "/usr/aarch64-linux-gnu";
/// Whose tests are run: all of the first, and the unit tests of the others.
const PARITY: &[&str] = &["--package", "shoal-parity", "--lib", "--tests"];
const ENGINE: &[&str] = &[
    "--package",
    "shoal-array",
    "--package",
    "shoal-md",
    "--package",
    "shoal-memory",
    "--package",
    "shoal-sim",
    "--package",
    "shoal-volume",
    "--lib",
];
/// Where `scripts/setup test` unpacks the standard library when the toolchain cannot bring its own.
const UNPACKED: &str = "target/aarch64-sysroot/usr";

/// Runs the tests, or says in one loud line what they need.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::consts::ARCH == "aarch64" {
        println!("aarch64: this machine is one; `cargo test` has run these tests already");
        return Ok(());
    }
    let emulator = EMULATORS.iter().find(|emulator| process::is_installed(emulator));
    let library = standard_library(root)?;
    let (Some(emulator), Some(library)) = (emulator, &library) else {
        skip(emulator.is_some(), library.is_some());
        return Ok(());
    };
    if !process::is_installed(LINKER) {
        skip(true, true);
        return Ok(());
    }
    for tests in [PARITY, ENGINE] {
        let mut test = Command::new(env!("CARGO"));
        test.args(["test", "--locked", "--target", TARGET]).args(tests).current_dir(root);
        test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
        test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{emulator} -L {C_LIBRARY}"));
        if let Library::Unpacked(sysroot) = library {
            test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", format!("--sysroot={}", sysroot.display()));
        }
        process::pass(&mut test)?;
    }
    Ok(())
}

/// Where the standard library for aarch64 is.
#[derive(Debug, PartialEq, Eq)]
enum Library {
    /// The toolchain has it.
    OfToolchain,
    /// Below this folder.
    Unpacked(PathBuf),
}

fn standard_library(root: &Path) -> Result<Option<Library>> {
    let own = process::capture(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if own.status.success() && Path::new(String::from_utf8_lossy(&own.stdout).trim()).is_dir() {
        return Ok(Some(Library::OfToolchain));
    }
    let unpacked = root.join(UNPACKED);
    Ok(unpacked.join("lib/rustlib").join(TARGET).is_dir().then_some(Library::Unpacked(unpacked)))
}

fn skip(has_emulator: bool, has_library: bool) {
    let mut missing = Vec::new();
    if !has_emulator {
        missing.push("qemu-aarch64-static (apt: qemu-user-static)");
    }
    if !process::is_installed(LINKER) {
        missing.push("aarch64-linux-gnu-gcc (apt: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)");
    }
    if !has_library {
        missing.push("Rust's standard library for aarch64 (rustup target add aarch64-unknown-linux-gnu)");
    }
    println!("SKIPPED: parity kernels and engine on aarch64 need {}", missing.join(", "));
}
