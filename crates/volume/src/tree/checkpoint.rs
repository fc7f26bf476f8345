//! How far a resync or rebuild has come is written down now and then, so that it goes on from there
//! after a crash.
//!
//! A checkpoint is a [record](super::record) run like any other: it costs two flushes of every
//! member. One is due when a sixteenth of the work has been done since the last, as in md, or half
//! a minute is over. While writes are under way the superblocks say that anything may be out of
//! sync, whatever a resync has done, and its position counts for nothing; unless the array has
//! [partial parity logs](crate::ppl).

use shoal_array::{Instant, MemberState, Role};

use crate::world::World;

use super::record::Waiter;
use super::{Node, NodeId, Tree};

const PARTS: u64 = 16;
const INTERVAL_NS: u64 = 30_000_000_000;

/// How far background work had come, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    at: Instant,
    /// Positions that the superblocks record, added up.
    done_bytes: u64,
    /// The longest way that one of them has to go.
    total_bytes: u64,
}

impl Checkpoint {
    /// Whether so much has been done since `last` that it should be written down.
    fn is_worth_writing(&self, last: &Self) -> bool {
        let done = self.done_bytes.abs_diff(last.done_bytes);
        let part = (self.total_bytes / PARTS).max(1);
        done >= part || done > 0 && self.at.since_ns(last.at) >= INTERVAL_NS
    }
}

impl Node {
    /// What a record run now would say.
    pub(super) fn progress_to_record(&self, at: Instant) -> Checkpoint {
        let geometry = self.array.geometry();
        let resync = self.resync_position_to_record().map(|position| (position, geometry.sync_bytes()));
        let rebuilds = (0..).map(Role).zip(self.array.member_states()).filter_map(|(role, state)| match state {
            MemberState::Rebuilding { position } => Some((*position, geometry.used_bytes(role))),
            MemberState::InSync | MemberState::Missing => None,
        });
        let (mut done_bytes, mut total_bytes) = (0_u64, 0);
        for (done, total) in rebuilds.chain(resync) {
            done_bytes = done_bytes.saturating_add(done);
            total_bytes = total_bytes.max(total);
        }
        Checkpoint { at, done_bytes, total_bytes }
    }
}

impl<W: World> Tree<W> {
    /// Writes a checkpoint if one is due.
    pub(super) fn look_for_checkpoint(&mut self, now: Instant, node: NodeId) {
        let it = &self.nodes[node.0];
        if it.keeps_records() && it.recorder.is_idle() && it.progress_to_record(now).is_worth_writing(&it.checkpoint) {
            self.record(now, node, Waiter::Nobody);
        }
    }
}
