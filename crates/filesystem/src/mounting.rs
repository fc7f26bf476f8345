//! Mounting and unmounting, with options that suit arrays.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use shoal_drive::{Mount, mounts};
use thiserror::Error;

use crate::holders::{Holder, holders};
use crate::kind::Kind;
use crate::make::{MakeError, last_words, program};

/// An option of a mount, and why it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOption {
    /// As mount(8) takes it.
    pub word: String,
    /// Why; empty for those that the user gave.
    pub reason: &'static str,
}

/// Why something is not mounted.
#[derive(Debug, Error)]
pub enum MountError {
    /// There is no such directory.
    #[error("{}: {error}: make it first", place.display())]
    NoDirectory {
        /// Where it was to be.
        place: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// Something else is there.
    #[error("{} is mounted on {} already: take another directory", source_name, place.display())]
    Taken {
        /// Where.
        place: PathBuf,
        /// What is there.
        source_name: String,
    },
    /// mount(8) is not there.
    #[error(transparent)]
    Program(#[from] MakeError),
    /// The kernel did not want it.
    #[error("it cannot be mounted: {said}")]
    Failed {
        /// In mount's words.
        said: String,
    },
}

/// Why something stays mounted.
#[derive(Debug, Error)]
pub enum UnmountError {
    /// Nothing is mounted there.
    #[error("nothing is mounted on {}", place.display())]
    NotMounted {
        /// Where.
        place: PathBuf,
    },
    /// Somebody uses it.
    #[error("{} is in use by {}: end that first", place.display(), told(holders))]
    Busy {
        /// What is mounted.
        place: PathBuf,
        /// Who uses it, as far as can be seen.
        holders: Vec<Holder>,
    },
    /// What was written could not be brought to the array: it stays mounted.
    #[error("{}: what was written could not be flushed, so it stays mounted: {error}", place.display())]
    Flush {
        /// What is mounted.
        place: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// umount(8) is not there.
    #[error(transparent)]
    Program(#[from] MakeError),
    /// The kernel did not want it.
    #[error("{} cannot be unmounted: {said}", place.display())]
    Failed {
        /// What is mounted.
        place: PathBuf,
        /// In umount's words.
        said: String,
    },
}

/// Some of them, and how many more there are.
fn told(holders: &[Holder]) -> String {
    const TOLD_MAX: usize = 3;
    let mut words: Vec<String> = holders.iter().take(TOLD_MAX).map(ToString::to_string).collect();
    match holders.len() {
        0 => words.push("somebody whom only root sees".to_owned()),
        count if count > TOLD_MAX => words.push(format!("{} more", count - TOLD_MAX)),
        _ => {}
    }
    words.join(", ")
}

/// The options with which a file system on an array is mounted: those that suit, unless `given`
/// says otherwise, then `given`, which is separated by commas.
pub fn mount_options(kind: Option<Kind>, given: Option<&str>, read_only: bool) -> Vec<MountOption> {
    const TIMES: [&str; 6] = ["noatime", "atime", "relatime", "norelatime", "strictatime", "lazytime"];
    let given: Vec<&str> = given.unwrap_or_default().split(',').filter(|word| !word.is_empty()).collect();
    let mut options = Vec::new();
    let mut add = |word: &str, reason| options.push(MountOption { word: word.to_owned(), reason });
    if read_only {
        add("ro", "nothing is to be written");
    } else if !given.iter().any(|word| TIMES.contains(word)) {
        add("noatime", "reading a file writes nothing: small writes are what parity and flash pay most for");
    }
    for (word, other, reason) in [
        ("nosuid", "suid", "whoever wrote to the members elsewhere gets no rights here"),
        ("nodev", "dev", "nor devices"),
    ] {
        if !given.contains(&word) && !given.contains(&other) {
            add(word, reason);
        }
    }
    if kind == Some(Kind::Ext4) && !given.iter().any(|word| word.starts_with("errors=")) {
        add("errors=remount-ro", "nothing more is written once the array has failed");
    }
    if kind == Some(Kind::Vfat) && !given.iter().any(|word| word.starts_with("utf8") || word.starts_with("iocharset")) {
        add("utf8", "names are as on other file systems");
    }
    given.iter().for_each(|word| add(word, ""));
    options
}

/// What mount(8) is to call a file system: NTFS has a driver in the kernel since 5.15, and an older
/// one outside of it.
fn mount_type(kind: &str) -> &str {
    let in_kernel = || {
        let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        listed.lines().any(|line| line.trim() == "ntfs3")
    };
    match kind {
        "ntfs" if in_kernel() => "ntfs3",
        "ntfs" if program("mount.ntfs-3g", "ntfs-3g").is_ok() => "ntfs-3g",
        "ntfs" => "ntfs3",
        other => other,
    }
}

/// Whether a directory can be mounted on: it is there, and nothing is mounted on it. Gives its path
/// without links.
pub fn check_place(place: &Path) -> Result<PathBuf, MountError> {
    let no_directory = |error| MountError::NoDirectory { place: place.to_owned(), error };
    let path = place.canonicalize().map_err(no_directory)?;
    if !path.is_dir() {
        return Err(no_directory(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    match mounted_on(&path) {
        Some(other) => {
            Err(MountError::Taken { place: path, source_name: format!("{} ({})", other.source.display(), other.kind) })
        }
        None => Ok(path),
    }
}

/// What is mounted on a directory, given without links: what is seen there.
pub fn mounted_on(place: &Path) -> Option<Mount> {
    mounts().unwrap_or_default().into_iter().rfind(|mount| mount.place == place)
}

/// Mounts a block device's file system, called `kind` by blkid(8), on a directory.
pub fn mount(device: &Path, kind: &str, place: &Path, options: &[MountOption]) -> Result<Mount, MountError> {
    let place = check_place(place)?;
    let mut command = Command::new(program("mount", "mount")?);
    command.args(["-t", mount_type(kind)]).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    if !options.is_empty() {
        let words: Vec<&str> = options.iter().map(|option| option.word.as_str()).collect();
        command.args(["-o", &words.join(",")]);
    }
    let output = command.arg("--").arg(device).arg(&place).output();
    let output = output.map_err(|error| MakeError::Start { program: "mount".to_owned(), error })?;
    if !output.status.success() {
        let said = first_words(&output.stderr).unwrap_or_else(|| output.status.to_string());
        return Err(MountError::Failed { said });
    }
    let not_there = || MountError::Failed { said: "mount(8) said that it was done, and nothing is there".to_owned() };
    mounted_on(&place).ok_or_else(not_there)
}

/// mount says first what is wrong, and then where more can be read.
fn first_words(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    last_words(line.as_bytes())
}

/// Unmounts what is mounted on a directory. All that was written is on the array before.
pub fn unmount(place: &Path) -> Result<Mount, UnmountError> {
    let is_mounted = place.canonicalize().is_ok_and(|place| mounted_on(&place).is_some());
    if !is_mounted {
        return Err(UnmountError::NotMounted { place: place.to_owned() });
    }
    // Unmounting flushes too, but tells nobody of a failure.
    if let Err(error) = flush(place) {
        return Err(UnmountError::Flush { place: place.to_owned(), error });
    }
    unmount_dead(place)
}

/// Unmounts what is mounted on a directory, of a device on which nothing is written any more: what
/// was not flushed is lost.
pub fn unmount_dead(place: &Path) -> Result<Mount, UnmountError> {
    let not_mounted = || UnmountError::NotMounted { place: place.to_owned() };
    let place = place.canonicalize().map_err(|_| not_mounted())?;
    let mount = mounted_on(&place).ok_or_else(not_mounted)?;
    let output = Command::new(program("umount", "mount")?)
        .arg("--")
        .arg(&place)
        .stdin(Stdio::null())
        .env("LC_ALL", "C.UTF-8")
        .output()
        .map_err(|error| MakeError::Start { program: "umount".to_owned(), error })?;
    if output.status.success() {
        return Ok(mount);
    }
    let said = first_words(&output.stderr).unwrap_or_else(|| output.status.to_string());
    match said.contains("busy") {
        true => Err(UnmountError::Busy { holders: holders(&place), place }),
        false => Err(UnmountError::Failed { place, said }),
    }
}

/// A file system that is read-only, or has been since an error, has nothing to flush.
fn flush(place: &Path) -> io::Result<()> {
    let directory = File::open(place)?;
    match rustix::fs::syncfs(&directory) {
        Err(Errno::ROFS) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(kind: Kind, given: Option<&str>, read_only: bool) -> String {
        let options = mount_options(Some(kind), given, read_only);
        options.into_iter().map(|option| option.word).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn options_suit_unless_told_otherwise() {
        assert_eq!(words(Kind::Ext4, None, false), "noatime,nosuid,nodev,errors=remount-ro");
        assert_eq!(words(Kind::Ext4, Some("relatime,errors=panic"), false), "nosuid,nodev,relatime,errors=panic");
        assert_eq!(words(Kind::Xfs, Some("discard"), false), "noatime,nosuid,nodev,discard");
        assert_eq!(words(Kind::Vfat, Some("uid=1000"), false), "noatime,nosuid,nodev,utf8,uid=1000");
        assert_eq!(words(Kind::Btrfs, None, true), "ro,nosuid,nodev");
        assert_eq!(words(Kind::Xfs, Some("suid,dev"), true), "ro,suid,dev");
    }

    #[test]
    fn where_nothing_can_be_mounted_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(check_place(&file), Err(MountError::NoDirectory { .. })));
        assert!(matches!(check_place(&directory.path().join("none")), Err(MountError::NoDirectory { .. })));
        assert!(matches!(check_place(Path::new("/proc")), Err(MountError::Taken { .. })));
        assert_eq!(check_place(directory.path()).unwrap(), directory.path().canonicalize().unwrap());
        assert!(matches!(unmount(directory.path()), Err(UnmountError::NotMounted { .. })));
    }
}
