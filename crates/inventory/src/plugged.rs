//! What is plugged in, where, and what is on it.
//!
//! What the kernel says of a drive is there at once, whatever the drive does. What is on it the
//! drive is asked, in a thread of its own: who does not answer is [`Holds::Silent`], and its thread
//! is left behind, as in [`mod@crate::look`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use shoal_drive::{Finding, Identity, survey, uses};
use shoal_topology::{PluggedDrive, Topology};

use crate::look::{Look, Seen, look_within};

/// A drive that is plugged in.
#[derive(Clone, Debug)]
pub struct Plugged {
    /// Where.
    pub drive: PluggedDrive,
    /// Who it is, as far as it says.
    pub identity: Identity,
    /// What is on it.
    pub holds: Holds,
}

/// What is on a drive.
#[derive(Clone, Debug)]
pub enum Holds {
    /// Its partitions, or the whole drive if it has none.
    Parts(Vec<Part>),
    /// A card reader without a card.
    NoMedium,
    /// It does not answer.
    Silent,
}

/// A partition, or a drive without partitions.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its device file.
    pub path: PathBuf,
    /// Uses and signatures; the uses alone if it cannot be read.
    pub findings: Vec<Finding>,
    /// Why it cannot be read.
    pub error: Option<String>,
    /// The array's member that it is.
    pub member: Option<Box<Seen>>,
}

/// All drives that are plugged in, each asked for at most `patience`.
///
/// # Errors
/// The kernel's list of devices cannot be read.
pub fn plugged(sysfs: &Path, patience: Duration) -> io::Result<Vec<Plugged>> {
    let drives = Topology::read(sysfs)?.drives;
    let (sender, receiver) = channel();
    for (index, drive) in drives.iter().enumerate() {
        let (paths, answer) = (parts_of(drive), sender.clone());
        let work = move || {
            // Whoever asked may not wait any more.
            let _ = answer.send((index, look_at(&paths, patience)));
        };
        // Where no thread is to be had nobody answers for the drive.
        let _ = std::thread::Builder::new().name("shoal-plugged".to_owned()).spawn(work);
    }
    drop(sender);
    let deadline = Instant::now() + patience;
    let mut held: Vec<Holds> = drives.iter().map(|_| Holds::Silent).collect();
    while let Ok((index, parts)) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        held[index] = Holds::Parts(parts);
    }
    let with = |(drive, holds): (PluggedDrive, Holds)| {
        let holds = if drive.size_bytes == 0 { Holds::NoMedium } else { holds };
        Plugged { identity: Identity::of_path(&drive.path), drive, holds }
    };
    Ok(drives.into_iter().zip(held).map(with).collect())
}

fn parts_of(drive: &PluggedDrive) -> Vec<PathBuf> {
    if drive.partitions.is_empty() { vec![drive.path.clone()] } else { drive.partitions.clone() }
}

fn look_at(paths: &[PathBuf], patience: Duration) -> Vec<Part> {
    let looks = look_within(paths, patience);
    let part = |(path, look): (&PathBuf, Look)| {
        let (findings, error) = match survey(path) {
            Ok(survey) => (survey.findings, None),
            Err(error) => (uses(path), Some(error.to_string())),
        };
        Part { path: path.clone(), findings, error, member: look.member().map(Box::new) }
    };
    paths.iter().zip(looks).map(part).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_drive_are_its_partitions_or_itself() {
        let directory = tempfile::tempdir().unwrap();
        assert!(plugged(directory.path(), Duration::ZERO).is_err(), "no tree of the kernel");
        let image = directory.path().join("image");
        std::fs::write(&image, [0; 4096]).unwrap();
        let [part] = &look_at(std::slice::from_ref(&image), Duration::from_secs(20))[..] else {
            panic!("one was asked")
        };
        assert_eq!((&part.path, part.findings.len()), (&image, 0));
        let [gone] = &look_at(&[directory.path().join("gone")], Duration::from_secs(20))[..] else { panic!("one") };
        assert!(gone.error.is_some() && gone.member.is_none());
    }

    #[test]
    fn this_machine_s_drives_answer_or_are_silent() {
        let Ok(drives) = plugged(Path::new("/sys"), Duration::from_secs(20)) else { return };
        for plugged in drives {
            let Holds::Parts(parts) = plugged.holds else { continue };
            assert_eq!(parts.len(), plugged.drive.partitions.len().max(1));
        }
    }
}
