//! The slots that a record run writes to, and whether it may.

use shoal_array::{Health, Instant, MemberState, Role};

use super::super::Node;
use super::super::node::{Duty, JournalLog};
use super::run::Run;

impl Node {
    /// Whether a run may begin: nobody else writes notes, no member is still behind from the time
    /// before, and none may follow one that was lost. Once the array has failed there is nothing to
    /// be written down.
    pub(super) fn may_record(&self, now: Instant) -> bool {
        let waits = self.recorder.losses.may_go_on(now) && self.array.health() != Health::Failed;
        !self.is_writing_bitmap() && self.behind.is_empty() && !waits
    }

    /// The members among these slots.
    pub(super) fn members_in(&self, slots: &[usize]) -> Vec<(usize, Role)> {
        let member = |&slot: &usize| match self.slots[slot].duty {
            Duty::Member(role) => Some((slot, role)),
            Duty::Replacement(_) | Duty::Returning(_) | Duty::Spare | Duty::Journal(_) | Duty::Out => None,
        };
        slots.iter().filter_map(member).collect()
    }

    /// The slots that a run writes to, but for those that are unfit; and the members among them.
    pub(super) fn slots_to_record(&self, unfit: &[usize]) -> (Vec<usize>, Vec<(usize, Role)>) {
        let mut slots = self.slots_in_use();
        slots.retain(|slot| !unfit.contains(slot));
        let members = self.members_in(&slots);
        (slots, members)
    }

    /// Those of them that get their superblocks before the others.
    pub(super) fn first_among(&self, slots: &[usize]) -> Vec<usize> {
        let goes_first = |slot: &usize| self.recorder.unsure.contains(slot) || self.stands_in(*slot);
        slots.iter().copied().filter(goes_first).collect()
    }

    /// Whether what a run is about to say was true when it began, and is not any more.
    pub(super) fn is_run_outdated(&self) -> bool {
        let is_lost =
            |(slot, role): &(usize, Role)| self.slots[*slot].duty != Duty::Member(*role) || !self.stays(*slot);
        let is_outdated =
            |run: &Run| !run.failed.is_empty() || !run.refused.is_empty() || run.members.iter().any(is_lost);
        self.recorder.run.as_ref().is_some_and(is_outdated)
    }

    /// Whether a slot that should have failed has not: it is the last that has some data.
    pub(super) fn stays(&self, slot: usize) -> bool {
        match self.slots[slot].duty {
            Duty::Member(role) => self.array.member_states()[role.index()] != MemberState::Missing,
            Duty::Journal(JournalLog::Unreplayed) => true,
            Duty::Replacement(_) | Duty::Returning(_) | Duty::Spare | Duty::Journal(JournalLog::Empty) | Duty::Out => {
                false
            }
        }
    }
}
