//! Members that are lost one after the other, and are to be counted on when they are back together.
//!
//! Drives that lose their hub do not vanish in one instant: the kernel takes them out one by one,
//! each in some tens of milliseconds. Were it written on the last ones at once that the first has
//! failed, the first would be kept out when all are back; and with parity and no log the array
//! could not even be started, as it was written to meanwhile. So a [record run](super::record) that
//! would be the first to say that a member has failed begins only when [`LOSS_PATIENCE`] has passed
//! since the last loss. Meanwhile nobody is told that a write is done which a member missed; reads
//! go on. If the others follow, the array has failed, and nothing is written at all.

use std::time::Duration;

use shoal_array::{Array, Instant, MemberState, Role};

/// How long after a loss others are waited for.
const LOSS_PATIENCE: Duration = Duration::from_millis(500);

/// Losses that no superblock tells of yet.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The members that are missing by the superblocks.
    told: Vec<Role>,
    /// The losses that are waited for, or have been.
    count: usize,
    /// When the last one has been followed for long enough.
    due: Option<Instant>,
}

impl Losses {
    /// Of an array as it was put together: of members that were missing then nobody is waited for.
    pub(super) fn of_assembled(array: &Array) -> Self {
        Self { told: missing(array).collect(), ..Self::default() }
    }

    /// Superblocks are written that tell of all members which are missing now.
    pub(super) fn tell(&mut self, array: &Array) {
        (self.told, self.count) = (missing(array).collect(), 0);
    }

    /// A run begins that has waited for long enough. If it fails, the next one does not wait for
    /// the same.
    pub(super) fn waited(&mut self) {
        self.due = None;
    }

    /// Waits for others if there are more by now.
    pub(super) fn count(&mut self, now: Instant, array: &Array) {
        let count = self.untold(array);
        if self.count < count {
            self.due = Some(now.after_ns(u64::try_from(LOSS_PATIENCE.as_nanos()).unwrap_or(u64::MAX)));
        }
        self.count = count;
    }

    /// How many there are, whether or not their slots are known to be out.
    pub(super) fn untold(&self, array: &Array) -> usize {
        missing(array).filter(|role| !self.told.contains(role)).count()
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

fn missing(array: &Array) -> impl Iterator<Item = Role> {
    let states = (0..).map(Role).zip(array.member_states());
    states.filter(|(_, state)| **state == MemberState::Missing).map(|(role, _)| role)
}
