//! Arrays with a bitmap on real files, on a clock that is put forward instead of waited for.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use shoal_array::{Command, Instant, Request, RequestId};
use shoal_drive::{Access, Arena, DriveId, Finished, Io, IoKind, LoopError};
use shoal_md::{BITMAP_HEADER_BYTES, Bitmap, BitmapHeader};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, ConsistencyPolicy, CreateOptions, DriveFacts, LiveVolume, MinorVersion, OpenOptions, RealWorld,
    Superblock, Volume, World, read_superblock,
};

use crate::support::{Bench, create_options};

/// What one bit stands for in these tests.
pub(crate) const CHUNK_BYTES: u64 = 64 << 10;
/// md's daemon_sleep.
pub(crate) const SLEEP: Duration = Duration::from_secs(5);

/// Every I/O that was submitted.
pub(crate) type Log = Rc<RefCell<Vec<Io>>>;

/// Real files on a clock that is put forward instead of waited for.
pub(crate) struct SwiftWorld {
    inner: RealWorld,
    skipped_ns: u64,
    log: Log,
}

impl World for SwiftWorld {
    fn arena(&self) -> &Arena {
        self.inner.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.inner.drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.inner.facts(drive)
    }

    fn submit(&mut self, io: Io) {
        self.log.borrow_mut().push(io);
        self.inner.submit(io);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.inner.wait(at_least, timeout, finished)
    }

    fn pending(&self) -> usize {
        self.inner.pending()
    }

    fn now(&self) -> Instant {
        self.inner.now().after_ns(self.skipped_ns)
    }

    fn unix_time_s(&self) -> u64 {
        self.inner.unix_time_s()
    }

    fn sleep(&mut self, duration: Duration) {
        self.skipped_ns += u64::try_from(duration.as_nanos()).unwrap();
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.inner.random_bytes()
    }
}

/// An array with a bitmap, and what its drives were asked for.
pub(crate) struct Rig {
    pub(crate) array: ArrayVolume<SwiftWorld>,
    pub(crate) drives: Vec<DriveId>,
    pub(crate) log: Log,
}

pub(crate) fn swift(bench: &Bench, drives: &[usize]) -> (SwiftWorld, shoal_volume::BufferPlan, Vec<DriveId>, Log) {
    let (inner, plan, ids) = bench.world(drives.iter().copied(), Access::Write);
    let log = Log::default();
    (SwiftWorld { inner, skipped_ns: 0, log: Rc::clone(&log) }, plan, ids, log)
}

pub(crate) fn create_as(bench: &Bench, level: &str, drives: usize, metadata: MinorVersion) -> Rig {
    let (world, plan, drives, log) = swift(bench, &(0..drives).collect::<Vec<_>>());
    let create = CreateOptions {
        metadata,
        consistency: ConsistencyPolicy::Bitmap { chunk_bytes: Some(CHUNK_BYTES) },
        ..create_options(level, None, 16 << 10)
    };
    let array = ArrayVolume::create(world, plan, &drives, &create, &OpenOptions::writable());
    Rig { array: array.unwrap_or_else(|error| panic!("raid{level}: {error}")), drives, log }
}

pub(crate) fn create(bench: &Bench, level: &str, drives: usize) -> Rig {
    create_as(bench, level, drives, MinorVersion::Start4K)
}

/// Opens the array of some drives.
pub(crate) fn open(bench: &Bench, drives: &[usize]) -> Rig {
    open_as(bench, drives, &OpenOptions::writable())
}

pub(crate) fn open_as(bench: &Bench, drives: &[usize], options: &OpenOptions) -> Rig {
    let (world, plan, drives, log) = swift(bench, drives);
    let array = ArrayVolume::open(world, plan, &drives, options);
    Rig { array: array.unwrap_or_else(|error| panic!("{error}")), drives, log }
}

impl Rig {
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert_eq!(write_from(&mut self.array, offset, &mut &bytes[..]).unwrap(), bytes.len() as u64);
    }

    /// Writes a block that nobody flushes.
    pub(crate) fn write_unflushed(&mut self, offset: u64, bytes: &[u8]) {
        self.array.arena().write(self.array.request_memory(0), bytes);
        let span = self.array.request_span(0, bytes.len() as u32);
        self.array.submit(Request { id: RequestId::client(0), command: Command::Write { offset, span } });
        let mut completions = Vec::new();
        self.array.poll(1, None, &mut completions).unwrap();
        assert_eq!(completions.pop().map(|completion| completion.result), Some(Ok(())));
    }

    pub(crate) fn content(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let size_bytes = self.array.size_bytes();
        read_to(&mut self.array, 0, size_bytes, &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn idle(&mut self, time: Duration) {
        let end = self.array.world_mut().now().after_ns(u64::try_from(time.as_nanos()).unwrap());
        loop {
            let now = self.array.world_mut().now();
            if now >= end {
                return;
            }
            self.array.turn(Duration::from_nanos(end.since_ns(now)), &mut Vec::new()).unwrap();
        }
    }

    /// Bytes of data that a drive was asked to write.
    pub(crate) fn data_written(&self, bench: &Bench, number: usize, drive: DriveId) -> u64 {
        let data_offset = superblock(bench, number).data_offset_bytes();
        let log = self.log.borrow();
        let of_drive = log.iter().filter(|io| io.drive == drive && io.offset >= data_offset);
        let written = of_drive.filter_map(|io| match io.kind {
            IoKind::Write(memory) => Some(u64::from(memory.length)),
            _ => None,
        });
        written.sum()
    }

    pub(crate) fn finish_background(&mut self) {
        while self.array.run_background(Duration::from_secs(10)).unwrap() {}
    }
}

pub(crate) fn superblock(bench: &Bench, drive: usize) -> Superblock {
    let bytes = std::fs::read(bench.path(drive)).unwrap();
    let read = |offset: u64, into: &mut [u8]| -> Result<(), std::convert::Infallible> {
        into.copy_from_slice(&bytes[usize::try_from(offset).unwrap()..][..into.len()]);
        Ok(())
    };
    read_superblock(bytes.len() as u64, read).unwrap()
}

/// A member's copy of the bitmap, as it lies on the drive.
pub(crate) fn copy(bench: &Bench, drive: usize) -> Bitmap {
    let bytes = std::fs::read(bench.path(drive)).unwrap();
    let area = superblock(bench, drive).bitmap_area().unwrap();
    let start = usize::try_from(area.offset_bytes).unwrap();
    let header: &[u8; BITMAP_HEADER_BYTES] = bytes[start..].first_chunk().unwrap();
    let header = BitmapHeader::parse(header).unwrap();
    let sync_sectors = header.sync_sectors;
    let mut bitmap = Bitmap::all_set(header, sync_sectors, area.size_bytes).unwrap();
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, 512);
        let range = start + usize::try_from(range.start).unwrap()..start + usize::try_from(range.end).unwrap();
        bitmap.decode_page(page, &bytes[range]);
    }
    bitmap
}
