//! The steps of a job that has a position: they may be done in any order, and the position passes
//! them in theirs.

use alloc::collections::VecDeque;

use crate::array::{op::Op, slab::Key};

/// How far a job is, and the steps that its position has not passed.
#[derive(Debug)]
pub(super) struct Steps {
    /// Everything below is done.
    pub(super) position: u64,
    /// Where the next step starts.
    pub(super) cursor: u64,
    queue: VecDeque<Step>,
}

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) end: u64,
    /// None where there is nothing to do.
    pub(super) op: Option<Key<Op>>,
    pub(super) progress: StepProgress,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepProgress {
    Running,
    /// It is done, but this epoch is to be recorded before anybody relies on it.
    Unrecorded(u64),
    Done,
}

impl Steps {
    pub(super) fn from(position: u64) -> Self {
        Self { position, cursor: position, queue: VecDeque::new() }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.queue.len()
    }

    /// A step of so many bytes begins at the cursor.
    pub(super) fn begin(&mut self, bytes: u64, op: Option<Key<Op>>) {
        self.cursor += bytes;
        let progress = if op.is_some() { StepProgress::Running } else { StepProgress::Done };
        self.queue.push_back(Step { end: self.cursor, op, progress });
    }

    /// Whether one of them is this operation's.
    pub(super) fn has(&self, op: Key<Op>) -> bool {
        self.queue.iter().any(|step| step.op == Some(op))
    }

    /// The step of this operation.
    pub(super) fn of(&mut self, op: Key<Op>) -> &mut Step {
        let step = self.queue.iter_mut().find(|step| step.op == Some(op));
        step.expect("a job knows its steps")
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.queue.iter_mut()
    }

    /// The first step, if it is done: the position may pass it.
    pub(super) fn pass(&mut self) -> Option<Step> {
        let is_done = self.queue.front().is_some_and(|step| step.progress == StepProgress::Done);
        if is_done { self.queue.pop_front() } else { None }
    }
}
