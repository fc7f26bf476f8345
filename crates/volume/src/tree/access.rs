//! I/O on what members lie on, drives or nodes: that of the engines, and small reads and writes
//! beside it.

use rustix::io::Errno;
use shoal_array::{BufferId, Command, Fault, Instant, MemberIo, Request, Role, Span};
use shoal_drive::{Io, IoKind, Memory};

use crate::VolumeError;
use crate::buffers::Note;
use crate::world::World;

use super::mirror::Way;
use super::{NodeId, Pending, Target, Tree, own_id};

impl<W: World> Tree<W> {
    pub(super) fn kind(&self, io: MemberIo) -> IoKind {
        match io {
            MemberIo::Read { span, .. } => IoKind::Read(self.homes.memory(span)),
            MemberIo::Write { span, .. } => IoKind::Write(self.homes.memory(span)),
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
                if self.flights.are_left_on(drive) {
                    return self.unasked.push_back((token, Err(Errno::NODEV)));
                }
                if io == MemberIo::Flush && self.is_flushed(drive) {
                    return self.unasked.push_back((token, Ok(())));
                }
                let kind = self.kind(io);
                let memory = match (io, kind) {
                    (MemberIo::Read { span, .. }, IoKind::Read(memory))
                    | (MemberIo::Write { span, .. }, IoKind::Write(memory)) => Some((span, memory)),
                    _ => None,
                };
                self.expect_answer(now);
                self.flights.start(now, token, drive, kind, memory);
                self.send(Io { token, drive, kind, offset });
            }
            Target::Node(node) => {
                let request = Request { id: own_id(token), command: as_command(io) };
                self.submit_to(now, node, request);
            }
        }
    }

    /// Does one I/O at an absolute offset and waits for it; other traffic goes on meanwhile. One
    /// that is not answered in time fails as if the drive were gone.
    pub(crate) fn call(&mut self, target: Target, io: MemberIo) -> Result<Result<(), Fault>, VolumeError> {
        let token = self.begin_call(target, io);
        self.await_call(token, io)
    }

    fn await_call(&mut self, token: u64, io: MemberIo) -> Result<Result<(), Fault>, VolumeError> {
        self.await_answer()?;
        Ok(self.awaited.take().unwrap_or_else(|| {
            self.leave_call(self.world.now(), token, io != MemberIo::Flush);
            Err(Fault::Gone)
        }))
    }

    fn begin_call(&mut self, target: Target, io: MemberIo) -> u64 {
        let token = self.pending.insert(Pending::Caller);
        self.submit_io(self.world.now(), target, token, io);
        token
    }

    /// Waits until what was called for is answered, or its time is up.
    fn await_answer(&mut self) -> Result<(), VolumeError> {
        self.run_until(self.call_deadline(self.world.now()), |tree| tree.awaited.is_some())
    }

    /// Reads through the small notes into `bytes` (at most a superblock's length), at an absolute
    /// offset.
    pub(crate) fn read_small(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        let Some(span) = self.small_span(bytes.len()) else { return Ok(Err(Fault::Gone)) };
        let result = self.call(target, MemberIo::Read { offset, span })?;
        self.world.arena().read(self.homes.memory(span), bytes);
        Ok(result)
    }

    /// [`Self::read_small`], tried a second time if it fails. What partial parity logs need is read
    /// so: rows that cannot be replayed are in doubt until a resync has come to them, and a member
    /// that is lost before takes data with it.
    pub(crate) fn read_small_again(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        match self.read_small(target, offset, bytes)? {
            Ok(()) => Ok(Ok(())),
            Err(_) => self.read_small(target, offset, bytes),
        }
    }

    /// [`Self::read_small`] of a drive that may only be slow; none if it does not answer in time.
    /// It is waited for all the same: the read counts as its silence, and for nothing else.
    pub(crate) fn read_if_it_answers(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<Option<Result<(), Fault>>, VolumeError> {
        let Some(span) = self.small_span(bytes.len()) else { return Ok(None) };
        let token = self.begin_call(target, MemberIo::Read { offset, span });
        self.await_answer()?;
        let Some(result) = self.awaited.take() else {
            self.stop_listening(token, true);
            return Ok(None);
        };
        self.world.arena().read(self.homes.memory(span), bytes);
        Ok(Some(result))
    }

    /// Writes `bytes` through the small notes at an absolute offset, and makes them durable.
    pub(crate) fn write_small(
        &mut self,
        target: Target,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        let Some(span) = self.small_span(bytes.len()) else { return Ok(Err(Fault::Gone)) };
        self.world.arena().write(self.homes.memory(span), bytes);
        if let Err(fault) = self.call(target, MemberIo::Write { offset, span })? {
            return Ok(Err(fault));
        }
        self.call(target, MemberIo::Flush)
    }

    /// [`Self::write_small`] of a member's data, in its turn: a member that is being replaced is
    /// two drives, of which one is copied to the other.
    pub(crate) fn write_to_member(
        &mut self,
        node: NodeId,
        role: Role,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Result<(), Fault>, VolumeError> {
        let Some(span) = self.small_span(bytes.len()) else { return Ok(Err(Fault::Gone)) };
        self.world.arena().write(self.homes.memory(span), bytes);
        match self.call_member(node, role, MemberIo::Write { offset, span })? {
            Ok(()) => self.call_member(node, role, MemberIo::Flush),
            failed => Ok(failed),
        }
    }

    /// Does one I/O of a member, at an offset in its data, and waits for it, as [`Self::call`]
    /// does.
    pub(crate) fn call_member(
        &mut self,
        node: NodeId,
        role: Role,
        io: MemberIo,
    ) -> Result<Result<(), Fault>, VolumeError> {
        let (now, token) = (self.world.now(), self.pending.insert(Pending::Caller));
        match self.nodes[node.0].way(None, role) {
            Way::Mirror(mirror) => {
                let id = own_id(token);
                mirror.array.submit(now, Request { id, command: as_command(io) });
            }
            Way::Place(place) => self.submit_io(now, place.target, token, shifted(io, place.data_offset_bytes)),
            Way::Nowhere => self.unasked.push_back((token, Err(Errno::NODEV))),
        }
        self.await_call(token, io)
    }

    /// A part of the small notes; none while all of them are with drives that do not answer.
    pub(crate) fn small_span(&self, length: usize) -> Option<Span> {
        let whole = self.plan.note_span(self.small?, Note::Superblock);
        Some(whole.part(0, u32::try_from(length).expect("superblocks are short")))
    }

    /// Where a request buffer is.
    pub(crate) fn request_memory(&self, buffer: u32) -> Memory {
        self.homes.memory(Span { buffer: BufferId(buffer), offset: 0, length: self.plan.request_bytes })
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
