//! Members that are lost one after the other, and are to be counted on when they are back together.
//!
//! Drives that lose their hub do not vanish in one instant: the kernel takes them out one by one, each in some tens of
//! milliseconds. Were it written on the last ones at once that the first has failed, the first would be kept out when all
//! are back; and with parity and no log the array could not even be started, as it was written to meanwhile. So a [record
//! run](super::record) that would be the first to say that a member has failed begins only when [`LOSS_PATIENCE`] has
//! passed since the last loss. Meanwhile nobody is told that a write is done which a member missed; reads go on. If the
//! others follow, the array has failed, and nothing is written at all.

use std::time::Duration;

use shoal_array::{Instant, MemberState};

use super::Node;
use super::node::Duty;

/// How long after a loss others are waited for.
const LOSS_PATIENCE: Duration = Duration::from_millis(500);

/// Losses that no superblock tells of yet.
#[derive(Debug, Default)]
pub(super) struct Losses {
    count: usize,
    /// When the last one has been followed for long enough.
    due: Option<Instant>,
}

impl Losses {
    /// There are so many by now.
    pub(super) fn count(&mut self, now: Instant, count: usize) {
        if self.count < count {
            self.due = Some(now.after_ns(u64::try_from(LOSS_PATIENCE.as_nanos()).unwrap_or(u64::MAX)));
        }
        self.count = count;
    }

    /// Whether others may follow.
    pub(super) fn may_go_on(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now < due)
    }

    /// Until when.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What is over is no reason to look again.
    pub(super) fn look(&mut self, now: Instant) {
        self.due = self.due.filter(|due| now < *due);
    }
}

impl Node {
    /// Members that were lost, and whose superblocks do not say so yet.
    pub(super) fn lost(&self) -> usize {
        let states = self.array.member_states();
        let is_lost = |duty: Duty| matches!(duty, Duty::Member(role) if states[role.index()] == MemberState::Missing);
        self.slots.iter().filter(|slot| is_lost(slot.duty)).count()
    }
}
