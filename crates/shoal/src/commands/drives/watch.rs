//! `shoal drives --watch`: tells what is plugged in and pulled, until it is stopped.

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use shoal_topology::{PluggedDrive, Topology};

use super::document::{DriveDocument, DrivesDocument};
use super::look::{SYSFS, look};
use super::text;
use crate::exit::Failure;

/// The kernel tells of changes over a socket that needs no root; sysfs alone tells the same, this
/// much later.
const PERIOD: Duration = Duration::from_millis(500);

pub(super) fn follow(shown: &DrivesDocument) -> Result<(), Failure> {
    let mut known = shown.drives.clone();
    let mut plugged = drives()?;
    loop {
        thread::sleep(PERIOD);
        let now = drives()?;
        if now == plugged {
            continue;
        }
        let found = look()?.drives;
        for line in changes(&known, &found) {
            match writeln!(io::stdout().lock(), "{line}") {
                // Whoever reads has had enough: not our failure.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                result => result.map_err(|error| Failure::Failed(format!("standard output: {error}")))?,
            }
        }
        (known, plugged) = (found, now);
    }
}

fn drives() -> Result<Vec<PluggedDrive>, Failure> {
    let read = Topology::read(Path::new(SYSFS));
    read.map(|topology| topology.drives).map_err(|error| Failure::Failed(format!("{SYSFS}/block: {error}")))
}

/// What went and what came. A drive that is the same in all but what is on it has stayed.
fn changes(before: &[DriveDocument], after: &[DriveDocument]) -> Vec<String> {
    let is_same = |own: &DriveDocument, other: &DriveDocument| {
        let key = |drive: &DriveDocument| {
            (drive.path.clone(), drive.size_bytes, drive.serial.clone(), drive.way.clone(), drive.link.clone())
        };
        key(own) == key(other)
    };
    let missing = |from: &[DriveDocument], of: &[DriveDocument]| -> Vec<DriveDocument> {
        of.iter().filter(|own| !from.iter().any(|other| is_same(own, other))).cloned().collect()
    };
    let gone = missing(after, before).into_iter().map(|drive| format!("gone: {}", text::drive_lines(&drive)[0]));
    let come = missing(before, after).into_iter().flat_map(|drive| {
        let mut lines = text::drive_lines(&drive);
        lines[0] = format!("plugged in: {}", lines[0]);
        lines
    });
    gone.chain(come).collect()
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::stick;
    use super::*;

    #[test]
    fn what_went_and_what_came_is_told_and_nothing_else() {
        let (one, two) = (stick("/dev/sda", "1-1.1"), stick("/dev/sdb", "1-1.2"));
        let moved = stick("/dev/sdc", "1-1.3");
        let lines = changes(&[one.clone(), two], &[one, moved]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("gone: /dev/sdb") && lines[1].starts_with("plugged in: /dev/sdc"), "{lines:?}");
    }
}
