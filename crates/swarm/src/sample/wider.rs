//! What only some worlds have, of a chance of its own: all others are what they would be without.

use shoal_sim::{Area, Fault, FaultKind, Misbehaviour, MisbehaviourKind, PlannedFault};
use shoal_volume::{ArrayLevel, ConsistencyPolicy, Level, MinorVersion, ParityLayout};

use super::faults::{flush_error, metadata};
use super::vast::make_vast;
use crate::limits::{DRIVES_MAX, REQUEST_BLOCKS_MAX};
use crate::random::Random;
use crate::scenario::{Growth, Linux, Run, Scenario, Step, Trouble};

/// What is told apart in the chance that a seed gives.
const PURPOSE_WIDEN: u64 = 4;

/// Blocks of a chunk where rows are to be short.
const CROWDED_CHUNK_BLOCKS: u32 = 8;

/// Gives some worlds what they have beside everything else.
pub(super) fn widen(scenario: &mut Scenario) {
    let random = &mut Random::new(scenario.seed, PURPOSE_WIDEN);
    match random.below(100) {
        0..12 if is_plain_parity(scenario.level) => add_journals(scenario, random),
        12..24 if can_grow(scenario.level) => add_growth(scenario, random),
        12..60 if matches!(scenario.level, ArrayLevel::Nested { .. }) => add_metadata_faults(scenario, random),
        24..32 if scenario.consistency != ConsistencyPolicy::Resync => add_flips(scenario, random),
        32..60 if scenario.level == ArrayLevel::Plain(Level::Raid1) && scenario.spares == 0 => {
            leave_one_copy(scenario, random);
        }
        60..84 if rows(scenario).is_some() => crowd_rows(scenario, random),
        84..98 if scenario.consistency == ConsistencyPolicy::Ppl => replace_beside_logs(scenario, random),
        98..100 if random.percent(12) => make_vast(scenario, random),
        _ => {}
    }
}

/// A mirror has one copy left, whose flushes fail: those of its user, and those that it makes by
/// itself when it has rested.
fn leave_one_copy(scenario: &mut Scenario, random: &mut Random) {
    let others = (1..scenario.members).map(|_| Step::Fail(random.below(16) as usize));
    let others: Vec<_> = others.collect();
    scenario.steps.splice(0..0, others);
    for _ in 0..random.within(2..=12) {
        let place = random.below(scenario.steps.len() as u64 + 1) as usize;
        scenario.steps.splice(place..place, [Step::Pass(300), Step::Flush]);
    }
    let (drives, requests) = (scenario.members as u64, scenario.requests() as u64);
    for _ in 0..random.within(2..=12) {
        let (drive, after_requests) = (random.below(drives) as usize, random.within(0..=requests) as u32);
        scenario.faults.faults.push(PlannedFault { after_requests, kind: flush_error(drive, random) });
    }
    scenario.faults.faults.sort_by_key(|fault| fault.after_requests);
}

/// Blocks of a row, where one is no longer than a request may be, and goes past a window.
fn rows(scenario: &Scenario) -> Option<u32> {
    let ArrayLevel::Plain(level @ (Level::Raid4 | Level::Raid5(_) | Level::Raid6(_))) = scenario.level else {
        return None;
    };
    let parity = if matches!(level, Level::Raid6(_)) { 2 } else { 1 };
    let blocks = (scenario.members - parity) as u32 * CROWDED_CHUNK_BLOCKS;
    (scenario.write_back_bytes > 0 && blocks <= REQUEST_BLOCKS_MAX).then_some(blocks)
}

/// Whole rows and small writes beside them are under way together, now and then on an array that
/// was clean just before.
fn crowd_rows(scenario: &mut Scenario, random: &mut Random) {
    let Some(row_blocks) = rows(scenario) else { return };
    scenario.chunk_bytes = CROWDED_CHUNK_BLOCKS * 512;
    scenario.depth = scenario.depth.max(4);
    for _ in 0..random.within(4..=16) {
        let first = u64::from(row_blocks) * random.below(16);
        let row = Step::Write(Run { first, count: row_blocks });
        let small = Run { first: first + random.below(2 * u64::from(row_blocks)), count: random.within(1..=8) as u32 };
        let mut crowd = vec![row, Step::Write(small), Step::Flush];
        if random.percent(30) {
            crowd.swap(0, 1);
        }
        if random.percent(60) {
            crowd.insert(0, Step::Pass(300));
        }
        let place = random.below(scenario.steps.len() as u64 + 1) as usize;
        scenario.steps.splice(place..place, crowd);
    }
}

/// Members with partial parity logs are replaced while their rows are written. Some of the
/// originals fail at the end of that, and power is cut; some are not there afterwards, or another
/// one is not.
fn replace_beside_logs(scenario: &mut Scenario, random: &mut Random) {
    scenario.depth = scenario.depth.max(4);
    for _ in 0..random.within(1..=4) {
        let place = random.below(scenario.steps.len() as u64 + 1) as usize;
        let requests_before = scenario.steps[..place].iter().filter(|step| step.is_request()).count() as u64;
        let (original, other) =
            (random.below(scenario.members as u64) as usize, random.below(scenario.drives() as u64) as usize);
        let mut steps = vec![Step::Replace(original), Step::Pass(random.pick(&[30, 300, 3000, 20_000]))];
        let writes = random.within(8..=40);
        steps.extend((0..writes).map(|_| {
            let run = Run { first: random.below(1 << 10), count: random.within(1..=16) as u32 };
            if random.percent(15) { Step::Flush } else { Step::Write(run) }
        }));
        scenario.steps.splice(place..place, steps);
        let reach = random.pick(&[8, 40, 200, 1000]);
        let after_events = random.below(reach) as u32;
        let mut kinds = vec![
            match random.below(4) {
                0 => FaultKind::Unplug { drive: original },
                1 | 2 => failing(original, random),
                _ => FaultKind::PowerCut { after_events },
            },
            FaultKind::PowerCutAfterError { after_events },
        ];
        if random.percent(70) {
            let drive = random.pick(&[original, other]);
            kinds.push(FaultKind::Away { drive, starts: random.within(1..=2) as u32 });
        }
        let at = |kind| PlannedFault { after_requests: (requests_before + random.below(writes)) as u32, kind };
        scenario.faults.faults.extend(kinds.into_iter().map(at));
    }
    scenario.faults.faults.sort_by_key(|fault| fault.after_requests);
}

/// It takes no write, or no flush.
fn failing(drive: usize, random: &mut Random) -> FaultKind {
    let kind = random.pick(&[MisbehaviourKind::WriteFails(Fault::Io), MisbehaviourKind::FlushFails(Fault::Io)]);
    FaultKind::Misbehave {
        drive,
        misbehaviour: Misbehaviour { kind, within: 0..u64::MAX, skip: random.below(12) as u32 },
    }
}

/// Bits of bitmaps and logs flip, some of them shortly before power is cut.
fn add_flips(scenario: &mut Scenario, random: &mut Random) {
    let (drives, requests) = (scenario.drives() as u64, scenario.requests() as u64);
    for _ in 0..random.within(2..=8) {
        let (drive, after_requests) = (random.below(drives) as usize, random.within(0..=requests) as u32);
        let (offset, bit) = (random.below(1 << 20), random.below(8) as u32);
        let kind = FaultKind::BitFlip { drive, area: Area::Log, offset, bit };
        scenario.faults.faults.push(PlannedFault { after_requests, kind });
        if random.percent(60) {
            let kind = FaultKind::PowerCut { after_events: random.pick(&[0, 20, 200]) };
            scenario.faults.faults.push(PlannedFault { after_requests, kind });
        }
    }
    scenario.faults.faults.sort_by_key(|fault| fault.after_requests);
}

/// Sectors of superblocks, bitmaps and logs cannot be read, or have a wrong bit.
fn add_metadata_faults(scenario: &mut Scenario, random: &mut Random) {
    let (drives, requests) = (scenario.drives() as u64, scenario.requests() as u64);
    for _ in 0..random.within(1..=5) {
        let kind = metadata(random.below(drives) as usize, random);
        scenario.faults.faults.push(PlannedFault { after_requests: random.within(0..=requests) as u32, kind });
    }
    scenario.faults.faults.sort_by_key(|fault| fault.after_requests);
}

fn can_grow(level: ArrayLevel) -> bool {
    is_plain_parity(level) || matches!(level, ArrayLevel::Plain(Level::Raid1 | Level::Linear))
}

fn is_plain_parity(level: ArrayLevel) -> bool {
    matches!(level, ArrayLevel::Plain(Level::Raid4 | Level::Raid5(_) | Level::Raid6(_)))
}

/// Linux runs the array now and then, with a journal.
fn add_journals(scenario: &mut Scenario, random: &mut Random) {
    scenario.consistency = ConsistencyPolicy::Resync;
    // Any drive may be the journal of any other.
    scenario.extra_bytes.fill(0);
    for _ in 0..random.within(1..=4) {
        let linux = Linux {
            seed: random.below(1 << 32),
            writes: random.within(1..=12) as u32,
            trouble: random.percent(50).then(|| trouble(scenario.drives(), random)),
            cuts_after: [(); 2].map(|()| random.percent(50).then(|| random.within(1..=150) as u32)),
        };
        insert(scenario, Step::Linux(linux), random);
    }
}

/// The array grows now and then, into drives that lie beside it.
fn add_growth(scenario: &mut Scenario, random: &mut Random) {
    scenario.consistency = ConsistencyPolicy::Resync;
    scenario.extra_bytes.fill(0);
    // It takes room before the data.
    scenario.metadata = random.pick(&[MinorVersion::Start, MinorVersion::Start4K]);
    while scenario.drawer < 3 && scenario.drives() < DRIVES_MAX {
        scenario.drawer += 1;
        scenario.makes.push(random.pick(&scenario.makes));
        scenario.extra_bytes.push(0);
    }
    for _ in 0..random.within(1..=2) {
        let is_of_mirrors = !is_plain_parity(scenario.level);
        let more = random.pick(&[0, 1, 1, 1, 2]).max(usize::from(is_of_mirrors));
        let chunks = if more == 0 { 100 } else { 40 };
        let layouts = if matches!(scenario.level, ArrayLevel::Plain(Level::Raid6(_))) { 10 } else { 6 };
        let growth = Growth {
            more,
            chunk_bytes: random.percent(chunks).then(|| random.pick(&[4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10])),
            layout: random.percent(30).then(|| random.pick(&ParityLayout::ALL[..layouts])),
            windows: random.percent(25).then(|| random.within(1..=4) as u32),
            trouble: random.percent(40).then(|| trouble(scenario.drives(), random)),
            cuts_after: [(); 2].map(|()| random.percent(60).then(|| cut_after(random))),
        };
        insert(scenario, Step::Grow(growth), random);
    }
}

/// In the first update, or anywhere.
fn cut_after(random: &mut Random) -> u32 {
    let within = random.pick(&[60, 600, 3000]);
    random.within(1..=within) as u32
}

/// What may befall the owner in something that he does offline.
fn trouble(drives: usize, random: &mut Random) -> Trouble {
    let fault = random.pick(&[Fault::Io, Fault::TimedOut]);
    let kind = random.pick(&[
        MisbehaviourKind::ReadFails(fault),
        MisbehaviourKind::WriteFails(fault),
        MisbehaviourKind::FlushFails(fault),
    ]);
    let skips = if matches!(kind, MisbehaviourKind::FlushFails(_)) { 3 } else { 12 };
    Trouble { drive: random.below(drives as u64) as usize, kind, skip: random.below(skips) as u32 }
}

/// Puts a step anywhere among the others.
fn insert(scenario: &mut Scenario, step: Step, random: &mut Random) {
    let place = random.below(scenario.steps.len() as u64 + 1) as usize;
    scenario.steps.insert(place, step);
}
