//! Linear: members one after the other, each rounded down to the rounding if there is one (md(4),
//! Linux drivers/md/md-linear.c).

use alloc::vec::Vec;

use super::{Copies, Home, Piece, Shape};
use crate::Role;

/// A linear array.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    /// First array byte of each member, in role order, and the array's capacity at the end.
    starts: Vec<u64>,
}

impl Linear {
    pub(super) fn new(shape: &Shape) -> Self {
        let mut starts = Vec::with_capacity(shape.member_bytes.len() + 1);
        let mut end = 0;
        starts.push(end);
        for bytes in shape.rounded_member_bytes() {
            end += bytes;
            starts.push(end);
        }
        Self { starts }
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(super) fn used_bytes(&self, role: Role) -> u64 {
        self.starts[role.index() + 1] - self.starts[role.index()]
    }

    pub(super) fn piece(&self, offset: u64, length: u64) -> Piece {
        let index = self.starts.partition_point(|&start| start <= offset) - 1;
        let length = length.min(self.starts[index + 1] - offset);
        let role = Role(u16::try_from(index).expect("members are limited to fewer than 2^16"));
        Piece { offset, length, copies: Copies::one(role, offset - self.starts[index]) }
    }

    /// The home of a byte that the array uses, and how far it goes on.
    pub(super) fn homes(&self, role: Role, member_offset: u64) -> (Home, u64) {
        let offset = self.starts[role.index()] + member_offset;
        (Home::Data { offset, copy: 0 }, self.used_bytes(role) - member_offset)
    }
}
