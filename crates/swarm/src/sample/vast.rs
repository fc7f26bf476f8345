//! Worlds of drives of GiB and TiB, nearly all of which nobody ever touches: numbers that do not
//! fit into 32 bits, in bytes or in sectors.
//!
//! Nothing goes over all of a drive there: no resync, rebuild or scrub, which would take hours of
//! everybody's time. So such an array begins in sync and has a bitmap or a log, and what goes wrong
//! needs no new member. A new bitmap has all its bits set: nothing goes wrong before they are
//! cleared, or a power cut would let all be resynced.

use shoal_sim::FaultKind;
use shoal_volume::{ArrayLevel, ConsistencyPolicy};

use super::has_redundancy;
use crate::random::Random;
use crate::scenario::{Run, Scenario, Step};

/// By then the bits of a new bitmap are cleared.
const BITS_CLEARED_MS: u64 = 20_000;

/// Makes the drives vast, and the rest such that it goes with that.
pub(super) fn make_vast(scenario: &mut Scenario, random: &mut Random) {
    let is_of_arrays = matches!(scenario.level, ArrayLevel::Nested { .. });
    let keeps_log = scenario.consistency == ConsistencyPolicy::Ppl && !is_of_arrays;
    if has_redundancy(scenario.level) && !keeps_log {
        // What a bitmap's bit stands for is synchronised as a whole, and a search goes over all
        // bits; of many members there is not room for so many.
        let chunk_bytes = if scenario.members > 8 { 8 << 20 } else { 1 << 20 };
        scenario.consistency = ConsistencyPolicy::Bitmap { chunk_bytes: Some(chunk_bytes) };
        scenario.drive_bytes = (5 << 30) + (192 << 10);
    } else {
        scenario.drive_bytes = random.pick(&[(3 << 40) + (320 << 10), (17 << 40) + (64 << 10)]);
    }
    // Large steps and prompt drives, or what has to be synchronised would still be too much.
    scenario.reordering.held_ns_max = scenario.reordering.held_ns_max.min(3_000_000);
    scenario.chunk_bytes = 256 << 10;
    scenario.extra_bytes.fill(0);
    (scenario.spares, scenario.drawer) = (0, 0);
    let drives = scenario.members;
    scenario.makes.truncate(drives);
    scenario.extra_bytes.truncate(drives);
    scenario.assume_clean = true;
    scenario.scratch_bytes = 64 << 10;
    scenario.steps.retain(|step| !goes_over_all(*step));
    if matches!(scenario.consistency, ConsistencyPolicy::Bitmap { .. }) {
        scenario.steps.insert(0, Step::Pass(BITS_CLEARED_MS));
    }
    let regions = regions(random);
    for step in &mut scenario.steps {
        if let Step::Read(run) | Step::Write(run) | Step::Discard(run) = step {
            move_to(run, &regions);
        }
    }
    scenario.faults.faults.retain(|fault| is_survived_as_it_is(&fault.kind, drives));
}

/// Places on both sides of what 32 bits can count, in blocks of 512 bytes.
fn regions(random: &mut Random) -> [u64; 4] {
    let before = 512 + random.below(64);
    let (bytes, sectors) = ((1 << 32) / 512, 1 << 32);
    [0, bytes - before, sectors - before, random.below(1 << 40)]
}

/// What lies beside each other stays so.
fn move_to(run: &mut Run, regions: &[u64; 4]) {
    let (region, place) = (run.first / 1024 % 4, run.first % 1024);
    run.first = regions[region as usize] + place;
}

fn goes_over_all(step: Step) -> bool {
    matches!(step, Step::Scrub(_) | Step::Replace(_) | Step::Fail(_) | Step::Linux(_) | Step::Grow(_) | Step::Meet(_))
        || matches!(step, Step::Misuse(..))
}

fn is_survived_as_it_is(kind: &FaultKind, drives: usize) -> bool {
    match kind {
        FaultKind::PowerCut { .. } => true,
        FaultKind::Stall { drive, .. } | FaultKind::Unplug { drive } | FaultKind::Return { drive } => *drive < drives,
        FaultKind::Away { drive, .. } => *drive < drives,
        _ => false,
    }
}
