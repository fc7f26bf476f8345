//! The processors that packages are made for.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// A processor, by Debian's name of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    /// PCs.
    Amd64,
    /// Raspberry Pi 3 and later, with a system of 64 bits.
    Arm64,
    /// ARMv7 with a floating point unit: Raspberry Pi 2 and later, with a system of 32 bits.
    Armhf,
}

/// What a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    /// The system's libraries.
    Dynamic,
    /// Nothing.
    Static,
}

/// The oldest system that packages are for is Debian 12. It has this C library.
pub(super) const GLIBC: &str = "2.36";

impl Architecture {
    pub(super) const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::Armhf];

    /// From Debian's name.
    ///
    /// # Errors
    /// Nothing is built for it.
    pub(super) fn parse(word: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|architecture| architecture.debian() == word);
        known.with_context(|| format!("no packages are built for {word}: take amd64, arm64 or armhf"))
    }

    /// That of this machine, if packages are built for it.
    pub(super) fn native() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Debian's name.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        }
    }

    /// What rustc calls it.
    pub(super) fn triple(self, linkage: Linkage) -> &'static str {
        match (self, linkage) {
            (Self::Amd64, Linkage::Dynamic) => "x86_64-unknown-linux-gnu",
            (Self::Amd64, Linkage::Static) => "x86_64-unknown-linux-musl",
            (Self::Arm64, Linkage::Dynamic) => "aarch64-unknown-linux-gnu",
            (Self::Arm64, Linkage::Static) => "aarch64-unknown-linux-musl",
            (Self::Armhf, Linkage::Dynamic) => "armv7-unknown-linux-gnueabihf",
            (Self::Armhf, Linkage::Static) => "armv7-unknown-linux-musleabihf",
        }
    }

    /// What is linked with it, which `scripts/setup packages` has unpacked.
    pub(super) fn openssl(self, root: &Path) -> PathBuf {
        root.join("target/openssl").join(self.debian())
    }

    /// A command that runs one of its programs here, with the libraries of the system that lies
    /// below `system`.
    ///
    /// # Errors
    /// No emulator is installed.
    pub(super) fn runs(self, program: &Path, system: &Path) -> Result<Command> {
        let Some(name) = self.emulator() else { return Ok(Command::new(program)) };
        let installed = [format!("{name}-static"), name.to_owned()].into_iter().find(|it| process::is_installed(it));
        let Some(emulator) = installed else {
            bail!("no {name}, which runs {}: scripts/setup packages brings it", program.display());
        };
        let mut command = Command::new(emulator);
        command.arg("-L").arg(system).arg(program);
        Ok(command)
    }

    /// What runs its programs, if this machine does not.
    pub(super) fn emulator(self) -> Option<&'static str> {
        match self {
            _ if Self::native() == Some(self) => None,
            Self::Amd64 => Some("qemu-x86_64"),
            Self::Arm64 => Some("qemu-aarch64"),
            Self::Armhf => Some("qemu-arm"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_are_debians() {
        for architecture in Architecture::ALL {
            assert_eq!(Architecture::parse(architecture.debian()).unwrap(), architecture);
        }
        assert!(Architecture::parse("mips").unwrap_err().to_string().contains("amd64"));
    }
}
