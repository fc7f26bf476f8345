//! Makes the parity of all that was found in the logs anew: on the members, or in memory.
//!
//! An array that is only read leaves its members as they are. What a replay would write to them is
//! kept instead, and takes the place of what is read there for the array's engine. So what is
//! solved for a missing member is what it will be when the array is opened for writing.
//!
//! What is kept has partial parity, and so is no more than the logs have room for. Where there is
//! none, all chunks were being written, and nothing is promised of those that are missing.

use std::collections::BTreeMap;
use std::ops::Range;

use shoal_array::{Fault, MemberIo, MemberState, Role};
use shoal_md::SECTOR_BYTES;

use super::found::{FoundLogs, Replay};
use super::{pieces, place_of};
use crate::VolumeError;
use crate::tree::{Duty, NodeId, Slot, Tree};
use crate::world::World;

/// What is done through a small buffer fails as a whole, or by this member.
type Step<T> = Result<Result<T, Role>, VolumeError>;

const BLOCK_BYTES: usize = SECTOR_BYTES as usize;

/// Parity as a replay would have written it, block by block: by the member, and the offset in its
/// data area.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    blocks: BTreeMap<(Role, u64), [u8; BLOCK_BYTES]>,
}

impl Replayed {
    fn keep(&mut self, role: Role, member_offset: u64, bytes: &[u8]) {
        for (offset, block) in (member_offset..).step_by(BLOCK_BYTES).zip(bytes.chunks_exact(BLOCK_BYTES)) {
            self.blocks.insert((role, offset), block.try_into().expect("chunks are exact"));
        }
    }

    /// What there is of a member's columns, and where in them.
    fn within(&self, role: Role, columns: Range<u64>) -> impl Iterator<Item = (u32, &[u8; BLOCK_BYTES])> {
        let at = move |offset: u64| u32::try_from(offset - columns.start).expect("an I/O is no longer");
        self.blocks
            .range((role, columns.start)..(role, columns.end))
            .map(move |((_, offset), block)| (at(*offset), block))
    }
}

impl<W: World> Tree<W> {
    /// Writes parity for all that was found, and makes it durable. What cannot be done counts as
    /// damage, unless it was a member being rebuilt that failed: its rebuild begins anew. A member
    /// in sync that refuses its flush is to be renewed.
    pub(super) fn replay_logs(
        &mut self,
        slots: &[Slot],
        states: &[MemberState],
        found: &mut FoundLogs,
    ) -> Result<(), VolumeError> {
        for replay in std::mem::take(&mut found.replays) {
            for (offset, length) in pieces(replay.run.length) {
                let written = match self.replayed_piece(slots, &replay, offset, length)? {
                    Ok(parity) => self.write_parity(slots, &replay, offset, &parity)?,
                    Err(role) => Err(role),
                };
                written.unwrap_or_else(|role| found.failed(states, role));
            }
        }
        for slot in slots {
            let Duty::Member(role) = slot.duty else { continue };
            if !found.rebuilt_anew.contains(&role) && self.call(slot.place.target, MemberIo::Flush)?.is_err() {
                found.flush_refused(states, role);
            }
        }
        Ok(())
    }

    /// Keeps what [`Self::replay_logs`] would write.
    pub(super) fn replay_in_memory(&mut self, slots: &[Slot], found: &mut FoundLogs) -> Result<Replayed, VolumeError> {
        let mut replayed = Replayed::default();
        for replay in std::mem::take(&mut found.replays).iter().filter(|replay| replay.partial_parity.is_some()) {
            for (offset, length) in pieces(replay.run.length) {
                match self.replayed_piece(slots, replay, offset, length)? {
                    Ok(parity) => {
                        replayed.keep(replay.run.parity, replay.run.member_offset + u64::from(offset), &parity);
                    }
                    Err(_) => found.tally.damaged += 1,
                }
            }
        }
        Ok(replayed)
    }

    /// What the parity is of some columns of a run; or who does not give what is needed for that.
    fn replayed_piece(&mut self, slots: &[Slot], replay: &Replay, offset: u32, length: usize) -> Step<Vec<u8>> {
        let offset = u64::from(offset);
        let mut sources = Vec::new();
        for &role in &replay.run.data {
            let Some(place) = place_of(slots, role) else { return Ok(Err(role)) };
            sources.push((role, place.target, place.data_offset_bytes + replay.run.member_offset + offset));
        }
        let role = replay.run.parity;
        let Some(parity) = place_of(slots, role) else { return Ok(Err(role)) };
        sources.extend(replay.partial_parity.map(|start| (role, parity.target, start + offset)));
        let mut sum = vec![0; length];
        let mut bytes = vec![0; length];
        for (role, target, at) in sources {
            if self.read_small_again(target, at, &mut bytes)?.is_err() {
                return Ok(Err(role));
            }
            sum.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
        }
        Ok(Ok(sum))
    }

    fn write_parity(&mut self, slots: &[Slot], replay: &Replay, offset: u32, parity: &[u8]) -> Step<()> {
        let role = replay.run.parity;
        let Some(place) = place_of(slots, role) else { return Ok(Err(role)) };
        let at = place.data_offset_bytes + replay.run.member_offset + u64::from(offset);
        let Some(span) = self.small_span(parity.len()) else { return Ok(Err(role)) };
        self.world.arena().write(self.homes.memory(span), parity);
        Ok(self.call(place.target, MemberIo::Write { offset: at, span })?.map_err(|_: Fault| role))
    }

    /// A member has done what its array's engine asked for. Where that was to read parity that was
    /// replayed in memory, it has read that.
    pub(crate) fn put_replayed(&self, node: NodeId, role: Role, io: MemberIo) {
        let MemberIo::Read { offset, span } = io else { return };
        let columns = offset..offset + u64::from(span.length);
        for (at, block) in self.nodes[node.0].replayed.within(role, columns) {
            let memory = self.homes.memory(span.part(at, BLOCK_BYTES as u32));
            self.world.arena().write(memory, block);
        }
    }
}
