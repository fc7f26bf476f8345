//! The quick probe: few places, a dense area, and rounds that find the real end.

use shoal_volume::World;

use crate::access::{Access, CheckError, Seen, Watch};
use crate::judge::{Finding, conclude, judge};
use crate::plan::{FIRST_PASS, PAIRS, ROUNDS, STEPS, WritePlan};
use crate::report::Kind;
use crate::stamp::Pass;

/// Probes a drive, and tells what it found out from what.
pub(crate) fn probe<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
) -> Result<(Finding, Vec<Seen>), CheckError> {
    let first = Pass { run: plan.seed, number: FIRST_PASS };
    let mut seen = Vec::new();
    round(access, plan, first, (&plan.places, 0), &mut seen)?;
    access.read(first, (0, plan.checked_bytes()), |one| seen.push(one))?;
    for number in FIRST_PASS + 1..=FIRST_PASS + ROUNDS {
        let finding = judge(plan, &seen);
        let places = places_between(plan, &finding);
        if places.is_empty() || access.is_given_up() {
            break;
        }
        let pass = Pass { run: plan.seed, number };
        round(access, plan, pass, (&places, filler(plan, &finding)), &mut seen)?;
    }
    // What could not be written was not read back either, and may hold what was there.
    seen.extend(access.failures.iter().copied());
    Ok((conclude(plan, &seen), seen))
}

/// Writes places from the highest down, then as much as the dense area has from `filler` on, and
/// reads the places.
fn round<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
    pass: Pass,
    (places, filler): (&[u64], u64),
    seen: &mut Vec<Seen>,
) -> Result<(), CheckError> {
    for &place in places {
        access.write(pass, place, u64::from(plan.block_bytes))?;
    }
    access.flush(pass)?;
    access.write(pass, filler, plan.dense_bytes)?;
    access.flush(pass)?;
    // What was written last may come out of a cache.
    let recent = filler + plan.checked_bytes()..filler + plan.dense_bytes;
    for &place in places.iter().filter(|place| !recent.contains(place)) {
        let failed = access.failures.iter().any(|failure| failure.offset == place && failure.pass == pass.number);
        if !failed {
            access.read(pass, (place, u64::from(plan.block_bytes)), |one| seen.push(one))?;
        }
    }
    Ok(())
}

/// Where a round writes what takes the cache from its places: at the start, or where there is
/// nothing anyway.
fn filler(plan: &WritePlan, finding: &Finding) -> u64 {
    let is_free = finding.at_least_bytes < plan.dense_bytes
        && finding.at_most_bytes.saturating_add(plan.dense_bytes) <= plan.size_bytes;
    if is_free { finding.at_most_bytes } else { 0 }
}

/// Places that would tell more, descending; none if all is known.
fn places_between(plan: &WritePlan, finding: &Finding) -> Vec<u64> {
    if !matches!(finding.kind, Kind::Limbo | Kind::Wraparound | Kind::Chain) {
        return Vec::new();
    }
    let block_bytes = u64::from(plan.block_bytes);
    let unknown_blocks = (finding.at_most_bytes - finding.at_least_bytes) / block_bytes;
    if unknown_blocks == 0 && finding.witnesses > PAIRS as usize {
        return Vec::new();
    }
    let stride = unknown_blocks.div_ceil(STEPS).max(1);
    let mut places: Vec<u64> = (0..unknown_blocks).step_by(usize::try_from(stride).unwrap_or(usize::MAX)).collect();
    places.extend(unknown_blocks.checked_sub(1));
    places.iter_mut().for_each(|place| *place = finding.at_least_bytes + *place * block_bytes);
    places.push(finding.at_most_bytes);
    if let Some(repeat_bytes) = finding.repeat_bytes {
        let apart = repeat_bytes.min(plan.size_bytes - repeat_bytes) / PAIRS / block_bytes * block_bytes;
        places.extend((0..PAIRS).flat_map(|pair| [pair * apart, pair * apart + repeat_bytes]));
    }
    places.retain(|place| place.saturating_add(block_bytes) <= plan.size_bytes);
    places.sort_unstable_by(|left, right| right.cmp(left));
    places.dedup();
    places
}
