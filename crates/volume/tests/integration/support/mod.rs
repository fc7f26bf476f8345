//! Image files in a temporary directory, and arrays over them.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::fs::{File, OpenOptions as FileOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_drive::{Access, Drive, DriveId, IoLoop};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, BufferPlan, CreateOptions, Event, LiveVolume, News, OpenOptions, ProbeError, RealWorld, ScrubMode,
    Superblock, Volume, VolumeError, read_superblock,
};

mod sticks;

pub(crate) use sticks::{create_options, usb_stick, world_of_slow_sticks, world_of_sticks};

const DRIVE_BYTES: u64 = 6 << 20;

/// A handful of image files.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

/// A running array and its drives in the order given.
pub(crate) struct Running {
    array: ArrayVolume<RealWorld>,
    drives: Vec<DriveId>,
}

impl Bench {
    pub(crate) fn new(drives: usize) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let paths: Vec<_> = (0..drives).map(|number| directory.path().join(format!("drive{number}"))).collect();
        for path in &paths {
            File::create(path).unwrap().set_len(DRIVE_BYTES).unwrap();
        }
        Self { directory, paths }
    }

    pub(crate) fn world(
        &self,
        drives: impl IntoIterator<Item = usize>,
        access: Access,
    ) -> (RealWorld, BufferPlan, Vec<DriveId>) {
        let drives: Vec<_> = drives.into_iter().map(|drive| Drive::open(&self.paths[drive], access).unwrap()).collect();
        let plan = BufferPlan::for_drives(drives.len(), 8, 256 << 10);
        let arena = plan.arena().unwrap();
        let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 256).unwrap(), arena);
        let ids = drives.into_iter().map(|drive| world.add_drive(drive).unwrap()).collect();
        (world, plan, ids)
    }

    pub(crate) fn create(&self, level: &str, layout: Option<&str>) -> Running {
        self.create_on(0..self.paths.len(), level, layout)
    }

    pub(crate) fn create_on(&self, drives: std::ops::Range<usize>, level: &str, layout: Option<&str>) -> Running {
        self.make(drives, level, layout, 0)
    }

    pub(crate) fn create_with_spares(&self, level: &str, spare_count: usize) -> Running {
        self.make(0..self.paths.len(), level, None, spare_count)
    }

    fn make(&self, drives: std::ops::Range<usize>, level: &str, layout: Option<&str>, spare_count: usize) -> Running {
        let (world, plan, drives) = self.world(drives, Access::Write);
        let create = CreateOptions { spare_count, ..create_options(level, layout, 16 << 10) };
        let array = ArrayVolume::create(world, plan, &drives, &create, &OpenOptions::writable());
        Running { array: array.unwrap_or_else(|error| panic!("raid {level}: {error}")), drives }
    }

    pub(crate) fn open(&self, drives: impl IntoIterator<Item = usize>, writable: bool) -> Running {
        let access = if writable { Access::Write } else { Access::Read };
        let options = if writable { OpenOptions::writable() } else { OpenOptions::read_only() };
        let (world, plan, drives) = self.world(drives, access);
        let array = ArrayVolume::open(world, plan, &drives, &options).unwrap_or_else(|error| panic!("{error}"));
        Running { array, drives }
    }

    /// Opens an array with one more drive in its world, which is the last of `drives()`.
    pub(crate) fn open_adding(&self, drives: impl IntoIterator<Item = usize>, added: usize) -> Running {
        let (world, plan, drives) = self.world(drives.into_iter().chain([added]), Access::Write);
        let members = &drives[..drives.len() - 1];
        let array = ArrayVolume::open(world, plan, members, &OpenOptions::writable());
        Running { array: array.unwrap_or_else(|error| panic!("{error}")), drives }
    }

    pub(crate) fn path(&self, drive: usize) -> &Path {
        &self.paths[drive]
    }

    /// All bytes of all drives.
    pub(crate) fn bytes(&self) -> Vec<Vec<u8>> {
        let read = |path: &PathBuf| {
            let mut bytes = Vec::new();
            File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        assert!(self.directory.path().is_dir());
        self.paths.iter().map(read).collect()
    }

    /// What a drive's superblock says now.
    pub(crate) fn superblock(&self, drive: usize) -> Superblock {
        self.read_superblock(drive).unwrap()
    }

    pub(crate) fn read_superblock(&self, drive: usize) -> Result<Superblock, ProbeError<std::io::Error>> {
        let file = File::open(&self.paths[drive]).unwrap();
        read_superblock(DRIVE_BYTES, |offset, bytes| file.read_exact_at(bytes, offset))
    }

    /// Whether all superblocks say that no write is under way and everything is in sync.
    pub(crate) fn are_clean(&self) -> bool {
        (0..self.paths.len()).all(|drive| self.superblock(drive).is_clean())
    }

    /// Changes bytes behind everybody's back, from `offset` on within a drive's data area of 1 MiB
    /// offset.
    pub(crate) fn damage(&self, drive: usize, offset: u64, length: usize) {
        let mut file = FileOptions::new().read(true).write(true).open(&self.paths[drive]).unwrap();
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start((1 << 20) + offset)).unwrap();
        file.read_exact(&mut bytes).unwrap();
        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
        file.seek(SeekFrom::Start((1 << 20) + offset)).unwrap();
        file.write_all(&bytes).unwrap();
    }
}

impl Running {
    pub(crate) fn drives(&self) -> &[DriveId] {
        &self.drives
    }

    pub(crate) fn close(self) -> Result<RealWorld, VolumeError> {
        self.array.close()
    }

    /// Lets the array live for so long.
    pub(crate) fn turn_for(&mut self, time: Duration) {
        let end = std::time::Instant::now() + time;
        while let Some(left) = end.checked_duration_since(std::time::Instant::now()) {
            self.array.turn(left, &mut Vec::new()).unwrap();
        }
    }

    /// Lets rebuilds and scrubs end.
    pub(crate) fn finish_background(&mut self) -> Vec<News> {
        let mut news = self.array.take_news();
        while self.array.run_background(Duration::from_secs(10)).unwrap() {
            news.append(&mut self.array.take_news());
        }
        news.append(&mut self.array.take_news());
        news
    }

    /// Scrubs all and returns the number of bytes that disagree.
    pub(crate) fn scrub_mismatches(&mut self, mode: ScrubMode) -> u64 {
        self.array.scrub(mode).unwrap();
        let news = self.finish_background();
        let finished = news.iter().filter_map(|news| match news.event {
            Event::ScrubFinished { mismatched_bytes, completed } => Some((mismatched_bytes, completed)),
            _ => None,
        });
        let finished: Vec<_> = finished.collect();
        assert!(!finished.is_empty() && finished.iter().all(|&(_, completed)| completed), "{news:?}");
        finished.iter().map(|&(mismatched_bytes, _)| mismatched_bytes).sum()
    }
}

impl Deref for Running {
    type Target = ArrayVolume<RealWorld>;

    fn deref(&self) -> &Self::Target {
        &self.array
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.array
    }
}

pub(crate) fn write(volume: &mut ArrayVolume<RealWorld>, offset: u64, bytes: &[u8]) {
    assert_eq!(write_from(volume, offset, &mut &bytes[..]).unwrap(), bytes.len() as u64);
}

pub(crate) fn read(volume: &mut ArrayVolume<RealWorld>, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    read_to(volume as &mut dyn Volume, offset, length as u64, &mut bytes).unwrap();
    bytes
}

/// Bytes that differ from place to place and from seed to seed.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length.div_ceil(8)).flat_map(|_| next()).take(length).collect()
}
