//! What can be said without writing: whether a drive can be read everywhere, and whether what it
//! holds repeats.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_volume::World;

use crate::access::{Access, CheckError, Watch};
use crate::plan::WritePlan;

/// Pairs of places that are compared.
const PAIRS: u32 = 64;
/// Pairs that have to be the same, and none different.
const SAME_MIN: u32 = 8;

/// Reads the dense area and the places. Some if what the drive holds repeats after so many bytes,
/// at all pairs of places that hold anything.
pub(crate) fn look<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
) -> Result<Option<u64>, CheckError> {
    let mut dense = HashMap::new();
    for offset in (0..plan.checked_bytes()).step_by(plan.block_bytes as usize) {
        if access.is_given_up() {
            return Ok(None);
        }
        if let Some(print) = fingerprint(access, offset)? {
            dense.entry(print).or_insert(offset);
        }
    }
    let mut distances: HashMap<u64, u32> = HashMap::new();
    for &place in &plan.places {
        if access.is_given_up() {
            return Ok(None);
        }
        if let Some(print) = fingerprint(access, place)? {
            let found = dense.get(&print).map(|&offset| place - offset);
            found.into_iter().for_each(|distance| *distances.entry(distance).or_default() += 1);
        }
    }
    // The shortest is the one of which others are multiples.
    let mut distances: Vec<u64> = distances.into_keys().collect();
    distances.sort_unstable();
    for distance in distances.into_iter().take(4) {
        if repeats(access, plan, distance)? {
            return Ok(Some(distance));
        }
    }
    Ok(None)
}

/// Whether all pairs of places so far apart, of which one holds anything, hold the same.
fn repeats<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
    distance: u64,
) -> Result<bool, CheckError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
    let block_bytes = u64::from(plan.block_bytes);
    let blocks = (plan.size_bytes - distance) / block_bytes;
    let mut same = 0;
    for _ in 0..PAIRS {
        let place = random.next_u64() % blocks.max(1) * block_bytes;
        match (fingerprint(access, place)?, fingerprint(access, place + distance)?) {
            (None, None) => {}
            (one, other) if one == other => same += 1,
            _ => return Ok(false),
        }
    }
    Ok(same >= SAME_MIN)
}

/// What stands for a block's bytes; none if they are all the same, or cannot be read.
fn fingerprint<W: World, V: Watch>(access: &mut Access<'_, W, V>, offset: u64) -> Result<Option<u64>, CheckError> {
    let Some(block) = access.look(offset)? else { return Ok(None) };
    if block.iter().all(|&byte| byte == block[0]) {
        return Ok(None);
    }
    let mut hasher = DefaultHasher::new();
    block.hash(&mut hasher);
    Ok(Some(hasher.finish()))
}
