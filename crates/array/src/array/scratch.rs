//! The engine's own buffers: taken all at once or not at all, first come first served.
//!
//! An operation takes everything its plan needs in one go and waits for nothing else while it has
//! it; so whoever waits here waits for operations that end by themselves, and there is no deadlock
//! as long as the buffers suffice for the largest plan.

use alloc::{collections::VecDeque, vec::Vec};

use super::{Scratch, op::Op, slab::Key};
use crate::{BufferId, Span};

/// The free buffers, and who waits for some.
#[derive(Debug)]
pub(super) struct Pool {
    free: Vec<BufferId>,
    waiting: VecDeque<Waiting>,
    count: usize,
}

#[derive(Debug)]
struct Waiting {
    op: Key<Op>,
    /// Known once the operation stood first and was planned.
    needed: usize,
}

impl Pool {
    pub(super) fn new(scratch: Scratch) -> Self {
        let free: Vec<_> = (0..scratch.count).rev().map(|index| BufferId(scratch.first.0 + index)).collect();
        Self { count: free.len(), free, waiting: VecDeque::new() }
    }

    /// Whether the operation may plan now: nobody stands before it.
    pub(super) fn is_next(&self, op: Key<Op>) -> bool {
        self.waiting.front().is_none_or(|first| first.op == op)
    }

    /// A draft of a plan that uses the free buffers.
    pub(super) fn draft(&self) -> Draft<'_> {
        Draft { free: &self.free, used: 0 }
    }

    /// Takes the buffers that a draft used; nothing, if there are not so many.
    pub(super) fn take(&mut self, used: usize) -> Option<Vec<BufferId>> {
        assert!(used <= self.count, "a plan needs {used} buffers, there are {}", self.count);
        self.free.len().checked_sub(used).map(|rest| self.free.split_off(rest))
    }

    /// The operation waits, in its place if it stood first already.
    pub(super) fn wait(&mut self, op: Key<Op>, needed: usize) {
        match self.waiting.front_mut() {
            Some(first) if first.op == op => first.needed = needed,
            _ => self.waiting.push_back(Waiting { op, needed }),
        }
    }

    /// The operation that stood first has what it needs, or needs nothing any more.
    pub(super) fn served(&mut self, op: Key<Op>) {
        if self.waiting.front().is_some_and(|first| first.op == op) {
            self.waiting.pop_front();
        }
    }

    /// The first that waits, if it may now have enough.
    pub(super) fn first_to_serve(&self) -> Option<Key<Op>> {
        self.waiting.front().filter(|first| first.needed <= self.free.len()).map(|first| first.op)
    }

    pub(super) fn give_back(&mut self, buffers: &mut Vec<BufferId>) {
        self.free.append(buffers);
    }

    /// For invariant checks: every buffer is either free or held.
    pub(super) fn adds_up(&self, held: usize) -> bool {
        self.free.len() + held == self.count
    }
}

/// Buffers named in a plan that is being made. They are the planner's only once [`Pool::take`]
/// succeeds with the number used; a draft may use more than there are, to find out how many are
/// needed.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    free: &'a [BufferId],
    used: usize,
}

impl Draft<'_> {
    /// One more buffer, as a span of this length from its start.
    pub(super) fn span(&mut self, length: u32) -> Span {
        self.used += 1;
        let buffer = self.free.len().checked_sub(self.used).map_or(BufferId(u32::MAX), |index| self.free[index]);
        Span { buffer, offset: 0, length }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }
}
