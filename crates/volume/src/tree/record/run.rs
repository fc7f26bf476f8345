//! A run under way: its stages, and what each does on its slots.

use shoal_array::{MemberIo, Role};
use shoal_md::Timestamp;

use super::super::notes::NoteWrite;
use super::Waiter;

/// The stages of a record run, in their order. What each does, and why, says the [module
/// above](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Settling,
    Logging,
    Securing,
    WritingFirst,
    FlushingFirst,
    Writing,
    Flushing,
}

impl Stage {
    /// The update may still be given up: no superblock of it is on any drive, but for those that go
    /// first.
    pub(super) fn is_revocable(self) -> bool {
        !matches!(self, Self::Writing | Self::Flushing)
    }

    /// Superblocks are being written to those that go first.
    pub(super) fn is_of_first(self) -> bool {
        matches!(self, Self::WritingFirst | Self::FlushingFirst)
    }

    fn writes_superblocks(self) -> bool {
        matches!(self, Self::WritingFirst | Self::Writing)
    }

    pub(super) fn is_flush(self) -> bool {
        matches!(self, Self::Settling | Self::Securing | Self::FlushingFirst | Self::Flushing)
    }
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) stage: Stage,
    pub(super) outstanding: usize,
    /// The slots that have done everything so far.
    pub(super) slots: Vec<usize>,
    /// Those that have failed at something.
    pub(super) failed: Vec<usize>,
    /// Those that have refused a flush of somebody else, and with it may have lost what the run has
    /// done there.
    pub(super) refused: Vec<usize>,
    /// Those whose superblocks are written, or are being written, and not flushed yet.
    pub(super) unflushed: Vec<usize>,
    /// The members that it began with, by slot.
    pub(super) members: Vec<(usize, Role)>,
    /// Those that had failed when it was begun anew, and are no members yet, or not any more: they
    /// are left out.
    pub(super) unfit: Vec<usize>,
    /// Those that lack the last update, as far as is known: they get this one before the others do.
    pub(super) first: Vec<usize>,
    /// The time that the superblocks say.
    pub(super) time: Timestamp,
    pub(super) logs: Vec<NoteWrite>,
    pub(super) superblocks: Vec<NoteWrite>,
    pub(super) waiters: Vec<Waiter>,
}

impl Run {
    /// The slots begin their parts of the stage. A superblock that is on its way may be in the
    /// drive's cache already, and go with a flush that is refused before its write is answered.
    pub(super) fn stage_begins(&mut self, slots: impl Iterator<Item = usize>) {
        if self.stage.writes_superblocks() {
            self.unflushed.extend(slots);
        }
    }

    /// A slot has done its part of the stage.
    pub(super) fn step_done(&mut self, slot: usize, good: bool) {
        if good == self.stage.is_flush() {
            // It is durable; or it was not written.
            self.unflushed.retain(|&other| other != slot);
        }
        if !good {
            self.slots.retain(|&other| other != slot);
            self.failed.push(slot);
        }
    }

    /// A slot has refused a flush, this run's or another one.
    pub(super) fn note_refusal(&mut self, slot: usize) {
        if self.stage.is_revocable() || self.unflushed.contains(&slot) {
            self.refused.push(slot);
        }
    }

    /// The stage after this one; none after the last.
    pub(super) fn next_stage(&self) -> Option<Stage> {
        Some(match self.stage {
            Stage::Settling if !self.logs.is_empty() => Stage::Logging,
            Stage::Logging => Stage::Securing,
            Stage::Settling | Stage::Securing if !self.first.is_empty() => Stage::WritingFirst,
            Stage::WritingFirst => Stage::FlushingFirst,
            Stage::Settling | Stage::Securing | Stage::FlushingFirst => Stage::Writing,
            Stage::Writing => Stage::Flushing,
            Stage::Flushing => return None,
        })
    }

    /// What the stage does, by slot, on those that are left.
    pub(super) fn stage_io(&self) -> Vec<(usize, MemberIo)> {
        let is_in = |slot: &usize| match self.stage {
            Stage::Settling | Stage::Logging | Stage::Securing => true,
            Stage::WritingFirst | Stage::FlushingFirst => self.first.contains(slot),
            Stage::Writing | Stage::Flushing => !self.first.contains(slot),
        };
        let slots: Vec<_> = self.slots.iter().copied().filter(is_in).collect();
        let writes = |notes: &[NoteWrite]| {
            let left = notes.iter().filter(|note| slots.contains(&note.slot));
            left.map(|note| (note.slot, MemberIo::Write { offset: note.offset, span: note.span })).collect()
        };
        match self.stage {
            Stage::Logging => writes(&self.logs),
            Stage::WritingFirst | Stage::Writing => writes(&self.superblocks),
            _ => slots.iter().map(|&slot| (slot, MemberIo::Flush)).collect(),
        }
    }
}
