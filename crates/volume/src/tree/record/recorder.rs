//! A node's record runs: the one under way, and what the next one has to know.

use shoal_array::{Array, EffectId, Instant, Role};

use super::super::EngineId;
use super::super::losses::Losses;
use super::run::{Run, Stage};

/// How long after a run that failed a mirror, a filled or a returning member has another one. A
/// drive has refused a flush, or has lost too much with others.
const RETRY_NS: u64 = 1_000_000_000;

/// Who is told when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// An engine's `Record` effect.
    Engine(EngineId, EffectId),
    /// The requests that wait for the array to be marked active.
    Marking,
    /// The replacement of the member with this role.
    Mirror(Role),
    /// The member with this role, which has been filled.
    Filled(Role),
    /// The former member that takes this role again.
    Returning(Role),
    /// The unit of the partial parity log that these notes belong to.
    Log(u32),
    /// A blocking call, which finds the result in `Tree::awaited`.
    Caller,
    /// Nobody.
    Nobody,
}

/// A node's record runs: the one under way, and who waits for the next.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(super) run: Option<Run>,
    pub(super) next: Vec<Waiter>,
    /// Slots that the next run leaves out: they failed at one that was to be begun anew.
    pub(super) unfit: Vec<usize>,
    /// Slots that may lack the last update, and stay.
    pub(super) unsure: Vec<usize>,
    /// An update was given up that went to some first: the next one has the same count.
    pub(super) repeats: bool,
    /// Mirrors, filled and returning members whose run failed. The next one is theirs, too; if
    /// nobody asks for one, there is one at the time given.
    pub(super) again: Vec<Waiter>,
    again_at: Option<Instant>,
    pub(super) losses: Losses,
}

impl Recorder {
    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && self.next.is_empty()
    }

    /// When the next run may begin, if that is a matter of time.
    pub(in super::super) fn due(&self) -> Option<Instant> {
        let waits = self.losses.due().filter(|_| !self.next.is_empty());
        waits.into_iter().chain(self.again_at).min().filter(|_| self.run.is_none())
    }

    /// Looks whether others have been waited for long enough, and whether it is time for another
    /// try.
    pub(in super::super) fn look(&mut self, now: Instant) {
        self.losses.look(now);
        if self.run.is_none() && self.again_at.is_some_and(|at| at <= now) {
            self.again_at = None;
            self.next.append(&mut self.again);
        }
    }

    /// A run has failed that a mirror, a filled or a returning member waited for.
    pub(super) fn try_again(&mut self, now: Instant, waiter: Waiter) {
        self.again.push(waiter);
        self.again_at = Some(now.after_ns(RETRY_NS));
    }

    /// A member that has been filled has failed, and waits for nothing any more: whoever is filled
    /// in its place waits for a run of its own.
    pub(in super::super) fn forget_filled(&mut self, role: Role) {
        let under_way = self.run.iter_mut().map(|run| &mut run.waiters);
        for waiters in under_way.chain([&mut self.next, &mut self.again]) {
            waiters.retain(|waiter| *waiter != Waiter::Filled(role));
        }
    }

    /// That of an array as it was put together, with slots that may lack the last update.
    pub(crate) fn of_assembled(array: &Array, unsure: Vec<usize>) -> Self {
        Self { unsure, losses: Losses::of_assembled(array), ..Self::default() }
    }

    /// Whether a slot may lack the last update.
    pub(in super::super) fn is_unsure(&self, slot: usize) -> bool {
        self.unsure.contains(&slot)
    }

    /// A slot has refused a flush.
    pub(in super::super) fn note_refusal(&mut self, slot: usize) {
        self.run.iter_mut().for_each(|run| run.note_refusal(slot));
    }

    /// A slot is taken away.
    pub(in super::super) fn slot_removed(&mut self, slot: usize) {
        debug_assert!(self.run.is_none(), "a run knows its slots by their places");
        for known in [&mut self.unfit, &mut self.unsure] {
            known.retain(|other| *other != slot);
            known.iter_mut().filter(|other| **other > slot).for_each(|other| *other -= 1);
        }
    }

    fn is_settling(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.stage == Stage::Settling)
    }

    /// The slots that a run is about to write superblocks to.
    pub(crate) fn announced_slots(&self) -> Option<&[usize]> {
        self.run.as_ref().filter(|run| run.stage.is_revocable()).map(|run| run.slots.as_slice())
    }

    /// A run has settled, and what this host remembers has not been told yet.
    pub(crate) fn waits_for_memory(&self) -> bool {
        self.is_settling() && self.run.as_ref().is_some_and(|run| run.outstanding == 0)
    }
}
