//! In which order drives are written: what flash minds, counted.
//!
//! Flash is written in units, each from its start to its end, and a controller keeps few of them
//! open. A write is *in sequence* if it goes on where an open unit was left, or begins one at its
//! start. Any other is *out of sequence*: it makes the controller copy what lies before it, what is
//! left of the unit, or both (flashbench; the simulated drives' flash does the same). Here a unit
//! has 4 MiB and two are open, whatever the drive: as in the sticks that have fewest, and so that
//! the figures of different drives can be compared.

use shoal_drive::{DriveId, IoKind};

use crate::interface::MemberTraffic;

const UNIT_BYTES: u64 = 4 << 20;
const OPEN_UNITS: usize = 2;

/// The units of a drive that are open: their numbers, and how far each is written; the latest
/// first.
type Open = [Option<(u64, u64)>; OPEN_UNITS];

/// What drives were asked, all together, and where each is open.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    traffic: MemberTraffic,
    drives: Vec<Open>,
}

impl Sequence {
    /// A drive is given an I/O.
    pub(super) fn note(&mut self, drive: DriveId, offset: u64, kind: IoKind) {
        match kind {
            IoKind::Read(memory) => {
                self.traffic.reads += 1;
                self.traffic.read_bytes += u64::from(memory.length);
            }
            IoKind::Write(memory) => {
                self.traffic.writes += 1;
                self.traffic.written_bytes += u64::from(memory.length);
                let index = drive.0 as usize;
                if self.drives.len() <= index {
                    self.drives.resize(index + 1, Open::default());
                }
                let is_in_sequence = write(&mut self.drives[index], offset, u64::from(memory.length));
                self.traffic.out_of_sequence += u64::from(!is_in_sequence);
            }
            IoKind::Flush => self.traffic.flushes += 1,
            IoKind::Discard(_) => {}
        }
    }

    /// A drive was to flush, and has nothing new.
    pub(super) fn note_needless_flush(&mut self) {
        self.traffic.needless_flushes += 1;
    }

    /// An update of an array's superblocks is written.
    pub(super) fn note_update(&mut self) {
        self.traffic.updates += 1;
    }

    /// A page of a bitmap is written.
    pub(super) fn note_bitmap_write(&mut self) {
        self.traffic.bitmap_writes += 1;
    }

    pub(crate) fn traffic(&self) -> MemberTraffic {
        self.traffic
    }
}

/// Writes; whether that is in sequence.
fn write(open: &mut Open, offset: u64, length: u64) -> bool {
    let (mut at, end) = (offset, offset.saturating_add(length));
    let mut is_in_sequence = true;
    while at < end {
        let (unit, within) = (at / UNIT_BYTES, at % UNIT_BYTES);
        let written = within + (UNIT_BYTES - within).min(end - at);
        let place = open.iter().position(|open| open.is_some_and(|(number, _)| number == unit));
        let goes_on = place.and_then(|place| open[place]).is_some_and(|(_, written)| written == within);
        is_in_sequence &= goes_on || within == 0;
        // It is the latest now; the oldest makes room if it was not open.
        open[..=place.unwrap_or(OPEN_UNITS - 1)].rotate_right(1);
        open[0] = (written < UNIT_BYTES).then_some((unit, written));
        at += written - within;
    }
    is_in_sequence
}

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_drive::Memory;

    const MIB: u64 = 1 << 20;
    const NONE: [usize; 0] = [];

    /// Which of these writes are out of sequence; each is its start and length in MiB.
    fn out_of_sequence(writes: &[(u64, u64)]) -> Vec<usize> {
        let mut sequence = Sequence::default();
        let mut found = vec![];
        for (number, (start, length)) in writes.iter().enumerate() {
            let before = sequence.traffic().out_of_sequence;
            let memory = Memory { offset: 0, length: (length * MIB) as u32 };
            sequence.note(DriveId(3), start * MIB, IoKind::Write(memory));
            if sequence.traffic().out_of_sequence > before {
                found.push(number);
            }
        }
        assert_eq!(sequence.traffic().written_bytes, writes.iter().map(|(_, length)| length * MIB).sum::<u64>());
        found
    }

    #[test]
    fn going_on_and_beginning_a_unit_are_in_sequence_and_nothing_else_is() {
        assert_eq!(out_of_sequence(&[(0, 1), (1, 2), (3, 6), (9, 1)]), NONE);
        assert_eq!(out_of_sequence(&[(0, 1), (8, 1), (1, 1), (9, 1)]), NONE); // two units are open
        assert_eq!(out_of_sequence(&[(0, 1), (8, 1), (16, 1), (1, 1)]), [3]); // the first was closed
        assert_eq!(out_of_sequence(&[(0, 1), (2, 1)]), [1]); // a gap
        assert_eq!(out_of_sequence(&[(0, 3), (2, 1)]), [1]); // a step back
        assert_eq!(out_of_sequence(&[(0, 3), (0, 4), (0, 4)]), NONE); // anew, from the start
        assert_eq!(out_of_sequence(&[(5, 1)]), [0]); // in the middle of one that was not open
        assert_eq!(out_of_sequence(&[(0, 4), (3, 1)]), [1]); // it was written to its end, and is open no more
    }
}
