//! Writes superblocks while the array runs.
//!
//! A *record run* writes one generation of superblocks (one events count) to every slot that is still in use, in three
//! stages, each on all slots before the next begins: it flushes them, so that what the superblocks are about to claim
//! (so much is rebuilt, all is clean) is true even after a power cut; writes the superblocks as they were when the run
//! began; flushes again; and only then tells whoever asked. What changes while a run is under way goes into the next
//! one. A slot that fails at any of this fails as a member, which asks for another run; members are finite, so this
//! ends. If not one slot was left, nothing is recorded, and the engine is told so: it must not answer for it.
//!
//! Who asks:
//! * the engine, after a member failed and before it answers the writes which that member missed;
//! * the first write to a clean array (*marking*): requests wait until the superblocks say active;
//! * a rebuild that has finished, a spare that was added, closing: nobody waits, but the change must last.

use shoal_array::{Command, EffectId, Event, Fault, Instant, MemberIo, MemberState, Outcome, Request, Role, ScrubMode};

use shoal_md::Timestamp;

use crate::buffers::Note;
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
    Settling,
    Writing,
    Flushing,
}

#[derive(Debug)]
struct Run {
    stage: Stage,
    outstanding: usize,
    /// The slots that have done everything so far.
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
        if !it.keeps_records() {
            return self.answer(now, node, waiters, Outcome::Done);
        }
        it.membership.advance(Timestamp::from_seconds(self.world.unix_time_s()));
        let slots = it.slots_in_use();
        it.recorder.run = Some(Run { stage: Stage::Settling, outstanding: 0, slots: slots.clone(), waiters });
        for slot in slots {
            self.encode_superblock(node, slot);
        }
        self.start_stage(now, node);
    }

    /// Puts a slot's superblock into its buffer, which no other run touches before this one is over.
    fn encode_superblock(&mut self, node: NodeId, slot: usize) {
        let it = &self.nodes[node.0];
        let Slot { dev_number, buffer, .. } = it.slots[slot];
        let superblock = it.membership.superblock(dev_number).expect("slots in use are in the superblocks");
        let memory = self.plan.memory(self.plan.note_span(buffer, Note::Superblock));
        self.world.arena().write(memory, superblock.encode().as_slice());
    }

    /// Gives every slot that is left its part of the run's stage.
    fn start_stage(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let run = it.recorder.run.as_mut().expect("a stage belongs to a run");
        run.outstanding = run.slots.len();
        let (stage, slots) = (run.stage, run.slots.clone());
        if slots.is_empty() {
            return self.finish_run(now, node);
        }
        for slot in slots {
            let Slot { place, buffer, .. } = self.nodes[node.0].slots[slot];
            let io = match stage {
                Stage::Settling | Stage::Flushing => MemberIo::Flush,
                Stage::Writing => MemberIo::Write {
                    offset: place.super_offset_bytes,
                    span: self.plan.note_span(buffer, Note::Superblock),
                },
            };
            let token = self.pending.insert(Pending::Superblock { node, slot });
            self.submit_io(now, place.target, token, io);
        }
    }

    /// A slot has done its part of a run's stage.
    pub(super) fn superblock_done(&mut self, now: Instant, node: NodeId, slot: usize, good: bool) {
        if !good {
            self.drop_slot(now, node, slot);
        }
        let run = self.nodes[node.0].recorder.run.as_mut().expect("a superblock is written by a run");
        if !good {
            run.slots.retain(|&other| other != slot);
        }
        run.outstanding -= 1;
        if run.outstanding > 0 {
            return;
        }
        run.stage = match run.stage {
            Stage::Settling => Stage::Writing,
            Stage::Writing => Stage::Flushing,
            Stage::Flushing => return self.finish_run(now, node),
        };
        self.start_stage(now, node);
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
        let outcome = if run.slots.is_empty() { Outcome::Failed(Fault::Gone) } else { Outcome::Done };
        self.answer(now, node, run.waiters, outcome);
        if !self.nodes[node.0].recorder.next.is_empty() {
            self.start_run(now, node);
        }
    }

    fn answer(&mut self, now: Instant, node: NodeId, waiters: Vec<Waiter>, outcome: Outcome) {
        for waiter in waiters {
            match waiter {
                Waiter::Engine(id) => self.ready.push_back((node, id, outcome.clone())),
                // If nothing could be marked, the engine finds out by itself what its members still do.
                Waiter::Marking => self.release(now, node),
                Waiter::Nobody => {}
            }
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
