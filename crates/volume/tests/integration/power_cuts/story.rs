//! What is done to an array before power is cut, and its trace.

use std::time::Duration;

use shoal_drive::DriveId;
use shoal_volume::{
    ArrayVolume, Background, BufferPlan, Command, Completion, ConsistencyPolicy, CreateOptions, LiveVolume, OpenError,
    OpenOptions, Request, RequestId, Stretches, Volume, World,
};

use crate::support::create_options;

use crate::power_cuts::content::{BLOCK_BYTES, stamped};
use crate::power_cuts::media::{Media, rewrite};
use crate::power_cuts::trace::{Fact, Trace, note};
use crate::power_cuts::world::{Dead, Refusals, TracedWorld};

/// One thing that the array's user or owner does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes these runs of blocks (first, count) at once, and waits for all answers.
    Write(Vec<(usize, usize)>),
    /// The same, and a drive dies while they are under way.
    WriteAndKill(Vec<(usize, usize)>, usize),
    /// Asks for a flush and waits for it.
    Flush,
    /// Lets so many milliseconds pass; rebuilds and resyncs go on.
    Idle(u64),
    /// Lets so many milliseconds pass, with nothing to do: bits age, the array comes to rest.
    Pass(u64),
    /// A drive will carry out so many flushes, and fail the one after that.
    RefuseFlush(usize, u32),
    /// Adds a drive; its rebuild starts if a member is missing.
    Add(usize),
    /// A drive that died is back, and takes its role again.
    Return(usize),
    /// Copies a member to another drive, which takes its place.
    Replace(usize, usize),
}

/// An array and what happens to it.
#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) level: &'static str,
    pub(crate) layout: Option<&'static str>,
    /// Members at the start.
    pub(crate) members: usize,
    /// Drives that stand by.
    pub(crate) others: usize,
    /// What brings it back in sync after a crash.
    pub(crate) consistency: ConsistencyPolicy,
    /// Whether it may be refused when it is dirty and degraded.
    pub(crate) may_refuse: bool,
    /// It was marked active and never written: all of it is resynced, at a crawl.
    pub(crate) is_resyncing: bool,
    /// Its write-back window; 0: it has none.
    pub(crate) write_back_bytes: u32,
    pub(crate) acts: Vec<Act>,
}

pub(crate) const DRIVE_BYTES: u64 = (2 << 20) + (128 << 10);
/// What is used of a drive: as little beside the data as there can be.
const USED_BYTES: u64 = (1 << 20) + (128 << 10);
const CHUNK_BYTES: u32 = 4096;

/// What a story leaves behind.
pub(crate) struct Told {
    /// The drives before the first fact.
    pub(crate) before: Vec<Media>,
    pub(crate) trace: Vec<Fact>,
    /// Blocks of content.
    pub(crate) blocks: usize,
}

impl Story {
    pub(crate) fn drives(&self) -> usize {
        self.members + self.others
    }

    /// Inner arrays need room for superblocks of the outer one.
    fn is_nested(&self) -> bool {
        matches!(self.level, "50" | "51")
    }

    /// Blocks of content that share parity.
    pub(crate) fn row_blocks(&self) -> Option<usize> {
        let parities = match self.level {
            "4" | "5" => 1,
            "6" => 2,
            // No row of an inner array is longer.
            "50" | "51" => 0,
            _ => return None,
        };
        Some((self.members - parities) * CHUNK_BYTES as usize / BLOCK_BYTES)
    }

    /// The drive that holds a block of content, on RAID5 in md's default layout.
    pub(crate) fn drive_of(&self, block: usize) -> usize {
        let chunk = block * BLOCK_BYTES / CHUNK_BYTES as usize;
        let (row, index) = (chunk / (self.members - 1), chunk % (self.members - 1));
        let parity = self.members - 1 - row % self.members;
        (parity + 1 + index) % self.members
    }

    /// Makes the array; what is on the drives then. `seed` decides in which order drives answer.
    pub(crate) fn make(&self, seed: u64) -> Vec<Media> {
        let (world, plan) = world(vec![Media::default(); self.drives()], seed, Trace::default());
        let members: Vec<_> = (0..).map(DriveId).take(self.members).collect();
        let array = ArrayVolume::create(world, plan, &members, &self.options(), &OpenOptions::writable());
        let mut media =
            array.expect("the story's array can be made").close().expect("the world holds").media().to_vec();
        if self.is_resyncing {
            media.iter_mut().for_each(|media| rewrite(media, |superblock| superblock.resync_offset_sectors = 0));
        }
        media
    }

    /// Makes the array and plays the acts.
    pub(crate) fn tell(&self, seed: u64) -> Told {
        let trace = Trace::default();
        let members: Vec<_> = (0..).map(DriveId).take(self.members).collect();
        let before = self.make(seed);
        let (world, plan) = world_with(before.clone(), seed, trace.clone(), self.write_back_bytes);
        let (dead, refusals) = (world.dead(), world.refusals());
        let crawl = Background { rate_min_bytes_per_s: 4096, rate_max_bytes_per_s: 4096, depth: 1 };
        let background = if self.is_resyncing { crawl } else { OpenOptions::writable().background };
        let options = OpenOptions { background, ..OpenOptions::writable() };
        let array = ArrayVolume::open(world, plan, &members, &options).expect("all members are there");
        let blocks = usize::try_from(array.size_bytes()).expect("small") / BLOCK_BYTES;
        let mut teller = Teller { array, dead, refusals, trace: trace.clone(), version: 0 };
        self.acts.iter().for_each(|act| teller.play(act));
        let trace = trace.take();
        Told { before, trace, blocks }
    }

    fn options(&self) -> CreateOptions {
        CreateOptions {
            drive_bytes_limit: (self.consistency != ConsistencyPolicy::Ppl && !self.is_nested()).then_some(USED_BYTES),
            consistency: self.consistency,
            ..create_options(self.level, self.layout, CHUNK_BYTES)
        }
    }
}

/// Drives with this content, and the buffers of a volume over them.
pub(crate) fn world(media: Vec<Media>, seed: u64, trace: Trace) -> (TracedWorld, BufferPlan) {
    world_with(media, seed, trace, 0)
}

fn world_with(media: Vec<Media>, seed: u64, trace: Trace, write_back_bytes: u32) -> (TracedWorld, BufferPlan) {
    let drives = media.len() as u32;
    let plan = BufferPlan {
        request_count: 8,
        request_bytes: 32 << 10,
        scratch_count: 16 * drives + 16,
        scratch_bytes: 4096,
        slot_count: 2 * drives + 1,
        write_back_bytes,
        // These drives gain nothing by them.
        stretches: Stretches::Always,
    };
    let arena = plan.arena().expect("there is memory");
    (TracedWorld::new(media, DRIVE_BYTES, arena, seed, trace), plan)
}

/// One more life of an array: some of its drives come up, and things are done to it until power is
/// cut. Whoever it is of uses force if it is needed. Gives the last version that was written.
pub(crate) fn live(
    media: Vec<Media>,
    drives: &[usize],
    acts: &[Act],
    (seed, version): (u64, u32),
    trace: &Trace,
) -> Result<u32, OpenError> {
    let drives: Vec<_> = drives.iter().map(|drive| DriveId(*drive as u32)).collect();
    let open = |options: OpenOptions, seed| {
        trace.borrow_mut().clear();
        let (world, plan) = world(media.clone(), seed, trace.clone());
        let switches = (world.dead(), world.refusals());
        ArrayVolume::open(world, plan, &drives, &options).map(|array| (array, switches))
    };
    let (array, (dead, refusals)) = match open(OpenOptions::writable(), seed) {
        Err(OpenError::DirtyDegraded { .. }) => open(OpenOptions { force: true, ..OpenOptions::writable() }, seed)?,
        other => other?,
    };
    let mut teller = Teller { array, dead, refusals, trace: trace.clone(), version };
    acts.iter().for_each(|act| teller.play(act));
    Ok(teller.version)
}

struct Teller {
    array: ArrayVolume<TracedWorld>,
    dead: Dead,
    refusals: Refusals,
    trace: Trace,
    version: u32,
}

impl Teller {
    fn play(&mut self, act: &Act) {
        match act {
            Act::Write(runs) => self.write(runs, None),
            Act::WriteAndKill(runs, drive) => self.write(runs, Some(*drive)),
            Act::Flush => {
                note(&self.trace, Fact::FlushAsked);
                self.array.submit(Request { id: RequestId::client(0), command: Command::Flush });
                for answer in self.answers(1) {
                    note(&self.trace, Fact::FlushAnswered { good: answer.result.is_ok() });
                }
            }
            Act::Idle(milliseconds) => {
                self.array.run_background(Duration::from_millis(*milliseconds)).expect("the world holds");
            }
            Act::Pass(milliseconds) => self.pass(Duration::from_millis(*milliseconds)),
            Act::Return(drive) => {
                self.dead.borrow_mut().remove(drive);
                note(&self.trace, Fact::Joined { drive: *drive });
                self.array.re_add_drive(DriveId(*drive as u32)).expect("the bitmap knows what it missed");
            }
            Act::RefuseFlush(drive, skip) => {
                self.refusals.borrow_mut().insert(*drive, *skip);
            }
            Act::Replace(old, new) => {
                note(&self.trace, Fact::Joined { drive: *new });
                let [old, new] = [*old, *new].map(|drive| DriveId(drive as u32));
                self.array.replace_drive(old, new).expect("the story replaces members that work");
            }
            Act::Add(drive) => {
                note(&self.trace, Fact::Joined { drive: *drive });
                self.array.add_drive(DriveId(*drive as u32)).expect("the story adds drives that fit");
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.array.world_mut().now().after_ns(time.as_nanos() as u64);
        loop {
            let now = self.array.world_mut().now();
            if now >= end {
                return;
            }
            let left = Duration::from_nanos(end.since_ns(now));
            self.array.turn(left, &mut Vec::new()).expect("the world holds");
        }
    }

    fn write(&mut self, runs: &[(usize, usize)], kill: Option<usize>) {
        for (buffer, &(first, count)) in (0..).zip(runs) {
            self.version += 1;
            let version = self.version;
            let bytes: Vec<u8> = (first..first + count).flat_map(|block| stamped(block, version)).collect();
            let span = self.array.request_span(buffer, bytes.len() as u32);
            let memory = self.array.request_memory(buffer);
            self.array.arena().write(shoal_volume::Memory { length: span.length, ..memory }, &bytes);
            note(&self.trace, Fact::Asked { blocks: first..first + count, version });
            let command = Command::Write { offset: (first * BLOCK_BYTES) as u64, span };
            self.array.submit(Request { id: RequestId::client(u64::from(version)), command });
        }
        if let Some(drive) = kill {
            // Some of it has reached the drive.
            let early = self.answers(1);
            self.dead.borrow_mut().insert(drive);
            note(&self.trace, Fact::Died { drive });
            let left = runs.len() - early.len();
            let late = self.answers(left);
            self.note_answers(early.into_iter().chain(late));
        } else {
            let answers = self.answers(runs.len());
            self.note_answers(answers);
        }
    }

    fn note_answers(&self, answers: impl IntoIterator<Item = Completion>) {
        for answer in answers {
            let version = u32::try_from(answer.id.number).expect("versions are small");
            note(&self.trace, Fact::Answered { version, good: answer.result.is_ok() });
        }
    }

    fn answers(&mut self, count: usize) -> Vec<Completion> {
        let mut answers = Vec::new();
        while answers.len() < count {
            self.array.poll(count - answers.len(), None, &mut answers).expect("the world holds");
        }
        answers
    }
}
