//! Content goes from one shape to another, window by window.
//!
//! The unit is the larger chunk: positions are multiples of a row of it in the new shape, as Linux
//! wants them. In a window, what is read at once and then written is a batch of slices; a slice is
//! the same stretch of every chunk of one new row. Batches of a window may follow each other
//! without a flush: none of them overwrites what another reads.

use std::ops::Range;

use shoal_array::{Geometry, Role, Stripe};
use shoal_drive::Memory;
use shoal_parity::{Block, Parity};

use super::drives::{Drives, Step};
use super::error::GrowError;
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
    /// By role of the new shape, which begin with those of the old; `None` for a member that is
    /// missing.
    seats: Vec<Option<Seat>>,
    parity: Parity,
    unit_bytes: u64,
}

/// A stretch of content that is read from one member, in the old shape.
#[derive(Clone, Copy)]
struct Wanted {
    role: Role,
    member_offset: u64,
    memory: Memory,
}

/// The same stretch of every chunk of a new row, with its place in memory: the data in array order,
/// then P, then Q.
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
    pub(super) fn new(old: Geometry, new: Geometry, seats: Vec<Option<Seat>>, parity: Parity) -> Self {
        let unit_bytes = u64::from(old.shape().chunk_bytes.max(new.shape().chunk_bytes));
        Self { old, new, seats, parity, unit_bytes }
    }

    /// Content in the new shape.
    pub(super) fn total_bytes(&self) -> u64 {
        self.new.capacity_bytes()
    }

    /// The bytes of each member's new data area that can be written while everything beyond this
    /// position of the content stays readable in the old shape; none if there is not a whole unit
    /// of them.
    pub(super) fn window(&self, position_bytes: u64) -> Option<Range<u64>> {
        let end = self.new.used_bytes(Role(0));
        let start = position_bytes / self.new.data_count() as u64;
        let limit = if position_bytes >= self.old.capacity_bytes() {
            end
        } else {
            let row = self.old.position(position_bytes)?.row;
            let needed_from = row * u64::from(self.old.shape().chunk_bytes);
            let shift = self.seats.iter().flatten().map(|seat| seat.old_offset_bytes - seat.new_offset_bytes).min()?;
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
        let mut wanted = Vec::new();
        for slice in batch {
            for index in 0..slice.stripe.data.len() {
                self.plan_reads(drives, slice, index, &mut wanted);
            }
        }
        let (direct, mut lost): (Vec<Wanted>, Vec<Wanted>) =
            wanted.into_iter().partition(|wanted| self.seats[wanted.role.index()].is_some());
        let steps: Vec<Step> = direct.iter().filter_map(|wanted| self.step(*wanted)).collect();
        lost.extend(drives.read(&steps)?.into_iter().map(|(failed, _)| direct[failed]));
        for wanted in lost {
            self.read_otherwise(drives, wanted)?;
        }
        let mut writes = Vec::new();
        for slice in batch {
            self.add_parity(drives, slice);
            let stripe = &slice.stripe;
            for (index, role) in roles(stripe).enumerate() {
                let Some(seat) = self.seats[role.index()] else { continue };
                let offset = seat.new_offset_bytes + stripe.member_offset + slice.within;
                writes.push(Step { drive: seat.drive, offset, memory: slice.block(index) });
            }
        }
        drives.write(&writes)
    }

    /// What is to be read for a data block of a slice; zeros beyond the old content are there at
    /// once.
    fn plan_reads<W: World>(&self, drives: &Drives<W>, slice: &Slice, index: usize, wanted: &mut Vec<Wanted>) {
        let memory = slice.block(index);
        let content = slice.stripe.offset + index as u64 * u64::from(self.new.shape().chunk_bytes) + slice.within;
        let there = self.old.capacity_bytes().saturating_sub(content).min(u64::from(slice.length));
        for piece in self.old.pieces(content, there) {
            let (role, member_offset) = piece.copies[0];
            let at = memory.offset + (piece.offset - content) as usize;
            let memory = Memory { offset: at, length: piece.length as u32 };
            wanted.push(Wanted { role, member_offset, memory });
        }
        let missing = u64::from(slice.length) - there;
        let zeros = Memory { offset: memory.offset + there as usize, length: missing as u32 };
        drives.arena().write(zeros, &vec![0; missing as usize]);
    }

    /// The read of a stretch from its own member; none if that is missing.
    fn step(&self, wanted: Wanted) -> Option<Step> {
        let seat = self.seats[wanted.role.index()]?;
        let offset = seat.old_offset_bytes + wanted.member_offset;
        Some(Step { drive: seat.drive, offset, memory: wanted.memory })
    }

    /// Reads block by block what cannot be read at once. A block that still cannot be is computed
    /// from its row.
    fn read_otherwise<W: World>(&self, drives: &mut Drives<W>, wanted: Wanted) -> Result<(), GrowError> {
        let Wanted { role, member_offset, memory } = wanted;
        let row = member_offset / u64::from(self.old.shape().chunk_bytes);
        let stripe = self.old.stripe(row).expect("the piece lies within the members");
        for at in (0..memory.length).step_by(BLOCK_BYTES as usize) {
            let offset = member_offset + u64::from(at);
            let mut block = vec![0; BLOCK_BYTES.min(memory.length - at) as usize];
            if self.read_old(drives, role, offset, &mut block).is_err() {
                self.compute(drives, &stripe, role, offset, &mut block)?;
            }
            let target = Memory { offset: memory.offset + at as usize, length: block.len() as u32 };
            drives.arena().write(target, &block);
        }
        Ok(())
    }

    /// Reads a member in the old shape.
    fn read_old<W: World>(
        &self,
        drives: &mut Drives<W>,
        role: Role,
        member_offset: u64,
        block: &mut [u8],
    ) -> Result<(), GrowError> {
        let seat = self.seats[role.index()].ok_or(GrowError::TooFewMembers)?;
        drives.read_small(seat.drive, seat.old_offset_bytes + member_offset, block)
    }

    /// Computes a data block of an old row from all blocks of the row that can be read.
    ///
    /// # Errors
    /// The first block that cannot be read, if parity does not give what is lost.
    fn compute<W: World>(
        &self,
        drives: &mut Drives<W>,
        stripe: &Stripe,
        lost: Role,
        member_offset: u64,
        block: &mut [u8],
    ) -> Result<(), GrowError> {
        let length = block.len();
        let mut problem = None;
        let mut held = |role: Role| {
            let mut bytes = vec![0; length];
            let read = if role == lost { return None } else { self.read_old(drives, role, member_offset, &mut bytes) };
            read.map_err(|error| problem.get_or_insert(error)).is_ok().then_some(bytes)
        };
        let places = by_exponent(stripe);
        // No block at an exponent counts as one of zeros.
        let known: Vec<_> = places.iter().map(|place| place.map_or(Some(vec![0; length]), &mut held)).collect();
        let (p, q) = (held(stripe.p), stripe.q.and_then(&mut held));
        let mut computed = vec![vec![0; length]; places.len()];
        let mut data: Vec<Block> = known.iter().zip(&mut computed).map(known_or_lost).collect();
        if self.parity.solve(&mut data, known_or_absent(&p), known_or_absent(&q)).is_err() {
            return Err(problem.unwrap_or(GrowError::TooFewMembers));
        }
        drop(data);
        let place = places.iter().position(|place| *place == Some(lost)).expect("it holds data of this row");
        block.copy_from_slice(&computed[place]);
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

fn known_or_lost<'a>((known, target): (&'a Option<Vec<u8>>, &'a mut Vec<u8>)) -> Block<'a> {
    match known {
        Some(bytes) => Block::Known(bytes),
        None => Block::Lost(target),
    }
}

fn known_or_absent(known: &Option<Vec<u8>>) -> Block<'_> {
    known.as_deref().map_or(Block::Absent, Block::Known)
}

/// Data, then P, then Q.
fn roles(stripe: &Stripe) -> impl Iterator<Item = Role> {
    stripe.data.iter().copied().chain([stripe.p]).chain(stripe.q)
}

/// The roles of the data blocks by their exponent in Q; `None` where no block has it.
fn by_exponent(stripe: &Stripe) -> Vec<Option<Role>> {
    let highest = stripe.exponents.iter().max().copied().unwrap_or(0);
    let mut places = vec![None; usize::from(highest) + 1];
    for (role, exponent) in stripe.data.iter().zip(&stripe.exponents) {
        places[usize::from(*exponent)] = Some(*role);
    }
    places
}
