//! The repository's own gates, run as `cargo xtask GATE`; never shipped.

mod aarch64;
mod fuzz;
mod planted;
mod process;
mod purity;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask GATE

  tidy            arrows between crates, dependencies, sizes, names, text
  tidy --update   the same, and lower the recorded sizes to what they have become
  purity          the engine links without the standard library and asks the system for nothing
  aarch64         the parity kernels' tests, built for aarch64 and run under emulation
  fuzz            every reader of what drives hold, on inputs that coverage leads to, for a minute
  fuzz SECONDS    the same, for so long
  planted         deliberate bugs, each of which the fault hunter has to find within 10,000 seeds
  planted short   three of them
  planted NAMES   those of these names";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["tidy"] => tidy::run(&repository(), tidy::Ratcheting::Check),
        ["tidy", "--update"] => tidy::run(&repository(), tidy::Ratcheting::Tighten),
        ["purity"] => purity::run(&repository()),
        ["aarch64"] => aarch64::run(&repository()),
        ["fuzz"] => fuzz::run(&repository(), fuzz::SHORT_SECONDS),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run(&repository(), seconds),
            Err(_) => return usage(),
        },
        ["planted", "short"] => planted::run(&repository(), planted::SHORT),
        ["planted", names @ ..] => planted::run(&repository(), names),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The root of the repository: the folder above this crate.
fn repository() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is a folder of the repository").to_path_buf()
}
