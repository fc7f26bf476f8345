//! Checks where I/O goes: inside the drive, in whole blocks, and only to drives that the array was
//! given.
//!
//! An array that is open for reading only changes nothing.
//!
//! Not checked: where on a drive something may lie. That what is written there is right shows in
//! content.

use std::collections::HashSet;

use shoal_drive::{Io, IoKind};
use shoal_volume::DriveId;

use super::Failure;

const CHECKER: &str = "placement";
const BLOCK_BYTES: u64 = 512;

/// The drives that an array may use, and what it did beside that.
#[derive(Debug)]
pub(crate) struct Placement {
    given: HashSet<DriveId>,
    pub(crate) is_read_only: bool,
    failure: Option<Failure>,
}

impl Placement {
    pub(crate) fn new(given: HashSet<DriveId>) -> Self {
        Self { given, is_read_only: false, failure: None }
    }

    /// The array is given another drive.
    pub(crate) fn give(&mut self, drive: DriveId) {
        self.given.insert(drive);
    }

    pub(crate) fn submitted(&mut self, io: &Io, size_bytes: u64) {
        if let Err(what) = self.check(io, size_bytes) {
            self.failure.get_or_insert(Failure::new(CHECKER, format!("{io:?}: {what}")));
        }
    }

    fn check(&self, io: &Io, size_bytes: u64) -> Result<(), &'static str> {
        let length = match io.kind {
            IoKind::Read(memory) | IoKind::Write(memory) => u64::from(memory.length),
            IoKind::Discard(length) => length,
            IoKind::Flush => 0,
        };
        let is_change = !matches!(io.kind, IoKind::Read(_));
        if !self.given.contains(&io.drive) {
            return Err("the array was not given this drive");
        }
        if self.is_read_only && is_change {
            return Err("the array is open for reading only");
        }
        if !io.offset.is_multiple_of(BLOCK_BYTES) || !length.is_multiple_of(BLOCK_BYTES) {
            return Err("it is not in whole blocks");
        }
        if io.offset.checked_add(length).is_none_or(|end| end > size_bytes) {
            return Err("it is not inside the drive");
        }
        Ok(())
    }

    /// The first thing that was wrong.
    pub(crate) fn verdict(&mut self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use shoal_volume::Memory;

    use super::*;

    #[test]
    fn io_goes_where_it_may() {
        let read = |drive, offset, length| Io {
            token: 0,
            drive: DriveId(drive),
            kind: IoKind::Read(Memory { offset: 0, length }),
            offset,
        };
        let mut placement = Placement::new(HashSet::from([DriveId(1)]));
        let mut verdict = |io: Io| {
            placement.submitted(&io, 4096);
            placement.verdict()
        };
        assert_eq!(verdict(read(1, 3584, 512)), Ok(()));
        assert!(verdict(read(2, 0, 512)).is_err(), "another drive");
        assert!(verdict(read(1, 100, 512)).is_err(), "between blocks");
        assert!(verdict(read(1, 3584, 1024)).is_err(), "beyond the end");
        let flush = Io { kind: IoKind::Flush, ..read(1, 0, 0) };
        assert_eq!(verdict(flush), Ok(()));
        placement.is_read_only = true;
        placement.submitted(&flush, 4096);
        assert!(placement.verdict().is_err(), "a change");
    }
}
