//! A seed becomes a scenario.
//!
//! Small on purpose: drives of a few MiB, some hundred requests, so that ten thousand worlds take minutes. What makes
//! them dense is where things go: requests crowd at a few places, and faults come in clusters that share a drive.

use shoal_sim::{Fault, FaultKind, FaultPlan, Misbehaviour, MisbehaviourKind, PlannedFault};
use shoal_volume::{
    ArrayLevel, ConsistencyPolicy, Level, MinorVersion, ParityLayout, Raid0Layout, Raid10Layout, ScrubMode,
};

use crate::fleet::Make;
use crate::random::Random;
use crate::scenario::{Misuse, Run, Scenario, Step, Stranger};

/// What is told apart in the chance that a seed gives.
const PURPOSE_SAMPLE: u64 = 1;

/// The scenario of a seed.
pub fn sample(seed: u64) -> Scenario {
    let mut random = Random::new(seed, PURPOSE_SAMPLE);
    let random = &mut random;
    let (level, members) = level(random);
    let redundancy = has_redundancy(level);
    let spares = if redundancy && is_plain(level) && random.percent(25) { 1 } else { 0 };
    let drawer = if redundancy { random.within(1..=2) as usize } else { 0 };
    let consistency = consistency(level, random);
    let chunk_bytes = 4096 << random.pick(&[0, 0, 1, 2, 4]);
    let drives = members + spares + drawer;
    let steps = steps(level, random);
    let requests = steps.iter().filter(|step| step.is_request()).count() as u32;
    let character = Character::of(redundancy, random);
    Scenario {
        seed,
        level,
        members,
        spares,
        drawer,
        makes: makes(drives, random),
        drive_bytes: drive_bytes(level, consistency, random),
        chunk_bytes,
        metadata: random.pick(&[MinorVersion::End, MinorVersion::Start, MinorVersion::Start4K, MinorVersion::Start4K]),
        consistency,
        assume_clean: random.percent(70) || mirrors_parity(level),
        depth: random.pick(&[1, 2, 4, 4, 8, 16]),
        scratch_bytes: 4096 << random.pick(&[0, 0, 1, 3]),
        safe_mode_delay_ms: random.pick(&[1, 20, 200]),
        faults: faults(&character, drives, requests, random),
        steps,
    }
}

fn is_plain(level: ArrayLevel) -> bool {
    matches!(level, ArrayLevel::Plain(_))
}

fn has_redundancy(level: ArrayLevel) -> bool {
    !matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_)))
}

/// Mirrors over parity: while their parity has never agreed with what lay on the drives, a lost member changes what was
/// never written, and the mirror does not hear of it.
pub(crate) fn mirrors_parity(level: ArrayLevel) -> bool {
    matches!(level, ArrayLevel::Nested { outer: Level::Raid1, inner: Level::Raid5(_) | Level::Raid6(_), .. })
}

/// Level, layout and members.
fn level(random: &mut Random) -> (ArrayLevel, usize) {
    let plain = |level, members: u64| (ArrayLevel::Plain(level), members as usize);
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

fn steps(level: ArrayLevel, random: &mut Random) -> Vec<Step> {
    let hot = (0..random.within(1..=4)).map(|_| random.below(1 << 14) / 8 * 8).collect();
    let mut places = Places { hot, next: 0 };
    let (reads, flushes) = (random.within(10..=50), random.within(3..=15));
    let can_discard =
        matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_) | Level::Raid1 | Level::Raid10(_)));
    let discards = if can_discard && random.percent(40) { 5 } else { 0 };
    let owner = random.within(1..=6);
    let mut step = |_| match random.below(100) {
        chance if chance < reads => Step::Read(places.run(random)),
        chance if chance < reads + flushes => Step::Flush,
        chance if chance < reads + flushes + discards => Step::Discard(places.run(random)),
        chance if chance >= 100 - owner => owners_step(level, random),
        _ => Step::Write(places.run(random)),
    };
    (0..random_count(level)).map(&mut step).collect()
}

/// Steps of a scenario.
fn random_count(level: ArrayLevel) -> u32 {
    if is_plain(level) { 150 } else { 80 }
}

/// What the owner does.
fn owners_step(level: ArrayLevel, random: &mut Random) -> Step {
    match random.below(24) {
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
        22..24 if has_redundancy(level) && is_plain(level) => Step::Meet(stranger(random)),
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

/// Which faults a world has.
struct Character {
    power_cuts: u64,
    away: u64,
    plugs: u64,
    errors: u64,
    latent: u64,
    stalls: u64,
    silent: u64,
    hangs: u64,
    hub_losses: u64,
}

impl Character {
    fn of(redundancy: bool, random: &mut Random) -> Self {
        let mut some = |chance, most| if random.percent(chance) { random.within(1..=most) } else { 0 };
        let loud = u64::from(redundancy);
        Self {
            power_cuts: some(75, 5),
            away: loud * some(50, 4),
            plugs: loud * some(50, 3),
            errors: some(30, 3),
            latent: some(40, 4),
            stalls: some(30, 3),
            silent: some(12, 3),
            hangs: loud * some(20, 3),
            hub_losses: some(20, 2),
        }
    }
}

fn faults(character: &Character, drives: usize, requests: u32, random: &mut Random) -> FaultPlan {
    let mut faults = Vec::new();
    // Drives that have most of the faults: more than one at a time where the level allows it.
    let victims = [random.below(drives as u64) as usize, random.below(drives as u64) as usize];
    let mut add = |count: u64, random: &mut Random, fault: &dyn Fn(usize, &mut Random) -> FaultKind| {
        for _ in 0..count {
            let drive = if random.percent(70) { random.pick(&victims) } else { random.below(drives as u64) as usize };
            let after_requests = random.within(0..=u64::from(requests)) as u32;
            faults.push(PlannedFault { after_requests, kind: fault(drive, random) });
        }
    };
    add(character.power_cuts, random, &power_cut);
    add(character.away, random, &|drive, random| FaultKind::Away { drive, starts: random.within(1..=3) as u32 });
    add(character.errors, random, &error);
    add(character.latent, random, &latent);
    add(character.stalls, random, &stall);
    add(character.silent, random, &silent);
    add(character.hangs, random, &|drive, _| FaultKind::Hang { drive });
    for _ in 0..character.plugs {
        let drive = random.pick(&victims);
        let after_requests = random.within(0..=u64::from(requests)) as u32;
        faults.push(PlannedFault { after_requests, kind: FaultKind::Unplug { drive } });
        if random.percent(70) {
            let after_requests = after_requests + random.within(0..=40) as u32;
            faults.push(PlannedFault { after_requests, kind: FaultKind::Return { drive } });
        }
    }
    for _ in 0..character.hub_losses {
        let after_requests = random.within(0..=u64::from(requests)) as u32;
        faults.push(PlannedFault { after_requests, kind: hub_loss(random) });
        let after_requests = after_requests + random.within(0..=40) as u32;
        let back = |drive| PlannedFault { after_requests, kind: FaultKind::Return { drive } };
        faults.extend((0..drives).map(back));
    }
    faults.sort_by_key(|fault| fault.after_requests);
    FaultPlan { faults }
}

/// At once, or in the midst of what the array does by then: under way, in a record run, while it is opened.
fn power_cut(_: usize, random: &mut Random) -> FaultKind {
    let within = random.pick(&[0, 0, 40, 200, 1000, 5000]);
    FaultKind::PowerCut { after_events: random.within(0..=within) as u32 }
}

/// Of one hub, or of all.
fn hub_loss(random: &mut Random) -> FaultKind {
    FaultKind::HubLoss { bus: random.percent(50).then(|| random.below(3) as usize) }
}

fn anywhere(kind: MisbehaviourKind, random: &mut Random) -> Misbehaviour {
    Misbehaviour { kind, within: 0..u64::MAX, skip: random.below(20) as u32 }
}

fn error(drive: usize, random: &mut Random) -> FaultKind {
    let fault = random.pick(&[Fault::Io, Fault::TimedOut]);
    let of_writes = random.pick(&[Fault::Io, Fault::TimedOut, Fault::NoSpace]);
    let kind = random.pick(&[
        MisbehaviourKind::ReadFails(fault),
        MisbehaviourKind::ReadFails(fault),
        MisbehaviourKind::WriteFails(of_writes),
        MisbehaviourKind::FlushFails(fault),
    ]);
    FaultKind::Misbehave { drive, misbehaviour: anywhere(kind, random) }
}

fn latent(drive: usize, random: &mut Random) -> FaultKind {
    FaultKind::Latent { drive, offset: random.below(1 << 20), length: 512 * random.within(1..=40) }
}

fn stall(drive: usize, random: &mut Random) -> FaultKind {
    FaultKind::Stall { drive, duration_ns: 1_000_000 * random.pick(&[5, 50, 500, 3000]) }
}

fn silent(drive: usize, random: &mut Random) -> FaultKind {
    let distance = 512 * (random.below(2000) as i64 - 1000);
    let misbehave = |kind, random: &mut Random| FaultKind::Misbehave { drive, misbehaviour: anywhere(kind, random) };
    match random.below(5) {
        0 => misbehave(MisbehaviourKind::WriteLost, random),
        1 => misbehave(MisbehaviourKind::WriteMisdirected { distance }, random),
        2 => misbehave(MisbehaviourKind::WriteTorn, random),
        _ => FaultKind::BitFlip { drive, offset: random.below(1 << 20), bit: random.below(8) as u32 },
    }
}
