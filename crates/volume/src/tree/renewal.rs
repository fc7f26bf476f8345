//! Rewrites members that refused a flush, before an array without copies is used.
//!
//! A drive that refuses a flush may lose, with its power, everything that it had answered since its
//! last good flush. Later flushes cover none of that. If the array has redundancy to spare, the
//! member fails, and the superblocks of the others record it. That record can be missing: an array
//! that has failed writes none, because it may need all of its members again, and the process may
//! be killed first. The next start then takes the member as in sync. A power cut after that loses
//! the member's blocks, and with parity also flushed blocks of absent members that are computed
//! from them.
//!
//! So the host remembers who refused a flush. The next start, and one that met the refusal itself
//! when it replayed the logs, reads all that the member holds and writes it again:
//!
//! | step | if power is cut after it |
//! | --- | --- |
//! | the logs are replayed | a crash like any other: the logs are replayed again |
//! | the member is rewritten | the same |
//! | the member is flushed | nothing is lost any more |
//! | the host forgets the refusal | |
//! | the superblocks are written, the logs are emptied | |
//!
//! A block that cannot be read is left as it is. Mirrors do not need this: the engine rewrites a
//! copy while the array runs, and reads it only where no other copy has the content.

use shoal_array::{BufferId, MemberIo, MemberState, Role, Span};

use super::{NodeId, Tree};
use crate::VolumeError;
use crate::world::World;

/// What is read and written at a time.
const STEP_BYTES: u32 = 1 << 20;

impl<W: World> Tree<W> {
    /// Rewrites the members of one array that refused a flush, if the array is open for writing. A
    /// member that does not take it fails. Returns the slots of those that do not take it and that
    /// the array cannot spare.
    pub(crate) fn renew_members(&mut self, node: NodeId) -> Result<Vec<usize>, VolumeError> {
        let it = &self.nodes[node.0];
        if !it.writable || it.has_copies() {
            return Ok(Vec::new());
        }
        let mut unwilling = Vec::new();
        for role in it.array.refused_flush().to_vec() {
            let it = &self.nodes[node.0];
            let is_in_sync = it.array.member_states()[role.index()] == MemberState::InSync;
            let Some(slot) = it.slot_of(role).filter(|_| is_in_sync) else { continue };
            self.remember_refusal(node, slot);
            if self.write_again(node, role)? {
                self.nodes[node.0].array.member_renewed(role);
                self.remember_renewal(node, slot);
            } else if self.nodes[node.0].cannot_spare(role) {
                unwilling.push(slot);
            } else {
                let now = self.world.now();
                self.flush_refused(now, node, slot);
            }
        }
        Ok(unwilling)
    }

    /// Reads what a member holds, writes it again, and flushes the member. Returns whether the
    /// member took all of it.
    fn write_again(&mut self, node: NodeId, role: Role) -> Result<bool, VolumeError> {
        let end = self.nodes[node.0].array.geometry().used_bytes(role);
        let block = self.nodes[node.0].logical_block_bytes;
        let whole = self.request_memory(0).length.min(STEP_BYTES) / block * block;
        if whole == 0 {
            return Ok(false); // there is no memory for one of its blocks
        }
        let (mut offset, mut step) = (0, whole);
        while offset < end {
            let length = u64::from(step).min(end - offset) as u32;
            let span = Span { buffer: BufferId(0), offset: 0, length };
            let is_read = self.call_member(node, role, MemberIo::Read { offset, span })?.is_ok();
            if !is_read && length > block {
                step = block;
                continue;
            }
            if is_read && self.call_member(node, role, MemberIo::Write { offset, span })?.is_err() {
                return Ok(false);
            }
            offset += u64::from(length);
            if offset.is_multiple_of(u64::from(whole)) {
                step = whole;
            }
        }
        Ok(self.call_member(node, role, MemberIo::Flush)?.is_ok())
    }
}
