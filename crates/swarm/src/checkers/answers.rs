//! Checks that every request is answered: once, in time, and with success.
//!
//! * No answer is lost, none comes twice, none is for a request that nobody made.
//! * An answer comes within [`DEADLINE_NS`] of virtual time, whatever drives stall or hang; within
//!   twice as much where every other I/O is held for long.
//! * A request fails only where the level has nothing to make good with: on an array without
//!   redundancy, or on the last copy that there is, and after a drive was let fail in that way.
//!
//! Not checked: how fast answers come beside that.

use std::collections::BTreeMap;

use shoal_volume::{Completion, RequestError};

use super::Failure;

/// No answer takes longer, unless drives are [slow](Answers::new) all the time.
pub(crate) const DEADLINE_NS: u64 = 120_000_000_000;

const CHECKER: &str = "answers";

/// Requests under way, with what their maker wants to know of them.
#[derive(Debug)]
pub(crate) struct Answers<T> {
    deadline_ns: u64,
    pending: BTreeMap<u64, (u64, T)>,
    /// Reads may fail: the array has no redundancy, and a drive has met something that it cannot
    /// read.
    pub(crate) reads_may_fail: bool,
    /// So may writes, discards and flushes.
    pub(crate) changes_may_fail: bool,
    /// Anything may, by whatever error: the array has lost more than it survives, or may at any
    /// moment.
    pub(crate) all_may_fail: bool,
}

/// An answer that may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answered<T> {
    /// What its request was.
    pub(crate) what: T,
    pub(crate) is_done: bool,
    /// When it was made.
    pub(crate) asked_ns: u64,
}

impl<T> Answers<T> {
    /// `are_slow`: drives take most of a second for most I/Os. Where each of some ten blocks is
    /// healed and recorded by itself, a request behind them waits for minutes.
    pub(crate) fn new(are_slow: bool) -> Self {
        Self {
            deadline_ns: if are_slow { 2 * DEADLINE_NS } else { DEADLINE_NS },
            pending: BTreeMap::new(),
            reads_may_fail: false,
            changes_may_fail: false,
            all_may_fail: false,
        }
    }

    /// Of another array that may fail in as many ways, and was asked nothing yet.
    pub(crate) fn for_another(&self) -> Self {
        let Self { deadline_ns, reads_may_fail, changes_may_fail, all_may_fail, .. } = *self;
        Self { deadline_ns, pending: BTreeMap::new(), reads_may_fail, changes_may_fail, all_may_fail }
    }

    pub(crate) fn asked(&mut self, id: u64, now_ns: u64, what: T) {
        self.pending.insert(id, (now_ns, what));
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes an answer.
    pub(crate) fn answered(
        &mut self,
        answer: &Completion,
        is_read: impl Fn(&T) -> bool,
    ) -> Result<Answered<T>, Failure> {
        let id = answer.id.number;
        let Some((asked_ns, what)) = self.pending.remove(&id) else {
            return Err(Failure::new(
                CHECKER,
                format!("request {id} is answered, and was not asked or has an answer already"),
            ));
        };
        let may_fail = |error: &RequestError| match error {
            _ if self.all_may_fail => true,
            RequestError::Unreadable { .. } if is_read(&what) => self.reads_may_fail,
            _ => self.changes_may_fail && !is_read(&what),
        };
        match &answer.result {
            Err(error) if !may_fail(error) => Err(Failure::new(CHECKER, format!("request {id} failed: {error}"))),
            result => Ok(Answered { is_done: result.is_ok(), what, asked_ns }),
        }
    }

    /// Whether something has waited too long.
    pub(crate) fn check_deadline(&self, now_ns: u64) -> Result<(), Failure> {
        match self.pending.iter().find(|(_, (asked_ns, _))| now_ns - asked_ns > self.deadline_ns) {
            None => Ok(()),
            Some((id, (asked_ns, _))) => {
                let waited_ms = (now_ns - asked_ns) / 1_000_000;
                Err(Failure::new(CHECKER, format!("request {id} has no answer after {waited_ms} ms")))
            }
        }
    }

    /// Nothing is in flight below, and nothing will happen any more.
    pub(crate) fn check_none_forgotten(&self) -> Result<(), Failure> {
        match self.pending.first_key_value() {
            None => Ok(()),
            Some((id, _)) => {
                Err(Failure::new(CHECKER, format!("request {id} is forgotten: nothing is under way any more")))
            }
        }
    }

    /// Power was cut: nobody waits any more.
    pub(crate) fn forget_all(&mut self) {
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use shoal_volume::RequestId;

    use super::*;

    fn answer(id: u64, result: Result<(), RequestError>) -> Completion {
        Completion { id: RequestId::client(id), result }
    }

    #[test]
    fn answers_come_once_in_time_and_good() {
        let mut answers = Answers::new(false);
        answers.asked(1, 0, "read");
        answers.asked(2, 5, "write");
        let read = Answered { what: "read", is_done: true, asked_ns: 0 };
        assert_eq!(answers.answered(&answer(1, Ok(())), |_| true), Ok(read));
        assert!(answers.answered(&answer(1, Ok(())), |_| true).is_err(), "twice");
        assert!(answers.check_deadline(DEADLINE_NS + 5).is_ok());
        assert!(answers.check_deadline(DEADLINE_NS + 6).is_err(), "late");
        assert!(answers.check_none_forgotten().is_err());
        assert!(answers.answered(&answer(2, Err(RequestError::Failed)), |_| false).is_err());
    }

    #[test]
    fn reads_fail_only_where_they_may() {
        let mut answers = Answers::new(false);
        let unreadable = Err(RequestError::Unreadable { offset: 0 });
        for id in 1..4 {
            answers.asked(id, 0, id);
        }
        assert!(answers.answered(&answer(1, unreadable), |_| true).is_err());
        answers.reads_may_fail = true;
        assert_eq!(
            answers.answered(&answer(2, unreadable), |_| true),
            Ok(Answered { what: 2, is_done: false, asked_ns: 0 })
        );
        assert!(answers.answered(&answer(3, unreadable), |_| false).is_err(), "a write");
        answers.changes_may_fail = true;
        answers.asked(4, 0, 4);
        assert_eq!(
            answers.answered(&answer(4, Err(RequestError::Failed)), |_| false),
            Ok(Answered { what: 4, is_done: false, asked_ns: 0 })
        );
    }
}
