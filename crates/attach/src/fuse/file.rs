//! A directory with one file in it: the array.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, OFlags};

use super::requests::Requests;
use super::{Access, FileOptions};
use crate::Ability;
use crate::limits::{FUSE_BACKGROUND_MAX, FUSE_WRITE_BYTES_MAX};
use crate::ranges::Change;

/// The file's number; the directory's is [`INodeNo::ROOT`].
const FILE: INodeNo = INodeNo(2);
/// Nothing changes that the kernel could remember wrongly: an array that grows is attached anew.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// What the kernel is shown.
#[derive(Debug)]
pub(super) struct ArrayFile {
    requests: Requests,
    name: OsString,
    directory: FileAttr,
    file: FileAttr,
}

impl ArrayFile {
    pub(super) fn new(requests: Requests, options: &FileOptions) -> Self {
        let client = requests.client();
        let (size, block) = (client.size_bytes(), client.block_bytes());
        let [file_mode, directory_mode] = match options.access {
            Access::Owner | Access::OwnerAndRoot => [0o600, 0o700],
            Access::Everybody => [0o666, 0o755],
        };
        let writable = if client.is_read_only() { 0o444 } else { 0o777 };
        let file = attributes(FILE, FileType::RegularFile, file_mode & writable, size, block);
        let directory = attributes(INodeNo::ROOT, FileType::Directory, directory_mode, 0, block);
        Self { requests, name: OsString::from(&options.name), directory, file }
    }

    fn attributes_of(&self, number: INodeNo) -> Option<&FileAttr> {
        match number {
            INodeNo::ROOT => Some(&self.directory),
            FILE => Some(&self.file),
            _ => None,
        }
    }
}

fn attributes(ino: INodeNo, kind: FileType, perm: u16, size: u64, blksize: u32) -> FileAttr {
    let time = SystemTime::UNIX_EPOCH;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let nlink = if kind == FileType::Directory { 2 } else { 1 };
    FileAttr {
        ino,
        size,
        blocks: size / 512,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm,
        nlink,
        uid,
        gid,
        rdev: 0,
        blksize,
        flags: 0,
    }
}

impl Filesystem for ArrayFile {
    fn init(&mut self, _request: &Request, configuration: &mut KernelConfig) -> io::Result<()> {
        // Each is taken if it is offered: older kernels do the same more slowly.
        for wanted in [InitFlags::FUSE_ASYNC_DIO, InitFlags::FUSE_ABORT_ERROR] {
            let _ = configuration.add_capabilities(wanted);
        }
        let _ = configuration.set_max_write(FUSE_WRITE_BYTES_MAX);
        let _ = configuration.set_max_background(FUSE_BACKGROUND_MAX);
        let _ = configuration.set_congestion_threshold(FUSE_BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == self.name {
            reply.entry(&REMEMBERED, &self.file, Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes_of(number) {
            Some(attributes) => reply.attr(&REMEMBERED, attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// As with a disk: its size is what it is, so opening it with `O_TRUNC` (which is asked for as
    /// the size 0) does nothing, and times are not kept.
    fn setattr(
        &self,
        _request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        _modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _changed_at: Option<SystemTime>,
        _saved: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let Some(attributes) = self.attributes_of(number) else { return reply.error(Errno::ENOENT) };
        if mode.is_some() || uid.is_some() || gid.is_some() {
            reply.error(Errno::EPERM);
        } else if size.is_some_and(|size| size != 0 && size != attributes.size) {
            reply.error(Errno::EINVAL);
        } else {
            reply.attr(&REMEMBERED, attributes);
        }
    }

    fn open(&self, _request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if number != FILE {
            return reply.error(Errno::EISDIR);
        }
        if self.requests.client().is_read_only() && flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(self.requests.openers().open()), direct);
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.requests.read(offset, size, reply);
    }

    fn write(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // The kernel adds them for single writes that are to be durable (RWF_DSYNC), too. O_SYNC
        // contains O_DSYNC.
        let flags = OFlags::from_bits_retain(flags.0.cast_unsigned());
        self.requests.write(offset, data, flags.intersects(OFlags::DSYNC), reply);
    }

    fn fsync(&self, _request: &Request, _number: INodeNo, handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        self.requests.flush(handle.0, reply);
    }

    fn release(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.requests.openers().close(handle.0);
        reply.ok();
    }

    fn fallocate(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let size = self.file.size;
        let Some(end) = offset.checked_add(length) else { return reply.error(Errno::EFBIG) };
        // What lies beyond the end is a hole already, and stays one.
        let within = end.min(size).saturating_sub(offset);
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let is_kept = flags.contains(FallocateFlags::KEEP_SIZE) || end <= size;
        match flags - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE
                if !self.requests.client().can(Ability::WriteZeroes) =>
            {
                reply.error(Errno::EOPNOTSUPP);
            }
            _ if !is_kept => reply.error(Errno::ENOSPC),
            FallocateFlags::PUNCH_HOLE => self.requests.change(Change::Hole, offset, within, reply),
            FallocateFlags::ZERO_RANGE => self.requests.change(Change::Zeroes, offset, within, reply),
            // The room is there, all of it.
            none if none.is_empty() => reply.ok(),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let block = self.file.blksize.max(1);
        let blocks = self.file.size / u64::from(block);
        let names_bytes_max = 255;
        reply.statfs(blocks, 0, 0, 1, 0, block, names_bytes_max, block);
    }

    fn readdir(
        &self,
        _request: &Request,
        number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if number != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (INodeNo::ROOT, FileType::Directory, OsStr::new(".")),
            (INodeNo::ROOT, FileType::Directory, OsStr::new("..")),
            (FILE, FileType::RegularFile, &self.name),
        ];
        // An entry's offset is where the next one begins.
        for (next, (number, kind, name)) in (1..).zip(entries).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
