//! Reads and writes outside a loop, at any offset and of any length: superblocks and signatures.
//!
//! Direct I/O wants whole blocks in aligned memory, so bytes go through an aligned buffer; blocks
//! that are written in part are read first.

use std::io;
use std::os::unix::fs::FileExt;

use super::{Drive, DriveKind};

/// Bytes moved at a time.
const PIECE_BYTES: u64 = 1 << 20;

impl Drive {
    /// Reads synchronously, outside any loop (superblocks, signatures): any offset, any length.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.refuse(offset, bytes.len(), false)?;
        let mut done = 0;
        while done < bytes.len() {
            let piece = self.piece_at(offset + done as u64, bytes.len() - done);
            let mut buffer = self.buffer_for(&piece);
            self.file.read_exact_at(buffer.bytes_mut(), piece.start).map_err(|error| self.named(error))?;
            bytes[done..done + piece.wanted].copy_from_slice(&buffer.bytes_mut()[piece.skipped..][..piece.wanted]);
            done += piece.wanted;
        }
        Ok(())
    }

    /// Writes synchronously, outside any loop, any offset and length; durable only after
    /// [`Drive::sync`].
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.refuse(offset, bytes.len(), true)?;
        let mut done = 0;
        while done < bytes.len() {
            let piece = self.piece_at(offset + done as u64, bytes.len() - done);
            let mut buffer = self.buffer_for(&piece);
            if piece.wanted < piece.blocks_bytes {
                self.file.read_exact_at(buffer.bytes_mut(), piece.start).map_err(|error| self.named(error))?;
            }
            buffer.bytes_mut()[piece.skipped..][..piece.wanted].copy_from_slice(&bytes[done..done + piece.wanted]);
            self.file.write_all_at(buffer.bytes_mut(), piece.start).map_err(|error| self.named(error))?;
            done += piece.wanted;
        }
        Ok(())
    }

    /// Makes everything written durable.
    pub fn sync(&self) -> io::Result<()> {
        match self.kind() {
            DriveKind::File => self.file.sync_data(),
            DriveKind::BlockDevice => self.file.sync_all(),
        }
        .map_err(|error| self.named(error))
    }

    /// The whole blocks around the next bytes.
    fn piece_at(&self, offset: u64, wanted: usize) -> AlignedRange {
        let block = u64::from(self.logical_block_bytes());
        let start = offset - offset % block;
        let end = (offset + wanted as u64).min(start + PIECE_BYTES);
        AlignedRange {
            start,
            skipped: (offset - start) as usize,
            wanted: (end - offset) as usize,
            blocks_bytes: (end.next_multiple_of(block) - start) as usize,
        }
    }

    fn buffer_for(&self, piece: &AlignedRange) -> AlignedBuffer {
        AlignedBuffer::new(piece.blocks_bytes, self.logical_block_bytes() as usize)
    }

    fn refuse(&self, offset: u64, length: usize, changes: bool) -> io::Result<()> {
        self.refusal(offset, length as u64, changes).map_or(Ok(()), Err)
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

/// A run of whole blocks, and the part of it that is meant.
struct AlignedRange {
    start: u64,
    skipped: usize,
    wanted: usize,
    blocks_bytes: usize,
}

/// Zeroed memory at a multiple of a power of two.
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    pub(super) fn new(length: usize, alignment: usize) -> Self {
        let memory = vec![0; length + alignment];
        let start = memory.as_ptr().align_offset(alignment);
        Self { memory, start, length }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }
}
