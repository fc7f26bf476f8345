//! What a member was like when it was found, so that it is noticed if somebody writes to it
//! afterwards: a copy would hold content of two times, and a proposal would be of a member that is
//! not there any more.

use std::fs::Metadata;
use std::io;
use std::time::SystemTime;

use shoal_drive::Drive;
use shoal_md::SUPERBLOCK_BYTES;
use shoal_volume::Superblock;

/// What tells that a member has been written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its superblock, byte by byte.
    superblock: Box<[u8]>,
    /// How long an image file was, and when it was last written to. Of a device nothing of the kind
    /// is known.
    file: Option<(u64, SystemTime)>,
}

impl Seen {
    /// What is there now, of a member that starts at `offset`.
    pub(crate) fn now(drive: &Drive, offset: u64, superblock: &Superblock) -> io::Result<Self> {
        let mut bytes = vec![0; SUPERBLOCK_BYTES].into_boxed_slice();
        drive.read_at(offset + superblock.super_offset_bytes(), &mut bytes)?;
        let about = std::fs::metadata(drive.path())?;
        let stamp = |about: &Metadata| Ok::<_, io::Error>((about.len(), about.modified()?));
        let file = about.is_file().then(|| stamp(&about)).transpose()?;
        Ok(Self { superblock: bytes, file })
    }
}
