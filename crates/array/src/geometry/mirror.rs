//! RAID1: every member holds the whole array, as far as the smallest reaches (md(4)).

use super::{Copies, Home, Piece, Shape};
use crate::Role;

/// A RAID1.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    member_count: u16,
    capacity_bytes: u64,
}

impl Mirror {
    pub(super) fn new(shape: &Shape) -> Self {
        let member_count = u16::try_from(shape.member_bytes.len()).expect("members are limited to fewer than 2^16");
        Self { member_count, capacity_bytes: shape.smallest_member_bytes() }
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    pub(super) fn piece(&self, offset: u64, length: u64) -> Piece {
        let mut copies = Copies::new();
        for role in 0..self.member_count {
            copies.push(Role(role), offset);
        }
        Piece { offset, length: length.min(self.capacity_bytes - offset), copies }
    }

    /// The home of a byte that the array uses, and how far it goes on.
    pub(super) fn homes(&self, role: Role, member_offset: u64) -> (Home, u64) {
        (Home::Data { offset: member_offset, copy: role.0 }, self.capacity_bytes - member_offset)
    }
}
