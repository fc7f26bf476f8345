//! Operations: everything that takes more than one step.
//!
//! ```text
//!            ┌──────────── a read failed ───────────┐
//!            ▼                                      │
//!  lock ► waiting for ──► reading ── all read ──► computing ──► writing ──► next columns, or over
//!         buffers, planned                          step by step
//! ```
//!
//! An operation has a slice of a stripe, or an array range of a mirror, for itself while it lasts. It works through its
//! columns; for each run of columns it takes buffers, is planned, and runs the plan.
//!
//! *Reads that fail.* Nothing has been written then. The operation waits for its other reads and plans anew, with
//! what is known by then. If a member answered that a range is unreadable, the range is halved first, and each half
//! done by itself, down to single blocks: so what is taken from redundancy, written anew, or reported is exactly what
//! cannot be read, and two members with bad blocks in different places of a range are no loss.
//!
//! *Writes that fail* take their member out; the others go on. What the lost member missed is in the parity or the
//! other copies, as the plan made them agree. Writes to members that are out by then are left away.

use alloc::vec::Vec;

use super::{
    Array, Event, Mismatch, Owner,
    effects::Purpose,
    member::Members,
    order::Ticket,
    plan::{
        Cols, Mirror, Part, Plan, Shortfall, Step, Transfer, View, hull_of, plan_mirror_read, plan_mirror_rebuild,
        plan_mirror_scrub, plan_read, plan_rebuild, plan_scrub, plan_write,
    },
    scratch::Draft,
    slab::Key,
    slices::Work,
};
use crate::{BufferId, Compute, Copies, Fault, Health, MemberIo, Outcome, RequestError, Role, Span, Stripe};

/// What an operation is for.
#[derive(Debug)]
pub(super) enum Kind {
    /// A read that needs more than one member. The suspect is asked first (mirrors).
    Read {
        part: Part,
        suspect: Option<Role>,
    },
    Write(Vec<Part>),
    Rebuild(Role),
    Scrub {
        repair: bool,
    },
}

/// What an operation has for itself.
#[derive(Debug)]
pub(super) enum Site {
    /// A slice.
    Stripe { slice: u64, stripe: Stripe },
    /// A piece; the ticket is the background's, requests have their own.
    Mirror { copies: Copies, ticket: Option<Key<Ticket<Owner>>> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For its turn, or for buffers.
    Waiting,
    Reading,
    Computing,
    Writing,
    /// A rebuild step that is done, but not all before it are.
    Holding,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Op {
    kind: Kind,
    site: Site,
    phase: Phase,
    /// The columns at work.
    cols: Cols,
    /// Columns to be done after these, last first.
    todo: Vec<Cols>,
    /// Members that cannot be read within the columns at work.
    bad: Vec<Role>,
    /// A bad member does not answer at all: there is no use in halving.
    is_gone: bool,
    read_failed: bool,
    plan: Plan,
    outstanding: usize,
    scratch: Vec<BufferId>,
    /// Scrub: what was found in the columns at work.
    found: Vec<Found>,
    /// Rebuild: where it could not go on.
    stopped_at: Option<u64>,
    /// Scrub: there was nothing left to compare with.
    is_moot: bool,
}

/// A mismatch, and the write in the plan that repairs it.
#[derive(Debug)]
struct Found {
    mismatch: Mismatch,
    write: Option<usize>,
}

/// What became of a background step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) stopped_at: Option<u64>,
    pub(super) is_moot: bool,
}

impl Op {
    pub(super) fn new(kind: Kind, site: Site, cols: Cols) -> Self {
        Self {
            kind,
            site,
            phase: Phase::Waiting,
            cols,
            todo: Vec::new(),
            bad: Vec::new(),
            is_gone: false,
            read_failed: false,
            plan: Plan::default(),
            outstanding: 0,
            scratch: Vec::new(),
            found: Vec::new(),
            stopped_at: None,
            is_moot: false,
        }
    }

    /// The background's ticket.
    pub(super) fn set_ticket(&mut self, own: Key<Ticket<Owner>>) {
        if let Site::Mirror { ticket, .. } = &mut self.site {
            *ticket = Some(own);
        }
    }

    pub(super) fn note_bad(&mut self, role: Role, is_gone: bool) {
        self.bad.push(role);
        self.is_gone |= is_gone;
    }

    /// Leaves the second half of the columns at work for later; `false` if they are one block.
    pub(super) fn halve(&mut self, block_bytes: u32) -> bool {
        let blocks = self.cols.length() / block_bytes;
        if blocks < 2 {
            return false;
        }
        let middle = self.cols.start + blocks / 2 * block_bytes;
        self.todo.push(Cols { start: middle, end: self.cols.end });
        self.cols.end = middle;
        self.bad.clear();
        true
    }

    pub(super) fn scratch_held(&self) -> usize {
        self.scratch.len()
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn holds_slice(&self) -> bool {
        matches!(self.site, Site::Stripe { .. })
    }

    fn member_offset(&self, role: Role) -> u64 {
        match &self.site {
            Site::Stripe { stripe, .. } => stripe.member_offset,
            Site::Mirror { copies, .. } => copies.iter().find(|copy| copy.0 == role).map_or(0, |copy| copy.1),
        }
    }

    fn plan(&self, members: &Members, draft: &mut Draft<'_>) -> Result<Plan, Shortfall> {
        let (cols, bad) = (self.cols, self.bad.as_slice());
        match &self.site {
            Site::Stripe { stripe, .. } => {
                let view = View { stripe, cols, members, bad };
                match &self.kind {
                    Kind::Read { part, .. } => plan_read(&view, part, draft),
                    Kind::Rebuild(role) => plan_rebuild(&view, *role, draft),
                    Kind::Scrub { .. } => plan_scrub(&view, draft),
                    Kind::Write(_) if members.health() == Health::Failed => Err(Shortfall),
                    Kind::Write(parts) => {
                        let mut parts: Vec<_> = parts.iter().filter_map(|part| part.clip(cols)).collect();
                        let Some(cols) = hull_of(&parts) else { return Ok(Plan::default()) };
                        plan_write(&View { cols, ..view }, &mut parts, draft)
                    }
                }
            }
            Site::Mirror { copies, .. } => {
                let mirror = Mirror { copies, cols, members, bad };
                match &self.kind {
                    Kind::Read { part, suspect } => plan_mirror_read(&mirror, part, *suspect),
                    Kind::Rebuild(role) => plan_mirror_rebuild(&mirror, *role, draft),
                    Kind::Scrub { .. } => plan_mirror_scrub(&mirror, draft),
                    Kind::Write(_) => unreachable!("writes to mirrors need no operation"),
                }
            }
        }
    }
}

impl Array {
    /// Starts an operation on every slice that has work and is free.
    pub(super) fn work_on_slices(&mut self) {
        while let Some((slice, work)) = self.slices.take_next() {
            let (kind, cols, is_bad) = match work {
                Work::Step(op) => {
                    self.begin(op);
                    continue;
                }
                Work::Write(parts, hull) => (Kind::Write(parts), hull, false),
                Work::Read(part, is_bad) => (Kind::Read { part, suspect: None }, part.cols, is_bad),
            };
            let site = self.stripe_site(slice);
            let mut op = Op::new(kind, site, cols);
            if let (true, Kind::Read { part, .. }, Site::Stripe { stripe, .. }) = (is_bad, &op.kind, &op.site) {
                let role = stripe.data[part.index];
                op.note_bad(role, false);
            }
            let op = self.ops.insert(op);
            self.begin(op);
        }
    }

    pub(super) fn stripe_site(&self, slice: u64) -> Site {
        let stripe = self.geometry.stripe(self.profile.row_of(slice)).expect("slices are those of parity rows");
        Site::Stripe { slice, stripe }
    }

    /// Serves those that wait for buffers, in order, as far as there are any.
    pub(super) fn serve_scratch(&mut self) {
        while let Some(op) = self.pool.first_to_serve() {
            self.begin(op);
        }
    }

    /// Plans the columns at work and starts reading; goes on with further columns where there is nothing to do.
    pub(super) fn begin(&mut self, key: Key<Op>) {
        loop {
            self.ops[key].phase = Phase::Waiting;
            if !self.pool.is_next(key) {
                return self.pool.wait(key, 0);
            }
            let mut draft = self.pool.draft();
            let planned = self.ops[key].plan(&self.members, &mut draft);
            let used = draft.used();
            match planned {
                Ok(plan) => {
                    let Some(buffers) = self.pool.take(used) else { return self.pool.wait(key, used) };
                    self.pool.served(key);
                    let op = &mut self.ops[key];
                    (op.scratch, op.plan, op.read_failed) = (buffers, plan, false);
                    return self.start_reads(key);
                }
                Err(Shortfall) => {
                    self.fall_short(key);
                    if !self.next_columns(key) {
                        self.pool.served(key);
                        return self.end(key);
                    }
                }
            }
        }
    }

    fn start_reads(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        op.phase = Phase::Reading;
        op.outstanding = op.plan.reads.len();
        for place in 0..op.plan.reads.len() {
            let Transfer { role, offset, span, .. } = self.ops[key].plan.reads[place];
            self.issue_io(role, MemberIo::Read { offset, span }, Purpose::Op(key, place));
        }
        if self.ops[key].outstanding == 0 {
            self.compute(key, 0);
        }
    }

    /// A read or write has ended.
    pub(super) fn op_transfer_ended(&mut self, key: Key<Op>, place: usize, outcome: &Outcome) {
        let op = &mut self.ops[key];
        op.outstanding -= 1;
        let is_last = op.outstanding == 0;
        if op.phase == Phase::Reading {
            let role = op.plan.reads[place].role;
            match outcome {
                Outcome::Failed(fault) => self.op_read_failed(key, role, *fault),
                Outcome::Done => {}
                Outcome::Differs(_) => panic!("member I/O was answered like a comparison"),
            }
            match (is_last, self.ops[key].read_failed) {
                (true, true) => self.plan_anew(key),
                (true, false) => self.compute(key, 0),
                (false, _) => {}
            }
        } else {
            self.op_write_ended(key, place, *outcome == Outcome::Done);
            if is_last {
                self.columns_done(key);
            }
        }
    }

    fn op_read_failed(&mut self, key: Key<Op>, role: Role, fault: Fault) {
        self.ops[key].read_failed = true;
        if fault == Fault::Unreadable {
            self.ops[key].note_bad(role, false);
        } else if !self.member_gave_up(role) {
            self.ops[key].note_bad(role, true);
        }
    }

    fn plan_anew(&mut self, key: Key<Op>) {
        let block_bytes = self.profile.block_bytes;
        let op = &mut self.ops[key];
        self.pool.give_back(&mut op.scratch);
        if !op.bad.is_empty() && !op.is_gone {
            op.halve(block_bytes);
        }
        self.begin(key);
    }

    /// Gives out the step of this number, or goes on to writing after the last. Steps run one by one: a later one may
    /// build on an earlier one.
    fn compute(&mut self, key: Key<Op>, step: usize) {
        let op = &mut self.ops[key];
        op.phase = Phase::Computing;
        let compute = match op.plan.steps.get(step) {
            None => return self.start_writes(key),
            Some(Step::Compute(compute)) => compute.clone(),
            Some(Step::Check { read, right, .. }) => Compute::Compare { left: *read, right: *right },
        };
        op.outstanding = 1;
        self.effects.compute(key, step, compute);
    }

    pub(super) fn op_step_ended(&mut self, key: Key<Op>, step: usize, outcome: Outcome) {
        let op = &mut self.ops[key];
        op.outstanding = 0;
        match (op.plan.steps[step].clone(), outcome) {
            (_, Outcome::Done) => {}
            (Step::Check { role, offset, right, .. }, Outcome::Differs(ranges)) => {
                for range in ranges {
                    let right = right.part(range.start, range.end - range.start);
                    self.found_mismatch(key, role, offset + u64::from(range.start), right);
                }
            }
            (step, outcome) => panic!("a computation cannot end so: {outcome:?} of {step:?}"),
        }
        self.compute(key, step + 1);
    }

    fn found_mismatch(&mut self, key: Key<Op>, role: Role, offset: u64, right: Span) {
        let op = &self.ops[key];
        let member_range = offset..offset + u64::from(right.length);
        let array_offset = match &op.site {
            Site::Stripe { stripe, .. } => stripe.offset,
            Site::Mirror { .. } => self.array_offset(role, offset),
        };
        let op = &mut self.ops[key];
        let mut write = None;
        if let Kind::Scrub { repair: true } = op.kind {
            write = Some(op.plan.writes.len());
            op.plan.writes.push(Transfer { role, offset, span: right, heals: false });
        }
        let mismatch = Mismatch { role, member_range, offset: array_offset, repaired: false };
        op.found.push(Found { mismatch, write });
    }

    fn start_writes(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        op.phase = Phase::Writing;
        // Kept from ending before all are given out.
        op.outstanding = 1;
        let target = if let Kind::Rebuild(role) = op.kind { Some(role) } else { None };
        for place in 0..op.plan.writes.len() {
            let Transfer { role, offset, span, .. } = self.ops[key].plan.writes[place];
            if !self.profile.is_writable {
                break;
            }
            let is_target = target == Some(role) && self.members.is_working(role);
            if is_target || self.members.holds(role, offset + u64::from(span.length)) {
                self.ops[key].outstanding += 1;
                self.issue_io(role, MemberIo::Write { offset, span }, Purpose::Op(key, place));
            }
        }
        self.ops[key].outstanding -= 1;
        if self.ops[key].outstanding == 0 {
            self.columns_done(key);
        }
    }

    fn op_write_ended(&mut self, key: Key<Op>, place: usize, is_done: bool) {
        let op = &mut self.ops[key];
        let Transfer { role, offset, span, heals } = op.plan.writes[place];
        if !is_done {
            self.member_gave_up(role);
            return;
        }
        if let Some(found) = op.found.iter_mut().find(|found| found.write == Some(place)) {
            found.mismatch.repaired = true;
        }
        if heals {
            let member_range = offset..offset + u64::from(span.length);
            self.events.push_back(Event::Healed { role, member_range });
        }
    }

    /// The columns at work are written.
    fn columns_done(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        self.pool.give_back(&mut op.scratch);
        for found in op.found.drain(..) {
            self.jobs.count_mismatch(&found.mismatch);
            self.events.push_back(Event::Mismatch(found.mismatch));
        }
        if matches!(op.kind, Kind::Write(_)) && self.members.health() == Health::Failed {
            self.fail_parts(key, false);
        }
        if self.next_columns(key) { self.begin(key) } else { self.end(key) }
    }

    fn next_columns(&mut self, key: Key<Op>) -> bool {
        let op = &mut self.ops[key];
        op.bad.clear();
        op.is_gone = false;
        let next = op.todo.pop();
        op.cols = next.unwrap_or(op.cols);
        next.is_some()
    }

    /// What is wanted of the columns at work cannot be had.
    fn fall_short(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        match op.kind {
            Kind::Read { .. } | Kind::Write(_) => {
                let unreadable = !op.bad.is_empty() && !op.is_gone;
                self.fail_parts(key, unreadable);
            }
            Kind::Rebuild(role) => {
                let offset = op.member_offset(role) + u64::from(op.cols.start);
                op.stopped_at = Some(op.stopped_at.map_or(offset, |first| first.min(offset)));
                op.todo.clear();
            }
            Kind::Scrub { .. } => {
                op.is_moot |= op.bad.is_empty();
                for role in op.bad.clone() {
                    let start = op.member_offset(role);
                    let member_range = start + u64::from(op.cols.start)..start + u64::from(op.cols.end);
                    self.events.push_back(Event::ScrubUnreadable { role, member_range });
                }
            }
        }
    }

    /// Notes the error at every request that has a part in the columns at work.
    fn fail_parts(&mut self, key: Key<Op>, unreadable: bool) {
        let op = &self.ops[key];
        let (parts, is_read) = match &op.kind {
            Kind::Read { part, .. } => (core::slice::from_ref(part), true),
            Kind::Write(parts) => (parts.as_slice(), false),
            Kind::Rebuild(_) | Kind::Scrub { .. } => return,
        };
        for part in parts.iter().filter_map(|part| part.clip(op.cols)) {
            let offset = part.offset;
            let error = match (unreadable, is_read) {
                (true, _) => RequestError::Unreadable { offset },
                (false, true) => RequestError::Lost { offset },
                (false, false) => RequestError::Failed,
            };
            self.requests[part.request].fail(offset, error);
        }
    }

    /// The operation is over.
    fn end(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        let ended = Ended { stopped_at: op.stopped_at, is_moot: op.is_moot };
        match op.kind {
            Kind::Rebuild(_) => {
                op.phase = Phase::Holding;
                self.rebuild_step_ended(key, ended);
            }
            Kind::Scrub { .. } => {
                self.let_go(key);
                self.scrub_step_ended(ended);
            }
            Kind::Read { part, .. } => {
                self.let_go(key);
                self.piece_done(part.request);
            }
            Kind::Write(_) => {
                if let Kind::Write(parts) = self.let_go(key) {
                    for part in parts {
                        self.piece_done(part.request);
                    }
                }
            }
        }
    }

    /// Gives up the slice or range, and forgets the operation.
    pub(super) fn let_go(&mut self, key: Key<Op>) -> Kind {
        let op = self.ops.remove(key);
        match op.site {
            Site::Stripe { slice, .. } => self.slices.release(slice),
            Site::Mirror { ticket: Some(ticket), .. } => {
                self.order.leave(ticket, |owner| self.runnable.push_back(owner))
            }
            Site::Mirror { ticket: None, .. } => {}
        }
        op.kind
    }
}
