//! Plans that need content which cannot simply be read: degraded reads, rebuild steps, scrub steps.
//!
//! All three read every block that can be read and solve the stripe for the rest. What a member
//! answered to be unreadable, though it works, is written back from the solution: it is *healed*;
//! by a scrub, not before it is known whether the rest agrees.

use alloc::{vec, vec::Vec};

use super::{Cols, IoPlan, Part, Shortfall, Step, Transfer, View, Witnesses};
use crate::{Block, Compute, Role, Span, Stripe, array::scratch::Draft};

/// The data of some columns of a stripe, every block in a span: read or solved for.
pub(super) struct Recovered {
    pub(super) data: Vec<Span>,
    /// Spans of the parities that were wanted, as they should be.
    parities: Vec<(Role, Span)>,
}

/// Plans to have all data. Blocks that cannot be read are solved for, into `target(index)` if that
/// names a span. The parities that `wants` names are computed as well, unless the solution needs
/// them.
pub(super) fn recover(
    view: &View<'_>,
    plan: &mut IoPlan,
    draft: &mut Draft<'_>,
    target: impl Fn(usize) -> Option<Span>,
    wants: impl Fn(Role) -> bool,
) -> Result<Recovered, Shortfall> {
    let stripe = view.stripe;
    let lost = stripe.data.iter().filter(|role| !view.can_read(**role)).count();
    let used: Vec<_> = view.parities().filter(|role| view.can_read(*role)).take(lost).collect();
    if used.len() < lost {
        return Err(Shortfall);
    }
    let mut block = |role: Role, span: Option<Span>, is_read: bool| {
        let span = span.unwrap_or_else(|| draft.span(view.cols.length()));
        if !is_read {
            return Block::Lost(span);
        }
        plan.reads.push(view.transfer(role, view.cols, span));
        Block::Known(span)
    };
    let data = stripe.data.iter().enumerate();
    let data: Vec<_> = data.map(|(index, role)| block(*role, target(index), view.can_read(*role))).collect();
    let [p, q] = [Some(stripe.p), stripe.q].map(|role| match role {
        Some(role) if used.contains(&role) || wants(role) => block(role, None, used.contains(&role)),
        _ => Block::Absent,
    });
    let computed = |(role, block)| if let Block::Lost(span) = block { Some((role, span)) } else { None };
    let parities: Vec<_> = view.parities().zip([p, q]).filter_map(computed).collect();
    if lost > 0 || !parities.is_empty() {
        plan.steps.push(solve(stripe, &data, p, q));
    }
    Ok(Recovered { data: data.iter().filter_map(Block::span).collect(), parities })
}

/// A solve step; `data` in the order of the stripe's data blocks.
pub(in crate::array) fn solve(stripe: &Stripe, data: &[Block], p: Block, q: Block) -> Step {
    let places = stripe.exponents.iter().max().map_or(0, |last| usize::from(*last) + 1);
    let mut by_exponent = vec![Block::Absent; places];
    for (exponent, block) in stripe.exponents.iter().zip(data) {
        by_exponent[usize::from(*exponent)] = *block;
    }
    Step::Compute(Compute::Solve { data: by_exponent, p, q })
}

/// Puts back what could not be read.
fn healing(view: &View<'_>, recovered: &Recovered) -> Vec<Transfer> {
    let data = view.stripe.data.iter().copied().zip(recovered.data.iter().copied());
    let blocks = data.chain(recovered.parities.iter().copied());
    blocks.filter(|(role, _)| view.needs_healing(*role)).map(|(role, span)| view.healing(role, span)).collect()
}

/// Reads of the view's columns of some blocks: from their own members if these can be read, else
/// from all others.
pub(in crate::array) fn plan_read(view: &View<'_>, parts: &[Part], draft: &mut Draft<'_>) -> Result<IoPlan, Shortfall> {
    let mut plan = IoPlan::default();
    let target = |index| parts.iter().find(|part| part.index == index).map(|part| part.span);
    let is_solved = |part: &Part| !view.can_read(view.stripe.data[part.index]);
    if parts.iter().any(is_solved) {
        let recovered = recover(view, &mut plan, draft, target, |role| view.needs_healing(role))?;
        plan.writes = healing(view, &recovered);
        return Ok(plan);
    }
    plan.reads = parts.iter().map(|part| view.transfer(view.stripe.data[part.index], view.cols, part.span)).collect();
    Ok(plan)
}

/// A rebuild of what belongs on `role`.
pub(in crate::array) fn plan_rebuild(view: &View<'_>, role: Role, draft: &mut Draft<'_>) -> Result<IoPlan, Shortfall> {
    let mut plan = IoPlan::default();
    let wants = |parity| parity == role || view.needs_healing(parity);
    let recovered = recover(view, &mut plan, draft, |_| None, wants)?;
    plan.writes = healing(view, &recovered);
    let index = view.stripe.data.iter().position(|data| *data == role);
    let parity = recovered.parities.iter().find(|(parity, _)| *parity == role).map(|(_, span)| *span);
    let span = index.map(|index| recovered.data[index]).or(parity).ok_or(Shortfall)?;
    plan.writes.push(view.transfer(role, view.cols, span));
    Ok(plan)
}

/// A comparison of every parity that can be read, and that is not needed to solve for data, with
/// what it should be.
pub(in crate::array) fn plan_scrub(view: &View<'_>, draft: &mut Draft<'_>) -> Result<IoPlan, Shortfall> {
    let mut plan = IoPlan::default();
    let recovered = recover(view, &mut plan, draft, |_| None, |role| view.can_write(role))?;
    plan.heals = healing(view, &recovered);
    let is_whole = view.stripe.data.iter().copied().chain(view.parities()).all(|role| view.can_read(role));
    if is_whole && recovered.parities.len() == 2 && view.is_synced() {
        plan.witnesses = Witnesses::Parities;
    }
    for (role, right) in recovered.parities.iter().copied() {
        if view.can_read(role) {
            let read = draft.span(view.cols.length());
            let transfer = view.transfer(role, view.cols, read);
            plan.reads.push(transfer);
            plan.steps.push(Step::Check { role, offset: transfer.offset, read, right });
        }
    }
    let nothing_to_do = plan.heals.is_empty() && recovered.parities.is_empty();
    Ok(if nothing_to_do { IoPlan::default() } else { plan })
}

impl Recovered {
    /// The blocks as known ones.
    pub(super) fn known(&self) -> Vec<Block> {
        self.data.iter().map(|span| Block::Known(*span)).collect()
    }

    /// The span of a block, or of the columns of it.
    pub(super) fn part(&self, view: &View<'_>, index: usize, cols: Cols) -> Span {
        view.cols.part(self.data[index], cols)
    }
}
