//! Checks content, block by block of 512 bytes.
//!
//! * While the array runs, a read returns exactly what was written last before the read was asked for: requests that
//!   overlap are carried out in the order in which they were asked.
//! * After a power cut a block is one of: the last version that a flush was answered for, or a version that was asked for
//!   since then. It is never a mix, and never anything older.
//! * Once such a block has been read while mirrors and parity agree again, it stays what it was.
//! * A discarded block is old or zeros until it is written again.
//!
//! What may be anything, as nobody promised it:
//!
//! * what was on the drives before the array was made (it has to stay what it was seen to be, once the first resync is
//!   over);
//! * blocks in the *write hole*: in the columns of a write that was under way when power was cut, on a member that was
//!   lost before parity agreed again, of an array without a partial parity log (the player says which);
//! * blocks that a silent fault bears on: those are [`super::Silent`]'s.
//!
//! Not checked: how content reads between the request and the answer of a write (the order decides that), and bytes of a
//! block that fail to read (that is for [`super::Answers`]).

use std::collections::BTreeSet;
use std::ops::Range;

use super::Failure;

/// What a drive writes whole or not at all.
pub(crate) const BLOCK_BYTES: usize = 512;

const CHECKER: &str = "content";

/// A write or discard, by the order in which they were asked for, from 1. Version 0 is zeros.
pub(crate) type Version = u32;

/// What a block may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum May {
    Anything,
    /// What it was seen to hold, by its digest.
    Digest(u64),
    Versions(Vec<Version>),
}

impl May {
    fn only(version: Version) -> Self {
        Self::Versions(vec![version])
    }

    fn or(self, version: Version) -> Self {
        match self {
            Self::Versions(mut versions) => {
                versions.push(version);
                Self::Versions(versions)
            }
            // A digest or a version: the choice is not worth a case of its own.
            Self::Anything | Self::Digest(_) => Self::Anything,
        }
    }

    fn is_settled(&self) -> bool {
        matches!(self, Self::Digest(_)) || matches!(self, Self::Versions(versions) if versions.len() == 1)
    }
}

/// What a request does to a block that it is not certain to do.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// What the block holds if it was done.
    becomes: Version,
    /// Whether it was done once it is answered: not if it failed, and a discard promises nothing.
    is_certain: bool,
    /// A flush covers it if it was answered when the flush was asked for.
    is_answered: bool,
}

#[derive(Clone, Debug)]
struct Block {
    /// What is durable.
    durable: May,
    /// Asked for since, in that order.
    later: Vec<Version>,
}

/// What a read may return, from when it was asked for.
#[derive(Debug)]
pub(crate) struct Seen {
    first: usize,
    may: Vec<May>,
}

/// What the user of an array may rely on.
#[derive(Debug)]
pub(crate) struct Promises {
    blocks: Vec<Block>,
    /// By version, less one.
    changes: Vec<Change>,
    /// Blocks with changes that no flush covers.
    unsettled: BTreeSet<usize>,
    /// Blocks that may be anything by the write hole, until they are written.
    excused: BTreeSet<usize>,
}

impl Promises {
    /// Blocks of zeros, or of anything.
    pub(crate) fn new(blocks: usize, are_zeros: bool) -> Self {
        let durable = if are_zeros { May::only(0) } else { May::Anything };
        let block = Block { durable, later: Vec::new() };
        Self {
            blocks: vec![block; blocks],
            changes: Vec::new(),
            unsettled: BTreeSet::new(),
            excused: BTreeSet::new(),
        }
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Something is asked for that changes blocks: its version.
    pub(crate) fn asked(&mut self, blocks: Range<usize>, is_discard: bool) -> Version {
        let version = self.changes.len() as Version + 1;
        let becomes = if is_discard { 0 } else { version };
        self.changes.push(Change { becomes, is_certain: !is_discard, is_answered: false });
        for number in blocks {
            self.blocks[number].later.push(version);
            self.unsettled.insert(number);
            if !is_discard {
                self.excused.remove(&number);
            }
        }
        version
    }

    pub(crate) fn answered(&mut self, version: Version, is_done: bool) {
        let change = &mut self.changes[version as usize - 1];
        change.is_answered = is_done;
        change.is_certain &= is_done;
    }

    /// What a flush that is asked for now will make durable.
    pub(crate) fn flush_asked(&self) -> Vec<Version> {
        let later = self.unsettled.iter().flat_map(|number| &self.blocks[*number].later);
        let mut covered: Vec<_> = later.copied().filter(|version| self.change(*version).is_answered).collect();
        covered.sort_unstable();
        covered.dedup();
        covered
    }

    pub(crate) fn flush_answered(&mut self, covered: &[Version]) {
        for number in self.unsettled.clone() {
            let later = &self.blocks[number].later;
            let Some(last) = later.iter().rposition(|version| covered.binary_search(version).is_ok()) else { continue };
            let durable = self.after(&self.blocks[number].durable, &later[..=last]);
            let block = &mut self.blocks[number];
            block.durable = durable;
            block.later.drain(..=last);
            if block.later.is_empty() {
                self.unsettled.remove(&number);
            }
        }
    }

    /// Power was cut: every change that no flush covers was done or not.
    pub(crate) fn power_cut(&mut self) {
        for number in std::mem::take(&mut self.unsettled) {
            let later = std::mem::take(&mut self.blocks[number].later);
            let durable = std::mem::replace(&mut self.blocks[number].durable, May::Anything);
            let or = |may: May, version: Version| may.or(self.change(version).becomes);
            self.blocks[number].durable = later.into_iter().fold(durable, or);
        }
    }

    /// Blocks whose content a power cut now would leave to chance.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = usize> + '_ {
        self.unsettled.iter().copied()
    }

    /// A block may be anything from now on, until it is written.
    pub(crate) fn excuse(&mut self, number: usize) {
        self.excused.insert(number);
        self.blocks[number].durable = May::Anything;
    }

    pub(crate) fn excused_count(&self) -> usize {
        self.excused.len()
    }

    /// What a read that is asked for now may return.
    pub(crate) fn read_asked(&self, blocks: Range<usize>) -> Seen {
        let may = |block: &Block| self.after(&block.durable, &block.later);
        Seen { first: blocks.start, may: self.blocks[blocks].iter().map(may).collect() }
    }

    /// Holds what a read returned against what it may return; `is_tainted` blocks are left to whoever knows of them. If
    /// mirrors and parity agree (`is_in_sync`), what was seen now is what will be seen later. Returns the blocks that
    /// were left out, and are not as they should be.
    pub(crate) fn check(
        &mut self,
        seen: &Seen,
        bytes: &[u8],
        is_in_sync: bool,
        is_tainted: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, Failure> {
        let mut wrong_and_tainted = Vec::new();
        for ((number, may), bytes) in (seen.first..).zip(&seen.may).zip(bytes.chunks(BLOCK_BYTES)) {
            if self.excused.contains(&number) {
                continue;
            }
            let held = held(number, bytes, may);
            match held {
                Some(_) if is_tainted(number) => {}
                Some(held) if is_in_sync && !may.is_settled() && self.blocks[number].later.is_empty() => {
                    self.blocks[number].durable = held;
                }
                Some(_) => {}
                None if is_tainted(number) => wrong_and_tainted.push(number),
                None => return Err(Failure::new(CHECKER, mismatch(number, bytes, may))),
            }
        }
        Ok(wrong_and_tainted)
    }

    fn change(&self, version: Version) -> Change {
        self.changes[version as usize - 1]
    }

    /// What a block that was `before` may hold after some changes.
    fn after(&self, before: &May, changes: &[Version]) -> May {
        // What came before the last certain change is over.
        let certain = changes.iter().rposition(|version| self.change(*version).is_certain);
        let (start, rest) = match certain {
            Some(place) => (May::only(self.change(changes[place]).becomes), &changes[place + 1..]),
            None => (before.clone(), changes),
        };
        rest.iter().fold(start, |may, version| may.or(self.change(*version).becomes))
    }
}

/// Which of what it may hold the block holds; none if it is something else.
fn held(number: usize, bytes: &[u8], may: &May) -> Option<May> {
    match may {
        May::Anything => Some(May::Digest(digest(bytes))),
        May::Digest(expected) => (digest(bytes) == *expected).then_some(May::Digest(*expected)),
        May::Versions(versions) => {
            let is = |version: &&Version| is_stamped(number, **version, bytes);
            versions.iter().find(is).map(|version| May::only(*version))
        }
    }
}

fn mismatch(number: usize, bytes: &[u8], may: &May) -> String {
    let word = u64::from_le_bytes(bytes[..8].try_into().expect("a block is longer"));
    let (block, version) = ((word >> 32) as usize, word as Version);
    let held = if bytes.iter().all(|byte| *byte == 0) {
        "zeros".to_owned()
    } else if is_stamped(block, version, bytes) && block == number {
        format!("version {version}")
    } else if is_stamped(block, version, bytes) {
        format!("version {version} of block {block}")
    } else {
        "no version of anything".to_owned()
    };
    match may {
        May::Versions(versions) => format!("block {number} holds {held}, and may hold versions {versions:?}"),
        _ => format!("block {number} holds {held}, and not what it was seen to hold"),
    }
}

/// Fills the blocks from `first` on with what a version of them looks like.
pub(crate) fn stamp(first: usize, version: Version, bytes: &mut [u8]) {
    for (number, block) in (first..).zip(bytes.chunks_mut(BLOCK_BYTES)) {
        for (word, place) in block.chunks_exact_mut(8).zip(0..) {
            word.copy_from_slice(&stamp_word(number, version, place).to_le_bytes());
        }
    }
}

/// The first word says what it is, the others depend on it.
fn stamp_word(number: usize, version: Version, place: u32) -> u64 {
    let name = (number as u64) << 32 | u64::from(version);
    match (version, place) {
        (0, _) => 0,
        (_, 0) => name,
        _ => name.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(place),
    }
}

fn is_stamped(number: usize, version: Version, bytes: &[u8]) -> bool {
    let mut words = bytes.chunks_exact(8).zip(0..);
    words.all(|(word, place)| word == stamp_word(number, version, place).to_le_bytes())
}

fn digest(bytes: &[u8]) -> u64 {
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("eight bytes"));
    bytes.chunks_exact(8).map(word).fold(0x51_7c_c1_b7_27_22_0a_95, |digest: u64, word| {
        (digest.rotate_left(5) ^ word).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: usize, version: Version) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_BYTES];
        stamp(number, version, &mut bytes);
        bytes
    }

    fn allows(promises: &mut Promises, number: usize, version: Version) -> bool {
        let seen = promises.read_asked(number..number + 1);
        promises.check(&seen, &block(number, version), false, |_| false).is_ok()
    }

    #[test]
    fn reads_return_what_was_asked_for_last() {
        let mut promises = Promises::new(4, true);
        assert!(allows(&mut promises, 1, 0) && !allows(&mut promises, 1, 1));
        let first = promises.asked(0..2, false);
        let seen = promises.read_asked(1..2);
        let second = promises.asked(1..2, false);
        assert!(promises.check(&seen, &block(1, first), true, |_| false).is_ok());
        assert!(promises.check(&seen, &block(1, second), true, |_| false).is_err());
        assert!(allows(&mut promises, 1, second) && !allows(&mut promises, 1, first));
        assert!(promises.check(&seen, &block(0, first), true, |_| false).is_err(), "a misplaced block passed");
    }

    #[test]
    fn a_power_cut_leaves_what_was_flushed_or_anything_asked_for_since() {
        let mut promises = Promises::new(1, true);
        let [old, kept, unflushed, unanswered] = [(); 4].map(|()| promises.asked(0..1, false));
        for version in [old, kept] {
            promises.answered(version, true);
        }
        let covered = promises.flush_asked();
        promises.answered(unflushed, true);
        promises.flush_answered(&covered);
        promises.power_cut();
        for (version, may) in [(0, false), (old, false), (kept, true), (unflushed, true), (unanswered, true)] {
            assert_eq!(allows(&mut promises, 0, version), may, "version {version}");
        }
        // What was seen once stays.
        let seen = promises.read_asked(0..1);
        assert!(promises.check(&seen, &block(0, unflushed), true, |_| false).is_ok());
        assert!(!allows(&mut promises, 0, kept) && allows(&mut promises, 0, unflushed));
    }

    #[test]
    fn discarded_and_failed_blocks_are_old_or_new() {
        let mut promises = Promises::new(2, true);
        let written = promises.asked(0..2, false);
        promises.answered(written, true);
        let discarded = promises.asked(0..1, true);
        promises.answered(discarded, true);
        let failed = promises.asked(1..2, false);
        promises.answered(failed, false);
        let covered = promises.flush_asked();
        promises.flush_answered(&covered);
        assert!(allows(&mut promises, 0, written) && allows(&mut promises, 0, 0));
        assert!(allows(&mut promises, 1, written) && allows(&mut promises, 1, failed) && !allows(&mut promises, 1, 0));
    }

    #[test]
    fn what_was_there_before_has_to_stay_once_it_was_seen() {
        let mut promises = Promises::new(1, false);
        assert!(allows(&mut promises, 0, 7) && allows(&mut promises, 0, 8));
        let seen = promises.read_asked(0..1);
        assert!(promises.check(&seen, &block(0, 9), true, |_| false).is_ok());
        assert!(allows(&mut promises, 0, 9) && !allows(&mut promises, 0, 8));
        promises.excuse(0);
        assert!(allows(&mut promises, 0, 8));
    }

    #[test]
    fn tainted_blocks_are_told_apart() {
        let mut promises = Promises::new(2, true);
        let seen = promises.read_asked(0..2);
        let mut bytes = block(0, 5);
        bytes.extend(block(1, 0));
        assert_eq!(promises.check(&seen, &bytes, false, |number| number == 0), Ok(vec![0]));
        assert!(promises.check(&seen, &bytes, false, |number| number == 1).is_err());
    }
}
