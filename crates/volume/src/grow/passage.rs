//! Content goes from one shape to another, window by window.
//!
//! The unit is the larger chunk: positions are multiples of a row of it in the new shape, as Linux wants them. In a
//! window, what is read at once and then written is a batch of slices; a slice is the same stretch of every chunk of one
//! new row. Batches of a window may follow each other without a flush: none of them overwrites what another reads.

use std::ops::Range;

use shoal_array::{Geometry, Role, Stripe};
use shoal_drive::Memory;
use shoal_parity::Parity;

use super::GrowError;
use super::drives::{Drives, Step};
use super::roll::Seat;
use crate::world::World;

/// The longest window, of each member: what is done again at worst after a power cut.
const WINDOW_BYTES: u64 = 64 << 20;
/// The longest stretch of a chunk that is handled at once.
const SLICE_BYTES: u64 = 256 << 10;
/// The smallest: what an unreadable stretch is divided into.
const BLOCK_BYTES: u32 = 4096;
/// Slices that are under way at once, at most.
const BATCH_SLICES: usize = 32;

/// The way from the old shape to the new one.
pub(super) struct Passage {
    old: Geometry,
    new: Geometry,
    /// In the order of roles of the new shape, which begin with those of the old.
    seats: Vec<Seat>,
    parity: Parity,
    unit_bytes: u64,
}

/// The same stretch of every chunk of a new row, with its place in memory: the data in array order, then P, then Q.
struct Slice {
    stripe: Stripe,
    within: u64,
    memory: usize,
    length: u32,
}

impl Slice {
    fn block(&self, index: usize) -> Memory {
        Memory { offset: self.memory + index * self.length as usize, length: self.length }
    }
}

impl Passage {
    pub(super) fn new(old: Geometry, new: Geometry, seats: Vec<Seat>, parity: Parity) -> Self {
        let unit_bytes = u64::from(old.shape().chunk_bytes.max(new.shape().chunk_bytes));
        Self { old, new, seats, parity, unit_bytes }
    }

    /// Content in the new shape.
    pub(super) fn total_bytes(&self) -> u64 {
        self.new.capacity_bytes()
    }

    /// The bytes of each member's new data area that can be written while everything beyond this position of the content
    /// stays readable in the old shape; none if there is not a whole unit of them.
    pub(super) fn window(&self, position_bytes: u64) -> Option<Range<u64>> {
        let end = self.new.used_bytes(Role(0));
        let start = position_bytes / self.new.data_count() as u64;
        let limit = if position_bytes >= self.old.capacity_bytes() {
            end
        } else {
            let row = self.old.position(position_bytes)?.row;
            let needed_from = row * u64::from(self.old.shape().chunk_bytes);
            let shift = self.seats.iter().map(|seat| seat.old_offset_bytes - seat.new_offset_bytes).min()?;
            needed_from + shift
        };
        let limit = limit.min(end).min(start + WINDOW_BYTES.max(self.unit_bytes));
        let limit = limit - limit % self.unit_bytes;
        (limit > start).then_some(start..limit)
    }

    /// Writes a window in the new shape. Gives the position of the content that it ends at.
    pub(super) fn carry<W: World>(&self, drives: &mut Drives<W>, window: Range<u64>) -> Result<u64, GrowError> {
        let chunk_bytes = u64::from(self.new.shape().chunk_bytes);
        let (start, room) = drives.room();
        let blocks = self.seats.len();
        let fitting = (room / blocks) as u64;
        let slice_bytes = chunk_bytes.min(SLICE_BYTES).min(fitting - fitting % u64::from(BLOCK_BYTES));
        assert!(slice_bytes > 0, "the arena has room for a block of every member");
        let slice_memory = slice_bytes as usize * blocks;
        let batch_slices = (room / slice_memory).clamp(1, BATCH_SLICES);
        let mut batch = Vec::new();
        for row in window.start / chunk_bytes..window.end / chunk_bytes {
            let mut within = 0;
            while within < chunk_bytes {
                let length = slice_bytes.min(chunk_bytes - within);
                let stripe = self.new.stripe(row).expect("the window lies within the members");
                let memory = start + batch.len() * slice_memory;
                batch.push(Slice { stripe, within, memory, length: length as u32 });
                within += length;
                if batch.len() == batch_slices {
                    self.carry_batch(drives, &batch)?;
                    batch.clear();
                }
            }
        }
        self.carry_batch(drives, &batch)?;
        Ok(window.end * self.new.data_count() as u64)
    }

    fn carry_batch<W: World>(&self, drives: &mut Drives<W>, batch: &[Slice]) -> Result<(), GrowError> {
        let mut reads = Vec::new();
        for slice in batch {
            for index in 0..slice.stripe.data.len() {
                self.plan_reads(drives, slice, index, &mut reads);
            }
        }
        let steps: Vec<Step> = reads.iter().map(|read| read.0).collect();
        for (failed, _) in drives.read(&steps)? {
            let (step, role, member_offset) = reads[failed];
            self.read_otherwise(drives, step.memory, role, member_offset)?;
        }
        let mut writes = Vec::new();
        for slice in batch {
            self.add_parity(drives, slice);
            let stripe = &slice.stripe;
            let roles = stripe.data.iter().copied().chain([stripe.p]).chain(stripe.q);
            for (index, role) in roles.enumerate() {
                let seat = self.seats[role.index()];
                let offset = seat.new_offset_bytes + stripe.member_offset + slice.within;
                writes.push(Step { drive: seat.drive, offset, memory: slice.block(index) });
            }
        }
        drives.write(&writes)
    }

    /// What is to be read for a data block of a slice, with the old member and its offset; zeros beyond the old content.
    fn plan_reads<W: World>(
        &self,
        drives: &Drives<W>,
        slice: &Slice,
        index: usize,
        reads: &mut Vec<(Step, Role, u64)>,
    ) {
        let memory = slice.block(index);
        let content = slice.stripe.offset + index as u64 * u64::from(self.new.shape().chunk_bytes) + slice.within;
        let there = self.old.capacity_bytes().saturating_sub(content).min(u64::from(slice.length));
        for piece in self.old.pieces(content, there) {
            let (role, member_offset) = piece.copies[0];
            let seat = self.seats[role.index()];
            let at = memory.offset + (piece.offset - content) as usize;
            let step = Step {
                drive: seat.drive,
                offset: seat.old_offset_bytes + member_offset,
                memory: Memory { offset: at, length: piece.length as u32 },
            };
            reads.push((step, role, member_offset));
        }
        let missing = u64::from(slice.length) - there;
        let zeros = Memory { offset: memory.offset + there as usize, length: missing as u32 };
        drives.arena().write(zeros, &vec![0; missing as usize]);
    }

    /// A stretch of a member that cannot be read at once: block by block, what still cannot be from the rest of its row.
    fn read_otherwise<W: World>(
        &self,
        drives: &mut Drives<W>,
        memory: Memory,
        role: Role,
        member_offset: u64,
    ) -> Result<(), GrowError> {
        let row = member_offset / u64::from(self.old.shape().chunk_bytes);
        let stripe = self.old.stripe(row).expect("the piece lies within the members");
        let others: Vec<Role> = stripe.data.iter().copied().chain([stripe.p]).filter(|other| *other != role).collect();
        for at in (0..memory.length).step_by(BLOCK_BYTES as usize) {
            let offset = member_offset + u64::from(at);
            let mut block = vec![0; BLOCK_BYTES.min(memory.length - at) as usize];
            let place =
                |role: Role| (self.seats[role.index()].drive, self.seats[role.index()].old_offset_bytes + offset);
            let (drive, drive_offset) = place(role);
            if drives.read_small(drive, drive_offset, &mut block).is_err() {
                block.fill(0);
                for &other in &others {
                    let (drive, drive_offset) = place(other);
                    let mut bytes = vec![0; block.len()];
                    drives.read_small(drive, drive_offset, &mut bytes)?;
                    block.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
                }
            }
            let target = Memory { offset: memory.offset + at as usize, length: block.len() as u32 };
            drives.arena().write(target, &block);
        }
        Ok(())
    }

    fn add_parity<W: World>(&self, drives: &Drives<W>, slice: &Slice) {
        let arena = drives.arena();
        let length = slice.length as usize;
        let data: Vec<Vec<u8>> = (0..slice.stripe.data.len())
            .map(|index| {
                let mut bytes = vec![0; length];
                arena.read(slice.block(index), &mut bytes);
                bytes
            })
            .collect();
        let (mut p, mut q) = (vec![0; length], vec![0; length]);
        if slice.stripe.q.is_some() {
            let highest = slice.stripe.exponents.iter().max().copied().unwrap_or(0);
            let mut by_exponent: Vec<Option<&[u8]>> = vec![None; usize::from(highest) + 1];
            for (bytes, exponent) in data.iter().zip(&slice.stripe.exponents) {
                by_exponent[usize::from(*exponent)] = Some(bytes);
            }
            self.parity.pq(&by_exponent, &mut p, &mut q);
            arena.write(slice.block(data.len() + 1), &q);
        } else {
            let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            self.parity.xor(&mut p, &sources);
        }
        arena.write(slice.block(data.len()), &p);
    }
}
