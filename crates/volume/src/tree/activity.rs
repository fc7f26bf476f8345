//! Whether an array's superblocks say that writes may be under way.
//!
//! The first write to a clean array waits for a [record](super::record) run that marks it active.

use shoal_array::{Command, Instant, Request};

use crate::world::World;

use super::record::Waiter;
use super::{NodeId, Tree};

/// What the superblocks say.
#[derive(Debug)]
pub(crate) enum Activity {
    /// Clean; the first write has to wait until the superblocks say otherwise.
    Clean,
    /// The superblocks are being marked; these requests wait for it.
    Marking { held: Vec<Request> },
    /// Marked: a crash now means a resync.
    Active,
}

impl<W: World> Tree<W> {
    /// Hands a request to a node's engine, after the array has been marked active if it changes content.
    pub(super) fn submit_to(&mut self, now: Instant, node: NodeId, request: Request) {
        let it = &mut self.nodes[node.0];
        let changes = matches!(request.command, Command::Write { .. } | Command::Discard { .. });
        if let Activity::Marking { held } = &mut it.activity {
            return held.push(request);
        }
        if changes && matches!(it.activity, Activity::Clean) && it.keeps_records() {
            it.activity = Activity::Marking { held: vec![request] };
            return self.record(now, node, Waiter::Marking);
        }
        it.array.submit(now, request);
    }

    /// The array is marked active: the requests that waited go on.
    pub(super) fn release(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        if let Activity::Marking { held } = std::mem::replace(&mut it.activity, Activity::Active) {
            for request in held {
                it.array.submit(now, request);
            }
        }
    }
}
