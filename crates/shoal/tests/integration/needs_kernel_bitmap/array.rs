//! An array that shoal runs over a stage's drives, in this process.

use std::time::Duration;

use shoal_drive::{Access, Drive, IoLoop};
use shoal_volume::transfer::write_from;
use shoal_volume::{
    ArrayLevel, ArrayVolume, BufferPlan, ConsistencyPolicy, CreateOptions, DriveId, Event, MinorVersion, OpenOptions,
    RealWorld, ScrubMode, Volume,
};

use crate::support::stage::Stage;

/// An array over a stage's drives that shoal runs in this process.
pub(crate) struct Running {
    array: ArrayVolume<RealWorld>,
    /// By their numbers on the stage.
    drives: Vec<(usize, DriveId)>,
}

fn world(stage: &Stage, numbers: &[usize]) -> (RealWorld, BufferPlan, Vec<(usize, DriveId)>) {
    let plan = BufferPlan::for_drives(numbers.len(), 8, 256 << 10);
    let arena = plan.arena().unwrap();
    let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 256).unwrap(), arena);
    let mut open = |number: usize| {
        let drive = Drive::open(&stage.path(&format!("d{number}")), Access::Write).unwrap();
        (number, world.add_drive(drive).unwrap())
    };
    let drives = numbers.iter().map(|&number| open(number)).collect();
    (world, plan, drives)
}

fn ids(drives: &[(usize, DriveId)]) -> Vec<DriveId> {
    drives.iter().map(|(_, id)| *id).collect()
}

impl Running {
    /// Makes an array with a bitmap of all drives.
    pub(crate) fn create(stage: &Stage, level: &str, count: usize, bitmap_chunk_bytes: u64) -> Self {
        let (world, plan, drives) = world(stage, &(0..count).collect::<Vec<_>>());
        let create = CreateOptions {
            level: ArrayLevel::parse(level, None, 2).unwrap(),
            chunk_bytes: 16 << 10,
            spare_count: 0,
            name: "bits".to_owned(),
            homehost: None,
            drive_bytes_limit: None,
            assume_clean: true,
            metadata: MinorVersion::Start4K,
            consistency: ConsistencyPolicy::Bitmap { chunk_bytes: Some(bitmap_chunk_bytes) },
        };
        let array = ArrayVolume::create(world, plan, &ids(&drives), &create, &OpenOptions::writable());
        Self { array: array.unwrap_or_else(|error| panic!("raid{level}: {error}")), drives }
    }

    pub(crate) fn open(stage: &Stage, members: impl IntoIterator<Item = usize>) -> Self {
        Self::assemble(stage, members.into_iter().collect(), None)
    }

    /// With one more drive in its world.
    pub(crate) fn open_with(stage: &Stage, members: impl IntoIterator<Item = usize>, another: usize) -> Self {
        Self::assemble(stage, members.into_iter().collect(), Some(another))
    }

    fn assemble(stage: &Stage, mut numbers: Vec<usize>, another: Option<usize>) -> Self {
        let count = numbers.len();
        numbers.extend(another);
        let (world, plan, drives) = world(stage, &numbers);
        let array = ArrayVolume::open(world, plan, &ids(&drives)[..count], &OpenOptions::writable());
        Self { array: array.unwrap_or_else(|error| panic!("{error}")), drives }
    }

    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.array.size_bytes()).unwrap()
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        write_from(&mut self.array, offset, &mut &bytes[..]).unwrap();
    }

    fn id(&self, number: usize) -> DriveId {
        self.drives.iter().find(|(other, _)| *other == number).unwrap().1
    }

    pub(crate) fn fail(&mut self, number: usize) {
        self.array.fail_drive(self.id(number)).unwrap();
    }

    /// Takes a member back and lets it catch up.
    pub(crate) fn re_add(&mut self, number: usize) {
        self.array.re_add_drive(self.id(number)).unwrap();
        while self.array.run_background(Duration::from_secs(10)).unwrap() {}
    }

    /// Scrubs all of it; how many bytes of members did not agree.
    pub(crate) fn mismatched_bytes(&mut self, mode: ScrubMode) -> u64 {
        self.array.scrub(mode).unwrap();
        while self.array.run_background(Duration::from_secs(10)).unwrap() {}
        let news = self.array.take_news();
        let finished = news.iter().find_map(|news| match news.event {
            Event::ScrubFinished { mismatched_bytes, completed: true } => Some(mismatched_bytes),
            _ => None,
        });
        finished.unwrap()
    }

    pub(crate) fn close(self) {
        self.array.close().unwrap();
    }
}
