//! The program for each processor, with one compiler of C and one linker for all of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::architecture::{Architecture, GLIBC, Linkage};
use crate::process;

/// Packages are installed in places that are small: SD cards, initramfs. A static program has all
/// of OpenSSL besides.
const SIZE_BYTES_MAX: u64 = 15_000_000;

/// Builds the program as it is installed, and says where it is; loudly that it is none, where
/// Rust's standard library is missing.
///
/// # Errors
/// A tool or library is missing, it does not build, or it has become too large.
pub(super) fn program(root: &Path, architecture: Architecture, linkage: Linkage) -> Result<Option<PathBuf>> {
    let triple = architecture.triple(linkage);
    if !has_library(triple)? {
        println!("SKIPPED: {triple}: needs Rust's standard library for it (rustup target add {triple})");
        return Ok(None);
    }
    let mut cargo = zigbuild(root)?;
    cargo.args(["--locked", "--profile", "dist", "--package", "shoal", "--bin", "shoal"]);
    match linkage {
        Linkage::Dynamic => {
            let openssl = architecture.openssl(root);
            if !openssl.is_dir() {
                bail!("no OpenSSL for {}: scripts/setup packages brings it", architecture.debian());
            }
            cargo.args(["--target", &format!("{triple}.{GLIBC}")]);
            cargo.env("OPENSSL_INCLUDE_DIR", openssl.join("include")).env("OPENSSL_LIB_DIR", openssl.join("lib"));
            cargo.env("OPENSSL_STATIC", "0");
        }
        Linkage::Static => {
            cargo.args(["--target", triple, "--features", "vendored-openssl"]);
        }
    }
    process::pass(&mut cargo)?;
    let program = crate::target_directory(root).join(triple).join("dist/shoal");
    let size_bytes = program.metadata().with_context(|| format!("{} was not built", program.display()))?.len();
    if linkage == Linkage::Dynamic && size_bytes >= SIZE_BYTES_MAX {
        bail!("{} has {size_bytes} bytes; {SIZE_BYTES_MAX} are too many to install", program.display());
    }
    println!("packages: {} has {:.1} MB", program.display(), size_bytes as f64 / 1e6);
    Ok(Some(program))
}

/// Whether the toolchain builds for a target.
fn has_library(triple: &str) -> Result<bool> {
    let directory = process::stdout_of(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]))?;
    Ok(Path::new(directory.trim()).is_dir())
}

/// cargo with zig behind it, both below target/, as is all that they remember.
fn zigbuild(root: &Path) -> Result<Command> {
    let tools = root.join("target/tools");
    let program = tools.join("bin/cargo-zigbuild");
    if !program.is_file() {
        bail!("no {}: scripts/setup packages brings it", program.display());
    }
    let mut command = Command::new(program);
    command.arg("zigbuild").current_dir(root);
    command.env("PYTHONPATH", &tools).env("CARGO_ZIGBUILD_CACHE_DIR", root.join("target/zigbuild"));
    for cache in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
        command.env(cache, root.join("target/zig"));
    }
    Ok(command)
}
