//! The places of a piece, without an allocation for as many copies as arrays commonly keep.

use alloc::vec::Vec;
use core::ops::Deref;

use crate::Role;

/// Places held without an allocation: three copies are common, a fourth is not rare.
const INLINE: usize = 4;

/// The places of a piece: (role, member offset), at least one, every one holding the same bytes.
///
/// Reads as a slice. The order is md's order of copies, in which [`super::Home::Data`] numbers
/// them.
#[derive(Clone, Debug)]
pub struct Copies {
    inline: [(Role, u64); INLINE],
    inline_count: usize,
    /// All places, once there are more than fit inline.
    spilled: Vec<(Role, u64)>,
}

impl Copies {
    /// No places yet.
    pub(super) fn new() -> Self {
        Self { inline: [(Role(0), 0); INLINE], inline_count: 0, spilled: Vec::new() }
    }

    /// The one place of something that is not mirrored.
    pub(super) fn one(role: Role, member_offset: u64) -> Self {
        let mut copies = Self::new();
        copies.push(role, member_offset);
        copies
    }

    /// Adds a place.
    pub(super) fn push(&mut self, role: Role, member_offset: u64) {
        if self.spilled.is_empty() && self.inline_count < INLINE {
            self.inline[self.inline_count] = (role, member_offset);
            self.inline_count += 1;
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline);
        }
        self.spilled.push((role, member_offset));
    }
}

impl Deref for Copies {
    type Target = [(Role, u64)];

    fn deref(&self) -> &Self::Target {
        if self.spilled.is_empty() { &self.inline[..self.inline_count] } else { &self.spilled }
    }
}

impl PartialEq for Copies {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Copies {}

impl<'a> IntoIterator for &'a Copies {
    type Item = &'a (Role, u64);
    type IntoIter = core::slice::Iter<'a, (Role, u64)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
