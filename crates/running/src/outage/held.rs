//! The requests that an array has: those that are under way in it, and those that are held until it
//! can be used again.
//!
//! All of them are kept in the order in which they were submitted, and held ones are submitted anew
//! in that order, before any that come later: of writes that overlap the last one wins, as it would
//! have.

use std::collections::{BTreeMap, HashMap};

use shoal_volume::{Command, Completion, Incarnation, Mark, Request, RequestError, RequestId, Unflushed};

/// All requests of an array in the order of their submission: those under way, and those held while
/// it is paused.
#[derive(Debug)]
pub(super) struct Held {
    /// By its place in the order.
    under_way: BTreeMap<u64, Taken>,
    orders: HashMap<RequestId, u64>,
    held: BTreeMap<u64, (Taken, RequestError)>,
    next: u64,
    unflushed: Unflushed,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    request: Request,
    /// What it covers, if it is a flush.
    mark: Mark,
}

impl Held {
    /// None yet. What the process before this one has answered may not be flushed.
    pub(super) fn new() -> Self {
        Self {
            under_way: BTreeMap::new(),
            orders: HashMap::new(),
            held: BTreeMap::new(),
            next: 0,
            unflushed: Unflushed::inherited(Incarnation::default()),
        }
    }

    fn take(&mut self, request: Request) -> (u64, Taken) {
        self.next += 1;
        (self.next, Taken { request, mark: self.unflushed.mark() })
    }

    /// A request is submitted.
    pub(super) fn submitted(&mut self, request: Request) {
        let (order, taken) = self.take(request);
        self.orders.insert(request.id, order);
        self.under_way.insert(order, taken);
    }

    /// A request is held that nobody has seen.
    pub(super) fn hold_new(&mut self, request: Request) {
        let (order, taken) = self.take(request);
        self.held.insert(order, (taken, RequestError::Failed));
    }

    /// A request is answered to whoever asked.
    pub(super) fn answered(&mut self, completion: &Completion) {
        let Some(taken) = self.forget(completion.id) else { return };
        match taken.1.request.command {
            _ if completion.result.is_err() => {}
            Command::Write { .. } | Command::Discard { .. } => self.unflushed.answered(),
            // Nothing is ever owed here: whoever has clients sees to that.
            Command::Flush => self.unflushed.flushed(taken.1.mark).unwrap_or_default(),
            Command::Read { .. } => {}
        }
    }

    /// A request has failed, and is held.
    pub(super) fn hold(&mut self, id: RequestId, error: RequestError) {
        if let Some((order, taken)) = self.forget(id) {
            self.held.insert(order, (taken, error));
        }
    }

    fn forget(&mut self, id: RequestId) -> Option<(u64, Taken)> {
        let order = self.orders.remove(&id)?;
        Some((order, self.under_way.remove(&order)?))
    }

    /// Whether any are held.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a flush is held.
    pub(super) fn has_flush(&self) -> bool {
        self.held.values().any(|(taken, _)| taken.request.command == Command::Flush)
    }

    /// Whether a request that is under way is a flush.
    pub(super) fn is_flush(&self, id: RequestId) -> bool {
        let taken = self.orders.get(&id).and_then(|order| self.under_way.get(order));
        taken.is_some_and(|taken| taken.request.command == Command::Flush)
    }

    /// Whether something was answered that no flush has made durable.
    pub(super) fn is_behind(&self) -> bool {
        self.unflushed.is_behind()
    }

    /// The answers to all that are held, as they failed.
    pub(super) fn take_failed(&mut self) -> Vec<Completion> {
        let failed =
            |(_, (taken, error)): (u64, (Taken, RequestError))| Completion { id: taken.request.id, result: Err(error) };
        std::mem::take(&mut self.held).into_iter().map(failed).collect()
    }

    /// All that are held, in their order, which are under way from now on. What was answered before
    /// is as flushed as it will ever be.
    pub(super) fn take_to_submit(&mut self) -> Vec<Request> {
        let now = self.unflushed.mark();
        self.unflushed.flushed(now).unwrap_or_default();
        let mut requests = Vec::new();
        for (order, (taken, _)) in std::mem::take(&mut self.held) {
            self.orders.insert(taken.request.id, order);
            self.under_way.insert(order, taken);
            requests.push(taken.request);
        }
        requests
    }
}

/// How a request failed, if drives that are gone may be why.
pub(super) fn failure_of(completion: &Completion) -> Option<RequestError> {
    let may_be_gone = |error: &RequestError| {
        matches!(error, RequestError::Failed | RequestError::Lost { .. } | RequestError::Unreadable { .. })
    };
    completion.result.err().filter(may_be_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flush(id: u64) -> Request {
        Request { id: RequestId::client(id), command: Command::Flush }
    }

    fn discard(id: u64) -> Request {
        Request { id: RequestId::client(id), command: Command::Discard { offset: 0, length: 4096 } }
    }

    fn done(id: u64) -> Completion {
        Completion { id: RequestId::client(id), result: Ok(()) }
    }

    #[test]
    fn held_requests_keep_their_order_whoever_failed_first() {
        let mut held = Held::new();
        (1..=3).for_each(|id| held.submitted(discard(id)));
        held.hold(RequestId::client(3), RequestError::Failed);
        held.hold_new(discard(4));
        held.answered(&done(2));
        held.hold(RequestId::client(1), RequestError::Failed);
        let ids: Vec<_> = held.take_to_submit().iter().map(|request| request.id.number).collect();
        assert_eq!(ids, [1, 3, 4]);
        assert!(held.is_empty());
        held.hold(RequestId::client(4), RequestError::Lost { offset: 7 });
        let failed = held.take_failed();
        assert_eq!(failed, [Completion { id: RequestId::client(4), result: Err(RequestError::Lost { offset: 7 }) }]);
    }

    #[test]
    fn what_was_answered_is_behind_until_a_flush_that_came_later_is_done() {
        let mut held = Held::new();
        assert!(held.is_behind(), "as long as nobody knows better");
        held.submitted(flush(1));
        held.submitted(discard(2));
        held.answered(&done(2));
        held.answered(&done(1));
        assert!(held.is_behind(), "that flush was submitted before");
        held.submitted(flush(3));
        held.answered(&Completion { id: RequestId::client(3), result: Err(RequestError::Failed) });
        assert!(held.is_behind());
        held.submitted(flush(4));
        held.answered(&done(4));
        assert!(!held.is_behind());
        held.submitted(discard(5));
        held.answered(&done(5));
        assert_eq!(held.take_to_submit(), []);
        assert!(!held.is_behind(), "whoever was answered has been told");
    }
}
