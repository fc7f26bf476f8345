//! Which arrays have a write-back window unless somebody says otherwise.
//!
//! A window is worth its memory and its copy where a write that is not a whole row costs much:
//! where parity has to be read first, and where the medium minds in which order it is written. On
//! flash both come together, and the window makes writes of 64 KiB one to two orders of magnitude
//! faster. What it means: *answered is not durable, flushed is*, as for any drive with a cache. Who
//! outlives the process that has the window hears by a flush that fails once that something may be
//! lost ([`crate::incarnation`]).
//!
//! | array | window unless `--write-back` says otherwise |
//! | --- | --- |
//! | whose drives are in an array with copies or parity (levels 1, 4, 5, 6, 10; also inside another), any of them cheap flash | [`FITTING_BYTES`] |
//! | other: disks, drives with deep queues, image files; level 0, linear | none |
//! | opened for reading only, or by a command that ends | none |
//! | run by the kernel | none: md has none |
//!
//! *Cheap flash* is a drive that is to be given one write at a time ([`WriteOrder`]); of simulated
//! drives, flash that takes one command at a time.

use shoal_drive::{Drive, WriteOrder};
use shoal_inventory::{SimulatedDrives, probe};
use shoal_volume::{ArrayLevel, Level, Superblock};

/// Holds some rows of the largest arrays of sticks, and an erase unit of each member of the smaller
/// ones.
const FITTING_BYTES: u32 = 32 << 20;

/// The window of an array that is kept running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteBack {
    /// What suits the array.
    #[default]
    Fitting,
    /// Of so many bytes; 0: none.
    Bytes(u32),
}

impl From<Option<u32>> for WriteBack {
    fn from(bytes: Option<u32>) -> Self {
        bytes.map_or(Self::Fitting, Self::Bytes)
    }
}

impl WriteBack {
    /// Its bytes, for an array of these drives that is written to.
    pub(crate) fn bytes_for(self, drives: &[Drive]) -> u32 {
        let is_member = |drive: &Drive| probe(drive).is_ok_and(|superblock| has_redundancy(&superblock));
        self.or_if(|| drives.iter().any(|drive| drive.write_order() != WriteOrder::Any) && drives.iter().any(is_member))
    }

    /// The same, for an array that is made of simulated drives.
    pub(crate) fn bytes_for_simulated(self, drives: &SimulatedDrives, level: ArrayLevel) -> u32 {
        let has_redundancy = !matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_)));
        self.or_if(|| has_redundancy && drives.have_cheap_flash())
    }

    fn or_if(self, pays: impl FnOnce() -> bool) -> u32 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Fitting if pays() => FITTING_BYTES,
            Self::Fitting => 0,
        }
    }
}

/// Of an array of arrays the drives carry the inner one's.
fn has_redundancy(superblock: &Superblock) -> bool {
    superblock.level().is_ok_and(|level| !matches!(level, Level::Linear | Level::Raid0(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_and_else_what_suits() {
        assert_eq!(WriteBack::from(Some(0)).or_if(|| true), 0);
        assert_eq!(WriteBack::from(Some(4096)).or_if(|| false), 4096);
        assert_eq!(WriteBack::from(None).or_if(|| true), FITTING_BYTES);
        assert_eq!(WriteBack::from(None).or_if(|| false), 0);
    }

    #[test]
    fn simulated_sticks_with_redundancy_have_one_and_others_have_none() {
        let bytes = |notation: &str, level: &str| {
            let drives =
                SimulatedDrives::named(&[notation.into()]).expect("they are known").expect("they are simulated");
            let level = ArrayLevel::parse(level, None, 2).expect("levels of md");
            WriteBack::Fitting.bytes_for_simulated(&drives, level)
        };
        for level in ["1", "5", "6", "10", "50"] {
            assert_eq!(bytes("sim:stick-64g*6", level), FITTING_BYTES, "{level}");
        }
        assert_eq!(bytes("sim:stick-64g*6", "0"), 0);
        assert_eq!(bytes("sim:disk-7200*6", "5"), 0);
    }
}
