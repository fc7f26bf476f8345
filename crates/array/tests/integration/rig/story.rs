//! Stories: random requests, faults, rebuilds and scrubs on one array, told from a seed, and what
//! must be true at their end.

use std::ops::AddAssign;

use shoal_array::{
    Background, BufferId, Event, Geometry, Level, LogRoom, MemberIo, MemberState, Mismatch, RequestError, Role, Shape,
    Span,
};

use super::disk::DiscardSupport;
use super::engine::{Origin, Setup};
use super::model::{BLOCK, Model};
use super::random::Random;
use super::shapes::Topology;
use super::trouble::random_background;
use super::{Answer, PATIENCE_STEPS, Rig, Schedule};

/// The longest request.
const REQUEST_BYTES_MAX: u64 = 48 << 10;

/// Requests that wait at a time, at most.
const DEPTH_MAX: usize = 16;

/// A background that is over soon.
pub(crate) const FAST: Background =
    Background { rate_min_bytes_per_s: 1 << 30, rate_max_bytes_per_s: 1 << 33, depth: 4 };

/// How much may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Faults {
    /// As much as the level survives.
    Survivable,
    /// More.
    Any,
}

/// What happened in stories: a test that wants something to have been tried can see whether it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) operations: u64,
    pub(crate) errors: u64,
    pub(crate) failures: u64,
    pub(crate) heals: u64,
    pub(crate) rebuilds: u64,
    pub(crate) scrubs: u64,
    pub(crate) resyncs: u64,
    pub(crate) bad_blocks: u64,
    pub(crate) lost_blocks: u64,
    pub(crate) races: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.errors += other.errors;
        self.failures += other.failures;
        self.heals += other.heals;
        self.rebuilds += other.rebuilds;
        self.scrubs += other.scrubs;
        self.resyncs += other.resyncs;
        self.bad_blocks += other.bad_blocks;
        self.lost_blocks += other.lost_blocks;
        self.races += other.races;
    }
}

/// A story while it is told.
pub(super) struct Story {
    pub(super) rig: Rig,
    pub(super) faults: Faults,
    depth: usize,
    buffers: BufferId,
    /// Blocks that requests like to go to.
    hot_blocks: u64,
    /// Members differ in whether they can discard: mirrors may differ where they were.
    pub(super) mixed_discards: bool,
    /// By engine: a scrub runs.
    pub(super) scrubbing: Vec<bool>,
    /// By engine: sets of members, each of which must not be imperfect as a whole.
    pub(super) groups: Vec<Vec<Vec<Role>>>,
    /// By engine: what the latest scrub found.
    pub(super) mismatches: Vec<Vec<Mismatch>>,
    /// Drives that are gone may answer again.
    pub(super) drives_come_back: bool,
    /// A RAID5 with a partial parity log: it survives cuts at any moment, without a resync.
    has_log: bool,
    /// Parity or copies were spoilt on purpose.
    pub(super) is_spoilt: bool,
    pub(super) tally: Tally,
}

/// Tells the story of a seed to its end.
pub(crate) fn tell(topology: &Topology, faults: Faults, seed: u64) -> Tally {
    let mut random = Random::new(seed);
    let operations = random.within(200..1200);
    let mut story = Story::new(topology, faults, random);
    for _ in 0..operations {
        story.go_on();
    }
    match faults {
        Faults::Survivable => story.end_well(),
        Faults::Any => story.end_badly(),
    }
    story.tally.operations = operations;
    story.tally.races = story.rig.overtaken;
    story.tally
}

impl Story {
    fn new(topology: &Topology, faults: Faults, mut random: Random) -> Self {
        let setup = random_setup(&mut random);
        let is_raid5 = matches!(topology, Topology::Flat(Shape { level: Level::Raid5(_), .. }));
        let has_log = setup.log.is_some() && is_raid5 && faults == Faults::Survivable;
        let degraded: Vec<_> = degraded_start(topology, &mut random).into_iter().collect();
        let mut rig = Rig::new(topology, &setup, &degraded, Random::new(random.next()));
        rig.overtakes_one_in = random.choose(&[0, 4, 16]);
        rig.schedule = random.choose(&[Schedule::Random, Schedule::Random, Schedule::LatestFirst, Schedule::InOrder]);
        let mixed_discards = choose_discards(&mut rig, &mut random);
        let overtakes = rig.overtakes_one_in > 0;
        for engine in &mut rig.engines {
            engine.mirrors_may_differ = faults == Faults::Any || mixed_discards;
            let is_mirror = matches!(engine.array.geometry().shape().level, Level::Raid1 | Level::Raid10(_));
            engine.reads_for_nobody = overtakes && is_mirror;
        }
        let groups = rig.engines.iter().map(|engine| vulnerable_groups(engine.array.geometry())).collect();
        let scrubbing = vec![false; rig.engines.len()];
        let mismatches = vec![vec![]; rig.engines.len()];
        let buffers = rig.memory.add(DEPTH_MAX as u32, REQUEST_BYTES_MAX as u32);
        let depth = random.within(1..DEPTH_MAX as u64 + 1) as usize;
        let hot_blocks = random.within(8..rig.capacity_bytes() / BLOCK + 1);
        let drives_come_back = faults == Faults::Any && random.one_in(2);
        rig.note(|| format!("{setup:?}, depth {depth}, {degraded:?}, {:?}", rig.schedule));
        Self {
            rig,
            faults,
            depth,
            buffers,
            hot_blocks,
            mixed_discards,
            scrubbing,
            groups,
            mismatches,
            drives_come_back,
            has_log,
            is_spoilt: false,
            tally: Tally::default(),
        }
    }

    /// One request, and perhaps something else.
    fn go_on(&mut self) {
        match self.rig.random.within(0..1000) {
            0..480 => self.read(),
            480..960 => self.write(),
            960..985 => self.flush(),
            _ => self.discard(),
        }
        // Without polling in between, requests arrive in one go.
        if self.rig.random.one_in(4) {
            return;
        }
        self.rig.drain(0);
        match self.rig.random.within(0..400) {
            0..3 => self.fail_by_command(),
            3..6 => self.fail_by_io(),
            6..12 => self.make_unreadable(),
            12..18 => self.replace_missing(),
            18..21 => self.start_scrub(),
            21 => self.stop_scrub(),
            22 => self.ask_nonsense(),
            23..25 => self.change_background(),
            25..37 => self.bring_back(),
            37..39 => self.cast_doubt(),
            _ => {}
        }
        for _ in 0..self.rig.random.within(0..8) {
            self.rig.step();
        }
        self.look();
        if self.has_log && self.rig.random.one_in(8) {
            self.rig.check_cut(0);
        }
    }

    fn read(&mut self) {
        let (offset, length) = self.choose_range();
        let span = self.free_span(length);
        self.rig.memory.bytes_mut(span).fill(0x5a);
        let id = self.rig.next_request();
        self.rig.submit_unpolled(0, id, MemberIo::Read { offset, span }, Origin::Story);
    }

    fn write(&mut self) {
        let (offset, length) = self.choose_range();
        self.write_to(offset, length);
    }

    pub(super) fn write_to(&mut self, offset: u64, length: u64) {
        let span = self.free_span(length);
        let id = self.rig.next_request();
        Model::fill(offset, id.number, self.rig.memory.bytes_mut(span));
        self.rig.model.submit(id.number, offset, length, false);
        self.rig.submit_unpolled(0, id, MemberIo::Write { offset, span }, Origin::Story);
    }

    fn flush(&mut self) {
        self.await_room();
        let id = self.rig.next_request();
        self.rig.submit_unpolled(0, id, MemberIo::Flush, Origin::Story);
    }

    fn discard(&mut self) {
        self.await_room();
        let (offset, length) = self.choose_range();
        let id = self.rig.next_request();
        self.rig.model.submit(id.number, offset, length, true);
        self.rig.submit_unpolled(0, id, MemberIo::Discard { offset, length }, Origin::Story);
    }

    /// Requests that cannot be are refused and do no harm.
    fn ask_nonsense(&mut self) {
        let span = self.free_span(1024);
        let capacity_bytes = self.rig.capacity_bytes();
        for (offset, error) in [
            (capacity_bytes - BLOCK, RequestError::OutOfRange),
            (u64::MAX - BLOCK + 1, RequestError::OutOfRange),
            (100, RequestError::Misaligned),
        ] {
            let id = self.rig.next_request();
            self.rig.submit(0, id, MemberIo::Read { offset, span }, Origin::Story);
            let index = self.rig.answers.iter().position(|answer| answer.open.id == id);
            let answer = self.rig.answers.swap_remove(index.expect("nonsense is answered at once"));
            assert_eq!(answer.result, Err(error), "{offset}");
        }
    }

    fn choose_range(&mut self) -> (u64, u64) {
        let random = &mut self.rig.random;
        let blocks = self.rig.engines[0].array.geometry().capacity_bytes() / BLOCK;
        let longest = blocks.min(REQUEST_BYTES_MAX / BLOCK);
        let length = match random.within(0..10) {
            0..5 => random.within(1..9),
            5..8 => random.within(1..33),
            _ => random.within(1..longest + 1),
        }
        .min(longest);
        let start_limit = if random.one_in(2) { self.hot_blocks.min(blocks - length + 1) } else { blocks - length + 1 };
        let mut start = random.within(0..start_limit);
        if random.one_in(3) {
            start -= start % 8;
        }
        (start * BLOCK, length * BLOCK)
    }

    /// Steps until another request may be submitted.
    fn await_room(&mut self) {
        self.rig.drain(0);
        let limit = self.rig.step + PATIENCE_STEPS;
        while self.rig.engines[0].open.len() >= self.depth {
            assert!(self.rig.step(), "stuck: {:?} wait for nothing", self.rig.engines[0].open);
            assert!(self.rig.step < limit, "no end in sight: {:?}", self.rig.engines[0].open);
        }
    }

    /// A span that no request uses.
    pub(super) fn free_span(&mut self, length: u64) -> Span {
        if self.rig.engines[0].open.len() >= self.depth {
            self.await_room();
        }
        let is_used = |buffer: BufferId| {
            self.rig.engines[0].open.iter().any(|open| {
                matches!(open.io, MemberIo::Read { span, .. } | MemberIo::Write { span, .. } if span.buffer == buffer)
            })
        };
        let mut buffers = (self.buffers.0..).map(BufferId);
        let buffer = buffers.find(|buffer| !is_used(*buffer)).expect("there are as many as requests");
        let slack = (REQUEST_BYTES_MAX - length) / BLOCK;
        let offset = self.rig.random.within(0..slack + 1) * BLOCK;
        Span { buffer, offset: offset as u32, length: length as u32 }
    }

    /// Looks at what was answered and what happened.
    pub(super) fn look(&mut self) {
        for answer in std::mem::take(&mut self.rig.answers) {
            self.tally.errors += u64::from(answer.result.is_err());
            if self.faults == Faults::Survivable {
                self.assert_well(&answer);
            }
        }
        for (engine, event) in std::mem::take(&mut self.rig.events) {
            self.look_at(engine, &event);
        }
        self.assert_last_mirrors_stay();
    }

    fn assert_well(&self, answer: &Answer) {
        let may_be_unsupported = matches!(answer.open.io, MemberIo::Discard { .. });
        let is_well = answer.result.is_ok() || may_be_unsupported && answer.result == Err(RequestError::Unsupported);
        assert!(is_well, "{answer:?}, though everything could be had");
    }

    /// Of mirrors of the same bytes, one is always kept, whatever its errors.
    fn assert_last_mirrors_stay(&self) {
        for (engine, groups) in self.rig.engines.iter().zip(&self.groups) {
            let is_kept = |group: &Vec<Role>| group.iter().any(|role| engine.state(*role) == MemberState::InSync);
            let lost = groups.iter().find(|group| group.len() > 1 && !is_kept(group));
            assert_eq!(lost, None, "the last mirror was taken out");
        }
    }

    fn look_at(&mut self, engine: usize, event: &Event) {
        let state = |role: Role| self.rig.engines[engine].state(role);
        let survivable = self.faults == Faults::Survivable;
        let may_disagree = self.mixed_discards || self.is_spoilt || !survivable;
        match event {
            Event::Completed(_) | Event::LogReleased(_) => unreachable!("{event:?} is looked at elsewhere"),
            Event::ReplacementFailed { .. } => unreachable!("engines make no copies of members"),
            Event::FlushFailed(_) | Event::Renewed(_) => assert!(!survivable, "{event:?}, though another has it all"),
            Event::MemberFailed(_) => self.tally.failures += 1,
            Event::Healed { .. } => self.tally.heals += 1,
            Event::Unhealed { .. } => assert!(may_disagree, "{event:?} without a cause"),
            Event::BadBlocksChanged(_) => {
                assert!(!survivable, "{event:?}, though everything could be had");
                self.tally.bad_blocks += 1;
            }
            Event::ResyncFinished => self.tally.resyncs += 1,
            Event::ResyncStopped { .. } => {}
            Event::RebuildFinished(_) => self.tally.rebuilds += 1,
            Event::RebuildStopped { role, .. } => {
                let failed = state(*role) == MemberState::Missing;
                assert!(failed || !survivable, "a rebuild stopped, though everything could be had: {event:?}");
            }
            Event::Mismatch(mismatch) => {
                assert!(may_disagree, "{event:?} without a cause");
                self.mismatches[engine].push(mismatch.clone());
            }
            Event::Lost { .. } => assert!(!survivable, "{event:?}, though everything could be had"),
            Event::ScrubFinished { completed, mismatched_bytes } => {
                self.scrubbing[engine] = false;
                self.tally.scrubs += u64::from(*completed);
                let found =
                    self.mismatches[engine].iter().map(|found| found.member_range.end - found.member_range.start);
                let found_bytes: u64 = found.sum();
                assert_eq!(*mismatched_bytes, found_bytes, "a scrub counts otherwise than it tells");
            }
        }
    }
}

/// The member that starts out missing or half rebuilt, in one story of five.
fn degraded_start(topology: &Topology, random: &mut Random) -> Option<(Role, MemberState)> {
    let Topology::Flat(shape) = topology else { return None };
    let geometry = Geometry::new(shape.clone()).unwrap();
    if geometry.redundancy() == 0 || !random.one_in(5) {
        return None;
    }
    let role = Role(random.index(geometry.member_count()) as u16);
    let position = random.within(0..geometry.used_bytes(role) / BLOCK + 1) * BLOCK;
    Some((role, random.choose(&[MemberState::Missing, MemberState::Rebuilding { position }])))
}

/// All drives discard, or none, or some: then the answer is true.
fn choose_discards(rig: &mut Rig, random: &mut Random) -> bool {
    let support = [DiscardSupport::Zeroes, DiscardSupport::None];
    let common = random.choose(&[Some(support[0]), Some(support[0]), Some(support[1]), None]);
    for disk in &mut rig.disks {
        disk.discard_support = common.unwrap_or(support[random.index(2)]);
    }
    common.is_none()
}

/// Levels without parity: the sets of members that hold the same bytes.
fn vulnerable_groups(geometry: &Geometry) -> Vec<Vec<Role>> {
    let mut groups: Vec<Vec<Role>> = Vec::new();
    for piece in geometry.pieces(0, geometry.capacity_bytes()) {
        let mut group: Vec<Role> = piece.copies.iter().map(|(role, _)| *role).collect();
        group.sort_unstable();
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn random_setup(random: &mut Random) -> Setup {
    Setup {
        scratch_extra: random.choose(&[0, 0, 1, 7, 60]),
        scratch_bytes: random.choose(&[4096, 4096, 8192, 16384]),
        background: random_background(random),
        log: choose_log(random),
    }
}

/// A log that takes whole slices, or hardly anything at a time; or none.
fn choose_log(random: &mut Random) -> Option<LogRoom> {
    let bytes = random.choose(&[512, 4096, 16384]);
    let entries = random.choose(&[1, 2, 148]);
    (!random.one_in(3)).then_some(LogRoom { bytes, entries })
}
