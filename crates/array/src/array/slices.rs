//! Slices of parity stripes: who works on one, and who waits for it.
//!
//! A slice is a range of columns of one row: as wide as a scratch buffer, or the chunk. Parity ties
//! its blocks together, so one operation at a time has it: a batch of writes, a read that needs
//! more than its own member, a step of a rebuild or a scrub. Plain reads from members that hold
//! their data pass by: no operation changes data bytes other than those that it writes for a
//! request, and overlapping requests are kept apart by [`super::order`].
//!
//! Slices are looked at when the driver asks for effects, not when a request comes in. Whatever was
//! submitted before that, or arrived while the slice was busy or buffers were short, is there by
//! then: small writes that touch each other become one batch, and sequential ones a full stripe.
//! Slices may also be plugged for that; see [`super::streams`], which counts who waits there.

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::ops::Range;

use super::{
    op::Op,
    plan::{Cols, Part},
    races::Race,
    requests::Active,
    slab::Key,
};

/// Who waits for a slice.
#[derive(Debug)]
pub(super) enum Waiter {
    Write(Part),
    /// A read; the flag says that the block's own member cannot read any of it.
    Read(Part, bool),
    /// A read that goes round the block's own member, for a race.
    Race(Part, Key<Race>),
    /// A background operation.
    Step(Key<Op>),
}

/// What is to be done next on a slice.
#[derive(Debug)]
pub(super) enum Work {
    /// Writes that touch each other, and their hull.
    Write(Vec<Part>, Cols),
    /// Reads of the same columns of different blocks: what one needs to be solved for is read for
    /// the others anyway.
    Read(Vec<Part>, bool),
    Race(Part, Key<Race>),
    Step(Key<Op>),
}

#[derive(Debug, Default)]
struct Slice {
    is_held: bool,
    /// If a write has it.
    writer: Option<Key<Op>>,
    queue: VecDeque<Waiter>,
}

/// All slices that anybody works on or waits for, by their number.
#[derive(Debug, Default)]
pub(super) struct Slices {
    busy: BTreeMap<u64, Slice>,
    /// Not held, and somebody waits.
    ready: VecDeque<u64>,
    /// Slices not to be worked on now; only writes wait for them.
    plugs: Vec<Range<u64>>,
    /// Not held, somebody waits, but plugged.
    plugged: Vec<u64>,
}

impl Slices {
    /// Queues somebody; only writes where it is plugged.
    pub(super) fn queue(&mut self, number: u64, waiter: Waiter) {
        let slice = self.busy.entry(number).or_default();
        let was_idle = !slice.is_held && slice.queue.is_empty();
        slice.queue.push_back(waiter);
        if was_idle {
            self.make_ready(number);
        }
    }

    fn make_ready(&mut self, number: u64) {
        if self.is_plugged(number) {
            self.plugged.push(number);
        } else {
            self.ready.push_back(number);
        }
    }

    /// Has slices left alone until they are unplugged; `false` if others than writes wait for one
    /// of them.
    pub(super) fn plug(&mut self, slices: Range<u64>) -> bool {
        let is_write = |waiter: &Waiter| matches!(waiter, Waiter::Write(_));
        if !self.busy.range(slices.clone()).all(|(_, slice)| slice.queue.iter().all(is_write)) {
            return false;
        }
        let plugged = &mut self.plugged;
        self.ready.retain(|number| {
            let is_plugged = slices.contains(number);
            if is_plugged {
                plugged.push(*number);
            }
            !is_plugged
        });
        self.plugs.push(slices);
        true
    }

    /// Pulls the plug, if it is not pulled already.
    pub(super) fn unplug(&mut self, slices: &Range<u64>) {
        if let Some(index) = self.plugs.iter().position(|plug| plug == slices) {
            self.plugs.swap_remove(index);
            let plugged = core::mem::take(&mut self.plugged);
            plugged.into_iter().for_each(|number| self.make_ready(number));
        }
    }

    /// Whether the slice is left alone.
    pub(super) fn is_plugged(&self, number: u64) -> bool {
        self.plugs.iter().any(|plug| plug.contains(&number))
    }

    /// The requests whose writes wait for slices: each once for every part.
    pub(super) fn writers_in(&self, slices: Range<u64>) -> Vec<Key<Active>> {
        let waiters = self.busy.range(slices).flat_map(|(_, slice)| &slice.queue);
        let writer = |waiter: &Waiter| if let Waiter::Write(part) = waiter { Some(part.request) } else { None };
        waiters.filter_map(writer).collect()
    }

    /// Takes hold of the next slice that has work.
    pub(super) fn take_next(&mut self) -> Option<(u64, Work)> {
        let number = self.ready.pop_front()?;
        let slice = self.busy.get_mut(&number).expect("a ready slice has waiters");
        slice.is_held = true;
        let work = match slice.queue.pop_front().expect("a ready slice has waiters") {
            Waiter::Write(part) => gather_writes(part, &mut slice.queue),
            Waiter::Read(part, true) => Work::Read([part].into(), true),
            Waiter::Read(part, false) => gather_reads(part, &mut slice.queue),
            Waiter::Race(part, race) => Work::Race(part, race),
            Waiter::Step(op) => Work::Step(op),
        };
        Some((number, work))
    }

    /// A held slice is a write's.
    pub(super) fn set_writer(&mut self, number: u64, writer: Key<Op>) {
        self.busy.get_mut(&number).expect("a held slice is busy").writer = Some(writer);
    }

    /// The write that has a slice.
    pub(super) fn writer(&self, number: u64) -> Option<Key<Op>> {
        self.busy.get(&number)?.writer
    }

    pub(super) fn release(&mut self, number: u64) {
        let slice = self.busy.get_mut(&number).expect("only a held slice is released");
        assert!(slice.is_held, "only a held slice is released");
        slice.is_held = false;
        slice.writer = None;
        if slice.queue.is_empty() {
            self.busy.remove(&number);
        } else {
            self.make_ready(number);
        }
    }

    pub(super) fn has_plugs(&self) -> bool {
        !self.plugs.is_empty()
    }

    /// Whether there is a slice that is free and has waiters.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty()
    }

    /// For invariant checks.
    pub(super) fn held_count(&self) -> usize {
        self.busy.values().filter(|slice| slice.is_held).count()
    }
}

/// Takes all writes out of the queue that touch the first, or each other. They come from requests
/// that do not overlap, so their order does not matter.
fn gather_writes(first: Part, queue: &mut VecDeque<Waiter>) -> Work {
    let mut hull = first.cols;
    let mut parts = Vec::with_capacity(queue.len() + 1);
    parts.push(first);
    loop {
        let count = parts.len();
        queue.retain(|waiter| match waiter {
            Waiter::Write(part) if part.cols.touches(hull) => {
                hull = hull.hull(part.cols);
                parts.push(*part);
                false
            }
            _ => true,
        });
        if parts.len() == count {
            return Work::Write(parts, hull);
        }
    }
}

/// Takes all reads of the same columns out of the queue.
fn gather_reads(first: Part, queue: &mut VecDeque<Waiter>) -> Work {
    let mut parts = Vec::with_capacity(queue.len() + 1);
    parts.push(first);
    queue.retain(|waiter| match waiter {
        Waiter::Read(part, false) if part.cols == first.cols && parts.iter().all(|other| other.index != part.index) => {
            parts.push(*part);
            false
        }
        _ => true,
    });
    Work::Read(parts, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferId, Span};

    fn write(start: u32, end: u32) -> Waiter {
        let span = Span { buffer: BufferId(0), offset: 0, length: end - start };
        Waiter::Write(Part {
            request: Key::from_number(0),
            index: 0,
            cols: Cols { start, end },
            offset: u64::from(start),
            span,
        })
    }

    #[test]
    fn writes_that_touch_are_gathered_and_others_wait() {
        let mut slices = Slices::default();
        for (start, end) in [(0, 4), (12, 16), (8, 12), (4, 8), (20, 24)] {
            slices.queue(7, write(start, end));
        }
        let Some((7, Work::Write(parts, hull))) = slices.take_next() else { panic!("a batch was expected") };
        assert_eq!((parts.len(), hull), (4, Cols { start: 0, end: 16 }));
        assert!(slices.take_next().is_none());
        slices.release(7);
        let Some((7, Work::Write(parts, _))) = slices.take_next() else { panic!("a batch was expected") };
        assert_eq!(parts.len(), 1);
        slices.release(7);
        assert_eq!(slices.held_count(), 0);
        assert!(slices.take_next().is_none());
    }
}
