//! Carries a plan out: old signatures go, the file system is made, flushed, and looked at.
//!
//! mkfs overwrites what its own structures cover, and little else: btrfs's copies at 64 KiB and 64
//! MiB, a partition table's copy at the end, ZFS's labels stay when another file system comes. Then
//! blkid(8) finds two answers and gives none, and nothing mounts. So wipefs(8) takes all of them
//! first, which is why nothing is lost by mistake only before it: whoever calls has looked at what
//! the array holds.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use crate::kind::Kind;
use crate::plan::MkfsPlan;

/// What a file system says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// As blkid(8) calls it.
    pub kind: String,
    /// Its number among all file systems; FAT and exFAT have a short one.
    pub uuid: Option<String>,
    /// Its name.
    pub label: Option<String>,
}

/// Why no file system was made.
#[derive(Debug, Error)]
pub enum MakeError {
    /// The program is not there.
    #[error("there is no {program} here: install {package}")]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// What brings it.
        package: &'static str,
    },
    /// It could not be started.
    #[error("{program}: {error}")]
    Start {
        /// Its name.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// It ended in failure.
    #[error("{program} failed: {said}")]
    Failed {
        /// Its name.
        program: String,
        /// Its last words.
        said: String,
    },
    /// What was made could not be brought to the drives.
    #[error("{}: it was made, and could not be flushed: {error}", device.display())]
    Flush {
        /// Where.
        device: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// What is there cannot be looked at.
    #[error("{}: it cannot be read, so nobody knows what it holds: {error}", device.display())]
    Unreadable {
        /// Where.
        device: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It carries the signatures of more than one.
    #[error("{} carries signatures of several file systems, of which nobody knows which counts: wipefs(8) lists them", device.display())]
    Several {
        /// Where.
        device: PathBuf,
    },
    /// What is there afterwards is something else.
    #[error("{} holds {found} after {program} said that it was done", device.display())]
    NotThere {
        /// Where.
        device: PathBuf,
        /// Who said so.
        program: &'static str,
        /// What is there.
        found: String,
    },
}

/// Whether all programs are there that [`make`] needs; asked before anything is touched.
pub fn check_tools(kind: Kind) -> Result<(), MakeError> {
    program(kind.mkfs(), kind.package())?;
    program("wipefs", "util-linux")?;
    program("blkid", "util-linux").map(drop)
}

/// Makes a file system on a block device or file. What that holds is lost.
pub fn make(plan: &MkfsPlan, device: &Path) -> Result<Identity, MakeError> {
    check_tools(plan.kind)?;
    run("wipefs", "util-linux", &["--all".to_owned(), "--quiet".to_owned(), device.display().to_string()])?;
    let command = plan.command(device);
    run(plan.kind.mkfs(), plan.kind.package(), &command[1..])?;
    // mkfs ends when the page cache has it.
    let flushed = File::options().write(true).open(device).and_then(|file| file.sync_all());
    flushed.map_err(|error| MakeError::Flush { device: device.to_owned(), error })?;
    let found = identify(device)?;
    match found {
        Some(identity) if identity.kind == plan.kind.name() => Ok(identity),
        other => Err(MakeError::NotThere {
            device: device.to_owned(),
            program: plan.kind.mkfs(),
            found: other.map_or_else(|| "nothing that can be recognised".to_owned(), |it| it.kind),
        }),
    }
}

/// blkid(8) found more than one thing.
const SEVERAL: i32 = 8;
/// Where the signatures of most file systems lie; it has to be read before it can be said that
/// there is none.
const LOOKED_AT_BYTES: u64 = 128 << 10;

/// The file system on a block device or file, as blkid(8) sees it; none if there is none. What
/// cannot be read, or carries several, is an error: blkid says of both that it found nothing.
pub fn identify(device: &Path) -> Result<Option<Identity>, MakeError> {
    let mut command = Command::new(program("blkid", "util-linux")?);
    command.args(["--probe", "--output", "export"]).arg(device).stdin(Stdio::null());
    let output = command.output().map_err(|error| MakeError::Start { program: "blkid".to_owned(), error })?;
    if let Some(identity) = parse_export(&String::from_utf8_lossy(&output.stdout)) {
        return Ok(Some(identity));
    }
    if output.status.code() == Some(SEVERAL) {
        return Err(MakeError::Several { device: device.to_owned() });
    }
    let read = File::open(device).and_then(|file| io::copy(&mut file.take(LOOKED_AT_BYTES), &mut io::sink()));
    read.map(|_| None).map_err(|error| MakeError::Unreadable { device: device.to_owned(), error })
}

/// `KEY=value` by the line; blkid escapes with backslashes what a shell would take apart.
fn parse_export(text: &str) -> Option<Identity> {
    let value = |key: &str| {
        let of_key = |line: &str| line.strip_prefix(key)?.strip_prefix('=').map(unescaped);
        text.lines().find_map(of_key)
    };
    Some(Identity { kind: value("TYPE")?, uuid: value("UUID"), label: value("LABEL") })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    plain
}

/// Where a program is. People's own paths often lack where those for administrators are, and this
/// is to depend on none.
pub(crate) fn program(name: &'static str, package: &'static str) -> Result<PathBuf, MakeError> {
    const PLACES: [&str; 6] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];
    let found = PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file());
    found.ok_or(MakeError::NoProgram { program: name, package })
}

fn run(name: &'static str, package: &'static str, arguments: &[String]) -> Result<(), MakeError> {
    let mut command = Command::new(program(name, package)?);
    command.args(arguments).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    let output = command.output().map_err(|error| MakeError::Start { program: name.to_owned(), error })?;
    if output.status.success() {
        return Ok(());
    }
    let said = last_words(&output.stderr).or_else(|| last_words(&output.stdout));
    let said = said.unwrap_or_else(|| format!("it said nothing, and ended with {}", output.status));
    Err(MakeError::Failed { program: name.to_owned(), said })
}

/// The last line that says something, within bounds.
pub(crate) fn last_words(output: &[u8]) -> Option<String> {
    const CHARACTERS_MAX: usize = 300;
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(CHARACTERS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blkid_says_is_read() {
        let identity =
            parse_export("DEVNAME=x\nLABEL=my\\ pond\nUUID=1-2\nBLOCK_SIZE=512\nTYPE=xfs\nUSAGE=filesystem\n");
        let expected =
            Identity { kind: "xfs".to_owned(), uuid: Some("1-2".to_owned()), label: Some("my pond".to_owned()) };
        assert_eq!(identity, Some(expected));
        assert_eq!(parse_export("PTTYPE=gpt\n"), None);
        assert_eq!(parse_export(""), None);
    }

    #[test]
    fn the_last_line_that_says_something_is_told() {
        assert_eq!(last_words(b"first\n  last\x07 one \n\n"), Some("last one".to_owned()));
        assert_eq!(last_words(b"\n"), None);
    }
}
