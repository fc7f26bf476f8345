//! Flash memory behind a small controller: sticks, cards, inexpensive SSDs.
//!
//! It reads and programs whole pages, however little of one is wanted. A command that does not go
//! on where the one before ended costs `random_ns` (the map has to be looked up, another allocation
//! unit to be opened). Beside that there are three things that make such drives what they are:
//!
//! * **Stalls**: a pause after every so many write commands, when the controller puts its house in
//!   order.
//! * **Allocation units**: only a few can be open for writing, each from its start to its end; the
//!   least recently used makes room. A unit that is closed early, or written out of order, is
//!   completed by copying the rest of it, and one that is entered in its middle begins with copying
//!   what lies before (flashbench calls the limit "open erase blocks").
//! * **A fast area**: cells used at one bit each (pseudo-SLC) take writes at another rate, until it
//!   is full. It is emptied while the drive has nothing to do. Nothing is read from it faster.

use crate::time::{transfer_ns, transferred_bytes};
use crate::{AllocationUnits, FastArea, Flash, PerDirection};

use super::Direction;

/// The part of a drive's state that is flash.
#[derive(Debug)]
pub(crate) struct FlashState {
    model: Flash,
    page_bytes: u32,
    page_ns: PerDirection<u64>,
    fast_page_ns: u64,
    /// Bytes in the fast area.
    fast_bytes: u64,
    /// Units open for writing, by number, and where in them the next byte goes; the least recently
    /// used first.
    open_units: Vec<(u64, u64)>,
    write_commands: u64,
    pub(crate) copied_bytes: u64,
}

impl FlashState {
    pub(crate) fn new(model: Flash, page_bytes: u32) -> Self {
        let page_ns = |rate| transfer_ns(u64::from(page_bytes), rate);
        let open_units = model.allocation.map_or(0, |allocation| allocation.open_units as usize);
        Self {
            page_bytes,
            page_ns: PerDirection { read: page_ns(model.bytes_per_s.read), write: page_ns(model.bytes_per_s.write) },
            fast_page_ns: model.fast_area.map_or(0, |area| page_ns(area.write_bytes_per_s)),
            fast_bytes: 0,
            open_units: Vec::with_capacity(open_units.min(OPEN_UNITS_AT_ONCE)),
            write_commands: 0,
            copied_bytes: 0,
            model,
        }
    }

    /// What a command costs that does not go on where the last one ended.
    pub(crate) fn reposition_ns(&self, direction: Direction) -> u64 {
        *direction.of(&self.model.random_ns)
    }

    /// The bytes that the next page read from `position` on has, and its time.
    pub(crate) fn read_step(&self, position: u64) -> (u32, u64) {
        (self.left_in_page(position), self.page_ns.read)
    }

    /// The bytes that the next page programmed takes, of those that wait, and its time.
    pub(crate) fn write_step(&mut self, position: u64, waiting_bytes: u64) -> (u32, u64) {
        let bytes = u64::from(self.left_in_page(position)).min(waiting_bytes);
        let ns = match self.model.fast_area {
            Some(area) if self.fast_bytes + u64::from(self.page_bytes) <= area.size_bytes => {
                self.fast_bytes += u64::from(self.page_bytes);
                self.fast_page_ns
            }
            _ => self.page_ns.write,
        };
        (u32::try_from(bytes).expect("less than a page"), ns)
    }

    /// Bytes up to the end of the page: what one quantum can carry.
    pub(crate) fn left_in_page(&self, position: u64) -> u32 {
        let page = u64::from(self.page_bytes);
        // Nearly all pages are a power of two long, and division is slow.
        let within = if page.is_power_of_two() { position & (page - 1) } else { position % page };
        self.page_bytes - within as u32
    }

    /// Nobody wanted anything for so long.
    pub(crate) fn rest(&mut self, duration_ns: u64) {
        if let Some(FastArea { drain_bytes_per_s, .. }) = self.model.fast_area.filter(|_| self.fast_bytes > 0) {
            self.fast_bytes = self.fast_bytes.saturating_sub(transferred_bytes(duration_ns, drain_bytes_per_s));
        }
    }

    /// What a write costs in copying, to find room for it.
    pub(crate) fn make_room_ns(&mut self, offset: u64, length: u32) -> u64 {
        let Some(allocation) = self.model.allocation else { return 0 };
        let (mut position, end) = (offset, offset.saturating_add(u64::from(length)));
        let mut copied_bytes = 0;
        while position < end {
            let (unit, within) = (position / allocation.unit_bytes, position % allocation.unit_bytes);
            let length = (allocation.unit_bytes - within).min(end - position);
            copied_bytes += self.enter_unit(allocation, unit, within);
            if within + length < allocation.unit_bytes {
                self.open_units.push((unit, within + length));
            }
            position += length;
        }
        if copied_bytes == 0 {
            return 0;
        }
        self.copied_bytes += copied_bytes;
        transfer_ns(copied_bytes, allocation.copy_bytes_per_s)
    }

    /// Takes a unit out of the open ones, or finds room for it among them, and returns what is to
    /// be copied.
    fn enter_unit(&mut self, allocation: AllocationUnits, unit: u64, within: u64) -> u64 {
        let rest_of = |written: u64| allocation.unit_bytes - written;
        let closed_bytes = match self.open_units.iter().position(|&(open, _)| open == unit) {
            Some(place) => {
                let (_, written) = self.open_units.remove(place);
                if written == within {
                    return 0;
                }
                rest_of(written)
            }
            None if self.open_units.len() >= allocation.open_units as usize => rest_of(self.open_units.remove(0).1),
            None => 0,
        };
        closed_bytes + within
    }

    /// The pause after a write command, the one that ends now.
    pub(crate) fn stall_ns(&mut self) -> u64 {
        self.write_commands += 1;
        let is_due = |every: u32, phase: u32| (self.write_commands + u64::from(phase)).is_multiple_of(u64::from(every));
        let due = self.model.stalls.iter().filter(|stall| is_due(stall.every_writes, stall.phase_writes));
        due.map(|stall| stall.duration_ns).fold(0, u64::saturating_add)
    }

    /// Power is lost: what is open is closed.
    pub(crate) fn reset(&mut self) {
        self.open_units.clear();
    }
}

/// Room for open units that is taken before they are there: a model's text does not decide how much
/// memory is.
const OPEN_UNITS_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stall;

    const MIB: u64 = 1 << 20;

    fn state(flash: Flash) -> FlashState {
        let bytes_per_s = PerDirection { read: 20_000_000, write: 10_000_000 };
        FlashState::new(Flash { bytes_per_s, ..flash }, 4096)
    }

    #[test]
    fn writing_on_in_an_open_unit_costs_nothing_and_anything_else_is_copied() {
        let units = AllocationUnits { unit_bytes: 4 * MIB, open_units: 2, copy_bytes_per_s: 1 << 20 };
        let mut flash = state(Flash { allocation: Some(units), ..Flash::default() });
        let mut copied_mib =
            |offset_mib: u64, mib: u32| flash.make_room_ns(offset_mib * MIB, mib << 20) / 1_000_000_000;
        assert_eq!(copied_mib(0, 1), 0); // unit 0 is opened at its start
        assert_eq!(copied_mib(4, 1), 0); // and unit 1
        assert_eq!(copied_mib(1, 1), 0); // both go on
        assert_eq!(copied_mib(5, 1), 0);
        assert_eq!(copied_mib(8, 1), 2); // unit 0 makes room: half of it is left
        assert_eq!(copied_mib(7, 1), 2 + 3); // unit 1 out of order: its rest, then what lies before
        assert_eq!(copied_mib(9, 3), 0); // unit 1 was written to its end, and there is room for another
        assert_eq!(copied_mib(17, 1), 1); // entered in its middle
        assert_eq!(flash.copied_bytes, 8 * MIB);
    }

    #[test]
    fn the_fast_area_takes_writes_until_it_is_full_and_is_emptied_at_rest() {
        let area = FastArea { size_bytes: 3 * 4096, write_bytes_per_s: 40_960_000, drain_bytes_per_s: 4_096_000 };
        let mut flash = state(Flash { fast_area: Some(area), ..Flash::default() });
        let mut pages = |count: u64| (0..count).map(|page| flash.write_step(page * 4096, 4096).1).collect::<Vec<_>>();
        assert_eq!(pages(5), [100_000, 100_000, 100_000, 409_600, 409_600]);
        flash.rest(2_000_000); // two pages' worth
        let mut pages = |count: u64| (0..count).map(|page| flash.write_step(page * 4096, 4096).1).collect::<Vec<_>>();
        assert_eq!(pages(3), [100_000, 100_000, 409_600]);
    }

    #[test]
    fn stalls_come_back_and_add_up() {
        let stall = |every_writes, duration_ns, phase_writes| Stall { every_writes, duration_ns, phase_writes };
        let mut flash = state(Flash { stalls: vec![stall(3, 5, 0), stall(2, 70, 1)], ..Flash::default() });
        assert_eq!((0..6).map(|_| flash.stall_ns()).collect::<Vec<_>>(), [70, 0, 75, 0, 70, 5]);
    }
}
