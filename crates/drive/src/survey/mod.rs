//! Looks at a path without changing anything: what is on it, and is it in use.

mod content;
pub(crate) mod in_use;
mod signatures;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use content::{FileContent, survey_data, survey_file};
use content::{LOOK_BYTES, known_file};
use signatures::Ends;

/// Something that speaks against wiping a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Mounted, used as swap, or held by another kernel driver (md, dm, loop): never overridden.
    InUse {
        /// As a clause: `mounted on /media/x`, `in use by md0`.
        how: String,
    },
    /// It carries a signature: a file system, partition table, md, LUKS, LVM, ...: overridden by
    /// force.
    Signature {
        /// The format's name.
        what: String,
        /// Where its mark is.
        offset: u64,
    },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InUse { how } => formatter.write_str(how),
            Self::Signature { what, offset } => write!(formatter, "carries {what} (at byte {offset})"),
        }
    }
}

/// What a look at a path showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// What speaks against wiping it, worst first.
    pub findings: Vec<Finding>,
}

impl Survey {
    /// Whether somebody uses it now.
    pub fn is_in_use(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding, Finding::InUse { .. }))
    }
}

/// Looks at a file or block device. Reads only.
pub fn survey(path: &Path) -> io::Result<Survey> {
    let kind = path.metadata()?.file_type();
    if !kind.is_file() && !std::os::unix::fs::FileTypeExt::is_block_device(&kind) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a regular file nor a block device"));
    }
    let mut file = File::open(path)?;
    let size_bytes = file.seek(SeekFrom::End(0))?;
    let ends = Ends::read(size_bytes, |offset, bytes| file.read_exact_at(bytes, offset))?;
    drop(file);
    Ok(Survey { findings: uses(path).into_iter().chain(signatures_in(&ends)).collect() })
}

/// Who uses a file or block device, whether or not it can be opened.
pub fn uses(path: &Path) -> Vec<Finding> {
    in_use::uses_of(path).into_iter().map(|how| Finding::InUse { how }).collect()
}

/// Looks for signatures in any content of `size_bytes` that `read` (offset, bytes) reads: file
/// systems, partition tables, md, LUKS, LVM.
pub fn survey_signatures(
    size_bytes: u64,
    read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<Finding>> {
    Ok(signatures_in(&Ends::read(size_bytes, read)?).collect())
}

/// The same; if the content has none, whether it begins as files do that people keep: archives,
/// images, text.
pub fn survey_content(
    size_bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<Finding>> {
    let mut findings = survey_signatures(size_bytes, &mut read)?;
    if findings.is_empty() {
        let mut head = vec![0; size_bytes.min(LOOK_BYTES) as usize];
        read(0, &mut head)?;
        let end = head.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        findings.extend(known_file(&head[..end]).map(|what| Finding::Signature { what: what.to_owned(), offset: 0 }));
    }
    Ok(findings)
}

fn signatures_in(ends: &Ends) -> impl Iterator<Item = Finding> {
    let found = signatures::find(ends).into_iter();
    found.map(|found| Finding::Signature { what: found.what, offset: found.offset })
}

#[cfg(test)]
mod tests;
