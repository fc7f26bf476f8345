//! Writes the bitmap to the members: announcements and clearings, step by step. The [parent](super)
//! says why.

use std::collections::{BTreeSet, VecDeque};

use shoal_array::{Event, Health, Instant, MemberIo, MemberState, Request, ScrubMode};

use crate::buffers::Note;
use crate::world::World;

use super::super::node::{Duty, Node, Slot};
use super::super::notes::NoteWrite;
use super::super::{NodeId, Pending, Tree, Waiter};
use super::BitmapCopy;

/// What every member does before the next step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Flush,
    Page(usize),
    /// Nobody writes: the aged bits are taken back in memory, and their pages written next.
    ClearAged,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct Run {
    is_announcement: bool,
    /// It writes every page: copies that were due are whole afterwards.
    writes_all: bool,
    /// The step under way; none before the first.
    step: Option<Step>,
    steps: VecDeque<Step>,
    /// The slots that have done everything so far.
    slots: Vec<usize>,
    outstanding: usize,
}

impl Node {
    /// The slots that hold the bitmap, or are to get it.
    fn bitmap_slots(&self) -> Vec<usize> {
        let holds = |slot: &Slot| {
            let takes_part = !matches!(slot.duty, Duty::Spare | Duty::Journal(_) | Duty::Out);
            takes_part && slot.place.bitmap_offset_bytes.is_some() && slot.bitmap != BitmapCopy::GivenUp
        };
        (0..self.slots.len()).filter(|&slot| holds(&self.slots[slot])).collect()
    }

    /// Whether a start counts on what is in a slot: it reads the bitmaps of members in sync, and no
    /// others.
    fn is_counted_on(&self, slot: usize) -> bool {
        matches!(self.slots[slot].duty, Duty::Member(role) if self.array.member_states()[role.index()] == MemberState::InSync)
    }

    /// Last copies that have refused the bitmap, if nobody else is counted on: they are asked
    /// again, for all of it.
    fn slots_to_ask_again(&self, others: &[usize]) -> Vec<usize> {
        if others.iter().any(|&slot| self.is_counted_on(slot)) {
            return Vec::new();
        }
        let has_room = |slot: usize| self.slots[slot].place.bitmap_offset_bytes.is_some();
        (0..self.slots.len()).filter(|&slot| has_room(slot) && self.is_counted_on(slot)).collect()
    }

    /// How far the array is in sync, in sync bytes; none if a member is missing or being rebuilt,
    /// or may lose what it has answered.
    fn clearable_bytes(&self) -> Option<u64> {
        let is_whole = self.array.health() == Health::Optimal && self.array.refused_flush().is_empty();
        is_whole.then(|| self.array.resync_position().unwrap_or(u64::MAX))
    }

    /// Writes wait for their bits.
    pub(crate) fn holds_writes(&self) -> bool {
        self.intent.as_ref().is_some_and(super::Intent::holds_writes)
    }

    /// When to look for bits that have aged.
    pub(crate) fn look_due(&self) -> Option<Instant> {
        self.intent.as_ref().and_then(super::Intent::look_due)
    }

    /// The bitmap is being written.
    pub(crate) fn is_writing_bitmap(&self) -> bool {
        self.intent.as_ref().is_some_and(super::Intent::is_writing)
    }
}

impl<W: World> Tree<W> {
    /// Hands a request to a node's engine, after its bits have been announced if it changes
    /// content.
    pub(in super::super) fn announce(&mut self, now: Instant, node: NodeId, request: Request) {
        let it = &mut self.nodes[node.0];
        let request = match &mut it.intent {
            Some(intent) => intent.admit(request, it.array.geometry()),
            None => Some(request),
        };
        if let Some(request) = request {
            it.submit(now, request);
        }
    }

    /// Looks for chunks whose bits can be cleared, if it is time.
    pub(in super::super) fn look_for_aged(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let in_sync_bytes = it.clearable_bytes();
        if let Some(intent) = it.intent.as_mut().filter(|intent| intent.look_due().is_some_and(|due| due <= now)) {
            intent.look(now, in_sync_bytes);
        }
    }

    /// An engine has told something: bits may have waited for it.
    pub(in super::super) fn heed_for_bitmap(&mut self, now: Instant, node: NodeId, event: &Event) {
        let it = &mut self.nodes[node.0];
        let is_repair = it.scrub == Some(ScrubMode::Repair);
        let Some(intent) = &mut it.intent else { return };
        match event {
            Event::RebuildFinished(_) | Event::ResyncFinished => intent.look_from(now),
            Event::ScrubFinished { completed, .. } if is_repair => intent.end_repair(now, *completed),
            _ => {}
        }
    }

    /// Clears all bits that can be cleared, without waiting for them to age.
    pub(crate) fn clear_idle_bits(&mut self, node: NodeId) {
        let it = &mut self.nodes[node.0];
        if let (Some(in_sync_bytes), Some(intent)) = (it.clearable_bytes(), &mut it.intent) {
            intent.age_all(in_sync_bytes);
        }
    }

    /// Starts a run if there is work for one and nobody else writes notes. Returns whether it did.
    pub(in super::super) fn start_bitmap_run(&mut self, now: Instant, node: NodeId) -> bool {
        let it = &mut self.nodes[node.0];
        if it.intent.is_none() || it.is_writing_bitmap() || !it.recorder.is_idle() {
            return false;
        }
        let Some(run) = plan(it) else { return false };
        it.intent.as_mut().expect("looked at before").run = Some(run);
        self.start_bitmap_step(now, node);
        true
    }

    /// Gives every slot that is left its part of the run's next step.
    fn start_bitmap_step(&mut self, now: Instant, node: NodeId) {
        loop {
            let it = &mut self.nodes[node.0];
            let can_clear = it.clearable_bytes().is_some();
            let intent = it.intent.as_mut().expect("a run belongs to a bitmap");
            let run = intent.run.as_mut().expect("a step belongs to a run");
            let step = run.steps.pop_front().filter(|_| !run.slots.is_empty());
            let slots = run.slots.clone();
            match step {
                None => return self.finish_bitmap_run(now, node),
                Some(Step::ClearAged) => {
                    let pages = if can_clear { intent.clear_aged() } else { BTreeSet::new() };
                    let run = intent.run.as_mut().expect("it was there just now");
                    run.steps.extend(pages.into_iter().map(Step::Page));
                }
                Some(step) => {
                    (run.step, run.outstanding) = (Some(step), slots.len());
                    for slot in slots {
                        self.start_slot_step(now, node, slot, step);
                    }
                    return;
                }
            }
        }
    }

    fn start_slot_step(&mut self, now: Instant, node: NodeId, slot: usize, step: Step) {
        let io = match step {
            Step::Page(page) => {
                let NoteWrite { offset, span, .. } =
                    self.prepare_page(node, slot, page).expect("the slot has a bitmap");
                self.sequence.note_bitmap_write();
                MemberIo::Write { offset, span }
            }
            Step::Flush | Step::ClearAged => MemberIo::Flush,
        };
        let target = self.nodes[node.0].slots[slot].place.target;
        let token = self.pending.insert(Pending::Bitmap { node, slot });
        self.submit_io(now, target, token, io);
    }

    /// Puts a page into a slot's buffer for it.
    fn prepare_page(&mut self, node: NodeId, slot: usize, page: usize) -> Option<NoteWrite> {
        let it = &self.nodes[node.0];
        let Slot { place, buffer, bitmap, .. } = it.slots[slot];
        let block_bytes = u64::from(self.logical_block_bytes(place.target));
        let (range, bytes) = it.intent.as_ref()?.page(page, bitmap, block_bytes);
        let length = u32::try_from(range.end - range.start).expect("no longer than a page");
        let span = self.plan.note_span(buffer, Note::Bitmap).part(0, length);
        self.world.arena().write(self.homes.memory(span), &bytes[..length as usize]);
        Some(NoteWrite { slot, offset: place.bitmap_offset_bytes? + range.start, span })
    }

    /// The header for the superblock that is about to be written to a slot, and the bits that share
    /// its page.
    pub(in super::super) fn prepare_bitmap_header(
        &mut self,
        node: NodeId,
        slot: usize,
        events: u64,
    ) -> Option<NoteWrite> {
        let it = &mut self.nodes[node.0];
        if !it.bitmap_slots().contains(&slot) {
            return None;
        }
        it.intent.as_mut()?.set_events(events);
        self.prepare_page(node, slot, 0)
    }

    /// A slot has done its part of a run's step.
    pub(in super::super) fn bitmap_step_done(&mut self, now: Instant, node: NodeId, slot: usize, good: bool) {
        if !good {
            let run = self.nodes[node.0].intent.as_ref().and_then(|intent| intent.run.as_ref());
            match run.and_then(|run| run.step) {
                Some(Step::Flush) => self.flush_refused(now, node, slot),
                _ => self.drop_slot(now, node, slot),
            }
            self.nodes[node.0].slots[slot].bitmap = BitmapCopy::GivenUp;
        }
        let intent = self.nodes[node.0].intent.as_mut().expect("a run belongs to a bitmap");
        if !good {
            intent.give_up_clearing();
        }
        let run = intent.run.as_mut().expect("only a run writes the bitmap");
        if !good {
            run.slots.retain(|&other| other != slot);
        }
        run.outstanding -= 1;
        if run.outstanding == 0 {
            self.start_bitmap_step(now, node);
        }
    }

    fn finish_bitmap_run(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        let intent = it.intent.as_mut().expect("a run belongs to a bitmap");
        let run = intent.run.take().expect("only a run under way is finished");
        if !run.is_announcement {
            return intent.give_up_clearing();
        }
        // Writes that nobody is counted on to know of go to no member, not even to one that is
        // being filled.
        let good = run.slots.iter().any(|&slot| it.is_counted_on(slot));
        let intent = it.intent.as_mut().expect("it was there just now");
        let refused = intent.end_announcement(good);
        let ready = intent.take_ready();
        let due = |slot: &&usize| run.writes_all && it.slots[**slot].bitmap != BitmapCopy::Whole;
        let made_whole: Vec<usize> = run.slots.iter().filter(due).copied().collect();
        for &slot in &made_whole {
            it.slots[slot].bitmap = BitmapCopy::Whole;
        }
        if !made_whole.is_empty() {
            self.record(now, node, Waiter::Nobody); // it takes the stale mark off
        }
        for request in refused {
            self.refuse(now, node, &request);
        }
        for request in ready {
            self.submit_to(now, node, request);
        }
    }
}

/// The next run that a node's bitmap asks for.
fn plan(it: &mut Node) -> Option<Run> {
    let mut slots = it.bitmap_slots();
    let asked_again = it.slots_to_ask_again(&slots);
    let wants_all = slots.iter().any(|&slot| it.slots[slot].bitmap == BitmapCopy::Due);
    let can_clear = it.clearable_bytes().is_some();
    let events = it.events();
    let intent = it.intent.as_mut()?;
    if wants_all || intent.wants_announcement() {
        let writes_all = wants_all || !asked_again.is_empty();
        slots.extend(asked_again);
        let mut pages = intent.begin_announcement();
        if writes_all {
            pages = (0..intent.bitmap.pages()).collect();
        }
        let steps = pages.into_iter().map(Step::Page).chain([Step::Flush]).collect();
        return Some(Run { is_announcement: true, writes_all, step: None, steps, slots, outstanding: 0 });
    }
    if intent.aged.is_empty() {
        return None;
    }
    if !can_clear {
        intent.give_up_clearing();
        return None;
    }
    let mut steps = VecDeque::from([Step::Flush]);
    if intent.bitmap.header.events_cleared < events {
        intent.bitmap.header.events_cleared = events;
        steps.extend([Step::Page(0), Step::Flush]);
    }
    steps.push_back(Step::ClearAged);
    Some(Run { is_announcement: false, writes_all: false, step: None, steps, slots, outstanding: 0 })
}
