//! Request buffers kept full of writable content at little cost.
//!
//! Each buffer is filled once. Before a write every unit's stamp is made anew, and one slice of one
//! unit's payload, in turn. So no two units written are alike; but writes that follow each other
//! through one buffer share most of their payloads, a whole round of buffers apart.

use shoal_volume::{Arena, Memory};

use super::{Fill, Payload, SLICE_BYTES, Stamp, part};

/// The content of the request buffers of one run.
#[derive(Debug)]
pub(crate) struct WriteBuffers {
    fill: Fill,
    pass: u64,
    units_per_buffer: usize,
    buffers: Vec<Buffer>,
    /// The payload of each unit of each buffer.
    payloads: Vec<Payload>,
    next_stream: u32,
    /// One unit, made here and copied to where it goes.
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// A read has used the memory since it was filled, or it never was.
    stale: bool,
    /// The unit to be renewed next.
    next_renewed: usize,
}

impl WriteBuffers {
    /// For `count` buffers that carry `block_size_bytes` each, a multiple of the fill's unit.
    pub(crate) fn new(fill: Fill, pass: u64, count: u32, block_size_bytes: u32) -> Self {
        let units_per_buffer = (block_size_bytes / fill.unit_bytes()) as usize;
        Self {
            fill,
            pass,
            units_per_buffer,
            buffers: vec![Buffer { stale: true, next_renewed: 0 }; count as usize],
            payloads: vec![Payload::default(); count as usize * units_per_buffer],
            // Streams count up from a place that differs from pass to pass.
            next_stream: Payload::of_word(super::mix(pass)).stream,
            scratch: vec![0; fill.unit_bytes() as usize],
        }
    }

    /// Makes a buffer ready to be written to `offset`.
    pub(crate) fn prepare(&mut self, arena: &Arena, buffer: u32, memory: Memory, offset: u64) {
        let index = buffer as usize;
        let Buffer { stale, next_renewed } = self.buffers[index];
        let unit_bytes = self.fill.unit_bytes();
        for unit in 0..self.units_per_buffer {
            let to = part(memory, unit * unit_bytes as usize, unit_bytes);
            let place = offset + unit as u64 * u64::from(unit_bytes);
            let payload = index * self.units_per_buffer + unit;
            if stale {
                self.fill_unit(arena, to, payload, place);
            } else {
                self.stamp_unit(arena, to, payload, place, unit == next_renewed);
            }
        }
        let next_renewed = if next_renewed + 1 < self.units_per_buffer { next_renewed + 1 } else { 0 };
        self.buffers[index] = Buffer { stale: false, next_renewed };
    }

    /// A read is going to use the memory.
    pub(crate) fn spoil(&mut self, buffer: u32) {
        self.buffers[buffer as usize].stale = true;
    }

    /// Fills a unit with a stream of its own.
    fn fill_unit(&mut self, arena: &Arena, to: Memory, payload: usize, offset: u64) {
        self.next_stream = self.next_stream.wrapping_add(1);
        self.payloads[payload] = Payload { stream: self.next_stream, renewals: 0 };
        let stamp = self.stamp(payload, offset);
        self.fill.write_unit(stamp, &mut self.scratch);
        arena.write(to, &self.scratch);
    }

    /// Stamps a unit, and renews a slice of it.
    fn stamp_unit(&mut self, arena: &Arena, to: Memory, payload: usize, offset: u64, renew: bool) {
        if renew {
            let Some(renewals) = self.payloads[payload].renewals.checked_add(1) else {
                return self.fill_unit(arena, to, payload, offset);
            };
            self.payloads[payload].renewals = renewals;
            let stamp = self.stamp(payload, offset);
            let slice = stamp.payload.latest_slice(self.fill.slice_count());
            let bytes = &mut self.scratch[..SLICE_BYTES];
            self.fill.write_slice(stamp, slice, bytes);
            arena.write(part(to, slice as usize * SLICE_BYTES, SLICE_BYTES as u32), bytes);
        }
        arena.write(to, &self.stamp(payload, offset).to_bytes());
    }

    fn stamp(&self, payload: usize, offset: u64) -> Stamp {
        Stamp { tag: self.fill.tag, offset, pass: self.pass, payload: self.payloads[payload] }
    }
}
