//! Members that refused a flush are written to again before an array without copies is used.
//!
//! What a drive had answered when it refused a flush may go with its power, whatever later flushes
//! say. Whoever can be done without fails by it, and the superblocks of the others say so. But that
//! update may not come to be: an array that has failed writes none, as its members may all be
//! needed again, and the process may be killed before. Then the member is taken for one in sync by
//! the next start, while its drive may still lose blocks: blocks that were answered before, and
//! with parity also those of absent members that are computed from them, which had been flushed.
//!
//! So this host remembers who refused a flush, and the next start reads all that such a member
//! holds and writes it again:
//!
//! | step | if power is cut behind it |
//! | --- | --- |
//! | logs are replayed | what the drive loses is what a crash may take: the logs are replayed again |
//! | the member is written to again, all of it | the same |
//! | it is flushed | nothing is lost any more |
//! | this host forgets that it refused | |
//! | the superblocks say what was found, the logs are made empty | |
//!
//! A block that cannot be read is left as it is. A mirror does without this: there the engine
//! renews a copy while the array runs, and reads it only where nobody else has the content.

use shoal_array::{BufferId, MemberIo, MemberState, Role, Span};

use super::{NodeId, Tree};
use crate::VolumeError;
use crate::world::World;

/// What is read and written at a time.
const STEP_BYTES: u32 = 1 << 20;

impl<W: World> Tree<W> {
    /// Renews the members of one array that refused a flush, if it is to be written. Gives the slots of those that do not
    /// take it and cannot be missed; others fail by it.
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

    /// Writes to a member again what it holds, and flushes it. Says whether it takes that.
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
