//! Running operations: from one phase to the next.

use super::inquiry::Inquiry;
use super::{Ended, Kind, Op, Phase, Site};
use crate::array::{
    Array, Event,
    effects::Purpose,
    plan::{Shortfall, Step, Transfer},
    slab::Key,
    slices::Work,
};
use alloc::vec::Vec;

use crate::{Compute, Fault, Health, MemberIo, Outcome, RequestError, Role};

impl Array {
    /// Starts an operation on every slice that has work and is free.
    pub(in crate::array) fn work_on_slices(&mut self) {
        while let Some((slice, work)) = self.slices.take_next() {
            let (kind, cols, is_bad) = match work {
                Work::Step(op) => {
                    self.begin(op);
                    continue;
                }
                Work::Write(parts, hull) => (Kind::Write(parts), hull, false),
                Work::Race(part, race) => (Kind::Race { part, race }, part.cols, false),
                Work::Read(parts, is_bad) => {
                    let cols = parts[0].cols;
                    (Kind::Read { parts, suspect: None }, cols, is_bad)
                }
            };
            let site = self.stripe_site(slice);
            let mut op = Op::new(kind, site, cols);
            if let (true, Kind::Read { parts, .. }, Site::Stripe { stripe, .. }) = (is_bad, &op.kind, &op.site) {
                let role = stripe.data[parts[0].index];
                op.note_bad(role, false);
            }
            let is_write = matches!(op.kind, Kind::Write(_));
            let op = self.ops.insert(op);
            if is_write {
                self.slices.set_writer(slice, op);
            }
            self.begin(op);
        }
    }

    pub(in crate::array) fn stripe_site(&self, slice: u64) -> Site {
        let stripe = self.geometry.stripe(self.profile.row_of(slice)).expect("slices are those of parity rows");
        Site::Stripe { slice, stripe }
    }

    /// Serves those that wait for buffers, in order, as far as there are any.
    pub(in crate::array) fn serve_scratch(&mut self) {
        while let Some(op) = self.pool.first_to_serve() {
            self.begin(op);
        }
    }

    /// Plans the columns at work and starts reading; goes on with further columns where there is
    /// nothing to do.
    pub(in crate::array) fn begin(&mut self, key: Key<Op>) {
        loop {
            self.ops[key].phase = Phase::Waiting;
            if !self.pool.is_next(key) {
                return self.wait_for_buffers(key, 0);
            }
            let log_room = self.profile.log_room;
            if let Some(room) = log_room {
                self.ops[key].fit_log(&self.members, room, self.profile.block_bytes);
            }
            let mut draft = self.pool.draft();
            let raced = self.ops[key].race().and_then(|race| self.raced_member(race));
            let planned = match (self.ops[key].race(), raced) {
                (Some(_), None) => Err(Shortfall), // the race is over
                _ => self.ops[key].plan(&self.members, log_room.is_some(), raced, &mut draft),
            };
            let used = draft.used();
            match planned {
                Ok(plan) => {
                    let Some(buffers) = self.pool.take(used) else { return self.wait_for_buffers(key, used) };
                    self.pool.served(key);
                    let op = &mut self.ops[key];
                    (op.scratch, op.plan, op.read_failed) = (buffers, plan, false);
                    op.inquiry = Inquiry::default();
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

    /// So many are needed, or it is not known how many. Nobody stands in line for it meanwhile.
    fn wait_for_buffers(&mut self, key: Key<Op>, needed: usize) {
        self.pool.wait(key, needed);
        if let Some(slice) = self.place_in_line(key) {
            self.let_followers_write(slice);
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
    pub(in crate::array) fn op_transfer_ended(&mut self, key: Key<Op>, place: usize, outcome: &Outcome) {
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
        // Of a race all is had at once or nothing: the member itself still has it.
        if !op.bad.is_empty() && !op.is_gone && op.race().is_none() {
            op.halve(block_bytes);
        }
        self.begin(key);
    }

    /// Gives out the step of this number, or goes on to the log after the last. Steps run one by
    /// one: a later one may build on an earlier one.
    fn compute(&mut self, key: Key<Op>, step: usize) {
        if let (Some(race), 0) = (self.ops[key].race(), step)
            && !self.race_computes(race)
        {
            self.ops[key].plan.writes.clear();
            return self.columns_done(key);
        }
        let op = &mut self.ops[key];
        op.has_computed |= step == 0 && op.race().is_some();
        op.phase = Phase::Computing;
        if step == op.plan.steps.len() {
            op.inquire();
        }
        let compute = match op.plan.steps.get(step) {
            None => {
                self.take_verdicts(key);
                return self.start_log(key);
            }
            Some(Step::Compute(compute)) => compute.clone(),
            Some(Step::Check { read: left, right, .. } | Step::Compare { left, right }) => {
                Compute::Compare { left: *left, right: *right }
            }
        };
        op.outstanding = 1;
        self.effects.compute(key, step, compute);
    }

    pub(in crate::array) fn op_step_ended(&mut self, key: Key<Op>, step: usize, outcome: Outcome) {
        let op = &mut self.ops[key];
        op.outstanding = 0;
        match (&op.plan.steps[step], outcome) {
            (Step::Compute(_), Outcome::Done) => {}
            (Step::Check { .. } | Step::Compare { .. }, Outcome::Done) => op.inquiry.answer(Vec::new()),
            (Step::Check { .. } | Step::Compare { .. }, Outcome::Differs(ranges)) => op.inquiry.answer(ranges),
            (step, outcome) => panic!("a computation cannot end so: {outcome:?} of {step:?}"),
        }
        self.compute(key, step + 1);
    }

    pub(super) fn start_writes(&mut self, key: Key<Op>) {
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
            if is_target || self.members.holds(role, offset..offset + u64::from(span.length)) {
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
            if !self.member_gave_up(role) {
                self.renewal_falls_short(key, role);
            }
            return;
        }
        if let Some(found) = op.found.iter_mut().find(|found| found.writes.contains(&place)) {
            found.missing -= 1;
            found.mismatch.repaired = found.missing == 0;
        }
        if heals {
            let member_range = offset..offset + u64::from(span.length);
            let proven = self.members.is_synced(op.sync_range()) && !op.is_disputed(role, &member_range);
            self.events.push_back(Event::Healed { role, member_range, proven });
        }
    }

    /// The columns at work are written.
    pub(super) fn columns_done(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        self.pool.give_back(&mut op.scratch);
        self.release_log(key);
        for found in core::mem::take(&mut self.ops[key].found) {
            self.count_mismatch(&found.mismatch);
            self.events.push_back(Event::Mismatch(found.mismatch));
        }
        if matches!(self.ops[key].kind, Kind::Write(_)) && self.members.health() == Health::Failed {
            self.fail_parts(key, false);
        }
        if self.next_columns(key) { self.begin(key) } else { self.end(key) }
    }

    fn next_columns(&mut self, key: Key<Op>) -> bool {
        let op = &mut self.ops[key];
        op.bad.clear();
        op.is_gone = false;
        let next = op.todo.pop();
        let has_next = next.is_some();
        if let Some(next) = next {
            op.turn = next;
        }
        has_next
    }

    /// What is wanted of the columns at work cannot be had.
    fn fall_short(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        match op.kind {
            Kind::Read { .. } | Kind::Write(_) => {
                if op.separate() {
                    return;
                }
                let unreadable = !op.bad.is_empty() && !op.is_gone;
                self.fail_parts(key, unreadable);
            }
            Kind::Race { .. } => {}
            Kind::Rebuild(role) => self.rebuild_falls_short(key, role),
            Kind::Scrub(_) | Kind::Resync => self.scrub_falls_short(key),
        }
    }

    /// Notes the error at every request that has a part in the columns at work.
    pub(super) fn fail_parts(&mut self, key: Key<Op>, unreadable: bool) {
        let op = &self.ops[key];
        let is_read = matches!(op.kind, Kind::Read { .. });
        for part in op.parts() {
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
        self.tell_losses(key);
        let op = &mut self.ops[key];
        let Op { stopped_at, is_moot, has_bad_blocks, .. } = *op;
        let ended = Ended { stopped_at, is_moot, has_bad_blocks };
        match op.kind {
            Kind::Rebuild(_) => {
                op.phase = Phase::Holding;
                self.rebuild_step_ended(key, ended);
            }
            Kind::Scrub(_) => {
                self.let_go(key);
                self.scrub_step_ended(ended);
            }
            Kind::Resync => {
                self.resync_step_ended(key, ended);
                self.let_go(key);
            }
            Kind::Race { race, .. } => {
                let has_computed = op.has_computed;
                self.let_go(key);
                self.race_part_ended(race, has_computed);
            }
            Kind::Read { .. } | Kind::Write(_) => {
                let place = self.place_in_line(key);
                if let Kind::Read { parts, .. } | Kind::Write(parts) = self.let_go(key) {
                    for part in parts {
                        self.piece_done(part.request);
                    }
                }
                if let Some(slice) = place {
                    self.let_followers_write(slice);
                }
            }
        }
    }

    /// Gives up the slice or range, and forgets the operation.
    pub(in crate::array) fn let_go(&mut self, key: Key<Op>) -> Kind {
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
