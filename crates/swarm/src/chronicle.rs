//! What is written down of a scenario, and what stays when one of its worlds ends.
//!
//! The worlds come one after the other, as power does. Some end in the midst of something that
//! takes them along (the opening of an array, its closing), so what all of them have in common lies
//! outside.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::rc::Rc;

use shoal_sim::Content;

use crate::checkers::Failure;

/// What passed between an array and its drives, in one number: equal for equal runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceHash(u64);

impl TraceHash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Mixes a number in (FNV-1a, a word at a time, and a rotation for the high bits).
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// Power cuts to come, each so many starts and ends of I/Os after something.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    /// After the cut before.
    planned: VecDeque<u32>,
    /// After the next I/O that fails.
    after_errors: VecDeque<u32>,
}

/// What is written down of a scenario, and what stays of it when a world ends.
#[derive(Debug)]
pub(crate) struct Chronicle {
    pub(crate) hash: TraceHash,
    pub(crate) io_count: u64,
    /// Virtual time since the scenario began.
    pub(crate) total_ns: u64,
    /// A line for each I/O, if they are wanted.
    lines: Option<String>,
    cuts: Cuts,
    /// Power is off: what the drives held at that moment.
    left_behind: Option<Vec<Content>>,
    /// What was wrong with I/O in a world that ended so.
    breach: Option<Failure>,
}

/// Its writers take turns, on one thread.
pub(crate) type Shared = Rc<RefCell<Chronicle>>;

impl Chronicle {
    pub(crate) fn begin(is_traced: bool) -> Shared {
        Rc::new(RefCell::new(Self {
            hash: TraceHash::new(),
            io_count: 0,
            total_ns: 0,
            lines: is_traced.then(String::new),
            cuts: Cuts::default(),
            left_behind: None,
            breach: None,
        }))
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.lines.is_some()
    }

    pub(crate) fn note(&mut self, line: std::fmt::Arguments<'_>) {
        let at_us = self.total_ns / 1000;
        if let Some(lines) = &mut self.lines {
            let _infallible = writeln!(lines, "{at_us:>12} us  {line}");
        }
    }

    /// All lines.
    pub(crate) fn take_lines(&mut self) -> String {
        self.lines.take().unwrap_or_default()
    }

    /// Plans a power cut.
    pub(crate) fn plan_cut(&mut self, after_events: u32) {
        self.cuts.planned.push_back(after_events);
    }

    /// Plans a power cut, counted from the next I/O that fails.
    pub(crate) fn plan_cut_after_error(&mut self, after_events: u32) {
        self.cuts.after_errors.push_back(after_events);
    }

    /// An I/O has failed.
    pub(crate) fn error_came(&mut self) {
        let due = self.cuts.after_errors.pop_front();
        due.into_iter().for_each(|after_events| self.cuts.planned.push_front(after_events.max(1)));
    }

    /// Drops the planned cuts.
    pub(crate) fn forget_cuts(&mut self) {
        self.cuts = Cuts::default();
    }

    /// Suspends the planned cuts, and gives them to [`Self::resume_cuts`] later.
    pub(crate) fn hold_cuts(&mut self) -> Cuts {
        std::mem::take(&mut self.cuts)
    }

    /// Plans cuts again that were suspended.
    pub(crate) fn resume_cuts(&mut self, cuts: Cuts) {
        self.cuts = cuts;
    }

    /// Whether a power cut is to come.
    pub(crate) fn expects_cut(&self) -> bool {
        !self.cuts.planned.is_empty()
    }

    /// Whether power is to be cut, now that so many I/Os more have started or ended.
    pub(crate) fn is_cut_due(&mut self, events: usize) -> bool {
        let Some(next) = self.cuts.planned.front_mut() else { return false };
        *next = next.saturating_sub(u32::try_from(events).unwrap_or(u32::MAX));
        let is_due = *next == 0;
        if is_due {
            self.cuts.planned.pop_front();
        }
        is_due
    }

    pub(crate) fn power_is_off(&mut self, left_behind: Vec<Content>, verdict: Result<(), Failure>) {
        self.note(format_args!("power is cut"));
        self.left_behind = Some(left_behind);
        self.breach = verdict.err();
    }

    /// Whether power is off.
    pub(crate) fn is_dark(&self) -> bool {
        self.left_behind.is_some()
    }

    /// Power is on again: what the drives held when it went off.
    pub(crate) fn power_is_on(&mut self) -> Result<Vec<Content>, Failure> {
        let left_behind = self.left_behind.take().unwrap_or_default();
        self.breach.take().map_or(Ok(left_behind), Err)
    }
}
