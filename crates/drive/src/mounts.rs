//! What is mounted where, as the kernel tells this process.

use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A file system that is mounted: a line of /proc/self/mountinfo, proc(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The file system's device, as `major:minor`; made up for file systems over several, like
    /// btrfs.
    pub number: String,
    /// What is mounted: a device, or a word.
    pub source: PathBuf,
    /// Where.
    pub place: PathBuf,
    /// The file system's name: `ext4`, `fuse.sshfs`.
    pub kind: String,
    /// Options of the place and of the file system, separated by commas.
    pub options: String,
}

/// All that is mounted, in the order in which it was: of two at one place the later one is seen.
pub fn mounts() -> io::Result<Vec<Mount>> {
    Ok(parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// Fields: id, parent, number, root, place, options, optional fields up to `-`, type, source,
/// options.
fn parse(table: &[u8]) -> Vec<Mount> {
    table.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let mut fields = line.split(|&byte| byte == b' ');
    let number = text(fields.nth(2)?);
    let place = unescaped(fields.nth(1)?);
    let of_place = text(fields.next()?);
    let mut fields = fields.skip_while(|&field| field != b"-").skip(1);
    let (kind, source) = (text(fields.next()?), unescaped(fields.next()?));
    let of_file_system = fields.next().map(text).unwrap_or_default();
    Some(Mount { number, source, place, kind, options: format!("{of_place},{of_file_system}") })
}

/// The kernel writes blanks and the like as a backslash and three octal digits.
pub(crate) fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        match (byte, tail) {
            (b'\\', &[high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ref behind @ ..]) => {
                bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = behind;
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_and_without_optional_fields() {
        let table = b"36 35 98:0 /mnt1 /media/my\\040stick rw,noatime master:1 - ext4 /dev/sdb1 rw\n\
                      37 35 0:45 / /data rw - btrfs /dev/sdc rw,space_cache\nnonsense\n";
        let mount = |number: &str, source: &str, place: &str, kind: &str, options: &str| Mount {
            number: number.to_owned(),
            source: source.into(),
            place: place.into(),
            kind: kind.to_owned(),
            options: options.to_owned(),
        };
        let expected = [
            mount("98:0", "/dev/sdb1", "/media/my stick", "ext4", "rw,noatime,rw"),
            mount("0:45", "/dev/sdc", "/data", "btrfs", "rw,rw,space_cache"),
        ];
        assert_eq!(parse(table), expected);
    }

    #[test]
    fn a_backslash_that_escapes_nothing_stays() {
        assert_eq!(unescaped(b"a\\134b\\9\\04"), PathBuf::from("a\\b\\9\\04"));
    }
}
