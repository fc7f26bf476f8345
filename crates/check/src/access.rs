//! Writes stamps to a drive and reads them back, one I/O at a time.

use rustix::io::Errno;
use shoal_drive::{Io, IoKind, LoopError};
use shoal_volume::{DriveId, Memory, World};

use crate::limits::{FAILURES_MAX, STEP_BYTES_MAX};
use crate::stamp::{self, Pass, Reading};

/// Why a drive could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The loop under it broke.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The drive went away.
    #[error("{drive} is gone: plug it in, and check it again; what was written to it stays")]
    Gone {
        /// Which.
        drive: String,
    },
    /// Somebody wants it to end.
    #[error("stopped: nothing is known of the drive; what was written to it stays")]
    Stopped,
}

/// Who looks on.
pub trait Watch {
    /// So many bytes of about so many are written or read. `false` ends the check.
    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool;
}

/// What was read at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The place.
    pub(crate) offset: u64,
    /// By the pass of this number.
    pub(crate) pass: u64,
    /// What it held.
    pub(crate) reading: Reading,
}

/// A drive that is checked. Nobody else may have anything in flight in its world; the start of the
/// arena is used.
pub(crate) struct Access<'a, W, V> {
    world: &'a mut W,
    drive: DriveId,
    watch: &'a mut V,
    block_bytes: u32,
    bytes: Vec<u8>,
    /// Places at which the drive failed.
    pub(crate) failures: Vec<Seen>,
    /// How it failed first.
    pub(crate) first_failure: Option<String>,
    /// Bytes that were written.
    pub(crate) written_bytes: u64,
    /// Bytes that were read.
    pub(crate) read_bytes: u64,
    /// What both will be together, at the least.
    pub(crate) expected_bytes: u64,
}

impl<'a, W: World, V: Watch> Access<'a, W, V> {
    pub(crate) fn new(world: &'a mut W, drive: DriveId, block_bytes: u32, watch: &'a mut V) -> Self {
        Self {
            world,
            drive,
            watch,
            block_bytes,
            bytes: vec![0; STEP_BYTES_MAX as usize],
            failures: Vec::new(),
            first_failure: None,
            written_bytes: 0,
            read_bytes: 0,
            expected_bytes: 0,
        }
    }

    /// Whether it has failed so often that nothing is to be learned any more.
    pub(crate) fn is_given_up(&self) -> bool {
        self.failures.len() >= FAILURES_MAX
    }

    /// Writes stamps to a range, ascending.
    pub(crate) fn write(&mut self, pass: Pass, offset: u64, length: u64) -> Result<(), CheckError> {
        for (at, memory) in steps(offset, length) {
            if self.is_given_up() {
                return Ok(());
            }
            let bytes = &mut self.bytes[..memory.length as usize];
            stamp::fill(pass, at, bytes);
            self.world.arena().write(memory, bytes);
            if !self.carry_out("write", IoKind::Write(memory), at)? {
                self.failures.push(Seen { offset: at, pass: pass.number, reading: Reading::Failed });
            }
            self.written_bytes += u64::from(memory.length);
            self.look_on()?;
        }
        Ok(())
    }

    /// Makes durable what was written.
    pub(crate) fn flush(&mut self, pass: Pass) -> Result<(), CheckError> {
        if !self.carry_out("flush", IoKind::Flush, 0)? {
            self.failures.push(Seen { offset: 0, pass: pass.number, reading: Reading::Failed });
        }
        Ok(())
    }

    /// Reads a range, and tells of each block what it holds.
    pub(crate) fn read(
        &mut self,
        pass: Pass,
        (offset, length): (u64, u64),
        mut tell: impl FnMut(Seen),
    ) -> Result<(), CheckError> {
        for (at, memory) in steps(offset, length) {
            if self.is_given_up() {
                return Ok(());
            }
            let block_bytes = u64::from(self.block_bytes);
            if self.fetch(at, memory)? {
                for (block, place) in self.blocks(memory).zip((at..).step_by(self.block_bytes as usize)) {
                    tell(Seen { offset: place, pass: pass.number, reading: stamp::read(pass, place, block) });
                }
            } else if u64::from(memory.length) > block_bytes {
                // Which blocks it was.
                for place in (at..at + u64::from(memory.length)).step_by(self.block_bytes as usize) {
                    self.read_block(pass, place, &mut tell)?;
                }
            } else {
                self.fail(pass, at, &mut tell);
            }
        }
        Ok(())
    }

    /// A block's bytes; none if it cannot be read.
    pub(crate) fn look(&mut self, offset: u64) -> Result<Option<&[u8]>, CheckError> {
        let memory = Memory { offset: 0, length: self.block_bytes };
        if self.fetch(offset, memory)? {
            return Ok(Some(&self.bytes[..memory.length as usize]));
        }
        self.failures.push(Seen { offset, pass: 0, reading: Reading::Failed });
        Ok(None)
    }

    fn read_block(&mut self, pass: Pass, place: u64, tell: &mut impl FnMut(Seen)) -> Result<(), CheckError> {
        if self.is_given_up() {
            return Ok(());
        }
        if self.fetch(place, Memory { offset: 0, length: self.block_bytes })? {
            let block = &self.bytes[..self.block_bytes as usize];
            tell(Seen { offset: place, pass: pass.number, reading: stamp::read(pass, place, block) });
        } else {
            self.fail(pass, place, tell);
        }
        Ok(())
    }

    fn fail(&mut self, pass: Pass, offset: u64, tell: &mut impl FnMut(Seen)) {
        let seen = Seen { offset, pass: pass.number, reading: Reading::Failed };
        self.failures.push(seen);
        tell(seen);
    }

    fn blocks(&self, memory: Memory) -> impl Iterator<Item = &[u8]> {
        self.bytes[..memory.length as usize].chunks(self.block_bytes as usize)
    }

    /// Reads into `bytes`; whether the drive could.
    fn fetch(&mut self, offset: u64, memory: Memory) -> Result<bool, CheckError> {
        let is_read = self.carry_out("read", IoKind::Read(memory), offset)?;
        self.world.arena().read(memory, &mut self.bytes[..memory.length as usize]);
        self.read_bytes += u64::from(memory.length);
        self.look_on()?;
        Ok(is_read)
    }

    fn look_on(&mut self) -> Result<(), CheckError> {
        let done_bytes = self.written_bytes + self.read_bytes;
        if self.watch.goes_on(done_bytes, self.expected_bytes.max(done_bytes)) {
            Ok(())
        } else {
            Err(CheckError::Stopped)
        }
    }

    /// Whether the drive did it.
    fn carry_out(&mut self, what: &str, kind: IoKind, offset: u64) -> Result<bool, CheckError> {
        let mut finished = Vec::new();
        self.world.submit(Io { token: 0, drive: self.drive, kind, offset });
        while finished.is_empty() {
            self.world.wait(1, None, &mut finished)?;
        }
        let Err(error) = finished.remove(0).result else { return Ok(true) };
        if matches!(Errno::from_io_error(&error), Some(Errno::NODEV | Errno::NXIO)) {
            return Err(CheckError::Gone { drive: self.world.facts(self.drive).name });
        }
        self.first_failure.get_or_insert_with(|| format!("it could not {what} at byte {offset}: {error}"));
        Ok(false)
    }
}

/// A range in I/Os of at most [`STEP_BYTES_MAX`], each with its memory.
fn steps(offset: u64, length: u64) -> impl Iterator<Item = (u64, Memory)> {
    let end = offset + length;
    (offset..end).step_by(STEP_BYTES_MAX as usize).map(move |at| {
        let length = u32::try_from(end - at).unwrap_or(u32::MAX).min(STEP_BYTES_MAX);
        (at, Memory { offset: 0, length })
    })
}
