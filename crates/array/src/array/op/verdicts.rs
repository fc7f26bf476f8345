//! What a scrub does about what it has found, and about what it could not read.
//!
//! A block that cannot be read is healed only after the verdict: what is solved for, or copied, is
//! as good as those that are left, and where these disagree it would make the wrong ones more. So,
//! in columns where what could be read
//!
//! | what could be read | is healed |
//! | --- | --- |
//! | agrees, or is no more than is needed | from it |
//! | disagrees, and most copies hold the same | from those |
//! | disagrees, and nobody is elected | only by a repair: from the data, or the first copy |
//!
//! What was taken where anybody disagrees is not called proven. A resync heals like a scrub that
//! repairs.

use alloc::vec::Vec;
use core::ops::Range;

use super::inquiry::{Verdict, minus};
use super::{Found, Kind, Op, Site};
use crate::Role;
use crate::array::{Array, Event, Matter, Mismatch, ScrubMode, plan::Transfer, slab::Key};

impl Op {
    /// Whether the members disagreed within a range of one of them.
    pub(super) fn is_disputed(&self, role: Role, member_range: &Range<u64>) -> bool {
        let start = self.member_range(role).start;
        let overlaps = |range: Range<u32>| {
            start + u64::from(range.start) < member_range.end && member_range.start < start + u64::from(range.end)
        };
        self.disputes().into_iter().any(|dispute| overlaps(dispute.range))
    }

    /// Whether it makes parity and copies agree where nobody is elected.
    fn repairs(&self) -> bool {
        matches!(self.kind, Kind::Resync | Kind::Scrub(ScrubMode::Repair))
    }

    /// What is to be written where members could not be read; and where nothing is to be.
    fn heals(&self) -> (Vec<Transfer>, Vec<Transfer>) {
        let disputes = self.disputes();
        let disputed: Vec<_> = disputes.iter().map(|dispute| dispute.range.clone()).collect();
        let (mut healed, mut left) = (Vec::new(), Vec::new());
        for &heal in &self.plan.heals {
            let of_all = 0..heal.span.length;
            let settled = minus(&Vec::from([of_all]), &disputed);
            healed.extend(settled.iter().map(|range| heal.part(range)));
            for dispute in &disputes {
                let from = Transfer { span: dispute.elected.unwrap_or(heal.span), ..heal };
                let to = if dispute.elected.is_some() || self.repairs() { &mut healed } else { &mut left };
                to.push(from.part(&dispute.range));
            }
        }
        (healed, left)
    }
}

impl Array {
    /// Notes what the checks came to, and what is to be written on account of that.
    pub(super) fn take_verdicts(&mut self, key: Key<Op>) {
        if let Kind::Scrub(_) | Kind::Resync = self.ops[key].kind {
            let (healed, left) = self.ops[key].heals();
            self.ops[key].verdicts().into_iter().for_each(|verdict| self.found_mismatch(key, verdict));
            let is_writable = self.profile.is_writable;
            for Transfer { role, offset, span, .. } in
                left.into_iter().chain(healed.iter().copied().filter(|_| !is_writable))
            {
                let member_range = offset..offset + u64::from(span.length);
                self.events.push_back(Event::Unhealed { role, member_range });
            }
            self.ops[key].plan.writes.extend(healed);
        }
    }

    fn found_mismatch(&mut self, key: Key<Op>, verdict: Verdict) {
        let Verdict { role, offset, length, blame, mends } = verdict;
        let op = &self.ops[key];
        let member_range = offset..offset + u64::from(length);
        let (array_offset, matter) = match &op.site {
            Site::Stripe { stripe, .. } if stripe.data.contains(&role) => (stripe.offset, Matter::Data),
            Site::Stripe { stripe, .. } => (stripe.offset, Matter::Parity),
            Site::Mirror { offset: start, .. } => (start + (offset - op.member_offset(role)), Matter::Copy),
        };
        let op = &mut self.ops[key];
        let first = op.plan.writes.len();
        if op.repairs() {
            op.plan.writes.extend(mends);
        }
        let writes = first..op.plan.writes.len();
        if let Kind::Scrub(_) = op.kind {
            let mismatch = Mismatch { role, blame, matter, member_range, offset: array_offset, repaired: false };
            op.found.push(Found { mismatch, missing: writes.len(), writes });
        }
    }
}
