//! Writes superblocks while the array runs.
//!
//! A *record run* writes one generation of superblocks (one events count) to every slot that is still in use, waits for
//! all, flushes them all, waits again, and only then tells whoever asked. What changes while a run is under way goes
//! into the next one. A slot that fails to take its superblock fails as a member, which asks for another run; members
//! are finite, so this ends.
//!
//! Who asks:
//! * the engine, after a member failed and before it answers the writes which that member missed;
//! * the first write to a clean array (*marking*): requests wait until the superblocks say active;
//! * a rebuild that has finished, a spare that was added, closing: nobody waits, but the change must last.

use shoal_array::{Command, EffectId, Event, Instant, MemberIo, MemberState, Outcome, Request, Role, ScrubMode};

use shoal_md::Timestamp;

use crate::world::World;

use super::node::{Duty, Slot};
use super::{Activity, NodeId, Pending, Tree};

/// Who is told when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// An engine's `Record` effect.
    Engine(EffectId),
    /// The requests that wait for the array to be marked active.
    Marking,
    /// Nobody.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Flushing,
}

#[derive(Debug)]
struct Run {
    stage: Stage,
    outstanding: usize,
    slots: Vec<usize>,
    waiters: Vec<Waiter>,
}

/// A node's record runs: the one under way, and who waits for the next.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    run: Option<Run>,
    next: Vec<Waiter>,
}

impl Recorder {
    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && self.next.is_empty()
    }
}

impl<W: World> Tree<W> {
    /// Hands a request to a node's engine, after the array has been marked active if it changes content.
    pub(super) fn submit_to(&mut self, now: Instant, node: NodeId, request: Request) {
        let it = &mut self.nodes[node.0];
        let changes = matches!(request.command, Command::Write { .. } | Command::Discard { .. });
        if let Activity::Marking { held } = &mut it.activity {
            return held.push(request);
        }
        if changes && matches!(it.activity, Activity::Clean) && it.keeps_records() {
            it.activity = Activity::Marking { held: vec![request] };
            return self.record(now, node, Waiter::Marking);
        }
        it.array.submit(now, request);
    }

    /// Asks for the present states to be made durable.
    pub(crate) fn record(&mut self, now: Instant, node: NodeId, waiter: Waiter) {
        let recorder = &mut self.nodes[node.0].recorder;
        recorder.next.push(waiter);
        if recorder.run.is_none() {
            self.start_run(now, node);
        }
    }

    fn start_run(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let waiters = std::mem::take(&mut it.recorder.next);
        it.renew_membership();
        it.membership.advance(Timestamp::from_seconds(self.world.unix_time_s()));
        let slots = if it.keeps_records() { it.slots_in_use() } else { Vec::new() };
        it.recorder.run = Some(Run { stage: Stage::Writing, outstanding: slots.len(), slots: slots.clone(), waiters });
        if slots.is_empty() {
            return self.finish_run(now, node);
        }
        for slot in slots {
            self.write_superblock(now, node, slot);
        }
    }

    fn write_superblock(&mut self, now: Instant, node: NodeId, slot: usize) {
        let it = &self.nodes[node.0];
        let Slot { place, dev_number, buffer, .. } = it.slots[slot];
        let superblock = it.membership.superblock(dev_number).expect("slots in use are in the superblocks");
        let span = self.plan.superblock_span(buffer);
        self.world.arena().write(self.plan.memory(span), superblock.encode().as_slice());
        let (target, offset) = (place.target, superblock.super_offset_bytes());
        let token = self.pending.insert(Pending::Superblock { node, slot });
        self.submit_io(now, target, token, MemberIo::Write { offset, span });
    }

    /// A superblock was written or flushed.
    pub(super) fn superblock_done(&mut self, now: Instant, node: NodeId, slot: usize, good: bool) {
        if !good {
            self.drop_slot(now, node, slot);
        }
        let run = self.nodes[node.0].recorder.run.as_mut().expect("a superblock is written by a run");
        run.outstanding -= 1;
        if run.outstanding > 0 {
            return;
        }
        if run.stage == Stage::Flushing {
            return self.finish_run(now, node);
        }
        run.stage = Stage::Flushing;
        run.outstanding = run.slots.len();
        for slot in run.slots.clone() {
            let target = self.nodes[node.0].slots[slot].place.target;
            let token = self.pending.insert(Pending::Superblock { node, slot });
            self.submit_io(now, target, token, MemberIo::Flush);
        }
    }

    /// A slot does not take its superblock: a spare is out at once, a member fails by the engine's rules.
    fn drop_slot(&mut self, now: Instant, node: NodeId, slot: usize) {
        let it = &mut self.nodes[node.0];
        match it.slots[slot].duty {
            Duty::Member(role) => {
                // Refused for the last copy of a mirror, which stays in service: reads may still work.
                let _ = it.array.fail_member(now, role);
            }
            Duty::Spare | Duty::Out => it.slots[slot].duty = Duty::Out,
        }
    }

    fn finish_run(&mut self, now: Instant, node: NodeId) {
        let run = self.nodes[node.0].recorder.run.take().expect("only a run under way is finished");
        for waiter in run.waiters {
            match waiter {
                Waiter::Engine(id) => self.ready.push_back((node, id, Outcome::Done)),
                Waiter::Marking => self.release(now, node),
                Waiter::Nobody => {}
            }
        }
        if !self.nodes[node.0].recorder.next.is_empty() {
            self.start_run(now, node);
        }
    }

    /// The array is marked active: the requests that waited go on.
    fn release(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        if let Activity::Marking { held } = std::mem::replace(&mut it.activity, Activity::Active) {
            for request in held {
                it.array.submit(now, request);
            }
        }
    }

    /// Keeps slots and superblocks in step with what an engine tells.
    pub(super) fn note(&mut self, now: Instant, node: NodeId, event: &Event) {
        match *event {
            Event::MemberFailed(_) => self.employ_spare(now, node),
            Event::RebuildFinished(role) => {
                let it = &mut self.nodes[node.0];
                if let Some(slot) = it.slot_of(role) {
                    let known = it.membership.finish_rebuild(it.slots[slot].dev_number);
                    known.expect("a rebuilt member is in the superblocks");
                }
                self.record(now, node, Waiter::Nobody);
                self.employ_spare(now, node);
            }
            Event::ScrubFinished { completed, .. } => {
                let it = &mut self.nodes[node.0];
                it.needs_resync &= !(completed && it.scrub == Some(ScrubMode::Repair));
                it.scrub = None;
            }
            _ => {}
        }
    }

    /// Gives a spare to a member that is missing, as md does, one at a time.
    pub(crate) fn employ_spare(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        it.renew_membership();
        let missing = it.array.member_states().iter().position(|&state| state == MemberState::Missing);
        let spare = it.slots.iter_mut().find(|slot| slot.duty == Duty::Spare);
        let (Some(missing), Some(spare)) = (missing, spare) else { return };
        let role = Role(u16::try_from(missing).expect("roles fit 16 bits"));
        if it.writable && it.array.rebuild_member(now, role, 0).is_ok() {
            spare.duty = Duty::Member(role);
            let known = it.membership.start_rebuild(spare.dev_number, role);
            known.expect("spares are in the superblocks");
            self.record(now, node, Waiter::Nobody);
        }
    }
}
