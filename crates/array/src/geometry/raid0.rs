//! RAID0: chunks in turn over the members, in zones where members are of unequal size (md(4), Linux
//! drivers/md/raid0.c).
//!
//! A zone ends where the smallest member that still has room ends; the next goes on with the rest,
//! in role order. The layouts differ in the chunk count that is taken modulo the number of a zone's
//! members: from the array's start (original) or from the zone's (alternate). Either way each row
//! of a zone holds every one of its members once.

use alloc::vec::Vec;

use super::{Copies, Home, Level, Piece, Raid0Layout, Shape};
use crate::Role;

/// A RAID0.
#[derive(Clone, Debug)]
pub(super) struct Raid0 {
    chunk_shift: u32,
    zones: Vec<Zone>,
    capacity_bytes: u64,
}

/// The part of the array in which the same members take turns.
#[derive(Clone, Debug)]
struct Zone {
    /// The zone's first chunk, counted in the array.
    first_chunk: u64,
    /// The chunk after the zone's last.
    end_chunk: u64,
    /// First row of the zone on its members.
    first_row: u64,
    /// The members that take part, ascending.
    roles: Vec<Role>,
    /// Member index of the zone's first chunk.
    rotation: u64,
}

impl Raid0 {
    pub(super) fn new(shape: &Shape) -> Self {
        let chunk_shift = shape.chunk_shift();
        let member_rows: Vec<u64> = shape.rounded_member_bytes().map(|bytes| bytes >> chunk_shift).collect();
        let counts_from_array_start = shape.level == Level::Raid0(Raid0Layout::Original);
        let mut zones = Vec::new();
        let mut first_chunk = 0;
        let mut first_row = 0;
        while let Some(&end_row) = member_rows.iter().filter(|&&rows| rows > first_row).min() {
            let roles: Vec<Role> = (0..)
                .map(Role)
                .zip(&member_rows)
                .filter(|&(_, &rows)| rows > first_row)
                .map(|(role, _)| role)
                .collect();
            let member_count = roles.len() as u64;
            let end_chunk = first_chunk + (end_row - first_row) * member_count;
            let rotation = if counts_from_array_start { first_chunk % member_count } else { 0 };
            zones.push(Zone { first_chunk, end_chunk, first_row, roles, rotation });
            first_chunk = end_chunk;
            first_row = end_row;
        }
        Self { chunk_shift, zones, capacity_bytes: first_chunk << chunk_shift }
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    pub(super) fn piece(&self, offset: u64, length: u64) -> Piece {
        let chunk = offset >> self.chunk_shift;
        let within = offset & ((1 << self.chunk_shift) - 1);
        let zone = match &self.zones[..] {
            [only] => only,
            zones => &zones[zones.partition_point(|zone| zone.end_chunk <= chunk)],
        };
        let (role, row) = zone.place(chunk);
        let length = length.min((1 << self.chunk_shift) - within);
        Piece { offset, length, copies: Copies::one(role, (row << self.chunk_shift) + within) }
    }

    /// The home of a byte that the array uses, and how far it goes on.
    pub(super) fn homes(&self, role: Role, member_offset: u64) -> (Home, u64) {
        let row = member_offset >> self.chunk_shift;
        let within = member_offset & ((1 << self.chunk_shift) - 1);
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_row <= row) - 1];
        let offset = (zone.chunk(role, row) << self.chunk_shift) + within;
        (Home::Data { offset, copy: 0 }, (1 << self.chunk_shift) - within)
    }
}

impl Zone {
    /// Role and row of a chunk of this zone.
    fn place(&self, chunk: u64) -> (Role, u64) {
        let member_count = self.roles.len() as u64;
        let chunk_in_zone = chunk - self.first_chunk;
        let index = (chunk_in_zone + self.rotation) % member_count;
        (self.roles[index as usize], self.first_row + chunk_in_zone / member_count)
    }

    /// The chunk that lies in this row of a member of this zone.
    fn chunk(&self, role: Role, row: u64) -> u64 {
        let member_count = self.roles.len() as u64;
        let index = self.roles.binary_search(&role).expect("a row beyond a member's end is not asked for") as u64;
        let column = (index + member_count - self.rotation) % member_count;
        self.first_chunk + (row - self.first_row) * member_count + column
    }
}
