//! What of an array's content no member has, found out without reading it.
//!
//! The array is run over members that answer every read but of what they are known to lack, so the
//! answers are the engine's own: whatever the level, a nest, members that are missing or not filled
//! yet. Content that is on the same members, in one piece, has one answer, so one block of each
//! such piece is asked for, and of that only where nobody who holds it is known to have it.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use shoal_volume::{ContentMap, Health, Volume};

use crate::damage::{Damage, unit_bytes};
use crate::plan::{PlanError, Reader, RecoveryPlan};
use crate::reads::{Reads, merged};

/// How much content there is, and what of it cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Bytes of it.
    pub size_bytes: u64,
    /// What no member has, in ascending ranges that do not touch.
    pub unreadable: Vec<Range<u64>>,
}

impl Content {
    /// How much cannot be had.
    pub fn unreadable_bytes(&self) -> u64 {
        self.unreadable.iter().map(|range| range.end - range.start).sum()
    }
}

/// What can be had of the content, as far as is known before it is read; none if the array cannot
/// be opened.
pub fn unreadable(plan: &RecoveryPlan, reader: &Reader) -> Result<Option<Content>, PlanError> {
    let Ok(mut array) = plan.open(reader)? else { return Ok(None) };
    let map = array.content_map();
    let damage = Damage::of(plan, &map);
    let (size_bytes, block) = (array.size_bytes(), u64::from(array.logical_block_bytes()));
    if damage.is_none() && array.status().health != Health::Failed {
        return Ok(Some(Content { size_bytes, unreadable: Vec::new() }));
    }
    let pieces = Pieces { next: 0, size_bytes, unit: unit_bytes(plan).max(block), edges: edges(&damage, &map, block) };
    let mut in_doubt = pieces.filter(|piece| is_in_doubt(piece, &damage, &map));
    array.world_mut().leave_reads();
    let mut reads = Reads::new(&mut array);
    let mut lost = Vec::new();
    loop {
        while reads.has_room()
            && let Some(piece) = in_doubt.next()
        {
            reads.begin(piece, block);
        }
        match reads.next()? {
            Some(answer) if answer.result.is_err() => lost.push(answer.range),
            Some(_) => {}
            None => return Ok(Some(Content { size_bytes, unreadable: merged(lost) })),
        }
    }
}

/// Whether no member that holds a piece of content, or a copy of it, is known to have it.
fn is_in_doubt(piece: &Range<u64>, damage: &Damage, map: &ContentMap) -> bool {
    let length = piece.end - piece.start;
    !map.places(piece.start).into_iter().any(|(drive, at)| damage.spares(drive, &(at..at + length)))
}

/// Places in the content where the answer may change, beside multiples of the unit. The block that
/// one lies in is a piece of its own.
fn edges(damage: &Damage, map: &ContentMap, block: u64) -> BTreeSet<u64> {
    let mut edges = BTreeSet::new();
    for (drive, part) in damage.parts() {
        let starts = map.bears_on(drive, part.start);
        let ends = map.bears_on(drive, part.end - 1).into_iter().map(|last| last + 1);
        edges.extend(starts.into_iter().chain(ends).flat_map(|at| [at / block * block, at.next_multiple_of(block)]));
    }
    edges
}

/// The content from 0 on, in pieces.
struct Pieces {
    next: u64,
    size_bytes: u64,
    unit: u64,
    edges: BTreeSet<u64>,
}

impl Iterator for Pieces {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let start = self.next;
        if start >= self.size_bytes {
            return None;
        }
        let edge = self.edges.range((Bound::Excluded(start), Bound::Unbounded)).next();
        let end = edge.map_or(self.size_bytes, |edge| self.size_bytes.min(*edge));
        self.next = end.min((start / self.unit + 1).saturating_mul(self.unit));
        Some(start..self.next)
    }
}

#[cfg(test)]
mod tests;
