//! RAID4, RAID5 and RAID6: rows of one chunk per member, of which one or two hold parity (md(4),
//! Linux drivers/md/raid5.c).
//!
//! A layout says where P and Q are in a row, and in which order the other members hold data: going
//! round from the one after the parity (symmetric, "continue"), or from role 0 in every row,
//! skipping parity (asymmetric, "restart"). Q's exponents count the data members upward, going
//! round from the one after Q; in the DDF layouts a member's exponent is its role, as if P and Q
//! were data blocks of zeros.

use core::ops::Range;

use super::{Copies, Home, Level, ParityLayout, Piece, Position, Shape, ShapeError, Stripe};
use crate::Role;

/// A RAID4, RAID5 or RAID6.
#[derive(Clone, Debug)]
pub(super) struct Parity {
    chunk_shift: u32,
    member_count: u16,
    /// Members that P and the data rotate over: all, but for layouts that keep Q apart on the last.
    rotating_count: u16,
    /// Data chunks in a row.
    data_count: u16,
    rows: u64,
    rules: Rules,
}

/// A layout, taken apart.
#[derive(Clone, Copy, Debug)]
struct Rules {
    p: PRule,
    q: QRule,
    data: DataRule,
}

/// Where P is in a row.
#[derive(Clone, Copy, Debug)]
enum PRule {
    /// Always on this member.
    Fixed(u16),
    /// `ahead` members below the last in row 0, then one down in each row, going round.
    Down {
        /// DDF's "N restart" is a row ahead of the others.
        ahead: u64,
    },
    /// On member 0 in row 0, then one up in each row, going round.
    Up,
}

/// Where Q is in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QRule {
    /// There is none.
    None,
    /// On the last member in every row; the others rotate without it.
    Last,
    /// On the member after P, going round.
    AfterP,
    /// On the member before P, going round.
    BeforeP,
}

/// In which order the data members hold a row's chunks, and how Q counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataRule {
    /// From role 0 in every row, skipping parity.
    Restart,
    /// Going round from the member after the parity.
    Continue,
    /// As [`DataRule::Restart`]; the role is the exponent.
    DdfRestart,
    /// As [`DataRule::Continue`]; the role is the exponent.
    DdfContinue,
}

/// Where the parity of one row is.
#[derive(Clone, Copy)]
struct RowParity {
    p: u16,
    q: Option<u16>,
}

impl Parity {
    pub(super) fn new(shape: &Shape) -> Result<Self, ShapeError> {
        let member_count = u16::try_from(shape.member_bytes.len()).expect("members are limited to fewer than 2^16");
        let (rules, parity_count) = match shape.level {
            Level::Raid5(layout) => (Rules::raid5(layout, member_count).ok_or(ShapeError::Layout)?, 1),
            Level::Raid6(layout) => (Rules::raid6(layout, member_count), 2),
            _ => (Rules::raid4(member_count), 1),
        };
        Ok(Self {
            chunk_shift: shape.chunk_shift(),
            member_count,
            rotating_count: member_count - u16::from(rules.q == QRule::Last),
            data_count: member_count - parity_count,
            rows: shape.smallest_member_bytes() >> shape.chunk_shift(),
            rules,
        })
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        (self.rows * u64::from(self.data_count)) << self.chunk_shift
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.rows << self.chunk_shift
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn data_count(&self) -> usize {
        usize::from(self.data_count)
    }

    pub(super) fn position(&self, offset: u64) -> Position {
        let chunk = offset >> self.chunk_shift;
        let row = chunk / u64::from(self.data_count);
        let index = (chunk - row * u64::from(self.data_count)) as usize;
        Position { row, index, within: (offset & (self.chunk_bytes() - 1)) as u32 }
    }

    /// The columns that an array range lies in, as member bytes; whole rows where it spans chunks.
    pub(super) fn sync_range(&self, offset: u64, length: u64) -> Range<u64> {
        let (first, last) = (self.position(offset), self.position(offset + length.max(1) - 1));
        if (first.row, first.index) == (last.row, last.index) {
            let start = (first.row << self.chunk_shift) + u64::from(first.within);
            return start..start + length;
        }
        first.row << self.chunk_shift..(last.row + 1) << self.chunk_shift
    }

    pub(super) fn piece(&self, offset: u64, length: u64) -> Piece {
        let Position { row, index, within } = self.position(offset);
        let role = self.data_role(self.row_parity(row), index as u16);
        let within = u64::from(within);
        let copies = Copies::one(Role(role), (row << self.chunk_shift) + within);
        Piece { offset, length: length.min(self.chunk_bytes() - within), copies }
    }

    /// The home of a byte that the array uses, and how far it goes on.
    pub(super) fn homes(&self, role: Role, member_offset: u64) -> (Home, u64) {
        let row = member_offset >> self.chunk_shift;
        let within = member_offset & (self.chunk_bytes() - 1);
        let parity = self.row_parity(row);
        let home = if role.0 == parity.p {
            Home::P { row }
        } else if Some(role.0) == parity.q {
            Home::Q { row }
        } else {
            let index = u64::from(self.data_index(parity, role.0));
            let chunk = row * u64::from(self.data_count) + index;
            Home::Data { offset: (chunk << self.chunk_shift) + within, copy: 0 }
        };
        (home, self.chunk_bytes() - within)
    }

    /// Fills `stripe` in for a row, in the room it already has.
    pub(super) fn fill_stripe(&self, row: u64, stripe: &mut Stripe) {
        let parity = self.row_parity(row);
        stripe.data.clear();
        stripe.exponents.clear();
        for index in 0..self.data_count {
            let role = self.data_role(parity, index);
            stripe.data.push(Role(role));
            stripe.exponents.push(self.exponent(parity, index, role));
        }
        stripe.p = Role(parity.p);
        stripe.q = parity.q.map(Role);
        stripe.member_offset = row << self.chunk_shift;
        stripe.offset = (row * u64::from(self.data_count)) << self.chunk_shift;
    }

    fn chunk_bytes(&self) -> u64 {
        1 << self.chunk_shift
    }

    fn row_parity(&self, row: u64) -> RowParity {
        let count = self.rotating_count;
        let turned = |row: u64| (row % u64::from(count)) as u16;
        let p = match self.rules.p {
            PRule::Fixed(role) => role,
            PRule::Down { ahead } => count - 1 - turned(row + ahead),
            PRule::Up => turned(row),
        };
        let q = match self.rules.q {
            QRule::None => None,
            QRule::Last => Some(self.member_count - 1),
            QRule::AfterP => Some(if p + 1 == count { 0 } else { p + 1 }),
            QRule::BeforeP => Some(if p == 0 { count - 1 } else { p - 1 }),
        };
        RowParity { p, q }
    }

    /// The first data member of a row that is counted going round: the one after P, and after Q if
    /// that comes next.
    fn first_of_continued(&self, parity: RowParity) -> u16 {
        let parity_in_a_row = if self.rules.q == QRule::AfterP { 2 } else { 1 };
        (parity.p + parity_in_a_row) % self.rotating_count
    }

    fn data_role(&self, parity: RowParity, index: u16) -> u16 {
        if self.rules.data.continues() {
            return (self.first_of_continued(parity) + index) % self.rotating_count;
        }
        let q = parity.q.unwrap_or(parity.p);
        let (lower, upper) = (parity.p.min(q), parity.p.max(q));
        let role = index + u16::from(index >= lower);
        role + u16::from(upper != lower && role >= upper)
    }

    fn data_index(&self, parity: RowParity, role: u16) -> u16 {
        if self.rules.data.continues() {
            return (role + self.rotating_count - self.first_of_continued(parity)) % self.rotating_count;
        }
        role - u16::from(role > parity.p) - u16::from(parity.q.is_some_and(|q| role > q))
    }

    /// Q's exponent of a data chunk; without Q, the chunk's index.
    fn exponent(&self, parity: RowParity, index: u16, role: u16) -> u16 {
        let Some(q) = parity.q else { return index };
        if self.rules.data.is_ddf() {
            return role;
        }
        let steps_after_q = |role: u16| (role + self.member_count - q - 1) % self.member_count;
        steps_after_q(role) - u16::from(steps_after_q(parity.p) < steps_after_q(role))
    }
}

impl DataRule {
    fn continues(self) -> bool {
        matches!(self, Self::Continue | Self::DdfContinue)
    }

    fn is_ddf(self) -> bool {
        matches!(self, Self::DdfRestart | Self::DdfContinue)
    }
}

impl Rules {
    fn raid4(member_count: u16) -> Self {
        Self { p: PRule::Fixed(member_count - 1), q: QRule::None, data: DataRule::Restart }
    }

    /// The rules of a RAID5; none for a layout that only RAID6 has.
    fn raid5(layout: ParityLayout, member_count: u16) -> Option<Self> {
        use ParityLayout as L;
        let (p, data) = match layout {
            L::LeftAsymmetric => (PRule::Down { ahead: 0 }, DataRule::Restart),
            L::RightAsymmetric => (PRule::Up, DataRule::Restart),
            L::LeftSymmetric => (PRule::Down { ahead: 0 }, DataRule::Continue),
            L::RightSymmetric => (PRule::Up, DataRule::Continue),
            L::ParityFirst => (PRule::Fixed(0), DataRule::Restart),
            L::ParityLast => (PRule::Fixed(member_count - 1), DataRule::Restart),
            _ => return None,
        };
        Some(Self { p, q: QRule::None, data })
    }

    fn raid6(layout: ParityLayout, member_count: u16) -> Self {
        use ParityLayout as L;
        let (p, q, data) = match layout {
            L::LeftAsymmetric => (PRule::Down { ahead: 0 }, QRule::AfterP, DataRule::Restart),
            L::RightAsymmetric => (PRule::Up, QRule::AfterP, DataRule::Restart),
            L::LeftSymmetric => (PRule::Down { ahead: 0 }, QRule::AfterP, DataRule::Continue),
            L::RightSymmetric => (PRule::Up, QRule::AfterP, DataRule::Continue),
            L::ParityFirst => (PRule::Fixed(0), QRule::AfterP, DataRule::Restart),
            L::ParityLast => (PRule::Fixed(member_count - 2), QRule::AfterP, DataRule::Restart),
            L::DdfZeroRestart => (PRule::Up, QRule::AfterP, DataRule::DdfRestart),
            L::DdfNRestart => (PRule::Down { ahead: 1 }, QRule::AfterP, DataRule::DdfRestart),
            L::DdfNContinue => (PRule::Down { ahead: 0 }, QRule::BeforeP, DataRule::DdfContinue),
            L::LeftAsymmetric6 => (PRule::Down { ahead: 0 }, QRule::Last, DataRule::Restart),
            L::RightAsymmetric6 => (PRule::Up, QRule::Last, DataRule::Restart),
            L::LeftSymmetric6 => (PRule::Down { ahead: 0 }, QRule::Last, DataRule::Continue),
            L::RightSymmetric6 => (PRule::Up, QRule::Last, DataRule::Continue),
            L::ParityFirst6 => (PRule::Fixed(0), QRule::Last, DataRule::Restart),
        };
        Self { p, q, data }
    }
}
