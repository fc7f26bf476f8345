//! What is left when the power is cut: the partial parity log as a driver would keep it, and a look
//! at the drives as they are found afterwards.
//!
//! At a cut, each write in flight may have got through in part, block by block. Then the log is
//! replayed on a copy of the drives, and every block has to hold what the model allows: what was
//! answered, or what was being written. A drive may be lost at the same time. What was just being
//! written to *that* drive may be anything; nothing else may.

use shoal_array::{Effect, EffectId, Geometry, MemberIo, MemberState, PartialParity, Role};

use super::Rig;
use super::disk::range_of;
use super::engine::{Engine, Open};
use super::model::BLOCK;

/// One entry of a log, with the partial parity as it was.
#[derive(Clone, Debug)]
struct Entry {
    log: EffectId,
    role: Role,
    entry: PartialParity,
    parity: Option<Vec<u8>>,
    is_released: bool,
}

/// The logs of an engine's members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Logs {
    entries: Vec<Entry>,
}

/// An engine's drives as they are found.
struct Found<'a> {
    geometry: &'a Geometry,
    /// None: the drive is lost, or the member was missing before.
    members: Vec<Option<Vec<u8>>>,
    /// Bytes below are held.
    held: Vec<u64>,
}

impl Rig {
    /// Makes entries durable: the member's log no longer holds those that were released.
    pub(crate) fn keep_log(&mut self, engine: usize, log: EffectId, role: Role, entries: &[PartialParity]) {
        let mut kept = std::mem::take(&mut self.logs[engine]);
        kept.entries.retain(|entry| entry.role != role || !entry.is_released);
        kept.add(&self.memory, log, role, entries);
        self.logs[engine] = kept;
    }

    pub(crate) fn release_log(&mut self, engine: usize, log: EffectId) {
        let entries = &mut self.logs[engine].entries;
        entries.iter_mut().filter(|entry| entry.log == log).for_each(|entry| entry.is_released = true);
    }

    /// A log goes with its drive.
    pub(crate) fn lose_log(&mut self, engine: usize, role: Role) {
        self.logs[engine].entries.retain(|entry| entry.role != role);
    }

    /// Cuts the power in thought, and looks at what an engine whose members are drives is left
    /// with; perhaps without one of them.
    pub(crate) fn check_cut(&mut self, index: usize) {
        let is_optimal = self.engines[index].array.member_states().iter().all(|state| *state == MemberState::InSync);
        let roles = self.engines[index].stores.len();
        let lost = if is_optimal && self.random.one_in(2) { Some(self.random.index(roles)) } else { None };
        let written = self.torn_writes(index);
        let engine = &self.engines[index];
        let mut found = Found::new(engine, self, lost);
        for (role, offset, bytes) in written {
            if let Some(content) = &mut found.members[role.index()] {
                content[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
        for entry in &self.logs[index].entries {
            found.replay(entry);
        }
        if self.random.one_in(2) {
            self.replay_unanswered(index, &mut found);
        }
        for block in 0..self.capacity_bytes() / BLOCK {
            let Some((bytes, computed_for)) = found.block(block * BLOCK) else { continue };
            if computed_for.is_some_and(|role| self.was_written_when_lost(index, role, block * BLOCK)) {
                continue;
            }
            if let Err(what) = self.model.check_cut(block, &bytes) {
                panic!("after a cut, with {lost:?} lost, block {block}: {what}");
            }
        }
    }

    /// Whether a block was being written when its member was lost: in the cut, or while the write
    /// was under way.
    fn was_written_when_lost(&self, index: usize, role: Role, block: u64) -> bool {
        let engine = &self.engines[index];
        let is_missing = engine.state(role) == MemberState::Missing;
        let lost_at = if is_missing { engine.failed_at[role.index()] } else { u64::MAX };
        let is_written = |open: &&Open| {
            let (offset, length) = range_of(open.io);
            let changes = !matches!(open.io, MemberIo::Read { .. } | MemberIo::Flush);
            changes && (offset..offset + length).contains(&block)
        };
        engine.open.iter().filter(is_written).any(|open| open.submitted_at <= lost_at)
    }

    /// The blocks of writes in flight that get through.
    fn torn_writes(&mut self, engine: usize) -> Vec<(Role, u64, Vec<u8>)> {
        let mut written = Vec::new();
        for pending in self.pending.iter().filter(|pending| pending.engine == engine) {
            let Effect::Io { role, io: io @ MemberIo::Write { span, .. }, .. } = pending.effect else { continue };
            let disk = self.engines[engine].disk(role).expect("its members are drives");
            if self.disks[disk].generation != pending.generation {
                continue;
            }
            let bytes = self.memory.bytes(span);
            for (block, bytes) in (range_of(io).0..).step_by(BLOCK as usize).zip(bytes.chunks(BLOCK as usize)) {
                if self.random.one_in(2) {
                    written.push((role, block, bytes.to_vec()));
                }
            }
        }
        written
    }

    /// Entries that are durable, though the engine has not heard of it.
    fn replay_unanswered(&self, engine: usize, found: &mut Found<'_>) {
        for pending in self.pending.iter().filter(|pending| pending.engine == engine) {
            if let Effect::Log { id, role, entries } = &pending.effect {
                let mut logs = Logs::default();
                logs.add(&self.memory, *id, *role, entries);
                logs.entries.iter().for_each(|entry| found.replay(entry));
            }
        }
    }
}

impl Logs {
    fn add(&mut self, memory: &super::Memory, log: EffectId, role: Role, entries: &[PartialParity]) {
        self.entries.extend(entries.iter().map(|entry| Entry {
            log,
            role,
            entry: *entry,
            parity: entry.parity.map(|span| memory.bytes(span).to_vec()),
            is_released: false,
        }));
    }
}

impl<'a> Found<'a> {
    fn new(engine: &'a Engine, rig: &Rig, lost: Option<usize>) -> Self {
        let geometry = engine.array.geometry();
        let (mut members, mut held) = (Vec::new(), Vec::new());
        for role in engine.roles() {
            let disk = &rig.disks[engine.disk(role).expect("its members are drives")];
            let is_gone = disk.is_gone || lost == Some(role.index());
            let state = engine.state(role);
            members.push((state != MemberState::Missing && !is_gone).then(|| disk.content.clone()));
            held.push(if let MemberState::Rebuilding { position } = state { position } else { u64::MAX });
        }
        Self { geometry, members, held }
    }

    fn bytes(&self, role: Role, offset: u64, length: u64) -> Option<&[u8]> {
        let content = self.members[role.index()].as_ref()?;
        (offset + length <= self.held[role.index()]).then(|| &content[offset as usize..][..length as usize])
    }

    fn replay(&mut self, Entry { role, entry, parity, .. }: &Entry) {
        let position = self.geometry.position(entry.offset).expect("it is a parity level");
        let stripe = self.geometry.stripe(position.row).expect("the row exists");
        assert_eq!(stripe.p, *role, "a log is kept where the parity is");
        let offset = stripe.member_offset + u64::from(position.within);
        let mut sum = parity.clone().unwrap_or(vec![0; entry.length as usize]);
        let written = &stripe.data[position.index..position.index + entry.chunks as usize];
        assert_eq!(parity.is_none(), written.len() == stripe.data.len(), "{entry:?}: all or not all is written");
        for role in written {
            let Some(bytes) = self.bytes(*role, offset, u64::from(entry.length)) else { return };
            sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
        }
        if let Some(content) = &mut self.members[role.index()] {
            content[offset as usize..][..sum.len()].copy_from_slice(&sum);
        }
    }

    /// What a block reads as, if it can be had; and the member that it was computed for, if so.
    fn block(&self, offset: u64) -> Option<(Vec<u8>, Option<Role>)> {
        let position = self.geometry.position(offset)?;
        let stripe = self.geometry.stripe(position.row)?;
        let (role, at) = (stripe.data[position.index], stripe.member_offset + u64::from(position.within));
        if let Some(bytes) = self.bytes(role, at, BLOCK) {
            return Some((bytes.to_vec(), None));
        }
        let mut sum = vec![0; BLOCK as usize];
        for other in stripe.data.iter().chain([&stripe.p]).filter(|other| **other != role) {
            sum.iter_mut().zip(self.bytes(*other, at, BLOCK)?).for_each(|(sum, byte)| *sum ^= byte);
        }
        Some((sum, Some(role)))
    }
}
