//! RAID10: each chunk `near * far` times, always on different members (md(4), Linux
//! drivers/md/raid10.c).
//!
//! Near copies fill consecutive slots; slots run over the members row by row. A far copy is the
//! same pattern again, shifted by `near` roles for each copy: one section of the member further on,
//! or, with `offset`, in the next row. With far sets the shift goes round within groups of
//! `near * far` members; the last group takes the remainder.

use alloc::vec::Vec;

use super::{Copies, Home, Piece, Raid10Layout, Shape, ShapeError};
use crate::Role;

/// A RAID10.
#[derive(Clone, Debug)]
pub(super) struct Raid10 {
    chunk_shift: u32,
    member_count: u64,
    near: u64,
    far: u64,
    /// Chunks of content.
    chunk_count: u64,
    /// Rows of each member that one set of near copies takes.
    section_rows: u64,
    /// A row of near copies is this many rows after the one before it.
    row_step: u64,
    /// A far copy is this many rows after the one before it.
    far_step: u64,
    /// Role of far copy `f` of the slot of role `r`: `shifted[f * member_count + r]`.
    shifted: Vec<Role>,
    /// The inverse: which slot's far copy `f` is on role `r`.
    unshifted: Vec<Role>,
}

impl Raid10 {
    pub(super) fn new(shape: &Shape, layout: Raid10Layout) -> Result<Self, ShapeError> {
        let member_count = shape.member_bytes.len();
        check_layout(layout, member_count)?;
        let (near, far) = (u64::from(layout.near), u64::from(layout.far));
        let member_rows = shape.smallest_member_bytes() >> shape.chunk_shift();
        let section_rows = member_rows / far;
        let chunk_count = section_rows * member_count as u64 / near;
        if chunk_count == 0 {
            return Err(ShapeError::MemberTooSmall {
                role: smallest_member(shape),
                member_bytes: smallest_bytes(shape),
            });
        }
        let (row_step, far_step) = if layout.offset { (far, 1) } else { (1, section_rows) };
        let shifted = shifted_roles(layout, member_count);
        let mut unshifted = shifted.clone();
        for (index, role) in shifted.iter().enumerate() {
            let copy_start = index - index % member_count;
            unshifted[copy_start + role.index()] = role_at(index % member_count);
        }
        Ok(Self {
            chunk_shift: shape.chunk_shift(),
            member_count: member_count as u64,
            near,
            far,
            chunk_count,
            section_rows,
            row_step,
            far_step,
            shifted,
            unshifted,
        })
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.chunk_count << self.chunk_shift
    }

    pub(super) fn used_bytes(&self) -> u64 {
        (self.section_rows * self.far) << self.chunk_shift
    }

    pub(super) fn piece(&self, offset: u64, length: u64) -> Piece {
        let chunk = offset >> self.chunk_shift;
        let within = offset & ((1 << self.chunk_shift) - 1);
        let mut copies = Copies::new();
        let first_slot = chunk * self.near;
        let (mut slot_row, mut slot_role) = (first_slot / self.member_count, first_slot % self.member_count);
        for _ in 0..self.near {
            for far_copy in 0..self.far {
                let role = self.shifted[(far_copy * self.member_count + slot_role) as usize];
                let row = slot_row * self.row_step + far_copy * self.far_step;
                copies.push(role, (row << self.chunk_shift) + within);
            }
            slot_role += 1;
            if slot_role == self.member_count {
                (slot_row, slot_role) = (slot_row + 1, 0);
            }
        }
        Piece { offset, length: length.min((1 << self.chunk_shift) - within), copies }
    }

    /// The home of a byte that the array uses, and how far it goes on.
    pub(super) fn homes(&self, role: Role, member_offset: u64) -> (Home, u64) {
        let row = member_offset >> self.chunk_shift;
        let within = member_offset & ((1 << self.chunk_shift) - 1);
        let (far_copy, slot_row) = if self.row_step == 1 {
            (row / self.section_rows, row % self.section_rows)
        } else {
            (row % self.far, row / self.far)
        };
        let slot_role = self.unshifted[far_copy as usize * self.member_count as usize + role.index()];
        let slot = slot_row * self.member_count + u64::from(slot_role.0);
        let (chunk, near_copy) = (slot / self.near, slot % self.near);
        let home = if chunk < self.chunk_count {
            let copy = u16::try_from(near_copy * self.far + far_copy).expect("near and far are bytes");
            Home::Data { offset: (chunk << self.chunk_shift) + within, copy }
        } else {
            Home::Unused
        };
        (home, (1 << self.chunk_shift) - within)
    }
}

/// Refuses layouts without copies, and those in which md itself would put two chunks in one place:
/// near copies that wrap into the next row meet offset copies there, and those before a longer last
/// far set step into it.
fn check_layout(layout: Raid10Layout, member_count: usize) -> Result<(), ShapeError> {
    let near_wraps = !member_count.is_multiple_of(usize::from(layout.near.max(1)));
    let set_length = layout.copies().max(1);
    let sets_uneven = member_count >= 2 * set_length && !member_count.is_multiple_of(set_length);
    let clashes =
        layout.far > 1 && layout.near > 1 && ((layout.offset && near_wraps) || (layout.far_sets && sets_uneven));
    if layout.copies() < 2 || clashes {
        return Err(ShapeError::Layout);
    }
    Ok(())
}

/// The roles of all far copies of all slots; see [`Raid10::shifted`].
fn shifted_roles(layout: Raid10Layout, member_count: usize) -> Vec<Role> {
    let set_length = if layout.far_sets { layout.copies() } else { member_count };
    let last_set_start = (member_count / set_length - 1) * set_length;
    let mut shifted = Vec::with_capacity(member_count * usize::from(layout.far));
    for far_copy in 0..usize::from(layout.far) {
        for role in 0..member_count {
            let start = (role - role % set_length).min(last_set_start);
            let length = if start == last_set_start { member_count - start } else { set_length };
            shifted.push(role_at(start + (role - start + usize::from(layout.near) * far_copy) % length));
        }
    }
    shifted
}

fn role_at(index: usize) -> Role {
    Role(u16::try_from(index).expect("members are limited to fewer than 2^16"))
}

fn smallest_bytes(shape: &Shape) -> u64 {
    shape.member_bytes.iter().copied().min().unwrap_or(0)
}

fn smallest_member(shape: &Shape) -> Role {
    let smallest = smallest_bytes(shape);
    role_at(shape.member_bytes.iter().position(|&bytes| bytes == smallest).unwrap_or(0))
}
