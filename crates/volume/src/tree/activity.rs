//! Whether an array's superblocks say that writes may be under way.
//!
//! The first write to a clean array waits for a [record](super::record) run that marks it active: a
//! crash from now on means a resync. Only what changes content waits for it: a read is as good
//! before the mark as after it, and a flush covers nothing that waits here, as none of that is
//! answered. So a member that is slow to take its superblock holds up nobody who reads, but for
//! reads of what is held: requests that overlap are carried out in their order, and a
//! [stretch](crate::write_back) that was read before a write and written after it would undo it.
//! Once no write has come in for the node's [delay](RestDelay), and none is unanswered, another run
//! marks it clean again; it flushes first, so what clean says is true. In an array of arrays the
//! outer one comes to rest first: its superblocks are writes to the inner ones.

use std::time::Duration;

use shoal_array::{Completion, Event, Health, Instant, Outcome, Request, RequestError};

use crate::world::World;

use super::record::Waiter;
use super::{Node, NodeId, Tree, duration_ns};

/// md's safe_mode_delay.
pub(crate) const SAFE_MODE_DELAY: Duration = Duration::from_millis(200);

/// How long nobody is asked again to mark an array active when none has taken it.
const REFUSAL: Duration = Duration::from_secs(10);

/// How many times as long as at least an array waits at most before it is marked clean.
const LONGEST: u64 = 16;

/// How long an array waits after its last write before it is marked clean.
///
/// Each of the two marks writes and flushes all superblocks, and the next write waits for that. A
/// trickle of writes, each a little later than the wait, would pay for both each time. So a write
/// that comes soon after the array was marked clean doubles the wait, up to [`LONGEST`] times the
/// least; one that comes later than that sets it back. A longer wait is the chance of a resync
/// after a crash meanwhile, and nothing else: active is true of a clean array, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestDelay {
    least_ns: u64,
    ns: u64,
    /// When it was marked clean last.
    clean_since: Option<Instant>,
}

impl RestDelay {
    pub(crate) fn new(least: Duration) -> Self {
        let least_ns = duration_ns(least);
        Self { least_ns, ns: least_ns, clean_since: None }
    }

    /// The array is being marked clean.
    fn rests(&mut self, now: Instant) {
        self.clean_since = Some(now);
    }

    /// A write comes to the clean array.
    fn is_disturbed(&mut self, now: Instant) {
        let longest_ns = self.least_ns.saturating_mul(LONGEST);
        let is_soon = self.clean_since.take().is_some_and(|since| now.since_ns(since) <= longest_ns);
        self.ns = if is_soon { self.ns.saturating_mul(2).min(longest_ns) } else { self.least_ns };
    }
}

/// What the superblocks say.
#[derive(Debug)]
pub(crate) enum Activity {
    /// Clean; the first write has to wait until the superblocks say otherwise.
    Clean,
    /// The superblocks are being marked; these writes and discards wait for it, and reads of what
    /// they change, in the order of submission.
    Marking { held: Vec<Request> },
    /// No member took the mark, and what waited for it has failed. The next write after [`REFUSAL`]
    /// tries again: each try is an update that other drives may have taken, and leaves members
    /// behind that did not.
    Refused { since: Instant },
    /// Marked: a crash now means a resync. The last write came in then.
    Active { changed_at: Instant },
}

/// Whether one of these is to be carried out before the request.
fn is_behind(request: &Request, held: &[Request]) -> bool {
    held.iter().any(|earlier| earlier.command.overlaps(&request.command))
}

impl Node {
    /// Hands a request to the engine.
    pub(super) fn submit(&mut self, now: Instant, request: Request) {
        if request.command.changes_content() {
            let range = request.command.range();
            self.touch(range.start, range.end - range.start);
        }
        self.array.submit(now, request);
    }

    /// When to look whether the array has come to rest.
    pub(super) fn rest_due(&self) -> Option<Instant> {
        match (&self.activity, self.rest_delay) {
            (Activity::Active { changed_at }, Some(delay)) if self.keeps_records() => {
                Some(changed_at.after_ns(delay.ns))
            }
            _ => None,
        }
    }

    /// Whether a last copy is being given again what it may have lost with a flush: the engine does
    /// that, while the array runs.
    pub(crate) fn is_being_renewed(&self) -> bool {
        self.has_copies() && self.array.health() != Health::Failed && !self.array.refused_flush().is_empty()
    }

    /// A last copy may have lost what it had answered, with a flush that was to come before the
    /// superblocks say clean. They go on to say active, until it has that again: another copy,
    /// which is being filled, may have kept it.
    pub(super) fn is_not_at_rest(&mut self, now: Instant) {
        if matches!(self.activity, Activity::Clean) && self.is_being_renewed() {
            self.activity = Activity::Active { changed_at: now };
        }
    }

    /// Whether the superblocks may say clean: no write is under way, and every block has what was
    /// answered. Where more members are gone than the level survives nobody knows what the last
    /// writes left behind.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_durable = self.array.refused_flush().is_empty();
        is_durable && !self.array.is_changing() && !self.holds_writes() && self.array.health() != Health::Failed
    }
}

impl<W: World> Tree<W> {
    /// Hands a request to a node's engine, after the array has been marked active if it changes
    /// content.
    pub(super) fn submit_to(&mut self, now: Instant, node: NodeId, request: Request) {
        let it = &mut self.nodes[node.0];
        let changes = request.command.changes_content();
        let keeps_records = it.keeps_records();
        match &mut it.activity {
            Activity::Marking { held } if changes || is_behind(&request, held) => return held.push(request),
            Activity::Active { changed_at } if changes => *changed_at = now,
            Activity::Refused { since } if changes && now.since_ns(*since) < duration_ns(REFUSAL) => {
                return self.refuse(now, node, &request);
            }
            Activity::Clean | Activity::Refused { .. } if changes && keeps_records => {
                it.rest_delay.iter_mut().for_each(|delay| delay.is_disturbed(now));
                it.activity = Activity::Marking { held: vec![request] };
                return self.record(now, node, Waiter::Marking);
            }
            Activity::Clean | Activity::Refused { .. } | Activity::Marking { .. } | Activity::Active { .. } => {}
        }
        self.announce(now, node, request);
    }

    /// The requests that waited for the array to be marked active go on if it is. If no member says
    /// so they fail: what they wrote, to members that are being filled as well, nobody would make
    /// agree after a crash.
    pub(super) fn release(&mut self, now: Instant, node: NodeId, outcome: &Outcome) {
        let is_marked = matches!(outcome, Outcome::Done);
        let it = &mut self.nodes[node.0];
        let next = if is_marked { Activity::Active { changed_at: now } } else { Activity::Refused { since: now } };
        let Activity::Marking { held } = std::mem::replace(&mut it.activity, next) else { return };
        for request in held {
            if is_marked || !request.command.changes_content() {
                self.announce(now, node, request);
            } else {
                self.refuse(now, node, &request);
            }
        }
    }

    /// Answers a request that no engine has seen: it failed.
    pub(super) fn refuse(&mut self, now: Instant, node: NodeId, request: &Request) {
        let completion = Completion { id: request.id, result: Err(RequestError::Failed) };
        self.route(now, node.into(), Event::Completed(completion));
    }

    /// Marks the array clean if it has come to rest, and looks again later if not.
    pub(super) fn look_for_rest(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        if it.rest_due().is_none_or(|due| now < due) {
            return;
        }
        if it.is_at_rest() {
            it.activity = Activity::Clean;
            it.rest_delay.iter_mut().for_each(|delay| delay.rests(now));
            self.record(now, node, Waiter::Nobody);
        } else {
            it.activity = Activity::Active { changed_at: now };
        }
    }
}
