//! I/O of drives comes to its end: to where its buffer is by now, and to whoever waits for it.

use shoal_array::{Completion, EffectId, Instant, MemberIo, Outcome, RequestError, Role};
use shoal_drive::{Finished, IoKind};

use crate::fault;
use crate::world::World;

use super::{EngineId, Pending, Tree};

impl<W: World> Tree<W> {
    pub(super) fn answer_outside(&mut self, completion: Completion) {
        self.in_flight -= 1;
        self.completions.push(completion);
    }

    /// An inner array has answered: to the array around it, a record run, or a blocking call.
    pub(super) fn route_internal(&mut self, now: Instant, completion: Completion) {
        let token = completion.id.number;
        if !self.stuck_notes.is_empty() {
            self.release_notes(token);
        }
        match self.pending.take(token) {
            Pending::Effect { engine, role, id, io, mirrored } => {
                let is_read = matches!(io, MemberIo::Read { .. });
                let fault_of = if mirrored { fault::mirrored_fault } else { fault::nested_fault };
                let outcome = match completion.result {
                    Ok(()) => Outcome::Done,
                    Err(error) => Outcome::Failed(fault_of(is_read, error)),
                };
                self.effect_ended(now, (engine, id), role, io, outcome);
            }
            Pending::Record { node, slot } => self.record_step_done(now, node, slot, completion.result.is_ok()),
            Pending::WriteBack(purpose) => self.write_back_ended(now, purpose, completion.result),
            Pending::Log { node, io } => self.log_io_done(now, node, io, completion.result.is_ok()),
            Pending::Bitmap { node, slot } => self.bitmap_step_done(now, node, slot, completion.result.is_ok()),
            Pending::Forgotten => {}
            Pending::Caller => {
                self.awaited = Some(completion.result.map_err(|error: RequestError| fault::nested_fault(true, error)));
            }
        }
    }

    /// Takes what the world has finished to whoever waits for it.
    pub(super) fn take_finished(&mut self, now: Instant) {
        let mut finished = std::mem::take(&mut self.finished);
        for Finished { token, result } in finished.drain(..) {
            for token in self.answered_by(token, result.is_ok()) {
                self.landed(now, token, result.is_ok());
                let pending = self.pending.take(token);
                self.io_ended(now, pending, result.as_ref().copied());
            }
        }
        self.finished = finished;
    }

    /// A drive has answered: what it read is taken to where its buffer is by now, if that has moved
    /// and somebody waits for it.
    pub(super) fn landed(&mut self, now: Instant, token: u64, is_good: bool) {
        let Some(flight) = self.flights.end(now, token) else { return };
        if let IoKind::Write(_) = flight.kind {
            self.elevators.ended(flight.drive, token);
        }
        if let Some((span, memory)) = flight.memory {
            let to = self.homes.memory(span);
            let is_wanted = !flight.is_left() && !self.is_overtaken(token);
            if to != memory && is_good && flight.is_read() && is_wanted {
                let mut bytes = vec![0; memory.length as usize];
                self.world.arena().read(memory, &mut bytes);
                self.world.arena().write(to, &bytes);
            }
            self.homes.ended(memory);
        }
        if !self.stuck_notes.is_empty() {
            self.release_notes(token);
        }
    }

    /// Whether others have answered for what a member was asked to read.
    pub(super) fn is_overtaken(&mut self, token: u64) -> bool {
        match self.pending.entry_mut(token) {
            Some(&mut Pending::Effect { engine, id, .. }) => self.engine(engine).is_overtaken(id),
            _ => false,
        }
    }

    /// I/O on a drive has ended, or its drive was given up: whoever waits for it hears of it.
    pub(super) fn io_ended(&mut self, now: Instant, pending: Pending, result: Result<(), &std::io::Error>) {
        match pending {
            Pending::Effect { engine, role, id, io, .. } => {
                let outcome = match result {
                    Ok(()) => Outcome::Done,
                    Err(error) => Outcome::Failed(fault::member_fault(self.kind(io), error)),
                };
                self.effect_ended(now, (engine, id), role, io, outcome);
            }
            Pending::Record { node, slot } => self.record_step_done(now, node, slot, result.is_ok()),
            Pending::Log { node, io } => self.log_io_done(now, node, io, result.is_ok()),
            Pending::Bitmap { node, slot } => self.bitmap_step_done(now, node, slot, result.is_ok()),
            Pending::WriteBack(purpose) => {
                unreachable!("the window asks engines, not drives: {purpose:?}")
            }
            Pending::Forgotten => {}
            Pending::Caller => {
                self.awaited = Some(result.map_err(|error| fault::member_fault(IoKind::Flush, error)));
            }
        }
    }

    /// What an engine asked of a member has ended.
    pub(super) fn effect_ended(
        &mut self,
        now: Instant,
        (engine, id): (EngineId, EffectId),
        role: Role,
        io: MemberIo,
        outcome: Outcome,
    ) {
        // The buffer of one that was overtaken may be somebody else's by now.
        if outcome == Outcome::Done && engine.mirror.is_none() && !self.engine(engine).is_overtaken(id) {
            self.put_replayed(engine.node, role, io);
        }
        self.watch_original(now, engine, role, &outcome);
        if outcome != Outcome::Done
            && let Some(slot) = self.nodes[engine.node.0].slot_asked(engine.mirror, role)
            && (io == MemberIo::Flush || self.has_lost_content(engine.node, slot))
        {
            self.note_refusal(engine.node, slot);
        }
        self.ready.push_back((engine, id, outcome));
    }

    /// Hands engines what has ended.
    pub(super) fn tell_outcomes(&mut self, now: Instant) -> bool {
        let mut moved = false;
        while let Some((engine, id, outcome)) = self.ready.pop_front() {
            self.engine(engine).handle_outcome(now, id, outcome);
            moved = true;
        }
        moved
    }
}
