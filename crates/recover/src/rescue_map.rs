//! GNU ddrescue's mapfile: which parts of a drive could not be copied.
//!
//! ddrescue(1) writes it beside the image: comments, a line with its own position, then lines of
//! position, size and status; `+` is what was copied. Everything else holds nothing that came from
//! the drive.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::limits::MAPFILE_BYTES_MAX;

/// Why it is not known what of an image was copied.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The mapfile cannot be read: it may say that what looks like data is none.
    #[error("{}: {source}: mend it or move it away", path.display())]
    Read {
        /// The mapfile.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It begins like one, and is none.
    #[error("{}: no mapfile of ddrescue's after all: mend it or move it away", path.display())]
    NoMap {
        /// The file.
        path: PathBuf,
    },
}

/// What mapfiles are called: the image's name with one of these behind it.
const ENDINGS: [&str; 3] = ["map", "mapfile", "log"];

/// How mapfiles begin, by today's and by older ddrescues.
const HEADS: [&str; 2] = ["# Mapfile", "# Rescue Logfile"];

/// The ranges that the mapfile beside an image says were not copied; none if there is no mapfile.
pub(crate) fn holes_of(image: &Path) -> Result<Vec<Range<u64>>, MapError> {
    for ending in ENDINGS {
        let mut name = image.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        let path = PathBuf::from(name);
        let text = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(MapError::Read { path, source }),
            Ok(bytes) if !HEADS.iter().any(|head| bytes.starts_with(head.as_bytes())) => continue,
            Ok(bytes) => String::from_utf8(bytes).ok(),
        };
        return text.and_then(|text| parse(&text)).ok_or(MapError::NoMap { path });
    }
    Ok(Vec::new())
}

/// All of a file, unless it is longer than any mapfile: then an incomplete one, whose last line is
/// none. What is no file is not there: a pipe would have its reader wait for ever.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAPFILE_BYTES_MAX).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == MAPFILE_BYTES_MAX {
        bytes.extend(b"\n(cut off)\n");
    }
    Ok(bytes)
}

fn parse(text: &str) -> Option<Vec<Range<u64>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let mut holes = Vec::new();
    for line in lines.skip(1) {
        let mut words = line.split_whitespace();
        let (start, size, status) = (number(words.next()?)?, number(words.next()?)?, words.next()?);
        if status != "+" {
            holes.push(start..start.checked_add(size)?);
        }
    }
    Some(holes)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_copied_is_a_hole() {
        let text = "# Mapfile. Created by GNU ddrescue version 1.27\n# Command line: ddrescue /dev/sdb b.img b.img.map\n\
                    # current_pos  current_status  current_pass\n0x00010000     +               1\n\
                    #      pos        size  status\n0x00000000  0x00010000  +\n0x00010000  0x00001000  -\n\
                    0x00011000  0x00100000  ?\n0x00111000  0x00001000  +\n";
        assert_eq!(parse(text), Some(vec![0x10000..0x11000, 0x11000..0x11_1000]));
        assert_eq!(parse("# Mapfile\n0 + 1\n0 what +\n"), None);
    }
}
