//! What is mounted at a directory: told from the kernel's table, and undone.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::FuseError;

/// How our mounts are called in the kernel's table, before the file's name.
pub(super) const SOURCE_PREFIX: &str = "shoal:";

/// A line of the kernel's table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mounted {
    at: PathBuf,
    kind: String,
    source: String,
}

/// Takes away a mount of ours whose process is gone; true if there was one. Whatever else is there
/// stays.
pub fn undo_stale(directory: &Path) -> Result<bool, FuseError> {
    // What the kernel remembers of files outlives the process; room it asks for each time.
    let is_dead = matches!(rustix::fs::statfs(directory), Err(Errno::NOTCONN | Errno::CONNABORTED));
    if !is_dead || !topmost(directory).is_some_and(|mounted| mounted.is_ours()) {
        return Ok(false);
    }
    detach(directory)?;
    Ok(true)
}

/// An error if something is mounted at `directory`.
pub(super) fn refuse_occupied(directory: &Path) -> Result<(), FuseError> {
    let occupied = |mounted: Mounted| FuseError::Occupied {
        directory: directory.to_owned(),
        what: format!("{} ({})", mounted.source, mounted.kind),
    };
    topmost(directory).map_or(Ok(()), |mounted| Err(occupied(mounted)))
}

/// Takes the mount at `directory` out of the tree, whoever uses it. Without the right to,
/// fusermount3 does it, which has it for mounts of the user's own.
pub(super) fn detach(directory: &Path) -> Result<(), FuseError> {
    let fails = |source| FuseError::Unmount { directory: directory.to_owned(), source };
    match rustix::mount::unmount(directory, UnmountFlags::DETACH) {
        Ok(()) => Ok(()),
        // Nothing is mounted there any more, which is what was wanted.
        Err(Errno::INVAL) => Ok(()),
        Err(Errno::PERM) => unmount_as_user(directory).map_err(fails),
        Err(errno) => Err(fails(errno.into())),
    }
}

fn unmount_as_user(directory: &Path) -> io::Result<()> {
    let output = Command::new("fusermount3").args(["-u", "-z", "--"]).arg(directory).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// What lies on top at a directory.
fn topmost(directory: &Path) -> Option<Mounted> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    // The last step may be dead, so only the way to it is looked at.
    let parent = match directory.parent() {
        Some(parent) if parent == Path::new("") => Path::new("."),
        Some(parent) => parent,
        None => return None,
    };
    let at = parent.canonicalize().ok()?.join(directory.file_name()?);
    parse(&table).into_iter().rfind(|mounted| mounted.at == at)
}

impl Mounted {
    fn is_ours(&self) -> bool {
        // "fuse", or "fuse.NAME" where fusermount3 mounted it.
        self.kind.split('.').next() == Some("fuse") && self.source.starts_with(SOURCE_PREFIX)
    }
}

/// proc_pid_mountinfo(5): `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root
/// rw`, with spaces as `\040`.
fn parse(table: &[u8]) -> Vec<Mounted> {
    let lines = table.split(|&byte| byte == b'\n');
    lines
        .filter_map(|line| {
            let text = String::from_utf8_lossy(line).into_owned();
            let (before, after) = text.split_once(" - ")?;
            let mut after = after.split(' ');
            let at = std::ffi::OsStr::from_bytes(&unescape(before.split(' ').nth(4)?.as_bytes())).into();
            let kind = after.next()?.to_owned();
            let source = String::from_utf8_lossy(&unescape(after.next()?.as_bytes())).into_owned();
            Some(Mounted { at, kind, source })
        })
        .collect()
}

/// Three octal digits behind a backslash are a byte.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, others)) = rest.split_first() {
        let code = (first == b'\\')
            .then(|| others.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &others[3..] } else { others };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read_with_its_escapes() {
        let table = b"36 35 98:0 / /mnt/two\\040words rw,noatime shared:1 - fuse shoal:my\\040array rw,user_id=0\n\
            37 35 98:1 / /home rw - ext4 /dev/sda1 rw\n\
            broken line\n";
        let of = |at: &str, kind: &str, source: &str| Mounted {
            at: at.into(),
            kind: kind.to_owned(),
            source: source.to_owned(),
        };
        let expected = [of("/mnt/two words", "fuse", "shoal:my array"), of("/home", "ext4", "/dev/sda1")];
        assert_eq!(parse(table), expected);
    }

    #[test]
    fn only_our_own_mounts_are_ours() {
        let of = |kind: &str, source: &str| Mounted { at: "/m".into(), kind: kind.into(), source: source.into() };
        assert!(of("fuse", "shoal:array").is_ours());
        assert!(of("fuse.shoal", "shoal:array").is_ours());
        assert!(!of("fuse.sshfs", "host:/").is_ours());
        assert!(!of("ext4", "shoal:array").is_ours());
        assert!(!of("fuseblk", "shoal:array").is_ours());
    }

    #[test]
    fn a_directory_without_a_mount_is_free_and_nothing_is_undone_there() {
        let directory = std::env::temp_dir();
        let inside = directory.join("no such directory");
        assert!(!undo_stale(&inside).unwrap());
        assert!(refuse_occupied(&inside).is_ok());
        assert!(matches!(refuse_occupied(Path::new("/proc")), Err(FuseError::Occupied { .. })));
    }
}
