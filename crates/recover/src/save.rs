//! The content of an array that is looked at through an overlay: what it is, and copied out.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::scope;

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Finding, survey_content};
use shoal_volume::transfer::{TransferError, read_to};
use shoal_volume::{ArrayVolume, Volume, VolumeError};

use crate::copy::{Copied, copy};
use crate::limits::PIECES_WAITING_MAX;
use crate::plan::Overlay;

/// Why content is not copied into a file.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file is there already.
    #[error("{} is there already: name another file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made.
    #[error("{}: {source}: name a file in a directory that is there and may be written", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file does not take it all.
    #[error("{}: {source}: make room for {size_bytes} bytes, or name a file elsewhere; it is removed", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
        /// How long it would be.
        size_bytes: u64,
    },
    /// Somebody said so.
    #[error("{}: stopped before all was copied, and removed: start again to have it", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// The array broke.
    #[error(transparent)]
    Array(VolumeError),
}

impl HasFault for SaveError {
    fn fault(&self) -> Fault {
        match self {
            Self::Exists { .. } => Fault::Refused,
            Self::Create { .. } | Self::Write { .. } | Self::Stopped { .. } | Self::Array(_) => Fault::Failed,
        }
    }
}

/// What the content looks like. What of it cannot be read looks like nothing.
pub fn content_of(array: &mut ArrayVolume<Overlay>) -> io::Result<Vec<Finding>> {
    survey_content(array.size_bytes(), |offset, bytes| {
        let mut sink: &mut [u8] = bytes;
        let length = sink.len() as u64;
        match read_to(array, offset, length, &mut sink) {
            Err(TransferError::Content { .. }) => bytes.fill(0),
            read => read.map_err(io::Error::other)?,
        }
        Ok(())
    })
}

/// Copies the content into a new file, with holes where it is zeros or lost. Nothing is asked of
/// what is known to be [unreadable](crate::unreadable()). Whoever is told how many bytes are done
/// may stop it. Returns what is lost, in bytes of the content; a copy that did not come to its end
/// is removed.
pub fn save(
    array: &mut ArrayVolume<Overlay>,
    path: &Path,
    unreadable: &[Range<u64>],
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Vec<Range<u64>>, SaveError> {
    let file = File::create_new(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => SaveError::Exists { path: path.to_owned() },
        _ => SaveError::Create { path: path.to_owned(), source },
    })?;
    let size_bytes = array.size_bytes();
    let saved = save_into(&file, array, unreadable, tell).and_then(|copied| match copied {
        Copied::All { lost } => Ok(lost),
        Copied::Stopped => Err(Unsaved::Stopped),
    });
    saved.map_err(|why| {
        // What is wrong with the directory now is told by what went wrong before.
        let _ = std::fs::remove_file(path);
        let path = path.to_owned();
        match why {
            Unsaved::Stopped => SaveError::Stopped { path },
            Unsaved::Array(error) => SaveError::Array(error),
            Unsaved::File(source) => SaveError::Write { path, source, size_bytes },
        }
    })
}

/// Why a file that was made does not hold the content.
#[derive(Debug)]
enum Unsaved {
    Stopped,
    Array(VolumeError),
    File(io::Error),
}

/// Reads here, and writes in a thread beside it.
fn save_into(
    file: &File,
    array: &mut dyn Volume,
    unreadable: &[Range<u64>],
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Copied, Unsaved> {
    let size_bytes = array.size_bytes();
    let copied = scope(|scope| {
        let (pieces, to_write) = sync_channel(PIECES_WAITING_MAX);
        let (written, empties) = channel();
        let writer = scope.spawn(move || write_pieces(file, &to_write, &written));
        let mut sink = |offset, content: &[u8]| {
            let mut bytes: Vec<u8> = empties.try_recv().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(content);
            // The writer is gone if it has failed, which it says at its end.
            pieces.send((offset, bytes)).map_or(ControlFlow::Break(()), |()| ControlFlow::Continue(()))
        };
        let copied = copy(array, unreadable, &mut sink, tell);
        drop(pieces);
        writer.join().expect("it does not panic").map_err(Unsaved::File)?;
        copied.map_err(Unsaved::Array)
    })?;
    // At the end, so that what is left by a process that was killed does not look whole.
    file.set_len(size_bytes).map_err(Unsaved::File)?;
    file.sync_all().map_err(Unsaved::File)?;
    Ok(copied)
}

/// Writes what comes, and gives its memory back.
fn write_pieces(file: &File, pieces: &Receiver<(u64, Vec<u8>)>, written: &Sender<Vec<u8>>) -> io::Result<()> {
    for (offset, bytes) in pieces {
        write_sparse(file, offset, &bytes)?;
        let _ = written.send(bytes); // nobody wants it at the end
    }
    Ok(())
}

/// Writes what is not zeros.
fn write_sparse(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    const PIECE_BYTES: usize = 64 << 10;
    for (place, piece) in (offset..).step_by(PIECE_BYTES).zip(bytes.chunks(PIECE_BYTES)) {
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_zeros_is_written() {
        const SIZE_BYTES: u64 = 1 << 20;
        let file = tempfile::tempfile().expect("there is room");
        file.set_len(SIZE_BYTES).expect("it is sparse");
        let mut bytes = vec![0; SIZE_BYTES as usize / 2];
        bytes[300_000] = 7;
        write_sparse(&file, 4096, &bytes).expect("there is room");
        let mut read = vec![1; bytes.len()];
        file.read_exact_at(&mut read, 4096).expect("it is there");
        assert!(read == bytes);
        let kept_bytes = std::os::unix::fs::MetadataExt::blocks(&file.metadata().expect("it is open")) * 512;
        assert!(kept_bytes < SIZE_BYTES / 2, "{kept_bytes} bytes are kept");
    }
}
