//! A benchmark in a directory: on a file of its own there, so that the file system is a part of
//! what is measured.
//!
//! The file is written in full and flushed before anything is measured: holes and room that was
//! only promised are read without any I/O. It is deleted when the target is closed, or the command
//! ends in failure; one that a killed run left behind is told by name.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use shoal_bench::Fill;
use shoal_documents::protocol::Command;
use shoal_drive::{Mount, mounts};
use shoal_inventory::asked;
use shoal_plan::wear::level_factors;
use shoal_text::format_size;
use shoal_volume::ArrayLevel;

use crate::args::{ArrayArgs, BenchArgs};
use crate::attaching::attachments;
use crate::documents::DirectoryDocument;
use crate::exit::Failure;
use crate::output;
use crate::setup::reach_running;

/// What the file has unless told: enough to leave small caches behind.
const SIZE_BYTES: u64 = 1 << 30;
/// Its part of the free room at the most, unless told: one in so many.
const ROOM_PARTS: u64 = 4;
/// What is left free at the least, for the file system's own needs: one part in so many.
const SPARE_PARTS: u64 = 20;
const NAME: &str = "shoal-bench-";
const STEP_BYTES: usize = 1 << 20;

/// The benchmark's file; deleted when it is dropped.
pub(super) struct FileInDirectory {
    path: PathBuf,
    size_bytes: u64,
    directory: PathBuf,
    mount: Option<Mount>,
}

impl Drop for FileInDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            output::warn(&format!("{} is left: {error}", self.path.display()));
        }
    }
}

/// Whether the targets are directories: all of them, or none.
pub(super) fn are_directories(args: &BenchArgs) -> Result<bool, Failure> {
    let (mut directories, mut others) = (Vec::new(), Vec::new());
    for path in &args.targets {
        let kind = if asked(path, Path::is_dir)? { &mut directories } else { &mut others };
        kind.push(path);
    }
    match (directories.first(), others.first()) {
        (Some(directory), Some(other)) => Err(Failure::Usage(format!(
            "{} is a directory and {} is not: measure them one after the other",
            directory.display(),
            other.display()
        ))),
        (Some(_), None) if args.raw || args.scan.is_some() => {
            Err(Failure::usage("--raw and --scan are for drives: a directory is measured through its file system"))
        }
        (None, _) if args.size.is_some() => {
            Err(Failure::usage("--size is for directories: of a file or device, --length measures a part"))
        }
        (directory, _) => Ok(directory.is_some()),
    }
}

/// Makes a file in a directory and fills it. What that costs is told first.
pub(super) fn lay_out(
    args: &BenchArgs,
    directory: &Path,
    seed: u64,
    interrupt: &AtomicBool,
) -> Result<FileInDirectory, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", directory.display()));
    let absolute = directory.canonicalize().map_err(failed)?;
    tell_leftovers(&absolute);
    let free_bytes = free_bytes(&absolute).map_err(failed)?;
    let size_bytes = size_bytes(args, directory, free_bytes)?;
    let mount = mount_of(&absolute);
    output::warn(&format!(
        "{} is written into {} ({}, {} free) and deleted afterwards",
        format_size(size_bytes),
        directory.display(),
        mount.as_ref().map_or("unknown file system", |mount| &mount.kind),
        format_size(free_bytes)
    ));
    let path = absolute.join(format!("{NAME}{}-{seed:x}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    // From here on it is deleted, whatever happens.
    let laid_out = FileInDirectory { path, size_bytes, directory: directory.to_owned(), mount };
    fill(&file, size_bytes, seed, interrupt).map_err(failed)?;
    Ok(laid_out)
}

/// The mount that a path lies in: the longest, and of those the last one.
fn mount_of(path: &Path) -> Option<Mount> {
    let around = mounts().unwrap_or_default().into_iter().filter(|mount| path.starts_with(&mount.place));
    around.max_by_key(|mount| mount.place.components().count())
}

fn free_bytes(directory: &Path) -> io::Result<u64> {
    let room = rustix::fs::statvfs(directory)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// How large the file is to be: as asked for, if there is room.
fn size_bytes(args: &BenchArgs, directory: &Path, free_bytes: u64) -> Result<u64, Failure> {
    let most_bytes = free_bytes - free_bytes / SPARE_PARTS;
    let wanted = args.size.unwrap_or(SIZE_BYTES.min(free_bytes / ROOM_PARTS));
    let size_bytes = wanted - wanted % STEP_BYTES as u64;
    if size_bytes == 0 {
        let (directory, least) = (directory.display(), format_size(STEP_BYTES as u64));
        return Err(Failure::Usage(format!(
            "{directory}: a file of at least {least} is needed, or nothing is measured"
        )));
    }
    if size_bytes > most_bytes {
        return Err(Failure::Usage(format!(
            "{}: {} do not fit: {} are free, of which a twentieth is left alone: give a smaller --size",
            directory.display(),
            format_size(size_bytes),
            format_size(free_bytes)
        )));
    }
    Ok(size_bytes)
}

/// Files that runs left which were killed.
fn tell_leftovers(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of_process = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next()?.parse::<u32>().ok());
        if of_process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            output::warn(&format!("{} is left from a run that was killed: delete it", entry.path().display()));
        }
    }
}

/// Writes all of it, and brings it to the drives.
fn fill(mut file: &File, size_bytes: u64, seed: u64, interrupt: &AtomicBool) -> io::Result<()> {
    let fill = Fill::new(seed, STEP_BYTES as u64);
    let mut bytes = vec![0; STEP_BYTES];
    for offset in (0..size_bytes).step_by(STEP_BYTES) {
        if interrupt.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted while the file was being written"));
        }
        fill.write(offset, 0, &mut bytes);
        file.write_all(&bytes)?;
    }
    file.sync_all()
}

impl FileInDirectory {
    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The target's name.
    pub(super) fn name(&self) -> String {
        let kind = self.mount.as_ref().map_or("unknown file system", |mount| &mount.kind);
        format!("{} ({kind})", self.directory.display())
    }

    /// What was written in all, and what that is on the drives if the directory is on an array of
    /// ours.
    pub(super) fn account(&self, measured_bytes: u64) -> DirectoryDocument {
        let written_bytes = self.size_bytes + measured_bytes;
        let factors = self.mount.as_ref().and_then(|mount| array_factors(&mount.source));
        let times = |factor: f64| (written_bytes as f64 * factor) as u64;
        DirectoryDocument {
            directory: self.directory.display().to_string(),
            file_system: self.mount.as_ref().map(|mount| mount.kind.clone()),
            file_bytes: self.size_bytes,
            written_bytes,
            member_bytes_least: factors.map(|(large, small)| times(large.min(small))),
            member_bytes_most: factors.map(|(large, small)| times(large.max(small))),
        }
    }
}

/// Bytes written to members for each byte written to the array that a device is: in large writes,
/// and in small ones.
fn array_factors(device: &Path) -> Option<(f64, f64)> {
    let attachment = attachments().ok()?.into_iter().find(|attachment| attachment.is_at(device))?;
    let named = ArrayArgs { drives: attachment.drives, ..ArrayArgs::default() };
    let array = reach_running(&named).ok()??.execute(Command::Status).ok()?.array;
    let inner = array.members.iter().find_map(|member| member.array.as_deref());
    let factors =
        |array: &shoal_documents::ArrayDocument| level_factors(ArrayLevel::Plain(array.level), array.members.len());
    let (large, small) = factors(&array);
    let (large_below, small_below) = inner.map_or((1.0, 1.0), factors);
    Some((large * large_below, small * small_below))
}
