//! Writes superblocks while the array runs.
//!
//! A *record run* writes one generation of [notes](super::notes) (superblocks of one events count, and the logs that
//! belong to them) to every slot that is still in use. It goes in stages, each on all slots before the next begins:
//!
//! | stage | what | so that |
//! | --- | --- | --- |
//! | settling | flush | what the superblocks are about to claim (so much is rebuilt, all is clean) is true even after a power cut |
//! | logging | write bad-block logs, bitmap headers | |
//! | securing | flush | no superblock is there without the log that it relies on |
//! | writing | write superblocks | |
//! | flushing | flush | whoever asked can be told |
//!
//! Where there is no log to write, logging and securing fall away. All is written as it was when the run began; what
//! changes while it is under way goes into the next one. A slot that fails at any of this fails as a member, which asks
//! for another run; members are finite, so this ends. If not one slot was left, nothing is recorded, and the engine is
//! told so: it must not answer for it.
//!
//! Who asks:
//! * the engine, after a member failed and before it answers the writes which that member missed;
//! * the first write to a clean array (*marking*): requests wait until the superblocks say active;
//! * a rebuild that has finished, a spare that was added, closing: nobody waits, but the change must last.

use shoal_array::{EffectId, Fault, Instant, MemberIo, Outcome, Role};
use shoal_md::Timestamp;

use crate::world::World;

use super::node::Duty;
use super::notes::NoteWrite;
use super::{EngineId, Node, NodeId, Pending, Tree};

/// Who is told when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// An engine's `Record` effect.
    Engine(EngineId, EffectId),
    /// The requests that wait for the array to be marked active.
    Marking,
    /// The replacement of the member with this role.
    Mirror(Role),
    /// Nobody.
    Nobody,
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Settling,
    Logging,
    Securing,
    Writing,
    Flushing,
}

#[derive(Debug)]
struct Run {
    stage: Stage,
    outstanding: usize,
    /// The slots that have done everything so far.
    slots: Vec<usize>,
    logs: Vec<NoteWrite>,
    superblocks: Vec<NoteWrite>,
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

impl Run {
    /// The stage after this one; none after the last.
    fn next_stage(&self) -> Option<Stage> {
        Some(match self.stage {
            Stage::Settling if self.logs.is_empty() => Stage::Writing,
            Stage::Settling => Stage::Logging,
            Stage::Logging => Stage::Securing,
            Stage::Securing => Stage::Writing,
            Stage::Writing => Stage::Flushing,
            Stage::Flushing => return None,
        })
    }

    /// What the stage does, by slot, on those that are left.
    fn stage_io(&self) -> Vec<(usize, MemberIo)> {
        let writes = |notes: &[NoteWrite]| {
            let left = notes.iter().filter(|note| self.slots.contains(&note.slot));
            left.map(|note| (note.slot, MemberIo::Write { offset: note.offset, span: note.span })).collect()
        };
        match self.stage {
            Stage::Settling | Stage::Securing | Stage::Flushing => {
                self.slots.iter().map(|&slot| (slot, MemberIo::Flush)).collect()
            }
            Stage::Logging => writes(&self.logs),
            Stage::Writing => writes(&self.superblocks),
        }
    }
}

impl Node {
    /// Whether a run may begin: nobody else writes notes, and no member is still behind from the time before.
    fn may_record(&self) -> bool {
        !self.is_writing_bitmap() && self.behind.is_empty()
    }
}

impl<W: World> Tree<W> {
    /// Asks for the present states to be made durable.
    pub(crate) fn record(&mut self, now: Instant, node: NodeId, waiter: Waiter) {
        let recorder = &mut self.nodes[node.0].recorder;
        recorder.next.push(waiter);
        if recorder.run.is_none() && self.nodes[node.0].may_record() {
            self.start_run(now, node);
        }
    }

    /// Starts the run that had to wait for something. Returns whether it did.
    pub(super) fn start_waiting_run(&mut self, now: Instant, node: NodeId) -> bool {
        let it = &self.nodes[node.0];
        let starts = it.recorder.run.is_none() && !it.recorder.next.is_empty() && it.may_record();
        if starts {
            self.start_run(now, node);
        }
        starts
    }

    fn start_run(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let waiters = std::mem::take(&mut it.recorder.next);
        it.renew_membership();
        if !it.keeps_records() {
            return self.answer(now, node, waiters, Outcome::Done);
        }
        it.checkpoint = it.progress_to_record(now);
        it.membership.advance(Timestamp::from_seconds(self.world.unix_time_s()));
        let slots = it.slots_in_use();
        let logs = slots.iter().flat_map(|&slot| self.prepare_logs(node, slot)).collect();
        let superblocks = slots.iter().map(|&slot| self.prepare_superblock(node, slot)).collect();
        let run = Run { stage: Stage::Settling, outstanding: 0, slots, logs, superblocks, waiters };
        self.nodes[node.0].recorder.run = Some(run);
        self.start_stage(now, node);
    }

    /// Gives every slot that is left its part of the run's stage.
    fn start_stage(&mut self, now: Instant, node: NodeId) {
        let run = self.nodes[node.0].recorder.run.as_mut().expect("a stage belongs to a run");
        let ios = run.stage_io();
        run.outstanding = ios.len();
        if ios.is_empty() {
            return self.end_stage(now, node);
        }
        for (slot, io) in ios {
            let target = self.nodes[node.0].slots[slot].place.target;
            let token = self.pending.insert(Pending::Record { node, slot });
            self.submit_io(now, target, token, io);
        }
    }

    /// A slot has done one thing of a run's stage.
    pub(super) fn record_step_done(&mut self, now: Instant, node: NodeId, slot: usize, good: bool) {
        if !good {
            self.drop_slot(now, node, slot);
        }
        let run = self.nodes[node.0].recorder.run.as_mut().expect("only a run writes notes");
        if !good {
            run.slots.retain(|&other| other != slot);
        }
        run.outstanding -= 1;
        if run.outstanding == 0 {
            self.end_stage(now, node);
        }
    }

    fn end_stage(&mut self, now: Instant, node: NodeId) {
        let run = self.nodes[node.0].recorder.run.as_mut().expect("a stage belongs to a run");
        match run.next_stage() {
            Some(stage) if !run.slots.is_empty() => {
                run.stage = stage;
                self.start_stage(now, node);
            }
            _ => self.finish_run(now, node),
        }
    }

    /// A slot does not take its notes: a spare is out at once, a member fails by the engine's rules.
    pub(super) fn drop_slot(&mut self, now: Instant, node: NodeId, slot: usize) {
        let it = &mut self.nodes[node.0];
        match it.slots[slot].duty {
            Duty::Member(role) => {
                // Refused for the last copy of a mirror, which stays in service: reads may still work.
                let _ = it.array.fail_member(now, role);
            }
            Duty::Replacement(role) => {
                let _ = it.fail_replacement(now, role);
            }
            Duty::Spare | Duty::Journal | Duty::Out => it.slots[slot].duty = Duty::Out,
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
                Waiter::Engine(engine, id) => self.ready.push_back((engine, id, outcome.clone())),
                Waiter::Mirror(role) => self.mirror_recorded(node, role, &outcome),
                // If nothing could be marked, the engine finds out by itself what its members still do.
                Waiter::Marking => self.release(now, node),
                Waiter::Nobody => {}
            }
        }
    }
}
