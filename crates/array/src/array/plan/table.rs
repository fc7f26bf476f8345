//! How a write to part of a stripe is done: the decision table.
//!
//! | P or Q is written | touched blocks readable | other blocks readable | fewer reads | strategy |
//! | --- | --- | --- | --- | --- |
//! | no                        | any | any | any | data only |
//! | yes, its old one readable | yes | yes | modify | read-modify-write |
//! | yes, its old one readable | yes | yes | reconstruct | reconstruct-write |
//! | yes, its old one readable | yes | no  | any | read-modify-write |
//! | yes, its old one readable | no  | yes | any | reconstruct-write |
//! | yes, its old one readable | no  | no  | any | recover, then write |
//! | yes, its old one not      | any | yes | any | reconstruct-write |
//! | yes, its old one not      | any | no  | any | recover, then write |
//! | yes, not in sync          | any | yes | any | reconstruct-write |
//! | yes, not in sync          | any | no  | any | recover, then write |
//!
//! *Touched blocks* are the data blocks that a read-modify-write reads, those with any new data.
//! *Other blocks* are those that a reconstruct-write reads, all that the new data does not cover
//! whole. A full-stripe write is the reconstruct-write that reads nothing. Parity that is not in
//! sync (see [`crate::array::resync`]) is never changed by a difference, which would keep it wrong.
//! Strategies differ only in their reads: each writes the new data, and P and Q.

/// How to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// No parity to keep up: write the new data.
    DataOnly,
    /// Read old data and parity, change parity by the difference.
    Modify,
    /// Read what is not written, compute parity from all data.
    Reconstruct,
    /// Read all that can be read, solve for the blocks that cannot, then compute parity from all
    /// data.
    Recover,
}

/// State of the parity that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parity {
    /// None: all its members are lost.
    None,
    /// Each of them could be read too.
    Readable,
    /// One of them cannot be read.
    Unreadable,
    /// It may not agree with the data.
    Stale,
}

/// What the decision depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) parity: Parity,
    pub(super) touched_readable: bool,
    pub(super) others_readable: bool,
    /// Reads of a read-modify-write.
    pub(super) modify_reads: usize,
    /// Reads of a reconstruct-write.
    pub(super) reconstruct_reads: usize,
}

/// One row; `None` matches anything.
struct Row {
    parity: Parity,
    touched_readable: Option<bool>,
    others_readable: Option<bool>,
    modify_is_cheaper: Option<bool>,
    strategy: Strategy,
}

const fn row(
    parity: Parity,
    touched_readable: Option<bool>,
    others_readable: Option<bool>,
    modify_is_cheaper: Option<bool>,
    strategy: Strategy,
) -> Row {
    Row { parity, touched_readable, others_readable, modify_is_cheaper, strategy }
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);
const ANY: Option<bool> = None;

const TABLE: [Row; 10] = [
    row(Parity::None, ANY, ANY, ANY, Strategy::DataOnly),
    row(Parity::Readable, YES, YES, YES, Strategy::Modify),
    row(Parity::Readable, YES, YES, NO, Strategy::Reconstruct),
    row(Parity::Readable, YES, NO, ANY, Strategy::Modify),
    row(Parity::Readable, NO, YES, ANY, Strategy::Reconstruct),
    row(Parity::Readable, NO, NO, ANY, Strategy::Recover),
    row(Parity::Unreadable, ANY, YES, ANY, Strategy::Reconstruct),
    row(Parity::Unreadable, ANY, NO, ANY, Strategy::Recover),
    row(Parity::Stale, ANY, YES, ANY, Strategy::Reconstruct),
    row(Parity::Stale, ANY, NO, ANY, Strategy::Recover),
];

impl Row {
    fn matches(&self, facts: &Facts) -> bool {
        let fits = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        self.parity == facts.parity
            && fits(self.touched_readable, facts.touched_readable)
            && fits(self.others_readable, facts.others_readable)
            && fits(self.modify_is_cheaper, facts.modify_reads < facts.reconstruct_reads)
    }
}

/// Looks the strategy up.
pub(super) fn decide(facts: &Facts) -> Strategy {
    TABLE.iter().find(|row| row.matches(facts)).expect("the table covers every case").strategy
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn every_case() -> Vec<Facts> {
        let mut cases = Vec::new();
        for parity in [Parity::None, Parity::Readable, Parity::Unreadable, Parity::Stale] {
            for bits in 0..8 {
                cases.push(Facts {
                    parity,
                    touched_readable: bits & 1 != 0,
                    others_readable: bits & 2 != 0,
                    modify_reads: 3,
                    reconstruct_reads: if bits & 4 != 0 { 4 } else { 3 },
                });
            }
        }
        cases
    }

    #[test]
    fn exactly_one_row_matches_every_case() {
        for facts in every_case() {
            assert_eq!(TABLE.iter().filter(|row| row.matches(&facts)).count(), 1, "{facts:?}");
        }
    }

    #[test]
    fn the_cheapest_possible_strategy_is_taken() {
        for facts in every_case() {
            let modify = (facts.parity == Parity::Readable && facts.touched_readable).then_some(facts.modify_reads);
            let reconstruct =
                (facts.parity != Parity::None && facts.others_readable).then_some(facts.reconstruct_reads);
            let least = modify.into_iter().chain(reconstruct).min();
            let chosen = match decide(&facts) {
                Strategy::DataOnly => {
                    assert_eq!(facts.parity, Parity::None);
                    continue;
                }
                Strategy::Modify => modify,
                Strategy::Reconstruct => reconstruct,
                Strategy::Recover => None,
            };
            assert_eq!(chosen, least, "{facts:?}");
        }
    }
}
