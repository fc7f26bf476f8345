//! The content of an array that is looked at through an overlay: what it is, and copied out.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Finding, survey_content};
use shoal_volume::transfer::{TransferError, read_to};
use shoal_volume::{ArrayVolume, Volume, salvage};

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
    /// The file does not take it.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The array broke.
    #[error(transparent)]
    Array(TransferError),
}

impl HasFault for SaveError {
    fn fault(&self) -> Fault {
        match self {
            Self::Exists { .. } => Fault::Refused,
            Self::File { .. } | Self::Array(_) => Fault::Failed,
        }
    }
}

/// What the content looks like.
pub fn content_of(array: &mut ArrayVolume<Overlay>) -> io::Result<Vec<Finding>> {
    survey_content(array.size_bytes(), |offset, bytes| {
        let mut sink: &mut [u8] = bytes;
        let length = sink.len() as u64;
        read_to(array, offset, length, &mut sink).map_err(io::Error::other)
    })
}

/// Copies the content into a new file, with holes where it is zeros or lost. Returns what is lost,
/// in bytes of the content.
pub fn save(array: &mut ArrayVolume<Overlay>, path: &Path) -> Result<Vec<Range<u64>>, SaveError> {
    let at = |source: io::Error| SaveError::File { path: path.to_owned(), source };
    let file = File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => SaveError::Exists { path: path.to_owned() },
        _ => at(error),
    })?;
    let size_bytes = array.size_bytes();
    file.set_len(size_bytes).map_err(at)?;
    let lost = salvage(array, 0..size_bytes, &mut |offset, bytes| write_sparse(&file, offset, bytes));
    let lost = lost.map_err(|error| match error {
        TransferError::Stream(error) => at(error),
        error => SaveError::Array(error),
    })?;
    file.sync_all().map_err(at)?;
    Ok(lost)
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
