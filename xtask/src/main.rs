//! The repository's own gates, run as `cargo xtask GATE`; never shipped.

mod aarch64;
mod fuzz;
mod narrow;
mod packages;
mod planted;
mod process;
mod purity;
mod tidy;
mod tier;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tier::{Load, Tier};

const USAGE: &str = "\
usage: cargo xtask GATE

  tidy            arrows between crates, dependencies, sizes, names, text
  tidy --update   the same, and lower the recorded sizes to what they have become
  purity          the engine links without the standard library and asks the system for nothing
  aarch64         tests of parity, engine and format, built for aarch64 and run under emulation
  narrow          what needs no library in C compiles for a processor of 32 bits
  fuzz            every reader of what drives hold, on inputs that coverage leads to, for a minute
  fuzz SECONDS    the same, for so long
  fuzz corpus     the same on the inputs that are known, and no others
  planted         deliberate bugs, each of which the fault hunter has to find within 10,000 seeds
  planted NAMES   those of these names
  web             the report viewer's types, bundle and tests
  packages        Debian packages and static programs for amd64, arm64 and armhf, below target/packages
  packages ARCH   those for one processor
  packages test   those that were built, installed in bare systems, tried and removed

  test            all that `make test` runs; proofs, long: likewise
  test busy       the same while a loop takes each processor";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["tidy"] => tidy::run(&repository(), tidy::Ratcheting::Check),
        ["tidy", "--update"] => tidy::run(&repository(), tidy::Ratcheting::Tighten),
        ["purity"] => purity::run(&repository()),
        ["aarch64"] => aarch64::run(&repository()),
        ["narrow"] => narrow::run(&repository()),
        ["fuzz"] => fuzz::run(&repository(), fuzz::SHORT_SECONDS),
        ["fuzz", "corpus"] => fuzz::replay(&repository()),
        ["fuzz", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::run(&repository(), seconds),
            Err(_) => return usage(),
        },
        ["planted", names @ ..] => planted::run(&repository(), names),
        ["packages", "test", words @ ..] => packages::test(&repository(), words),
        ["packages", words @ ..] => packages::run(&repository(), words),
        ["web"] => web::run(&repository()),
        [tier] => match tier_of(tier) {
            Some(tier) => tier::run(&repository(), tier, Load::Idle),
            None => return usage(),
        },
        [tier, "busy"] => match tier_of(tier) {
            Some(tier) => tier::run(&repository(), tier, Load::Busy),
            None => return usage(),
        },
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

fn tier_of(word: &str) -> Option<Tier> {
    match word {
        "test" => Some(Tier::Test),
        "proofs" => Some(Tier::Proofs),
        "long" => Some(Tier::Long),
        _ => None,
    }
}

/// Where cargo builds what is in the repository.
fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The root of the repository: the folder above this crate.
fn repository() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is a folder of the repository").to_path_buf()
}
