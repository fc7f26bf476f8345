//! Checks content, block by block of 512 bytes.
//!
//! * While the array runs, a read returns what was written last: the version that was answered
//!   before the read was asked for and is not superseded, or one that was under way at the same
//!   time. A version supersedes those that had been answered before it was asked for. Requests that
//!   are under way together may be carried out in any order; but it is one order, so what was read
//!   once all are answered stays.
//! * After a power cut a block is one of: the last version that a flush was answered for, or a
//!   version that was asked for since then. It is never a mix, and never anything older.
//! * Once such a block has been read while mirrors and parity agree again, it stays what it was.
//! * A flush that fails is told so. A later one that succeeds makes durable what the first was to
//!   cover, unless a member is renewed as a whole meanwhile; none does where nobody could be told
//!   (the array was being closed), or drives lost power.
//! * A discarded block is old or zeros until it is written again.
//!
//! What may be anything, as nobody promised it:
//!
//! * what was on the drives before the array was made (it has to stay what it was seen to be, once
//!   the first resync is over);
//! * blocks in the *write hole*: in the columns of a write that was under way when power was cut,
//!   on a member that was lost before parity agreed again, of an array without a partial parity log
//!   (the player says which);
//! * blocks that a silent fault bears on: those are [`super::Silent`]'s.
//!
//! Not checked: blocks of a read that failed (whether it may is for [`super::Answers`]).

mod held;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Failure;
use super::blocks::{Block, Blocks, May};

/// What a drive writes whole or not at all.
pub(crate) const BLOCK_BYTES: usize = 512;

const CHECKER: &str = "content";

/// A write or discard, by the order in which they were asked for, from 1. Version 0 is zeros.
pub(crate) type Version = u32;

/// A write or discard.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// What the block holds if it was done.
    becomes: Version,
    /// Whether it was done once it is answered: not if it failed, and a discard promises nothing.
    is_certain: bool,
    /// The last version that had been asked for when this one was answered.
    answered_at: Option<Version>,
    hold: Hold,
}

/// Which flushes can make a change durable. Until one does it can be read, and a power cut may lose
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    /// Any.
    Firm,
    /// Those that wait for all that is to be renewed: a flush that was to cover it has failed.
    Refused,
    /// None.
    GivenUp,
}

/// What version 0 is.
const ZEROS: Change = Change { becomes: 0, is_certain: true, answered_at: Some(0), hold: Hold::Firm };

/// What a read may return, from when it was asked for.
#[derive(Debug)]
pub(crate) struct Seen {
    first: usize,
    may: Vec<May>,
    /// The last version that had been asked for.
    asked_at: Version,
    /// Mirrors and parity agreed then.
    is_in_sync: bool,
}

/// What the user of an array may rely on.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    blocks: Blocks,
    /// By version.
    changes: Vec<Change>,
    /// Blocks with changes that no flush covers.
    unsettled: BTreeSet<usize>,
    /// Blocks that anything was ever asked to change in.
    touched: BTreeSet<usize>,
    /// Blocks that may be anything by the write hole, until they are written.
    excused: BTreeSet<usize>,
    /// Blocks that were excused until these were asked for: whoever asked to read before them may
    /// still see anything.
    rewritten: BTreeMap<usize, Version>,
    /// Drives have lost their power with what was answered and not flushed, and no flush has said
    /// so.
    is_owed: bool,
}

impl Promises {
    /// Blocks of zeros, or of anything.
    pub(crate) fn new(blocks: usize, are_zeros: bool) -> Self {
        Self {
            blocks: Blocks::new(blocks, are_zeros),
            changes: vec![ZEROS],
            unsettled: BTreeSet::new(),
            touched: BTreeSet::new(),
            excused: BTreeSet::new(),
            rewritten: BTreeMap::new(),
            is_owed: false,
        }
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.count()
    }

    /// The content is larger: by zeros, or by anything.
    pub(crate) fn extend(&mut self, blocks: usize, by_zeros: bool) {
        self.blocks.extend(blocks, by_zeros);
    }

    /// The version of what is asked for next.
    pub(crate) fn next_version(&self) -> Version {
        self.newest() + 1
    }

    /// Something is asked for that changes blocks: its version.
    pub(crate) fn asked(&mut self, blocks: Range<usize>, is_discard: bool) -> Version {
        let version = self.next_version();
        let becomes = if is_discard { 0 } else { version };
        self.changes.push(Change { becomes, is_certain: !is_discard, answered_at: None, hold: Hold::Firm });
        for number in blocks {
            self.blocks.at_mut(number).later.push(version);
            self.unsettled.insert(number);
            self.touched.insert(number);
            if !is_discard && self.excused.remove(&number) {
                self.rewritten.insert(number, version);
            }
        }
        version
    }

    pub(crate) fn answered(&mut self, version: Version, is_done: bool) {
        let newest = self.newest();
        let change = &mut self.changes[version as usize];
        change.answered_at = Some(newest);
        change.is_certain &= is_done;
    }

    /// What a flush that begins at this moment will make durable.
    pub(crate) fn flush_asked(&self) -> Vec<Version> {
        let later = self.unsettled.iter().flat_map(|number| &self.blocks.at(*number).later);
        let mut covered: Vec<_> =
            later.copied().filter(|version| self.change(*version).answered_at.is_some()).collect();
        covered.sort_unstable();
        covered.dedup();
        covered
    }

    /// A flush succeeded, that covers these. `is_renewed` says whether it has waited for all that
    /// was to be renewed.
    pub(crate) fn flush_answered(&mut self, covered: &[Version], is_renewed: bool) -> Result<(), Failure> {
        if self.is_owed {
            let what = "a flush succeeds though drives have lost their power with what was answered before it";
            return Err(Failure::new(CHECKER, what));
        }
        let most = if is_renewed { Hold::Refused } else { Hold::Firm };
        for number in self.unsettled.clone() {
            let Block { durable, later, lost_before } = self.blocks.at(number);
            let is_covered =
                |version: &&Version| covered.binary_search(version).is_ok() && self.change(**version).hold <= most;
            let now_durable: Vec<_> = later.iter().filter(is_covered).copied().collect();
            let durable = self.merged(durable, &now_durable, *lost_before);
            let block = self.blocks.at_mut(number);
            block.durable = durable;
            block.later.retain(|version| !now_durable.contains(version));
            if block.later.is_empty() {
                self.unsettled.remove(&number);
            }
        }
        Ok(())
    }

    /// A flush failed: nobody may rely on what was answered before, until a later one succeeds.
    pub(crate) fn flush_failed(&mut self) {
        self.hold_answered(Hold::Refused);
        self.is_owed = false;
    }

    /// The array was closed over members that may refuse a flush: nobody may rely on what no flush
    /// covers.
    pub(crate) fn not_told(&mut self) {
        self.hold_answered(Hold::GivenUp);
        self.is_owed = false;
    }

    /// Loosens the hold of all that is answered and not durable.
    fn hold_answered(&mut self, hold: Hold) {
        for version in self.flush_asked() {
            let change = &mut self.changes[version as usize];
            change.hold = change.hold.max(hold);
        }
    }

    /// The array was closed, and has told that its members did not take what it had answered from
    /// memory: nobody may rely on what no flush covers, and it need not be there any more.
    pub(crate) fn not_written(&mut self) {
        self.not_told();
        for version in self.flush_asked() {
            self.changes[version as usize].is_certain = false;
        }
    }

    /// Drives lost their power, and whoever was answered did not: what no flush covers is there or
    /// not, and the next flush has to fail if there is any such thing. What a drive that kept its
    /// power has given up it may lose later: all of it, if one refused a flush meanwhile.
    pub(crate) fn drives_lost_power(&mut self, is_flush_refused: bool) {
        let is_promised = |change: Change| change.is_certain && change.hold == Hold::Firm;
        let unflushed = self.flush_asked();
        self.is_owed |= unflushed.iter().any(|version| is_promised(self.change(*version)));
        for version in unflushed {
            let change = &mut self.changes[version as usize];
            if is_flush_refused || change.hold == Hold::Refused {
                change.hold = Hold::GivenUp;
            }
        }
        self.leave_to_chance(|change| change.hold == Hold::GivenUp);
    }

    /// Power was cut: every change that no flush covers was done or not.
    pub(crate) fn power_cut(&mut self) {
        self.is_owed = false;
        self.leave_to_chance(|_| false);
    }

    fn leave_to_chance(&mut self, again_later: impl Fn(Change) -> bool) {
        let newest = self.newest();
        for number in std::mem::take(&mut self.unsettled) {
            for version in std::mem::take(&mut self.blocks.at_mut(number).later) {
                let change = &mut self.changes[version as usize];
                change.answered_at.get_or_insert(newest);
                if again_later(*change) {
                    change.is_certain = false;
                    self.blocks.at_mut(number).later.push(version);
                    self.unsettled.insert(number);
                } else {
                    self.blocks.at_mut(number).durable.versions.push(version);
                }
            }
        }
    }

    /// Another user knows of no answers but the flushed ones.
    pub(crate) fn owe_nothing(&mut self) {
        self.is_owed = false;
    }

    /// Runs, of so many blocks at most, of all that was ever asked to change.
    pub(crate) fn touched(&self, blocks_max: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for &number in &self.touched {
            match runs.last_mut() {
                Some(run) if run.end == number && run.len() < blocks_max => run.end += 1,
                _ => runs.push(number..number + 1),
            }
        }
        runs
    }

    /// Blocks whose content a power cut now would leave to chance.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = usize> + '_ {
        self.unsettled.iter().copied()
    }

    /// Allows a block to be anything until it is written; what was answered by now does not count
    /// as that. What is under way does, and may be carried out before or after what is asked for
    /// next.
    pub(crate) fn excuse(&mut self, number: usize) {
        self.excused.insert(number);
        let lost_before = self.next_version();
        let block = self.blocks.at_mut(number);
        (block.durable, block.lost_before) = (May::ANYTHING, lost_before);
    }

    pub(crate) fn excused_count(&self) -> usize {
        self.excused.len()
    }

    /// What a read that begins at this moment may return; `is_in_sync` says whether mirrors and
    /// parity agree.
    pub(crate) fn read_asked(&self, blocks: Range<usize>, is_in_sync: bool) -> Seen {
        let may = |block: &Block| self.merged(&block.durable, &block.later, block.lost_before);
        let first = blocks.start;
        Seen {
            first,
            may: blocks.map(|number| may(self.blocks.at(number))).collect(),
            asked_at: self.newest(),
            is_in_sync,
        }
    }

    /// Holds what a read returned against what it may return; `is_tainted` blocks are left to
    /// whoever knows of them. If mirrors and parity agree (`is_in_sync`), what was seen now is what
    /// will be seen later. Returns the blocks that were left out, and are not as they should be.
    pub(crate) fn check(
        &mut self,
        seen: &Seen,
        bytes: &[u8],
        is_in_sync: bool,
        is_tainted: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, Failure> {
        // A copy that was read before the others were made to agree may be gone by now.
        let is_settled = is_in_sync && seen.is_in_sync;
        let mut wrong_and_tainted = Vec::new();
        for ((number, may), bytes) in (seen.first..).zip(&seen.may).zip(bytes.chunks(BLOCK_BYTES)) {
            let was_excused = self.rewritten.get(&number).is_some_and(|version| seen.asked_at < *version);
            if was_excused || self.excused.contains(&number) {
                continue;
            }
            match self.may_hold(number, bytes, may) {
                true if !is_settled || may.is_settled() || is_tainted(number) => {}
                true => {
                    let block = self.blocks.at(number);
                    if block.later.is_empty() && block.durable == *may {
                        let held = self.held(number, bytes, may);
                        self.blocks.at_mut(number).durable = held;
                    }
                }
                false if self.was_asked_since(seen.asked_at, number, bytes) => {}
                false if is_tainted(number) => wrong_and_tainted.push(number),
                false => return Err(Failure::new(CHECKER, self.mismatch(number, bytes, may))),
            }
        }
        Ok(wrong_and_tainted)
    }

    fn newest(&self) -> Version {
        self.changes.len() as Version - 1
    }

    fn change(&self, version: Version) -> Change {
        self.changes[version as usize]
    }
}

#[cfg(test)]
mod tests;
