//! Plans of writes to a stripe: one batch of parts, gathered from any number of requests.

use alloc::vec::Vec;

use super::{
    Cols, IoPlan, Part, Rectangle, Shortfall, Step, View,
    log::rectangles,
    recover::{recover, solve},
    table::{Facts, Parity, Strategy, decide},
};
use crate::{Block, Compute, Role, Span, array::scratch::Draft};

/// What a batch does to one data block.
#[derive(Clone, Debug)]
pub(super) struct Touched<'a> {
    pub(super) index: usize,
    role: Role,
    /// From the first new byte to the last.
    pub(super) cols: Cols,
    /// The new data, ascending.
    pub(super) parts: &'a [Part],
    /// New data for every column of the batch.
    is_whole: bool,
}

impl Touched<'_> {
    /// The new data, if it needs no assembling.
    fn single(&self) -> Option<Span> {
        match self.parts {
            [part] => Some(part.span),
            _ => None,
        }
    }
}

/// The columns from the first new byte to the last; `None` if there are no parts.
pub(in crate::array) fn hull_of(parts: &[Part]) -> Option<Cols> {
    parts.iter().map(|part| part.cols).reduce(Cols::hull)
}

/// Plans the batch: `parts`, sorted by index and column, lie within the view's columns, and these
/// are their hull. `logs`: what the parity depends on goes into the partial parity log.
pub(in crate::array) fn plan_write(
    view: &View<'_>,
    parts: &[Part],
    logs: bool,
    draft: &mut Draft<'_>,
) -> Result<IoPlan, Shortfall> {
    let touched: Vec<_> =
        parts.chunk_by(|left, right| left.index == right.index).map(|parts| touch(view, parts)).collect();
    let logged = if logs { rectangles(parts, None).unwrap_or_default() } else { Vec::new() };
    let mut batch = Batch { view, touched: &touched, logged, plan: IoPlan::default(), draft };
    match decide(&facts(view, &touched)) {
        Strategy::DataOnly => batch.data_only(),
        Strategy::Modify => batch.modify(),
        Strategy::Reconstruct => batch.reconstruct(),
        Strategy::Recover => batch.recover()?,
    }
    Ok(batch.plan)
}

fn touch<'a>(view: &View<'_>, parts: &'a [Part]) -> Touched<'a> {
    let index = parts[0].index;
    let cols = hull_of(parts).unwrap_or(view.cols);
    let new_bytes: u32 = parts.iter().map(|part| part.cols.length()).sum();
    Touched { index, role: view.stripe.data[index], cols, parts, is_whole: new_bytes == view.cols.length() }
}

fn facts(view: &View<'_>, touched: &[Touched<'_>]) -> Facts {
    let written: Vec<_> = view.parities().filter(|role| view.can_write(*role)).collect();
    let parity = match written.iter().all(|role| view.can_read(*role)) {
        _ if written.is_empty() => Parity::None,
        _ if !view.is_synced() => Parity::Stale,
        true => Parity::Readable,
        false => Parity::Unreadable,
    };
    let is_whole = |index: usize| touched.iter().any(|block| block.index == index && block.is_whole);
    let others = || view.stripe.data.iter().enumerate().filter(|(index, _)| !is_whole(*index));
    Facts {
        parity,
        touched_readable: touched.iter().all(|block| view.can_read(block.role)),
        others_readable: others().all(|(_, role)| view.can_read(*role)),
        modify_reads: touched.len() + written.len(),
        reconstruct_reads: others().count(),
    }
}

/// A plan in the making.
pub(super) struct Batch<'a, 'b> {
    pub(super) view: &'a View<'a>,
    pub(super) touched: &'a [Touched<'a>],
    /// What is to be logged.
    pub(super) logged: Vec<Rectangle>,
    pub(super) plan: IoPlan,
    pub(super) draft: &'a mut Draft<'b>,
}

impl Batch<'_, '_> {
    fn data_only(&mut self) {
        for block in self.touched {
            for part in block.parts {
                self.plan.writes.push(self.view.transfer(block.role, part.cols, part.span));
            }
        }
    }

    /// Read-modify-write: the old data is read, parity changed by the difference, and the new data
    /// put over the old.
    fn modify(&mut self) {
        let [p, q] = self.old_parity();
        let spans = self.touched.iter().map(|block| self.draft.span(block.cols.length()));
        let olds: Vec<Span> = spans.collect();
        self.log_modify(p, &olds);
        for (block, old) in self.touched.iter().zip(olds) {
            self.plan.reads.push(self.view.transfer(block.role, block.cols, old));
            for part in block.parts {
                let update = Compute::Update {
                    p: p.map(|span| self.view.cols.part(span, part.cols)),
                    q: q.map(|span| self.view.cols.part(span, part.cols)),
                    exponent: self.view.stripe.exponents[block.index],
                    old: block.cols.part(old, part.cols),
                    new: part.span,
                };
                self.plan.steps.push(Step::Compute(update));
            }
            let new = block.single().unwrap_or_else(|| self.assemble(block, block.cols, old));
            self.plan.writes.push(self.view.transfer(block.role, block.cols, new));
        }
    }

    /// Plans reads of P and Q and, after the changes, their writes.
    fn old_parity(&mut self) -> [Option<Span>; 2] {
        let view = self.view;
        [Some(view.stripe.p), view.stripe.q].map(|role| {
            let role = role.filter(|role| view.can_write(*role))?;
            let span = self.draft.span(view.cols.length());
            self.plan.reads.push(view.transfer(role, view.cols, span));
            self.plan.writes.push(view.transfer(role, view.cols, span));
            Some(span)
        })
    }

    /// Puts a block's new data over `base`, which holds the columns `cols` of it.
    fn assemble(&mut self, block: &Touched<'_>, cols: Cols, base: Span) -> Span {
        for part in block.parts {
            let copy = Compute::Copy { from: part.span, to: cols.part(base, part.cols) };
            self.plan.steps.push(Step::Compute(copy));
        }
        cols.part(base, block.cols)
    }

    /// Reconstruct-write: what is not written is read, and parity computed from all data.
    fn reconstruct(&mut self) {
        let view = self.view;
        let mut touched = self.touched.iter().peekable();
        let mut blocks = Vec::with_capacity(view.stripe.data.len());
        for (index, role) in view.stripe.data.iter().enumerate() {
            let block = touched.next_if(|block| block.index == index);
            if let Some((block, new)) =
                block.and_then(|block| Some((block, block.single().filter(|_| block.is_whole)?)))
            {
                self.plan.writes.push(view.transfer(block.role, view.cols, new));
                blocks.push(Block::Known(new));
                continue;
            }
            let span = self.draft.span(view.cols.length());
            if block.is_none_or(|block| !block.is_whole) {
                self.plan.reads.push(view.transfer(*role, view.cols, span));
            }
            if let Some(block) = block {
                let new = self.assemble(block, view.cols, span);
                self.plan.writes.push(view.transfer(*role, block.cols, block.single().unwrap_or(new)));
            }
            blocks.push(Block::Known(span));
        }
        self.log_data(&blocks);
        self.compute_parity(&blocks);
    }

    /// The old content of all data is had first, by solving for what cannot be read; then as in a
    /// full-stripe write.
    fn recover(&mut self) -> Result<(), Shortfall> {
        let view = self.view;
        let recovered = recover(view, &mut self.plan, self.draft, |_| None, |_| false)?;
        for block in self.touched {
            let span = recovered.part(view, block.index, view.cols);
            let new = self.assemble(block, view.cols, span);
            if !view.needs_healing(block.role) {
                self.plan.writes.push(view.transfer(block.role, block.cols, new));
            }
        }
        for (role, span) in view.stripe.data.iter().zip(&recovered.data) {
            if view.needs_healing(*role) {
                self.plan.writes.push(view.healing(*role, *span));
            }
        }
        let blocks = recovered.known();
        self.log_data(&blocks);
        self.compute_parity(&blocks);
        Ok(())
    }

    fn compute_parity(&mut self, data: &[Block]) {
        let view = self.view;
        let [p, q] = [Some(view.stripe.p), view.stripe.q].map(|role| {
            let Some(role) = role.filter(|role| view.can_write(*role)) else { return Block::Absent };
            let span = self.draft.span(view.cols.length());
            self.plan.writes.push(view.transfer(role, view.cols, span));
            Block::Lost(span)
        });
        self.plan.steps.push(solve(view.stripe, data, p, q));
    }
}
