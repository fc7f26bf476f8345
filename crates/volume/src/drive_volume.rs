//! A single drive as a volume: what a benchmark of a plain file or device runs on. Nothing on the
//! drive is interpreted.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_array::{Command, Completion, Instant, Request, RequestError, RequestId, Span};
use shoal_drive::{Arena, DriveId, Finished, Io, IoKind};

use crate::slab::Slab;
use crate::world::{DriveFacts, World};
use crate::{BufferPlan, LiveVolume, Volume, VolumeError, fault};

/// One drive of a world, whole, from its first byte to its last whole block.
#[derive(Debug)]
pub struct DriveVolume<W> {
    world: W,
    drive: DriveId,
    facts: DriveFacts,
    plan: BufferPlan,
    in_flight: Slab<RequestId>,
    refused: Vec<Completion>,
    finished: Vec<Finished>,
}

impl<W: World> DriveVolume<W> {
    /// A volume over `drive`; `plan` says how the world's arena is cut.
    pub fn new(world: W, drive: DriveId, plan: BufferPlan) -> Self {
        let facts = world.facts(drive);
        Self { world, drive, facts, plan, in_flight: Slab::new(), refused: Vec::new(), finished: Vec::new() }
    }

    /// What is known of the drive.
    pub fn facts(&self) -> &DriveFacts {
        &self.facts
    }

    /// Takes over what the world knows of the drive by now: it may have become larger.
    pub fn look_again(&mut self) {
        self.facts = self.world.facts(self.drive);
    }

    /// The world under it.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }
}

/// A drive's bytes, without what is left of a block at its end.
pub(crate) fn whole_blocks(facts: &DriveFacts) -> u64 {
    let block = u64::from(facts.logical_block_bytes);
    facts.size_bytes / block * block
}

/// What a request asks of a drive, and where, if the drive can do it.
pub(crate) fn io_of(request: &Request, facts: &DriveFacts, plan: &BufferPlan) -> Result<(IoKind, u64), RequestError> {
    let length = |span: Span| u64::from(span.length);
    Ok(match request.command {
        Command::Read { offset, span } => {
            check(facts, offset, length(span))?;
            (IoKind::Read(plan.memory(span)), offset)
        }
        Command::Write { offset, span } => {
            check_writable(facts)?;
            check(facts, offset, length(span))?;
            (IoKind::Write(plan.memory(span)), offset)
        }
        Command::Flush => (IoKind::Flush, 0),
        Command::Discard { offset, length } => {
            check_writable(facts)?;
            check(facts, offset, length)?;
            (IoKind::Discard(length), offset)
        }
    })
}

fn check(facts: &DriveFacts, offset: u64, length: u64) -> Result<(), RequestError> {
    let block = u64::from(facts.logical_block_bytes);
    if !offset.is_multiple_of(block) || !length.is_multiple_of(block) {
        return Err(RequestError::Misaligned);
    }
    match offset.checked_add(length) {
        Some(end) if end <= whole_blocks(facts) => Ok(()),
        _ => Err(RequestError::OutOfRange),
    }
}

fn check_writable(facts: &DriveFacts) -> Result<(), RequestError> {
    if facts.writable { Ok(()) } else { Err(RequestError::ReadOnly) }
}

impl<W> DriveVolume<W> {
    /// Tells what was refused and what has finished.
    fn answer(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.refused);
        let in_flight = &mut self.in_flight;
        completions.extend(self.finished.drain(..).map(|finished| Completion {
            id: in_flight.take(finished.token),
            result: finished.result.map_err(|error| fault::request_error(&error)),
        }));
    }
}

impl<W: World> Volume for DriveVolume<W> {
    fn size_bytes(&self) -> u64 {
        whole_blocks(&self.facts)
    }

    fn logical_block_bytes(&self) -> u32 {
        self.facts.logical_block_bytes
    }

    fn arena(&self) -> &Arena {
        self.world.arena()
    }

    fn request_buffers(&self) -> u32 {
        self.plan.request_count
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.plan.request_bytes
    }

    fn submit(&mut self, request: Request) {
        match io_of(&request, &self.facts, &self.plan) {
            Ok((kind, offset)) => {
                let token = self.in_flight.insert(request.id);
                self.world.submit(Io { token, drive: self.drive, kind, offset });
            }
            Err(error) => self.refused.push(Completion { id: request.id, result: Err(error) }),
        }
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        let wanted = at_least.saturating_sub(self.refused.len()).min(self.in_flight.len());
        self.world.wait(wanted, timeout, &mut self.finished)?;
        self.answer(completions);
        Ok(())
    }

    fn now(&self) -> Instant {
        self.world.now()
    }
}

impl<W: World> LiveVolume for DriveVolume<W> {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        if self.in_flight.len() == 0 && self.refused.is_empty() {
            self.world.sleep_or_wake(patience);
            return Ok(());
        }
        let wanted = usize::from(!patience.is_zero() && self.refused.is_empty());
        self.world.wait_or_wake(wanted, Some(patience), &mut self.finished)?;
        self.answer(completions);
        Ok(())
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError> {
        Ok(self.world.watch(file)?)
    }
}
