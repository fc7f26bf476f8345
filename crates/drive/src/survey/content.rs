//! What a regular file holds that carries no signature of a drive: nothing, or something that
//! people keep in files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a regular file, or another content without signatures, holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Zeros, wherever it was looked at.
    Blank,
    /// What the caller knows as its own.
    Own,
    /// Something else.
    Foreign {
        /// What it looks like: `a tar archive`, `text`.
        what: &'static str,
        /// The first byte that is not zero, as far as it was looked at.
        offset: u64,
    },
}

/// A look is at so many bytes, at a multiple of as many.
pub(super) const LOOK_BYTES: u64 = 4096;
/// So much of what a file has is read, holes left out, before it is only looked at here and there.
const READ_BYTES: u64 = 64 << 20;
/// So much at the end is read in any case: what ends a drive's former life overwrites no more than
/// that.
const LAST_BYTES: u64 = 4 << 20;
/// So many looks are all over the rest, at equal distances.
const MORE_LOOKS: u64 = 1024;

/// Reads what a regular file has: all of it up to 64 MiB that are no holes; of a longer one the
/// beginning, the end, and a thousand places between. None for a block device.
///
/// `is_own` is asked of the first 4096 bytes that are not all zeros (fewer at the end of the file),
/// which begin at a multiple of 4096: what is there was there first, or was written last, and says
/// whose file it is.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn survey_file(path: &Path, is_own: impl Fn(&[u8]) -> bool) -> io::Result<Option<FileContent>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let read = |offset, bytes: &mut [u8]| file.read_exact_at(bytes, offset);
    look_at(looks(&file, metadata.len()), metadata.len(), is_own, read).map(Some)
}

/// Looks at what `read` (offset, bytes) reads of `size_bytes`: 4 MiB at the beginning and at the
/// end, and a thousand places between. `is_own` as for [`survey_file`].
///
/// # Errors
/// Those of `read`.
pub fn survey_data(
    size_bytes: u64,
    is_own: impl Fn(&[u8]) -> bool,
    read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<FileContent> {
    let first = (0..size_bytes.min(LAST_BYTES)).step_by(LOOK_BYTES as usize);
    look_at(first.chain(scattered_looks(size_bytes)), size_bytes, is_own, read)
}

/// What the first of these places says that is not all zeros.
fn look_at(
    looks: impl Iterator<Item = u64>,
    size_bytes: u64,
    is_own: impl Fn(&[u8]) -> bool,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<FileContent> {
    let mut bytes = [0; LOOK_BYTES as usize];
    for offset in looks {
        let looked_at = &mut bytes[..(size_bytes - offset).min(LOOK_BYTES) as usize];
        read(offset, looked_at)?;
        let Some(first) = looked_at.iter().position(|&byte| byte != 0) else { continue };
        if is_own(looked_at) {
            return Ok(FileContent::Own);
        }
        let what = if offset == 0 { looks_like(looked_at) } else { "data" };
        return Ok(FileContent::Foreign { what, offset: offset + first as u64 });
    }
    Ok(FileContent::Blank)
}

/// Where a file is looked at, in order.
fn looks(file: &File, size_bytes: u64) -> impl Iterator<Item = u64> {
    let mut next = 0;
    let read = (0..READ_BYTES / LOOK_BYTES).map_while(move |_| {
        let look = next_data(file, next)?;
        next = look + LOOK_BYTES;
        Some(look)
    });
    read.chain(further_looks(size_bytes))
}

/// Where a file is looked at that may have more than is read.
fn further_looks(size_bytes: u64) -> impl Iterator<Item = u64> {
    scattered_looks(if size_bytes > READ_BYTES { size_bytes } else { 0 })
}

/// A thousand places of so many bytes, and then all at their end.
fn scattered_looks(size_bytes: u64) -> impl Iterator<Item = u64> {
    let count = size_bytes.div_ceil(LOOK_BYTES);
    let last = count.saturating_sub(LAST_BYTES / LOOK_BYTES)..count;
    let distance = usize::try_from(count.div_ceil(MORE_LOOKS).max(1)).unwrap_or(usize::MAX);
    (0..count).step_by(distance).chain(last).map(|look| look * LOOK_BYTES)
}

/// The first place to look at from here on that is no hole; none at the end. Where a file system
/// knows no holes all is data.
fn next_data(file: &File, offset: u64) -> Option<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => Some((data - data % LOOK_BYTES).max(offset)),
        Err(rustix::io::Errno::NXIO) => None,
        Err(_) => file.metadata().is_ok_and(|metadata| offset < metadata.len()).then_some(offset),
    }
}

/// What files of a kind have at one place near their beginning, each as its own documentation or
/// file(1) has it.
const MARKS: [(&str, usize, &[u8]); 25] = [
    ("a tar archive", 257, b"ustar"),
    ("a gzip file", 0, b"\x1f\x8b"),
    ("an xz file", 0, b"\xfd7zXZ\0"),
    ("a zstd file", 0, b"\x28\xb5\x2f\xfd"),
    ("a bzip2 file", 0, b"BZh"),
    ("a zip archive, or a document of an office", 0, b"PK\x03\x04"),
    ("a 7z archive", 0, b"7z\xbc\xaf\x27\x1c"),
    ("a rar archive", 0, b"Rar!\x1a\x07"),
    ("an ar archive", 0, b"!<arch>\n"),
    ("a PDF document", 0, b"%PDF-"),
    ("a PNG picture", 0, b"\x89PNG\r\n\x1a\n"),
    ("a JPEG picture", 0, b"\xff\xd8\xff"),
    ("a GIF picture", 0, b"GIF8"),
    ("a program", 0, b"\x7fELF"),
    ("a SQLite database", 0, b"SQLite format 3\0"),
    ("a film or sound (MP4)", 4, b"ftyp"),
    ("a film or sound (Matroska)", 0, b"\x1a\x45\xdf\xa3"),
    ("a film, sound or picture (RIFF)", 0, b"RIFF"),
    ("sound (Ogg)", 0, b"OggS"),
    ("sound (FLAC)", 0, b"fLaC"),
    ("sound (MP3)", 0, b"ID3"),
    ("a virtual machine's disk (qcow)", 0, b"QFI\xfb"),
    ("a virtual machine's disk (VMDK)", 0, b"KDMV"),
    ("a virtual machine's disk (VDI)", 64, b"\x7f\x10\xda\xbe"),
    ("a virtual machine's disk (VHDX)", 0, b"vhdxfile"),
];

/// What the beginning of a file looks like.
fn looks_like(head: &[u8]) -> &'static str {
    known_file(head).unwrap_or("data")
}

/// The kind of file that begins so; none if it is not known.
pub(super) fn known_file(head: &[u8]) -> Option<&'static str> {
    let has = |(_, offset, mark): &&(&str, usize, &[u8])| head.get(*offset..).is_some_and(|at| at.starts_with(mark));
    match MARKS.iter().find(has) {
        Some((what, ..)) => Some(what),
        None => is_text(head).then_some("text"),
    }
}

/// UTF-8 without control characters; a character may be cut off at the end.
fn is_text(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let is_typed = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t' | '\x0c');
    whole.is_some_and(|text| !text.is_empty() && text.chars().all(is_typed))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use tempfile::NamedTempFile;

    use super::*;

    fn file(bytes: u64, content: &[(u64, &[u8])]) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        for (offset, content) in content {
            file.seek(SeekFrom::Start(*offset)).unwrap();
            file.write_all(content).unwrap();
        }
        file
    }

    fn look(file: &NamedTempFile) -> FileContent {
        survey_file(file.path(), |bytes| bytes.starts_with(b"own")).unwrap().unwrap()
    }

    #[test]
    fn zeros_are_blank_however_many() {
        for bytes in [0, 1, 511, 4096, 4097, 1 << 20, 5 << 40] {
            assert_eq!(look(&file(bytes, &[])), FileContent::Blank, "{bytes} bytes");
        }
        assert_eq!(survey_file(Path::new("/dev/null"), |_| false).unwrap(), None);
    }

    #[test]
    fn what_people_keep_is_named() {
        let mut tar = vec![0; 512];
        tar[..4].copy_from_slice(b"name");
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&[u8], &str); 6] = [
            (&tar, "a tar archive"),
            (b"\x1f\x8b\x08\0\0", "a gzip file"),
            (b"PK\x03\x04...", "a zip archive, or a document of an office"),
            ("Gr\u{fc}\u{df}e\n".as_bytes(), "text"),
            (b"#!/bin/sh\necho", "text"),
            (b"\x01\x02\x03", "data"),
        ];
        for (bytes, what) in cases {
            // As long as it is, and with zeros behind it.
            for size in [bytes.len() as u64, 3 << 20] {
                let found = look(&file(size, &[(0, bytes)]));
                let is_text_no_more = what == "text" && size > 4096;
                let what = if is_text_no_more { "data" } else { what };
                assert_eq!(found, FileContent::Foreign { what, offset: 0 }, "{bytes:?} of {size}");
            }
        }
    }

    #[test]
    fn what_lies_behind_zeros_is_found() {
        for offset in [4095, 40_000, (1 << 20) - 1] {
            let found = look(&file(1 << 20, &[(offset, b"x")]));
            assert_eq!(found, FileContent::Foreign { what: "data", offset });
        }
        for offset in [70_000, 600_000, 3_000_001, 33 << 20, 66_500_000] {
            let found = look(&file(64 << 20, &[(offset, b"x")]));
            assert_eq!(found, FileContent::Foreign { what: "data", offset }, "no place is passed over");
        }
        // In the last part of a large one, and at its very end.
        let found = look(&file(1 << 40, &[((1 << 40) - 3_000_001, b"x")]));
        assert_eq!(found, FileContent::Foreign { what: "data", offset: (1 << 40) - 3_000_001 });
        let found = look(&file(1 << 40, &[((1 << 40) - 1, b"x")]));
        assert_eq!(found, FileContent::Foreign { what: "data", offset: (1 << 40) - 1 });
    }

    #[test]
    fn whose_it_is_is_said_by_what_comes_first() {
        assert_eq!(look(&file(1 << 20, &[(8192, b"own"), (70_000, b"else")])), FileContent::Own);
        let found = look(&file(1 << 20, &[(8192, b"else"), (12_288, b"own")]));
        assert_eq!(found, FileContent::Foreign { what: "data", offset: 8192 });
    }

    #[test]
    fn other_content_is_looked_at_like_a_file() {
        let survey = |content: &[(u64, &[u8])]| {
            let file = file(1 << 40, content);
            survey_data(
                1 << 40,
                |bytes| bytes.starts_with(b"own"),
                |offset, bytes| file.as_file().read_exact_at(bytes, offset),
            )
        };
        assert_eq!(survey(&[]).unwrap(), FileContent::Blank);
        assert_eq!(survey(&[(8192, b"own")]).unwrap(), FileContent::Own);
        for offset in [0, (4 << 20) - 1, (1 << 40) / 1024 * 512, (1 << 40) - 1] {
            assert_eq!(survey(&[(offset, b"\x01")]).unwrap(), FileContent::Foreign { what: "data", offset });
        }
    }
}
