//! I/O on what members lie on, drives or nodes: that of the engines, and small reads and writes beside it.

use shoal_array::{Command, Fault, Instant, MemberIo, Request, RequestId, Span};
use shoal_drive::{Io, IoKind};

use crate::VolumeError;
use crate::buffers::Note;
use crate::world::World;

use super::{INTERNAL, Pending, Target, Tree};

impl<W: World> Tree<W> {
    pub(super) fn kind(&self, io: MemberIo) -> IoKind {
        match io {
            MemberIo::Read { span, .. } => IoKind::Read(self.plan.memory(span)),
            MemberIo::Write { span, .. } => IoKind::Write(self.plan.memory(span)),
            MemberIo::Flush => IoKind::Flush,
            MemberIo::Discard { length, .. } => IoKind::Discard(length),
        }
    }

    /// Sends I/O, at an absolute offset, to a drive or to a node's content.
    pub(super) fn submit_io(&mut self, now: Instant, target: Target, token: u64, io: MemberIo) {
        match target {
            Target::Drive(drive) => {
                let offset = match io {
                    MemberIo::Read { offset, .. } | MemberIo::Write { offset, .. } => offset,
                    MemberIo::Discard { offset, .. } => offset,
                    MemberIo::Flush => 0,
                };
                self.world.submit(Io { token, drive, kind: self.kind(io), offset });
            }
            Target::Node(node) => {
                let request = Request { id: RequestId(INTERNAL | token), command: as_command(io) };
                self.submit_to(now, node, request);
            }
        }
    }

    /// Does one I/O at an absolute offset and waits for it; other traffic goes on meanwhile.
    pub(crate) fn call(&mut self, target: Target, io: MemberIo) -> Result<Result<(), Fault>, VolumeError> {
        let token = self.pending.insert(Pending::Caller);
        let now = self.world.now();
        self.submit_io(now, target, token, io);
        self.run_until(None, |tree| tree.awaited.is_some())?;
        Ok(self.awaited.take().unwrap_or(Err(Fault::Gone)))
    }

    /// Reads through the notes of slot 0 into `bytes` (at most a superblock's length), at an absolute offset.
    pub(crate) fn read_small(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        let span = self.small_span(bytes.len());
        let result = self.call(target, MemberIo::Read { offset, span })?;
        self.world.arena().read(self.plan.memory(span), bytes);
        Ok(result)
    }

    /// Writes `bytes` through the notes of slot 0 at an absolute offset, and makes them durable.
    pub(crate) fn write_small(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        let span = self.small_span(bytes.len());
        self.world.arena().write(self.plan.memory(span), bytes);
        if let Err(fault) = self.call(target, MemberIo::Write { offset, span })? {
            return Ok(Err(fault));
        }
        self.call(target, MemberIo::Flush)
    }

    pub(crate) fn small_span(&self, length: usize) -> Span {
        self.plan.note_span(0, Note::Superblock).part(0, u32::try_from(length).expect("superblocks are short"))
    }

    /// Bytes that a target offers.
    pub(crate) fn size_bytes(&self, target: Target) -> u64 {
        match target {
            Target::Drive(drive) => self.world.facts(drive).size_bytes,
            Target::Node(node) => self.nodes[node.0].array.geometry().capacity_bytes(),
        }
    }

    /// The logical block size of a target.
    pub(crate) fn logical_block_bytes(&self, target: Target) -> u32 {
        match target {
            Target::Drive(drive) => self.world.facts(drive).logical_block_bytes,
            Target::Node(node) => self.nodes[node.0].logical_block_bytes,
        }
    }

    /// What people call a target.
    pub(crate) fn name(&self, target: Target) -> String {
        match target {
            Target::Drive(drive) => self.world.facts(drive).name,
            Target::Node(node) => format!("the inner array {}", self.nodes[node.0].facts.name()),
        }
    }
}

pub(super) fn shifted(io: MemberIo, by: u64) -> MemberIo {
    match io {
        MemberIo::Read { offset, span } => MemberIo::Read { offset: offset + by, span },
        MemberIo::Write { offset, span } => MemberIo::Write { offset: offset + by, span },
        MemberIo::Flush => MemberIo::Flush,
        MemberIo::Discard { offset, length } => MemberIo::Discard { offset: offset + by, length },
    }
}

pub(super) fn as_command(io: MemberIo) -> Command {
    match io {
        MemberIo::Read { offset, span } => Command::Read { offset, span },
        MemberIo::Write { offset, span } => Command::Write { offset, span },
        MemberIo::Flush => Command::Flush,
        MemberIo::Discard { offset, length } => Command::Discard { offset, length },
    }
}
