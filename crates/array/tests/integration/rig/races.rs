//! Reads that take long by chance: they are begun elsewhere too, and the buffers of those that come
//! too late are elsewhere by then.

use shoal_array::{Effect, EffectId, MemberIo, Span};

use super::engine::Store;
use super::{Pending, Rig};

impl Rig {
    /// Has one of the reads in flight raced, now and then.
    pub(super) fn overtake_by_chance(&mut self) {
        if self.overtakes_one_in == 0 || self.pending.is_empty() || !self.random.one_in(self.overtakes_one_in) {
            return;
        }
        let chosen = self.random.index(self.pending.len());
        let Pending { engine, effect: Effect::Io { id, role, io: MemberIo::Read { .. } }, .. } = self.pending[chosen]
        else {
            return;
        };
        let is_on_disk = matches!(self.engines[engine].stores[role.index()], Store::Disk(_));
        if is_on_disk && self.engines[engine].array.overtake(self.now, id) {
            self.note(|| format!("engine {engine}: {id:?} is overtaken"));
            self.engines[engine].note_race(id);
            self.overtaken += 1;
            self.drain(engine);
        }
    }

    /// What is in the span of a read that is about to end, if it is too late.
    pub(super) fn late_read(&self, engine: usize, id: EffectId, io: MemberIo) -> Option<(Span, Vec<u8>)> {
        match io {
            MemberIo::Read { span, .. } if self.engines[engine].array.is_overtaken(id) => {
                Some((span, self.memory.bytes(span).to_vec()))
            }
            _ => None,
        }
    }

    /// What a late read has brought goes where the buffer was.
    pub(super) fn undo_late_read(&mut self, late: Option<(Span, Vec<u8>)>) {
        if let Some((span, bytes)) = late {
            self.memory.bytes_mut(span).copy_from_slice(&bytes);
        }
    }
}
