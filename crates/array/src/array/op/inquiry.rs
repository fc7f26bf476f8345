//! Who is wrong, where a scrub finds that parity or copies do not agree with the data.
//!
//! md makes parity and copies agree with the data, right or wrong. Where there is more than one
//! witness, more can be said, block by block:
//!
//! | what disagrees | who is wrong | how that is known |
//! | --- | --- | --- |
//! | both parities, and P gives a data block another content, with which the data agree with Q | that data block, or both parities | likely |
//! | both, and no data block is like that | nobody knows: more than one block is wrong | unknown |
//! | of two parities one | that one: the data agree with the other | likely |
//! | of three copies or more some, and more than half agree | those that are outvoted | likely |
//! | anything else: one parity, two copies, a vote that is a tie | nobody knows | unknown |
//! | anything where a resync is due: old and new lie side by side | nobody is wrong | unknown |
//!
//! A single wrong byte decides between P, Q and one data block, as the coefficients of Q are all
//! different. Nothing is ever *proven*, because of what a rebuild can make of rot: it reads the
//! rotten block of another member, and writes a second block that is wrong in the same way; two
//! rebuilds make three of it. Those agree with each other, with one parity, or in a majority; and
//! the block that is right stands alone. So nothing that disagrees is mended unasked. A write over
//! a rotten block does the like with both parities: what it changes them by is reckoned with the
//! rot as the old content, so the data are right then, and both parities off by the rot. Hence no
//! data block is ever made to agree with parities: whoever knows that its drive has rotted fails
//! that member, and has it rebuilt.
//!
//! The blocks of a stripe are put on trial one by one, and only where both parities disagree, in
//! the buffers of what P and Q should be.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::{Kind, Op, Site};
use crate::array::Blame;
use crate::array::plan::{Step, Transfer, Witnesses, solve};
use crate::{Block, Role, Span, Stripe};

/// Ranges of columns, ascending and apart.
pub(super) type Ranges = Vec<Range<u32>>;

/// A verdict of the scrub on a part of what it has read.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// Who does not agree.
    pub(super) role: Role,
    /// Where on it.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) length: u32,
    pub(super) blame: Blame,
    /// What is to be written so that all agree.
    pub(super) mends: Vec<Transfer>,
}

/// Columns in which what was read does not agree.
#[derive(Clone, Debug)]
pub(super) struct Dispute {
    pub(super) range: Range<u32>,
    /// What most copies hold, in all columns at work.
    pub(super) elected: Option<Span>,
}

/// What has been found out of the columns at work.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    /// Where each check of the plan has found that its member disagrees, in the order of the
    /// checks; then the same of each comparison that was added.
    answers: Vec<Ranges>,
    /// Parities: where both disagree, and nobody is convicted.
    open: Ranges,
    /// Parities: the data blocks that are wrong.
    convicted: Vec<(usize, Range<u32>)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The checks of the plan are under way.
    #[default]
    Checks,
    /// The data block of this index is on trial.
    Trial(usize),
    /// What P and Q should be is computed anew, as the trials used their buffers.
    Restoring,
    /// Copies are compared with each other.
    Pairs,
    /// There is nothing more to find out.
    Over,
}

/// One check of the plan.
#[derive(Clone, Copy, Debug)]
struct Check {
    role: Role,
    offset: u64,
    read: Span,
    right: Span,
}

/// The plan of a scrub, as far as an inquiry needs it.
pub(super) struct Evidence<'a> {
    /// What was read first: data, or the first copy.
    pub(super) reads: &'a [Transfer],
    /// The checks are among them.
    pub(super) steps: &'a [Step],
    pub(super) witnesses: Witnesses,
    pub(super) stripe: Option<&'a Stripe>,
}

impl Evidence<'_> {
    fn checks(&self) -> Vec<Check> {
        let check = |step: &Step| match *step {
            Step::Check { role, offset, read, right } => Some(Check { role, offset, read, right }),
            Step::Compute(_) | Step::Compare { .. } => None,
        };
        self.steps.iter().filter_map(check).collect()
    }

    /// The data of a stripe: what is read before the parities.
    fn data(&self) -> Vec<Span> {
        let count = self.stripe.map_or(0, |stripe| stripe.data.len());
        self.reads.iter().take(count).map(|read| read.span).collect()
    }
}

impl Inquiry {
    /// A check, or a comparison that was added, has ended.
    pub(super) fn answer(&mut self, differs: Ranges) {
        self.answers.push(differs);
    }

    /// What is to be computed next to find out more; nothing if all is known that can be.
    pub(super) fn next_steps(&mut self, evidence: &Evidence<'_>) -> Vec<Step> {
        match (evidence.witnesses, self.stage) {
            (Witnesses::Parities, Stage::Checks) => {
                self.open = common(&self.answers[0], &self.answers[1]);
                self.try_block(evidence, 0)
            }
            (Witnesses::Parities, Stage::Trial(index)) => {
                let differs = self.answers.pop().expect("a trial ends with a comparison");
                let explained = minus(&self.open, &differs);
                self.open = common(&self.open, &differs);
                self.convicted.extend(explained.into_iter().map(|range| (index, range)));
                self.try_block(evidence, index + 1)
            }
            (Witnesses::Copies, Stage::Checks) if self.is_contested(evidence) => {
                self.stage = Stage::Pairs;
                pairs(evidence.checks().len())
                    .map(|(left, right)| {
                        let checks = evidence.checks();
                        Step::Compare { left: checks[left].read, right: checks[right].read }
                    })
                    .collect()
            }
            _ => {
                self.stage = Stage::Over;
                Vec::new()
            }
        }
    }

    /// Puts a data block on trial, or ends the trials.
    fn try_block(&mut self, evidence: &Evidence<'_>, index: usize) -> Vec<Step> {
        let (Some(stripe), [p, q]) = (evidence.stripe, parities(evidence)) else { return Vec::new() };
        let mut blocks: Vec<_> = evidence.data().into_iter().map(Block::Known).collect();
        if !self.open.is_empty() && index < blocks.len() {
            self.stage = Stage::Trial(index);
            blocks[index] = Block::Lost(p.right);
            let solved = solve(stripe, &blocks, Block::Known(p.read), Block::Lost(q.right));
            return vec![solved, Step::Compare { left: q.right, right: q.read }];
        }
        let were_tried = self.stage != Stage::Checks;
        self.stage = Stage::Restoring;
        if !were_tried {
            return Vec::new();
        }
        vec![solve(stripe, &blocks, Block::Lost(p.right), Block::Lost(q.right))]
    }

    /// What is to be told, and mended.
    pub(super) fn verdicts(&self, evidence: &Evidence<'_>) -> Vec<Verdict> {
        let checks = evidence.checks();
        match evidence.witnesses {
            Witnesses::Parities => {
                let [p_differs, q_differs] = [&self.answers[0], &self.answers[1]];
                let [p, q] = [&checks[0], &checks[1]];
                let alone = [(p, minus(p_differs, q_differs)), (q, minus(q_differs, p_differs))];
                let alone = alone.into_iter().flat_map(|(check, ranges)| all(check, &ranges, Blame::Likely));
                let convicted = self.convicted.iter().map(|(index, range)| {
                    let Transfer { role, offset, span, .. } = evidence.reads[*index];
                    let verdict = Check { role, offset, read: span, right: span }.verdict(range, Blame::Likely);
                    Verdict { mends: vec![p.mend(range), q.mend(range)], ..verdict }
                });
                let open = [p, q].into_iter().flat_map(|check| all(check, &self.open, Blame::Unknown));
                alone.chain(convicted).chain(open).collect()
            }
            Witnesses::Copies => self.votes(evidence),
            Witnesses::Few => {
                let found = checks.iter().zip(&self.answers);
                found.flat_map(|(check, ranges)| all(check, ranges, Blame::Unknown)).collect()
            }
        }
    }

    /// Where what was read does not agree.
    pub(super) fn disputes(&self, evidence: &Evidence<'_>) -> Vec<Dispute> {
        let copies = || evidence.reads.iter().filter(|_| evidence.witnesses == Witnesses::Copies);
        let elected = |place| self.elected(copies().count(), place).and_then(|copy| copies().nth(copy));
        let pieces = pieces(&self.answers).into_iter();
        pieces.map(|range| Dispute { elected: elected(range.start).map(|copy| copy.span), range }).collect()
    }

    /// Whether the first copy is outvoted anywhere, or may be.
    fn is_contested(&self, evidence: &Evidence<'_>) -> bool {
        let copies = evidence.checks().len() + 1;
        pieces(&self.answers).iter().any(|piece| {
            let against = self.answers.iter().filter(|differs| contains(differs, piece.start)).count();
            (copies - against) * 2 <= copies
        })
    }

    /// Copies: each piece in which nobody changes sides is voted on by itself.
    fn votes(&self, evidence: &Evidence<'_>) -> Vec<Verdict> {
        let first = evidence.reads[0];
        let first = Check { role: first.role, offset: first.offset, read: first.span, right: first.span };
        let copies: Vec<_> = [first].into_iter().chain(evidence.checks()).collect();
        let mut verdicts = Vec::new();
        for piece in pieces(&self.answers) {
            let elected = self.elected(copies.len(), piece.start);
            let (right, blame) = elected.map_or((0, Blame::Unknown), |copy| (copy, Blame::Likely));
            let wrong = (0..copies.len()).filter(|&other| !self.agree(copies.len(), right, other, piece.start));
            verdicts
                .extend(wrong.map(|other| Check { right: copies[right].read, ..copies[other] }.verdict(&piece, blame)));
        }
        verdicts
    }

    /// The copy, of so many, that more than half of them agree with, if there is one.
    fn elected(&self, copies: usize, place: u32) -> Option<usize> {
        let are_all_compared = self.answers.len() >= copies;
        let known = if are_all_compared { copies } else { copies.min(1) };
        let voters = |copy| (0..copies).filter(|&other| self.agree(copies, copy, other, place)).count();
        (0..known).find(|&copy| voters(copy) * 2 > copies)
    }

    /// Whether two copies agree. Comparisons with the first are answered first.
    fn agree(&self, copies: usize, left: usize, right: usize, place: u32) -> bool {
        let pair = pairs(copies).position(|pair| pair == (left.min(right), left.max(right)));
        pair.and_then(|pair| self.answers.get(pair)).is_none_or(|differs| !contains(differs, place))
    }
}

impl Op {
    fn evidence(&self) -> Evidence<'_> {
        let stripe = if let Site::Stripe { stripe, .. } = &self.site { Some(stripe) } else { None };
        // A resync makes them agree with the data, whoever is wrong.
        let witnesses = if let Kind::Scrub(_) = self.kind { self.plan.witnesses } else { Witnesses::Few };
        Evidence { reads: &self.plan.reads, steps: &self.plan.steps, witnesses, stripe }
    }

    /// Adds to the plan of a scrub what is to be computed to find out more.
    pub(super) fn inquire(&mut self) {
        if !matches!(self.kind, Kind::Scrub(_)) || self.plan.steps.is_empty() {
            return;
        }
        let mut inquiry = core::mem::take(&mut self.inquiry);
        let more = inquiry.next_steps(&self.evidence());
        self.inquiry = inquiry;
        self.plan.steps.extend(more);
    }

    /// What the checks came to.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        self.inquiry.verdicts(&self.evidence())
    }

    /// Where they found that what was read does not agree.
    pub(super) fn disputes(&self) -> Vec<Dispute> {
        self.inquiry.disputes(&self.evidence())
    }
}

impl Check {
    fn verdict(self, range: &Range<u32>, blame: Blame) -> Verdict {
        let mend = self.mend(range);
        Verdict { role: self.role, offset: mend.offset, length: mend.span.length, blame, mends: vec![mend] }
    }

    /// What makes a part of it agree.
    fn mend(self, range: &Range<u32>) -> Transfer {
        Transfer { role: self.role, offset: self.offset, span: self.right, heals: false }.part(range)
    }
}

fn all<'a>(check: &'a Check, ranges: &Ranges, blame: Blame) -> impl Iterator<Item = Verdict> + use<'a> {
    ranges.clone().into_iter().map(move |range| check.verdict(&range, blame))
}

/// The checks of P and Q.
fn parities(evidence: &Evidence<'_>) -> [Check; 2] {
    let checks = evidence.checks();
    [checks[0], checks[1]]
}

/// Each two of so many, once.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |left| (left + 1..count).map(move |right| (left, right)))
}

fn contains(ranges: &Ranges, place: u32) -> bool {
    ranges.iter().any(|range| range.contains(&place))
}

/// What both have.
fn common(left: &Ranges, right: &Ranges) -> Ranges {
    let of_one = |one: &Range<u32>| {
        let one = one.clone();
        let overlap = move |other: &Range<u32>| one.start.max(other.start)..one.end.min(other.end);
        right.iter().map(overlap).filter(|range| !range.is_empty()).collect::<Ranges>()
    };
    left.iter().flat_map(of_one).collect()
}

/// What the first has and the second has not.
pub(super) fn minus(left: &Ranges, right: &Ranges) -> Ranges {
    let mut rest = left.clone();
    for other in right {
        let cut = |one: &Range<u32>| [one.start..one.end.min(other.start), one.start.max(other.end)..one.end];
        rest = rest.iter().flat_map(cut).filter(|range| !range.is_empty()).collect();
    }
    rest
}

/// What any of them has, cut wherever one of them begins or ends.
fn pieces(all: &[Ranges]) -> Ranges {
    let mut cuts: Vec<u32> = all.iter().flatten().flat_map(|range| [range.start, range.end]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let pieces = cuts.windows(2).map(|pair| pair[0]..pair[1]);
    pieces.filter(|piece| all.iter().any(|ranges| contains(ranges, piece.start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_held_against_each_other() {
        let (left, right) = (vec![0..4, 8..12], vec![2..9, 11..20]);
        assert_eq!(common(&left, &right), [2..4, 8..9, 11..12]);
        assert_eq!(minus(&left, &right), [0..2, 9..11]);
        assert_eq!(minus(&left, &vec![]), left);
        assert_eq!(common(&left, &vec![]), []);
        assert_eq!(pieces(&[left, right]), [0..2, 2..4, 4..8, 8..9, 9..11, 11..12, 12..20]);
        let [first, second] = [0..2, 4..6];
        assert_eq!(pieces(&[vec![first.clone()], vec![second.clone()]]), [first, second]);
    }
}
