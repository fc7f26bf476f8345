//! A write journal as Linux leaves it when it is killed: what an array that it ran has promised,
//! and its members may lack.
//!
//! Linux writes a block of data to the journal before it answers. Alone, if it keeps the block for
//! later; with the parity of its column, if that was computed at once, or is now for all that was
//! kept. What has its parity goes to the members at any time from then on, in any order. Once all
//! of it is there the log may say so.

mod log;

use std::collections::BTreeMap;

use shoal_array::{Geometry, Stripe};
use shoal_sim::Content;
use shoal_volume::{Parity, Role};

use crate::random::Random;
pub(crate) use log::{Log, with_role};

/// What a journal counts in.
pub(crate) const JOURNALED_BYTES: usize = 4096;

/// Blocks of 4 KiB at one place of every member: the data in array order, then P, then Q.
type Column = Vec<Box<[u8]>>;

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It waits for its parity.
    Data,
    /// Parity stands beside it, and all that had waited.
    Row,
}

/// An array with a journal, in the hands of a Linux that is about to be killed.
pub(crate) struct Killed<'a> {
    contents: &'a mut [Content],
    geometry: Geometry,
    /// By role: the drive, and where its data start.
    seats: Vec<(usize, u64)>,
    log: Log,
    journal: usize,
    /// What the columns that were written hold, by their place on the members: what is to be, and
    /// which of it is not on the members.
    columns: BTreeMap<u64, (Column, Vec<usize>)>,
}

impl<'a> Killed<'a> {
    /// Begins the log.
    pub(crate) fn new(
        contents: &'a mut [Content],
        geometry: Geometry,
        seats: Vec<(usize, u64)>,
        journal: usize,
        log: Log,
    ) -> Self {
        Self { contents, geometry, seats, log, journal, columns: BTreeMap::new() }
    }

    /// The place of a data block of a column, of so many on a member: its first byte of content.
    pub(crate) fn place(&self, column: u64, index: usize) -> u64 {
        let (stripe, within) = self.stripe(column);
        let chunk_bytes = u64::from(self.geometry.shape().chunk_bytes);
        let index = index % stripe.data.len();
        stripe.offset + index as u64 * chunk_bytes + within
    }

    /// Blocks of content; false, and nothing has happened, if something that is needed cannot be
    /// read or the log is full.
    pub(crate) fn write(
        &mut self,
        blocks: &[(u64, Vec<u8>)],
        kept: Kept,
        is_answered: bool,
        random: &mut Random,
    ) -> bool {
        let Some(position) = blocks.first().and_then(|(offset, _)| self.geometry.position(*offset)) else {
            return false;
        };
        let stripe = self.geometry.stripe(position.row).expect("the content has this row");
        let at = stripe.member_offset + u64::from(position.within);
        let Some((mut column, mut waiting)) = self.column(&stripe, at) else { return false };
        let mut entries = Vec::new();
        for (offset, bytes) in blocks {
            let index = self.geometry.position(*offset).expect("it is content").index;
            column[index].copy_from_slice(bytes);
            waiting.retain(|other| *other != index);
            waiting.push(index);
            entries.push(log::Entry::Data { offset: *offset, block: bytes });
        }
        let parity = compute(&stripe, &column);
        if kept == Kept::Row {
            entries.push(log::Entry::Parity { member_offset: at, blocks: &parity });
        }
        let is_whole = is_answered || random.percent(50);
        if !self.log.append(&mut self.contents[self.journal], &entries, is_whole) {
            return false;
        }
        if kept == Kept::Row && is_answered {
            let data = stripe.data.len();
            column[data..].clone_from_slice(&parity);
            waiting.retain(|index| *index < data);
            waiting.extend(data..column.len());
            waiting = self.land(&stripe, at, &column, &waiting, random);
        }
        self.columns.insert(at, (column, waiting));
        true
    }

    /// The log ends, and all that was written is durable. Drives that are none of the array's may
    /// be armed.
    pub(crate) fn end(mut self) {
        self.log.end(&mut self.contents[self.journal]);
        for content in self.contents.iter_mut().filter(|content| !content.is_gone() && !content.is_armed()) {
            content.flush().expect("nothing is armed");
        }
    }

    /// The row and the place in its chunks of a column of blocks.
    fn stripe(&self, column: u64) -> (Stripe, u64) {
        let chunk_bytes = u64::from(self.geometry.shape().chunk_bytes);
        let at = column % (self.geometry.rows() * chunk_bytes / JOURNALED_BYTES as u64) * JOURNALED_BYTES as u64;
        (self.geometry.stripe(at / chunk_bytes).expect("the members have this row"), at % chunk_bytes)
    }

    /// What a column holds by now.
    fn column(&mut self, stripe: &Stripe, at: u64) -> Option<(Column, Vec<usize>)> {
        if let Some(known) = self.columns.get(&at) {
            return Some(known.clone());
        }
        let read = |role: Role| {
            let (drive, start) = self.seats[role.index()];
            let mut bytes = vec![0; JOURNALED_BYTES].into_boxed_slice();
            self.contents[drive].read(start + at, &mut bytes).ok().map(|()| bytes)
        };
        let column: Option<Column> = roles(stripe).map(read).collect();
        Some((column?, Vec::new()))
    }

    /// Some of a column's new blocks get to the members; if all of them do the log may say so.
    /// Gives the others.
    fn land(&mut self, stripe: &Stripe, at: u64, column: &Column, new: &[usize], random: &mut Random) -> Vec<usize> {
        let chance = random.pick(&[0, 50, 100]);
        let mut left = Vec::new();
        for (index, role) in roles(stripe).enumerate().filter(|(index, _)| new.contains(index)) {
            let (drive, start) = self.seats[role.index()];
            if random.percent(chance) {
                self.contents[drive].write(start + at, &column[index]).expect("nothing is armed");
            } else {
                left.push(index);
            }
        }
        if left.is_empty() && random.percent(50) {
            self.log.append(&mut self.contents[self.journal], &[log::Entry::Flush { member_offset: at }], true);
        }
        left
    }
}

/// Data, then P, then Q.
fn roles(stripe: &Stripe) -> impl Iterator<Item = Role> + '_ {
    stripe.data.iter().copied().chain([stripe.p]).chain(stripe.q)
}

/// P, and Q if there is one.
fn compute(stripe: &Stripe, column: &Column) -> Column {
    let highest = stripe.exponents.iter().max().copied().unwrap_or(0);
    let mut by_exponent: Vec<Option<&[u8]>> = vec![None; usize::from(highest) + 1];
    for (block, exponent) in column.iter().zip(&stripe.exponents) {
        by_exponent[usize::from(*exponent)] = Some(block);
    }
    let [mut p, mut q] = [(); 2].map(|()| vec![0; JOURNALED_BYTES].into_boxed_slice());
    Parity::best().pq(&by_exponent, &mut p, &mut q);
    if stripe.q.is_some() { vec![p, q] } else { vec![p] }
}
