//! An array comes to rest, and what is left of drives that do not.

use std::time::Duration;

use shoal_array::{MemberIo, MemberState};

use crate::VolumeError;
use crate::array_volume::ArrayVolume;
use crate::limits::RENEWALS_MAX;
use crate::tree::{Activity, Node, NodeId, Target, Tree, Waiter};
use crate::world::World;

impl<W: World> ArrayVolume<W> {
    /// Members that were taken out because they did not answer, by name, with how long they had
    /// been silent: those since the last call.
    pub fn take_silences(&mut self) -> Vec<(String, Duration)> {
        std::mem::take(&mut self.tree.patience.given_up)
    }

    /// I/Os of drives that were taken out, which nobody waits for and which have not ended.
    pub fn left_behind(&self) -> usize {
        self.tree.flights.left_behind()
    }

    /// Ends everything in order and gives the world back.
    pub fn close(mut self) -> Result<W, VolumeError> {
        self.rest()?;
        Ok(self.tree.world)
    }

    /// Brings the array to rest, as before it is closed: what was written is durable, the
    /// superblocks say clean (if the array is) and how far rebuilds have come.
    pub fn rest(&mut self) -> Result<(), VolumeError> {
        self.stop_scrub();
        // Whoever brings it to rest waits for nothing else.
        self.tree.patience.has_clients = false;
        self.tree.wait_for(|tree| tree.in_flight == 0)?;
        let lost_bytes = self.tree.empty_write_back()?;
        // From the outermost array inward: marking one clean writes to those it lies on.
        for index in (0..self.tree.nodes.len()).rev() {
            if !self.tree.nodes[index].writable {
                continue;
            }
            self.bring_to_rest(NodeId(index))?;
            for _ in 0..RENEWALS_MAX {
                if !self.tree.nodes[index].is_being_renewed() {
                    break;
                }
                self.tree.await_renewal(NodeId(index))?;
                self.bring_to_rest(NodeId(index))?;
            }
        }
        self.tree.tell_all_flushed();
        match lost_bytes {
            0 => Ok(()),
            bytes => Err(VolumeError::NotWritten { bytes }),
        }
    }

    /// The same of one array. It is not at rest if its last copy refuses the flush.
    fn bring_to_rest(&mut self, node: NodeId) -> Result<(), VolumeError> {
        // Members that do not take the flush fail, and the record run says so. If it fails as a
        // whole, what was written is not known to be there.
        let is_flushed = self.tree.call(Target::Node(node), MemberIo::Flush)?.is_ok();
        self.tree.clear_idle_bits(node);
        self.settle()?;
        let it = &mut self.tree.nodes[node.0];
        let rebuilding = |state: &MemberState| matches!(state, MemberState::Rebuilding { .. });
        let has_come_further = it.array.resync_position().is_some()
            || !it.mirrors.is_empty()
            || it.array.member_states().iter().any(rebuilding);
        let ends = is_flushed && matches!(it.activity, Activity::Active { .. }) && it.is_at_rest();
        if ends {
            it.activity = Activity::Clean;
        }
        if ends || has_come_further {
            let now = self.tree.world.now();
            self.tree.record(now, node, Waiter::Nobody);
        }
        self.settle()
    }

    /// Waits until no superblock and no bitmap is being written; fails if drives keep it waiting.
    pub(crate) fn settle(&mut self) -> Result<(), VolumeError> {
        self.tree.settle()
    }

    /// [`Self::settle`], for what is done even if drives do not answer: it is recorded as soon as
    /// they do, and until then the engine answers no write that relies on it.
    pub(crate) fn settle_if_they_answer(&mut self) -> Result<(), VolumeError> {
        match self.settle() {
            Err(VolumeError::Silent { .. }) => Ok(()),
            settled => settled,
        }
    }
}

/// How long that one may take to be given again what it may have lost.
const RENEWAL_NS: u64 = 2_000_000_000;

impl<W: World> Tree<W> {
    /// Lets a last copy have again what it may have lost with a flush.
    fn await_renewal(&mut self, node: NodeId) -> Result<(), VolumeError> {
        let until = self.world.now().after_ns(RENEWAL_NS);
        self.run_until(Some(until), |tree| !tree.nodes[node.0].is_being_renewed())
    }

    /// See [`ArrayVolume::settle`].
    pub(crate) fn settle(&mut self) -> Result<(), VolumeError> {
        self.wait_for(|tree| tree.nodes.iter().all(Node::is_settled))
    }
}
