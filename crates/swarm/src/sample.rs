//! A seed becomes a scenario.
//!
//! Small on purpose: drives of a few MiB, some hundred requests, so that ten thousand worlds take
//! minutes. What makes them dense is where things go: requests crowd at a few places, and faults
//! come in clusters that share a drive. Half of the worlds have a [`Theme`]: much of one kind of
//! trouble, so that what is rare elsewhere meets itself there.

mod faults;
mod vast;
mod wider;

use shoal_sim::Scheduler;
use shoal_volume::{
    ArrayLevel, ConsistencyPolicy, Level, MinorVersion, ParityLayout, Raid0Layout, Raid10Layout, ScrubMode,
};

use crate::fleet::Make;
use crate::limits::WRITE_BACK_BYTES_MAX;
use crate::random::Random;
use crate::scenario::{Misuse, Reordering, Run, Scenario, Step, Stranger};
use faults::faults;
use wider::widen;

/// What is told apart in the chance that a seed gives.
const PURPOSE_SAMPLE: u64 = 1;

/// The same, of a chance of its own: whatever else a world has does not depend on it.
const PURPOSE_WRITE_BACK: u64 = 5;
/// And what orders writes.
const PURPOSE_SCHEDULER: u64 = 6;

/// The same.
const PURPOSE_REORDERING: u64 = 8;

/// Sizes of write-back windows.
const WRITE_BACK_BYTES: [u32; 3] = [64 << 10, 128 << 10, WRITE_BACK_BYTES_MAX];

/// What a world has most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    /// Anything.
    Mixed,
    /// Flushes that fail, and power cuts soon after.
    FailedFlushes,
    /// Flushes that make nothing durable, and power cuts.
    Lies,
    /// Faults in superblocks, bitmaps and logs.
    Metadata,
    /// Starts with some of the drives, here and on another host.
    Subsets,
    /// Drives that carry the array's name and are none of its members.
    Strangers,
}

impl Theme {
    fn of(random: &mut Random) -> Self {
        match random.below(100) {
            0..50 => Self::Mixed,
            50..64 => Self::FailedFlushes,
            64..74 => Self::Lies,
            74..84 => Self::Metadata,
            84..94 => Self::Subsets,
            _ => Self::Strangers,
        }
    }
}

/// The scenario of a seed.
pub fn sample(seed: u64) -> Scenario {
    let mut random = Random::new(seed, PURPOSE_SAMPLE);
    let random = &mut random;
    let theme = Theme::of(random);
    let (level, members) = level(random);
    let redundancy = has_redundancy(level);
    let spares = if redundancy && is_plain(level) && random.percent(25) { 1 } else { 0 };
    let drawer = if redundancy { random.within(1..=2) as usize } else { 0 };
    let consistency = consistency(level, random);
    let chunk_bytes = 4096 << random.pick(&[0, 0, 1, 2, 4]);
    let drives = members + spares + drawer;
    let steps = steps(level, theme, random);
    let requests = steps.iter().filter(|step| step.is_request()).count() as u32;
    let mut scenario = Scenario {
        seed,
        level,
        members,
        spares,
        drawer,
        makes: makes(drives, random),
        drive_bytes: drive_bytes(level, consistency, random),
        extra_bytes: extra_bytes(level, drives, random),
        chunk_bytes,
        metadata: random.pick(&[MinorVersion::End, MinorVersion::Start, MinorVersion::Start4K, MinorVersion::Start4K]),
        consistency,
        assume_clean: random.percent(70) || mirrors_parity(level),
        depth: random.pick(&[1, 2, 4, 4, 8, 16]),
        scratch_bytes: 4096 << random.pick(&[0, 0, 1, 3]),
        write_back_bytes: write_back_bytes(seed),
        reordering: reordering(seed),
        scheduler: scheduler(seed),
        safe_mode_delay_ms: random.pick(&[1, 20, 200]),
        apart_percent: if theme == Theme::Subsets { 60 } else { 12 },
        faults: faults(theme, redundancy, drives, requests, random),
        steps,
    };
    widen(&mut scenario);
    scenario
}

/// The window of a world: most have none. Some hold all that is ever written, some are always full.
fn write_back_bytes(seed: u64) -> u32 {
    let random = &mut Random::new(seed, PURPOSE_WRITE_BACK);
    if random.percent(30) { random.pick(&WRITE_BACK_BYTES) } else { 0 }
}

/// Three worlds in five have drives that take and answer I/Os in any order.
fn reordering(seed: u64) -> Reordering {
    let random = &mut Random::new(seed, PURPOSE_REORDERING);
    if random.percent(40) {
        return Reordering::NONE;
    }
    let held_ns_max = random.pick(&[200_000, 3_000_000, 40_000_000, 400_000_000]);
    Reordering { held_percent: random.pick(&[3, 20, 60]), held_ns_max }
}

/// What orders writes in a world: of three, the array itself does so in one.
fn scheduler(seed: u64) -> Scheduler {
    let random = &mut Random::new(seed, PURPOSE_SCHEDULER);
    random.pick(&[Scheduler::Deadline, Scheduler::Deadline, Scheduler::LastFirst])
}

fn is_plain(level: ArrayLevel) -> bool {
    matches!(level, ArrayLevel::Plain(_))
}

fn has_redundancy(level: ArrayLevel) -> bool {
    !matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_)))
}

/// Mirrors over parity: while their parity has never agreed with what lay on the drives, a lost
/// member changes what was never written, and the mirror does not hear of it.
pub(crate) fn mirrors_parity(level: ArrayLevel) -> bool {
    matches!(level, ArrayLevel::Nested { outer: Level::Raid1, inner: Level::Raid5(_) | Level::Raid6(_), .. })
}

/// Level, layout and members.
fn level(random: &mut Random) -> (ArrayLevel, usize) {
    let plain = |level, members: u64| (ArrayLevel::Plain(level), members as usize);
    if random.percent(2) {
        return large(random);
    }
    match random.below(100) {
        0..3 => plain(Level::Linear, random.within(2..=4)),
        3..8 => {
            plain(Level::Raid0(random.pick(&[Raid0Layout::Original, Raid0Layout::Alternate])), random.within(2..=5))
        }
        8..28 => plain(Level::Raid1, random.within(2..=4)),
        28..33 => plain(Level::Raid4, random.within(3..=5)),
        33..58 => plain(Level::Raid5(raid5_layout(random)), random.within(3..=6)),
        58..74 => plain(Level::Raid6(random.pick(&ParityLayout::ALL)), random.within(4..=7)),
        74..92 => {
            let layout = raid10_layout(random);
            let copies = layout.copies() as u64;
            plain(Level::Raid10(layout), random.within(copies.max(2)..=copies.max(2) + 3))
        }
        _ => nested(random),
    }
}

/// Up to 24 members.
fn large(random: &mut Random) -> (ArrayLevel, usize) {
    let near = Raid10Layout { near: 2, far: 1, offset: false, far_sets: false };
    let level = random.pick(&[
        Level::Raid1,
        Level::Raid5(ParityLayout::LeftSymmetric),
        Level::Raid6(ParityLayout::LeftSymmetric),
        Level::Raid10(near),
    ]);
    (ArrayLevel::Plain(level), random.within(9..=24) as usize)
}

fn raid5_layout(random: &mut Random) -> ParityLayout {
    if random.percent(40) { ParityLayout::LeftSymmetric } else { random.pick(&ParityLayout::ALL[..6]) }
}

fn raid10_layout(random: &mut Random) -> Raid10Layout {
    let near = |near| Raid10Layout { near, far: 1, offset: false, far_sets: false };
    let far = |far, offset| Raid10Layout { near: 1, far, offset, far_sets: false };
    random.pick(&[near(2), near(2), near(3), far(2, false), far(3, false), far(2, true)])
}

fn nested(random: &mut Random) -> (ArrayLevel, usize) {
    let raid5 = Level::Raid5(ParityLayout::LeftSymmetric);
    let raid6 = Level::Raid6(ParityLayout::LeftSymmetric);
    let stripes = Level::Raid0(Raid0Layout::Original);
    let (outer, inner, size) =
        random.pick(&[(stripes, raid5, 3), (stripes, raid6, 4), (Level::Raid1, raid5, 3), (stripes, Level::Raid1, 2)]);
    (ArrayLevel::Nested { outer, inner, groups: 2 }, 2 * size)
}

fn consistency(level: ArrayLevel, random: &mut Random) -> ConsistencyPolicy {
    if !has_redundancy(level) {
        return ConsistencyPolicy::Resync;
    }
    let is_raid5 = match level {
        ArrayLevel::Plain(level) => matches!(level, Level::Raid5(_)),
        ArrayLevel::Nested { inner, .. } => matches!(inner, Level::Raid5(_)),
    };
    match random.below(100) {
        0..35 if is_raid5 => ConsistencyPolicy::Ppl,
        0..60 => ConsistencyPolicy::Bitmap { chunk_bytes: random.pick(&[Some(4096), Some(16 << 10), Some(64 << 10)]) },
        _ => ConsistencyPolicy::Resync,
    }
}

/// Enough for the metadata, and a little content.
fn drive_bytes(level: ArrayLevel, consistency: ConsistencyPolicy, random: &mut Random) -> u64 {
    let metadata = if consistency == ConsistencyPolicy::Ppl { 2112 } else { 1152 };
    let nesting = if is_plain(level) { 0 } else { 1024 };
    (metadata + nesting + 64 * random.within(2..=12)) << 10
}

/// Some drives are larger; the first one is not, so that all of them have room for what a member
/// holds. In an array of arrays they are equal: a drive may change from one inner array to another.
fn extra_bytes(level: ArrayLevel, drives: usize, random: &mut Random) -> Vec<u64> {
    let are_equal = random.percent(75) || !is_plain(level);
    let extra = |drive| if drive == 0 || are_equal { 0 } else { random.below(9) << 16 };
    (0..drives).map(extra).collect()
}

fn makes(drives: usize, random: &mut Random) -> Vec<(Make, usize)> {
    let (one, is_mixed, buses) = (random.pick(&Make::ALL), random.percent(50), random.within(1..=3));
    let mut make = |drive: usize| {
        let make = if is_mixed { random.pick(&Make::ALL) } else { one };
        (make, drive % buses as usize)
    };
    (0..drives).map(&mut make).collect()
}

/// Where requests go.
struct Places {
    /// A few blocks that are asked for again and again.
    hot: Vec<u64>,
    next: u64,
}

impl Places {
    fn run(&mut self, random: &mut Random) -> Run {
        let count = match random.below(10) {
            0..4 => random.within(1..=2),
            4..7 => 8 * random.within(1..=2),
            7..9 => random.within(1..=20),
            _ => random.within(16..=64),
        } as u32;
        let first = match random.below(10) {
            0..4 => random.pick(&self.hot) + random.below(8),
            4..6 => self.next,
            6..8 => random.pick(&self.hot),
            _ => random.below(1 << 20),
        };
        self.next = first + u64::from(count);
        Run { first, count }
    }
}

fn steps(level: ArrayLevel, theme: Theme, random: &mut Random) -> Vec<Step> {
    let hot = (0..random.within(1..=4)).map(|_| random.below(1 << 14) / 8 * 8).collect();
    let mut places = Places { hot, next: 0 };
    let (reads, flushes) = (random.within(10..=50), random.within(3..=15));
    let flushes = if theme == Theme::FailedFlushes { flushes + 10 } else { flushes };
    let can_discard =
        matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_) | Level::Raid1 | Level::Raid10(_)));
    let discards = if can_discard && random.percent(40) { 5 } else { 0 };
    let is_of_starts = matches!(theme, Theme::Subsets | Theme::Strangers | Theme::Metadata);
    let owner = random.within(1..=6) + if is_of_starts { 4 } else { 0 };
    let mut step = |_| match random.below(100) {
        chance if chance < reads => Step::Read(places.run(random)),
        chance if chance < reads + flushes => Step::Flush,
        chance if chance < reads + flushes + discards => Step::Discard(places.run(random)),
        chance if chance >= 100 - owner => owners_step(level, theme, random),
        _ => Step::Write(places.run(random)),
    };
    (0..random_count(level)).map(&mut step).collect()
}

/// Steps of a scenario.
fn random_count(level: ArrayLevel) -> u32 {
    if is_plain(level) { 150 } else { 80 }
}

/// What the owner does.
fn owners_step(level: ArrayLevel, theme: Theme, random: &mut Random) -> Step {
    let can_meet = has_redundancy(level) && is_plain(level);
    match random.below(24) {
        _ if theme == Theme::Strangers && can_meet && random.percent(50) => Step::Meet(stranger(random)),
        _ if matches!(theme, Theme::Subsets | Theme::Metadata) && random.percent(40) => Step::Restart,
        0..4 => Step::Settle,
        4..8 => Step::Pass(random.pick(&[1, 30, 300])),
        8..10 => Step::Pass(random.pick(&[6000, 20_000])),
        10..12 => Step::Scrub(random.pick(&[ScrubMode::Check, ScrubMode::Repair])),
        12..14 if has_redundancy(level) => Step::Replace(random.below(16) as usize),
        14..16 if has_redundancy(level) => Step::Fail(random.below(16) as usize),
        16..20 => Step::Restart,
        20..22 if has_redundancy(level) => {
            let misuse = random.pick(&[Misuse::Add, Misuse::ReplaceWith, Misuse::Remove, Misuse::Fail]);
            Step::Misuse(misuse, random.below(16) as usize)
        }
        22..24 if can_meet => Step::Meet(stranger(random)),
        _ => Step::Settle,
    }
}

fn stranger(random: &mut Random) -> Stranger {
    Stranger {
        like: random.below(16) as usize,
        is_copy: random.percent(20),
        events: random.pick(&[-1000, -2, -2, -1, 0, 1, 1000]),
        number: random.percent(70).then(|| random.below(16) as usize),
    }
}
