//! Request buffers kept full of writable content at little cost.
//!
//! Each buffer is filled once. Before a write every unit's stamp is made anew, and the payloads of the next few units,
//! in turn: small writes are new throughout, large ones share payloads with earlier ones that lie far apart.

use shoal_volume::{Arena, Memory};

use super::{Fill, STAMP_BYTES, Stamp, part, write_stamp};

/// Payload bytes made anew before each write.
const RENEWED_BYTES: u32 = 4096;

/// The content of the request buffers of one run.
#[derive(Debug)]
pub(crate) struct WriteBuffers {
    fill: Fill,
    pass: u64,
    units_per_buffer: usize,
    buffers: Vec<Buffer>,
    /// The number of the payload of each unit of each buffer.
    payloads: Vec<u64>,
    next_payload: u64,
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
            payloads: vec![0; count as usize * units_per_buffer],
            // Numbers count up from a place that differs from pass to pass.
            next_payload: super::mix(pass),
            scratch: vec![0; fill.unit_bytes() as usize],
        }
    }

    /// Makes a buffer ready to be written to `offset`.
    pub(crate) fn prepare(&mut self, arena: &Arena, buffer: u32, memory: Memory, offset: u64) {
        let index = buffer as usize;
        let Buffer { stale, next_renewed } = self.buffers[index];
        let units = self.units_per_buffer;
        let renewed = if stale { units } else { units.min((RENEWED_BYTES / self.fill.unit_bytes()) as usize) };
        // The renewed units, which may go round the end, and then the others.
        for step in 0..units {
            let unit = (next_renewed + step) % units;
            let to = part(memory, unit * self.fill.unit_bytes() as usize, self.fill.unit_bytes());
            let place = offset + unit as u64 * u64::from(self.fill.unit_bytes());
            self.prepare_unit(arena, to, index * units + unit, place, step < renewed);
        }
        self.buffers[index] = Buffer { stale: false, next_renewed: (next_renewed + renewed) % units };
    }

    /// A read is going to use the memory.
    pub(crate) fn spoil(&mut self, buffer: u32) {
        self.buffers[buffer as usize].stale = true;
    }

    fn prepare_unit(&mut self, arena: &Arena, to: Memory, payload_index: usize, offset: u64, renew: bool) {
        if renew {
            self.next_payload = self.next_payload.wrapping_add(1);
            self.payloads[payload_index] = self.next_payload;
        }
        let stamp = Stamp { tag: self.fill.tag, offset, pass: self.pass, payload: self.payloads[payload_index] };
        if renew {
            self.fill.write_unit(stamp, &mut self.scratch);
            arena.write(to, &self.scratch);
        } else {
            debug_assert!(to.length as usize >= STAMP_BYTES);
            write_stamp(arena, to, stamp);
        }
    }
}
