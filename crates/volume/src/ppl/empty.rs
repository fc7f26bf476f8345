//! Makes logs empty.

use shoal_array::{Fault, MemberIo};
use shoal_md::{Area, PPL_HEADER_BYTES, PplHeader, Uuid};

use super::{Io, LogPlace};
use crate::VolumeError;
use crate::buffers::LOG_BYTES;
use crate::tree::{Duty, NodeId, Target, Tree};
use crate::world::World;

impl<W: World> Tree<W> {
    /// Makes the logs empty that were found when a node was put together. Its engine may be at work
    /// already, for the array around it: what it wants to log waits until the log is empty.
    pub(crate) fn clear_found_logs(&mut self, node: NodeId) -> Result<(), VolumeError> {
        let uuid = self.nodes[node.0].facts.array_uuid;
        while let Some((notes, log, newest)) = self.nodes[node.0].logs.next_found() {
            let slot = self.nodes[node.0].slots.iter().find(|slot| slot.buffer == notes && slot.duty != Duty::Out);
            // A member that does not take it does not take the first unit either, and fails then.
            let generation = match slot.map(|slot| slot.place.target) {
                Some(target) => self.clear_log(target, log, newest, uuid)?.ok(),
                None => None,
            };
            self.nodes[node.0].logs.emptied(notes, generation);
        }
        Ok(())
    }

    /// Makes a log empty: a header without entries at its start, which is durable before anything
    /// else is done to it. If what the log holds is not known (`newest`), it is filled with zeros,
    /// so that no old header is ever found in it.
    pub(crate) fn clear_log(&mut self, target: Target, log: LogPlace, newest: Option<u64>, uuid: Uuid) -> Io<u64> {
        let next = newest.and_then(|generation| generation.checked_add(1));
        let header = PplHeader { generation: next.unwrap_or(0), entries: Vec::new() };
        let written = self.write_small(target, log.area.offset_bytes, header.encode(uuid).as_slice())?;
        if let (Ok(()), None) = (written, next) {
            let rest = self.zero(target, log.area)?;
            return Ok(rest.map(|()| header.generation));
        }
        Ok(written.map(|()| header.generation))
    }

    /// Fills a log's area with zeros, but for its first header.
    fn zero(&mut self, target: Target, area: Area) -> Io<()> {
        let Some(small) = self.small else { return Ok(Err(Fault::Gone)) };
        let whole = self.plan.log_span(small);
        self.world.arena().write(self.homes.memory(whole), &vec![0; LOG_BYTES as usize]);
        let mut at = PPL_HEADER_BYTES as u64;
        while at < area.size_bytes {
            let length = u32::try_from(area.size_bytes - at).unwrap_or(u32::MAX).min(LOG_BYTES);
            let io = MemberIo::Write { offset: area.offset_bytes + at, span: whole.part(0, length) };
            if let Err(fault) = self.call(target, io)? {
                return Ok(Err(fault));
            }
            at += u64::from(length);
        }
        self.call(target, MemberIo::Flush)
    }
}
