//! How far one I/O has come, and what follows from the kernel's answers to it.

use std::fs::File;
use std::io;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::request::{Finished, Io, IoKind};
use crate::{Arena, Drive, DriveKind, Memory};

/// The kernel moves whole sectors in direct I/O; a transfer that ends within one has met the end of
/// the file.
const SECTOR_BYTES: u32 = 512;

/// An I/O in flight. The kernel may move less than was asked for; the rest is asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) io: Io,
    /// Bytes of a read or write that have been moved.
    pub(super) done_bytes: u32,
}

/// What to do after an answer.
#[derive(Debug)]
pub(super) enum Step {
    /// Ask (again) for what is missing.
    Continue,
    /// That was it.
    End(io::Result<()>),
}

impl Transfer {
    pub(super) fn new(io: Io) -> Self {
        Self { io, done_bytes: 0 }
    }

    /// Takes an answer in: bytes moved, or the error.
    pub(super) fn advance(&mut self, answer: Result<u32, Errno>) -> Step {
        let moved_bytes = match answer {
            Ok(bytes) => bytes,
            Err(Errno::INTR | Errno::AGAIN) => return Step::Continue,
            Err(errno) => return Step::End(Err(errno.into())),
        };
        let (length, ended) = match self.io.kind {
            IoKind::Read(memory) => (memory.length, io::ErrorKind::UnexpectedEof),
            IoKind::Write(memory) => (memory.length, io::ErrorKind::WriteZero),
            IoKind::Flush | IoKind::Discard(_) => return Step::End(Ok(())),
        };
        self.done_bytes += moved_bytes;
        if self.done_bytes >= length {
            Step::End(Ok(()))
        } else if moved_bytes == 0 || !moved_bytes.is_multiple_of(SECTOR_BYTES) {
            Step::End(Err(ended.into()))
        } else {
            Step::Continue
        }
    }
}

/// Does one I/O on the calling thread, from beginning to end.
pub(super) fn perform(io: Io, kind: DriveKind, file: &File, arena: &Arena) -> io::Result<()> {
    let mut transfer = Transfer::new(io);
    loop {
        let answer = ask(&transfer, kind, file, arena);
        if let Step::End(result) = transfer.advance(answer) {
            return result;
        }
    }
}

/// Finds out which files were cut short or deleted, if a read has met an end where none was:
/// whoever writes there again would make them as long as before, and nobody could know.
pub(super) fn look_for_losses(finished: &[Finished], drives: &[Option<Drive>]) {
    let met_end = |it: &Finished| it.result.as_ref().is_err_and(|it| it.kind() == io::ErrorKind::UnexpectedEof);
    if finished.iter().any(met_end) {
        // One that does not say how long it is refuses its next flush.
        for drive in drives.iter().flatten() {
            let _ = drive.look_for_loss();
        }
    }
}

/// Asks the kernel once, for what is missing.
fn ask(transfer: &Transfer, kind: DriveKind, file: &File, arena: &Arena) -> Result<u32, Errno> {
    let Transfer { io, done_bytes } = *transfer;
    let offset = io.offset + u64::from(done_bytes);
    let rest =
        |memory: Memory| Memory { offset: memory.offset + done_bytes as usize, length: memory.length - done_bytes };
    match io.kind {
        IoKind::Read(memory) => arena.read_from(file, offset, rest(memory)),
        IoKind::Write(memory) => arena.write_to(file, offset, rest(memory)),
        IoKind::Flush => match kind {
            DriveKind::File => rustix::fs::fdatasync(file).map(|()| 0),
            DriveKind::BlockDevice => rustix::fs::fsync(file).map(|()| 0),
        },
        IoKind::Discard(bytes) => {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, mode, offset, bytes).map(|()| 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveId;

    fn read_of(length: u32) -> Transfer {
        let kind = IoKind::Read(Memory { offset: 0, length });
        Transfer::new(Io { token: 1, drive: DriveId(0), kind, offset: 0 })
    }

    #[test]
    fn short_transfers_go_on_until_all_is_moved() {
        let mut transfer = read_of(8192);
        assert!(matches!(transfer.advance(Ok(4096)), Step::Continue));
        assert!(matches!(transfer.advance(Err(Errno::INTR)), Step::Continue));
        assert_eq!(transfer.done_bytes, 4096);
        assert!(matches!(transfer.advance(Ok(4096)), Step::End(Ok(()))));
    }

    #[test]
    fn the_end_of_the_file_is_an_error() {
        for moved in [0, 100] {
            let Step::End(Err(error)) = read_of(8192).advance(Ok(moved)) else { panic!("{moved} bytes must not do") };
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn an_error_ends_it_at_once() {
        let Step::End(Err(error)) = read_of(512).advance(Err(Errno::IO)) else { panic!("an error must end it") };
        assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()));
    }
}
