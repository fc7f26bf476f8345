//! Plans for mirrored pieces: reads whose first copy failed, rebuild steps, scrub steps.

use alloc::vec::Vec;

use super::{Cols, IoPlan, Part, Shortfall, Step, Transfer, Witnesses};
use crate::array::member::{Members, Wanted};
use crate::array::scratch::Draft;
use crate::{Compute, Copies, Role, Span};

/// Some columns of a mirrored piece, and who can be read there.
#[derive(Clone, Copy, Debug)]
pub(in crate::array) struct Mirror<'a> {
    pub(in crate::array) copies: &'a Copies,
    /// The piece's first array byte.
    pub(in crate::array) offset: u64,
    pub(in crate::array) cols: Cols,
    pub(in crate::array) members: &'a Members,
    pub(in crate::array) bad: &'a [Role],
}

impl Mirror<'_> {
    fn first(&self, offset: u64) -> u64 {
        offset + u64::from(self.cols.start)
    }

    /// The copies here.
    fn copies(&self) -> impl Iterator<Item = (Role, u64)> + Clone {
        self.copies.iter().map(|(role, offset)| (*role, self.first(*offset)))
    }

    /// Whether the copies are known to agree.
    fn is_synced(&self) -> bool {
        self.members.is_synced(self.first(self.offset)..self.offset + u64::from(self.cols.end))
    }

    /// The best copy that can be read.
    fn choose(&self) -> Option<(Role, u64)> {
        self.members.choose_brisk(
            self.copies(),
            Wanted::alone(u64::from(self.cols.length())),
            self.bad,
            self.is_synced(),
        )
    }

    /// The first copy that can be read; one of a member that is to be renewed only if there is no
    /// other.
    fn reference(&self) -> Option<(Role, u64)> {
        let first =
            |except: &[Role]| self.members.readable(self.copies(), u64::from(self.cols.length()), except).next();
        let lasting: Vec<Role> = self.bad.iter().chain(self.members.perishable()).copied().collect();
        first(&lasting).or_else(|| first(self.bad))
    }

    /// Whether none of those that hold it has missed a write that another one has.
    fn are_equally_trusted(&self) -> bool {
        let held = self.copies.iter().filter(|(role, offset)| self.holds(*role, *offset)).count();
        self.members.readable(self.copies(), u64::from(self.cols.length()), &[]).count() == held
    }

    fn holds(&self, role: Role, offset: u64) -> bool {
        self.members.holds(role, self.first(offset)..offset + u64::from(self.cols.end))
    }

    /// Writes of `span` to every copy that works but could not be read.
    fn healing(&self, span: Span) -> impl Iterator<Item = Transfer> {
        self.copies
            .iter()
            .filter(|(role, offset)| self.bad.contains(role) && self.holds(*role, *offset))
            .map(move |(role, offset)| Transfer { role: *role, offset: self.first(*offset), span, heals: true })
    }
}

/// A read: from the member `suspect` if it can be read, to find out which blocks of it cannot; else
/// from any copy.
pub(in crate::array) fn plan_mirror_read(
    mirror: &Mirror<'_>,
    parts: &[Part],
    suspect: Option<Role>,
) -> Result<IoPlan, Shortfall> {
    let span = parts.first().ok_or(Shortfall)?.span;
    let suspected = mirror
        .copies
        .iter()
        .find(|(role, offset)| Some(*role) == suspect && !mirror.bad.contains(role) && mirror.holds(*role, *offset));
    let suspected = suspected.map(|(role, offset)| (*role, mirror.first(*offset)));
    let (role, offset) = suspected.or_else(|| mirror.choose()).ok_or(Shortfall)?;
    let reads = [Transfer { role, offset, span, heals: false }].into();
    Ok(IoPlan { reads, writes: mirror.healing(span).collect(), ..IoPlan::default() })
}

/// A read that goes round a member, by way of a buffer; never to one that is to be renewed.
pub(in crate::array) fn plan_mirror_race(
    mirror: &Mirror<'_>,
    part: &Part,
    around: Role,
    draft: &mut Draft<'_>,
) -> Result<IoPlan, Shortfall> {
    let except: Vec<_> = mirror.bad.iter().chain(mirror.members.perishable()).copied().chain([around]).collect();
    let length = mirror.cols.length();
    let found = mirror.members.choose_brisk(mirror.copies(), Wanted::alone(u64::from(length)), &except, true);
    let (role, offset) = found.ok_or(Shortfall)?;
    let span = draft.span(length);
    let copy = Step::Compute(Compute::Copy { from: span, to: part.span });
    let reads = [Transfer { role, offset, span, heals: false }].into();
    Ok(IoPlan { reads, steps: [copy].into(), writes: mirror.healing(span).collect(), ..IoPlan::default() })
}

/// A copy onto the member `target`.
pub(in crate::array) fn plan_mirror_rebuild(
    mirror: &Mirror<'_>,
    target: Role,
    draft: &mut Draft<'_>,
) -> Result<IoPlan, Shortfall> {
    let span = draft.span(mirror.cols.length());
    let (role, offset) = mirror.choose().ok_or(Shortfall)?;
    let mut writes: Vec<_> = mirror.healing(span).collect();
    let here = mirror.copies.iter().filter(|(role, _)| *role == target);
    writes.extend(here.map(|(role, offset)| Transfer {
        role: *role,
        offset: mirror.first(*offset),
        span,
        heals: false,
    }));
    Ok(IoPlan { reads: [Transfer { role, offset, span, heals: false }].into(), writes, ..IoPlan::default() })
}

/// A comparison of every copy with the first that can be read.
pub(in crate::array) fn plan_mirror_scrub(mirror: &Mirror<'_>, draft: &mut Draft<'_>) -> Result<IoPlan, Shortfall> {
    let held = mirror.copies.iter().filter(|(role, offset)| mirror.holds(*role, *offset));
    let mut plan = IoPlan::default();
    if held.clone().count() < 2 {
        return Ok(plan);
    }
    let length = mirror.cols.length();
    let (first, offset) = mirror.reference().ok_or(Shortfall)?;
    let right = draft.span(length);
    plan.reads.push(Transfer { role: first, offset, span: right, heals: false });
    for (role, offset) in held.filter(|(role, _)| *role != first && !mirror.bad.contains(role)) {
        let (role, offset, read) = (*role, mirror.first(*offset), draft.span(length));
        plan.reads.push(Transfer { role, offset, span: read, heals: false });
        plan.steps.push(Step::Check { role, offset, read, right });
    }
    if plan.steps.len() > 1 && mirror.is_synced() && mirror.are_equally_trusted() {
        plan.witnesses = Witnesses::Copies;
    }
    plan.heals = mirror.healing(right).collect();
    Ok(plan)
}
