//! Writes superblocks while the array runs.
//!
//! A *record run* writes one generation of [notes](super::notes) (superblocks of one events count,
//! and the logs that belong to them) to every slot that is still in use. It goes in stages, each on
//! all slots before the next begins:
//!
//! | stage | what | so that |
//! | --- | --- | --- |
//! | settling | flush; meanwhile this host [remembers](crate::memory) what is about to be written | what the superblocks are about to claim (so much is rebuilt, all is clean) is true even after a power cut |
//! | logging | write bad-block logs, bitmap headers | |
//! | securing | flush | no superblock is there without the log that it relies on |
//! | writing first, flushing first | write superblocks where the last update may be missing, and flush | see below |
//! | writing | write superblocks | |
//! | flushing | flush | whoever asked can be told |
//!
//! Where there is no log to write, logging and securing fall away; so does what goes first, where
//! nobody lacks anything. All is written as it was when the run began; what changes while it is
//! under way goes into the next one.
//!
//! A slot that fails at any of this fails as a member. Before superblocks are written, the run then
//! begins anew: what they were about to say is not true any more. So it does if a member has
//! failed, or refused a flush, at anything else meanwhile: what it lost no flush of the run has
//! made durable, and "clean" would be a lie. Afterwards it goes on with the others, and the failure
//! asks for another run. Members are finite, so this ends. A run that was to say clean, and meets a
//! last copy that refuses its flush, says active. Nothing is recorded if one that fails has to
//! stay, as the last that has some data: the others would be fresher than the one that is needed
//! most. Nor if no member was left; a spare alone, or a journal, keeps no promise to the engine.
//! Nor of an array that has lost more members than its level survives: they may have lost their
//! power together, and come back; none that was left may say by then that they failed. Who asked is
//! told: the engine must not answer for it.
//!
//! A member that has to stay and does not take its superblock, or the flush behind it, may lack
//! that update. So does one that refuses a flush of somebody else while its superblock is not
//! flushed: that takes it along, and the run's own flush covers nothing of it. The others have it.
//! If they got the next one too before it did, a power cut would leave it two updates behind: stale
//! by md's rule, and it is the one that is needed most. So it gets the next one *first*. If it
//! fails again the update is given up, and the next one has the same count; when that is recorded
//! without the drive, which may hold the one that was given up, another one follows before anybody
//! is told: Linux takes the first of two tables with one count. So does a replacement
//! that stands in for an original which has left its partial parity log behind: it must not be
//! without the update that says so, see [`Node::stands_in`].
//!
//! A run that would say that a member has failed waits for others that may [follow](super::losses).
//! Whether they have, its first flush finds out: so that one is made on all members, also of those
//! that have [nothing new](super::order).
//!
//! Who asks:
//! * the engine, after a member failed and before it answers the writes which that member missed;
//! * the first write to a clean array (*marking*): requests wait until the superblocks say active;
//! * a rebuild that has finished: it is told as under way until then;
//! * a member that comes back: the engine gets it, and it is written to, when its superblock says
//!   that it is being filled;
//! * a spare that was added, closing: nobody waits, but the change must last.

mod recorder;
mod refusal;
mod run;
mod slots;

use shoal_array::{Fault, Health, Instant, Outcome};
use shoal_md::Timestamp;

use crate::VolumeError;
use crate::world::World;

use super::node::Duty;
use super::{Node, NodeId, Pending, Tree};
use run::{Run, Stage};

pub(crate) use recorder::{Recorder, Waiter};

impl<W: World> Tree<W> {
    /// Asks for the present states to be made durable.
    pub(crate) fn record(&mut self, now: Instant, node: NodeId, waiter: Waiter) {
        let it = &mut self.nodes[node.0];
        it.recorder.next.push(waiter);
        it.recorder.losses.count(now, &it.array);
        self.start_waiting_run(now, node);
    }

    /// Makes the present states durable, and waits for it.
    pub(crate) fn record_now(&mut self, node: NodeId) -> Result<Result<(), Fault>, VolumeError> {
        let now = self.world.now();
        self.record(now, node, Waiter::Caller);
        self.run_until(None, |tree| tree.awaited.is_some())?;
        Ok(self.awaited.take().unwrap_or(Err(Fault::Gone)))
    }

    /// Starts the run that had to wait for something. Returns whether it did.
    pub(super) fn start_waiting_run(&mut self, now: Instant, node: NodeId) -> bool {
        let it = &self.nodes[node.0];
        let starts = it.recorder.run.is_none() && !it.recorder.next.is_empty() && it.may_record(now);
        if starts {
            self.start_run(now, node);
        }
        starts
    }

    fn start_run(&mut self, now: Instant, node: NodeId) {
        let Node { recorder, array, .. } = &mut self.nodes[node.0];
        if recorder.losses.untold(array) > 0 {
            self.flushes.forget();
        }
        let Recorder { next, unfit, losses, .. } = recorder;
        let (waiters, unfit) = (std::mem::take(next), std::mem::take(unfit));
        losses.waited();
        self.begin_run(now, node, waiters, unfit);
    }

    fn begin_run(&mut self, now: Instant, node: NodeId, mut waiters: Vec<Waiter>, unfit: Vec<usize>) {
        let it = &mut self.nodes[node.0];
        waiters.append(&mut it.recorder.again);
        it.renew_membership();
        if !it.keeps_records() && !it.is_renamed {
            return self.answer(now, node, waiters, Outcome::Done);
        }
        let (slots, members) = it.slots_to_record(&unfit);
        if it.array.health() == Health::Failed || members.is_empty() {
            // Nor is it remembered: this host would wait for an update that nobody has.
            return self.end_run(now, node, waiters, Outcome::Failed(Fault::Gone));
        }
        it.checkpoint = it.progress_to_record(now);
        let time = Timestamp::from_seconds(self.world.unix_time_s());
        // The array itself is at this update from the first superblock on.
        let mut membership = it.membership.clone();
        membership.advance(time);
        let logs = slots.iter().flat_map(|&slot| self.prepare_logs(node, slot, &membership)).collect();
        let superblocks = slots.iter().map(|&slot| self.prepare_superblock(node, slot, &membership)).collect();
        let events = membership.superblocks().iter().map(|superblock| superblock.events).max();
        self.remember(node, &slots, events.unwrap_or_default());
        let it = &mut self.nodes[node.0];
        let first = it.first_among(&slots);
        it.recorder.run = Some(Run {
            stage: Stage::Settling,
            outstanding: 0,
            members,
            slots,
            failed: Vec::new(),
            refused: Vec::new(),
            unflushed: Vec::new(),
            unfit,
            first,
            time,
            logs,
            superblocks,
            waiters,
        });
        self.start_stage(now, node);
    }

    /// Gives every slot that is left its part of the run's stage.
    fn start_stage(&mut self, now: Instant, node: NodeId) {
        let run = self.nodes[node.0].recorder.run.as_mut().expect("a stage belongs to a run");
        let ios = run.stage_io();
        run.outstanding = ios.len();
        run.stage_begins(ios.iter().map(|(slot, _)| *slot));
        if ios.is_empty() {
            return self.end_stage(now, node);
        }
        for (slot, io) in ios {
            let target = self.nodes[node.0].slots[slot].place.target;
            let token = self.pending.insert(Pending::Record { node, slot });
            self.submit_io(now, target, token, io);
        }
    }

    /// Goes on with a run that waited for this host to remember what is about to be written.
    pub(super) fn go_on_remembered(&mut self, now: Instant, node: NodeId) -> bool {
        let goes_on = self.nodes[node.0].recorder.waits_for_memory() && self.has_remembered();
        if goes_on {
            self.end_stage(now, node);
        }
        goes_on
    }

    /// A slot has done one thing of a run's stage.
    pub(super) fn record_step_done(&mut self, now: Instant, node: NodeId, slot: usize, good: bool) {
        // What drives have answered before this, the flushes of others too, is known before the run
        // is judged.
        self.tell_outcomes(now);
        let run = self.nodes[node.0].recorder.run.as_mut().expect("only a run writes notes");
        run.step_done(slot, good);
        match run.stage.is_flush() {
            _ if good => {}
            true => self.flush_refused(now, node, slot),
            false => self.drop_slot(now, node, slot),
        }
        let run = self.nodes[node.0].recorder.run.as_mut().expect("it was there just now");
        run.outstanding -= 1;
        if run.outstanding == 0 {
            self.end_stage(now, node);
        }
    }

    fn end_stage(&mut self, now: Instant, node: NodeId) {
        let has_remembered = self.has_remembered();
        let it = &mut self.nodes[node.0];
        let is_outdated = it.is_run_outdated();
        let run = it.recorder.run.as_mut().expect("a stage belongs to a run");
        if run.stage.is_revocable() && is_outdated {
            return self.begin_anew(now, node);
        }
        if run.stage == Stage::Settling && !has_remembered {
            return; // until `go_on_remembered`
        }
        match run.next_stage() {
            Some(stage) if !run.slots.is_empty() => {
                run.stage = stage;
                if stage == Stage::Writing {
                    self.sequence.note_update();
                    it.membership.advance(run.time);
                    it.recorder.losses.tell(&it.array);
                    run.slots.iter().for_each(|slot| it.slots[*slot].bad_blocks.secured());
                }
                self.start_stage(now, node);
            }
            _ => self.finish_run(now, node),
        }
    }

    /// A slot has failed before the others' superblocks were written: there are others to be
    /// written now.
    fn begin_anew(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let run = it.recorder.run.take().expect("only a run under way is begun anew");
        match run.stage.is_of_first() {
            true => self.give_up_update(node, self.nodes[node.0].events() + 1, run.time),
            false => self.take_back(node),
        }
        let it = &mut self.nodes[node.0];
        it.recorder.repeats |= run.stage.is_of_first();
        it.is_not_at_rest(now);
        it.recorder.losses.count(now, &it.array);
        if run.failed.iter().any(|slot| it.stays(*slot)) {
            it.renew_membership();
            return self.end_run(now, node, run.waiters, Outcome::Failed(Fault::Gone));
        }
        it.recorder.next.splice(0..0, run.waiters);
        it.recorder.unfit = [run.unfit, run.failed].concat();
        self.start_waiting_run(now, node);
    }

    fn finish_run(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let run = it.recorder.run.take().expect("only a run under way is finished");
        let is_member = |slot: &usize| matches!(it.slots[*slot].duty, Duty::Member(_));
        let lost = || run.failed.iter().chain(&run.refused).copied();
        let lacking: Vec<_> = lost().filter(|slot| it.stays(*slot)).collect();
        let is_recorded = run.slots.iter().any(is_member) && lacking.is_empty();
        let outcome = if is_recorded { Outcome::Done } else { Outcome::Failed(Fault::Gone) };
        let is_flushed = is_recorded && lost().next().is_none();
        it.recorder.unsure.retain(|slot| !run.slots.contains(slot));
        it.recorder.unsure.extend(lacking);
        let events = it.events();
        if run.stage == Stage::Writing {
            self.give_up_update(node, events, run.time); // nobody says that it has taken a superblock
        } else if is_flushed {
            self.update_flushed(now, node);
        }
        let recorder = &mut self.nodes[node.0].recorder;
        let mut waiters = run.waiters;
        if is_recorded && std::mem::take(&mut recorder.repeats) {
            recorder.next.splice(0..0, waiters.drain(..));
        }
        self.end_run(now, node, waiters, outcome);
    }

    fn end_run(&mut self, now: Instant, node: NodeId, waiters: Vec<Waiter>, outcome: Outcome) {
        self.answer(now, node, waiters, outcome);
        self.start_waiting_run(now, node);
    }

    fn answer(&mut self, now: Instant, node: NodeId, waiters: Vec<Waiter>, outcome: Outcome) {
        for waiter in waiters {
            match waiter {
                Waiter::Engine(engine, id) => self.ready.push_back((engine, id, outcome.clone())),
                Waiter::Log(notes) => self.unit_recorded(node, notes, &outcome),
                Waiter::Mirror(role) if outcome == Outcome::Done => self.mirror_recorded(node, role),
                Waiter::Filled(role) if outcome == Outcome::Done => self.filled_recorded(node, role),
                Waiter::Returning(role) if outcome == Outcome::Done => {
                    if !self.seat_returning(now, node, role) {
                        self.nodes[node.0].recorder.try_again(now, waiter);
                    }
                }
                Waiter::Mirror(_) | Waiter::Filled(_) | Waiter::Returning(_) => {
                    self.nodes[node.0].recorder.try_again(now, waiter)
                }
                Waiter::Marking => self.release(now, node, &outcome),
                Waiter::Caller => self.awaited = Some(result(&outcome)),
                Waiter::Nobody => {}
            }
        }
    }
}

fn result(outcome: &Outcome) -> Result<(), Fault> {
    match outcome {
        Outcome::Failed(fault) => Err(*fault),
        Outcome::Done | Outcome::Differs(_) => Ok(()),
    }
}
