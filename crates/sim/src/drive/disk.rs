//! Rotating disks.
//!
//! The head moves, the platter turns, and data pass under the head at the rate of their zone:
//!
//! * **Seek**: `track + (third - track) * sqrt(d / third of the stroke)` up to a third of the
//!   stroke, then a straight line to the full seek: the arm accelerates on short ways and coasts on
//!   long ones. `third` is chosen so that the mean over seeks between random places is exactly the
//!   average seek that the maker prints: of two random places the distance has the density
//!   `2 (1 - d)`, which gives `average = 27/135 track + 88/135 third + 20/135 full`.
//! * **Rotation**: a place comes by once a turn. Where it is follows from the bytes of a track
//!   (zone rate times turn) and the time; tracks are taken as if they began in line, as skew makes
//!   sequential transfers go on. So a random access waits half a turn in the mean, and one to a
//!   place that has just gone by nearly a whole turn.
//! * A medium that goes on without a gap waits for nothing. One that paused waits for its place to
//!   come round: a disk that writes through loses a turn with every small write.
//! * **Read-ahead** fills the buffers, and begins anew when half of them are empty, so that the
//!   wait for the place is hidden by what is left. A read that begins a little further on than the
//!   last one ended finds its data there, or lets up to a turn's worth of the gap pass under the
//!   head: so an array's reads that leave out parity chunks lose no turns.
//!
//! Not modelled: sorting of cached writes (a cached write is put in place before another place is
//! turned to), spare sectors, spin-up.

use crate::time::{SECOND_NS, transfer_ns};
use crate::{Disk, Zone};

/// The part of a drive's state that is a disk.
#[derive(Debug)]
pub(crate) struct DiskState {
    model: Disk,
    size_bytes: u64,
    page_bytes: u32,
    /// Seek over a third of the stroke.
    third_seek_ns: u64,
    /// What has passed under the head last, and when it did.
    head: u64,
    passed_ns: u64,
}

impl DiskState {
    pub(crate) fn new(model: Disk, size_bytes: u64, page_bytes: u32) -> Self {
        let others_ns = u128::from(model.track_seek_ns) * 27 + u128::from(model.full_seek_ns) * 20;
        let third_ns = (u128::from(model.average_seek_ns) * 135).saturating_sub(others_ns) / 88;
        let least_ns = model.track_seek_ns;
        let third_seek_ns =
            u64::try_from(third_ns).unwrap_or(u64::MAX).clamp(least_ns, model.full_seek_ns.max(least_ns));
        Self { model, size_bytes, page_bytes, third_seek_ns, head: 0, passed_ns: 0 }
    }

    /// Moving the head, if it has to move, to a place. The wait for the place comes with the first
    /// step.
    pub(crate) fn seek_ns(&self, to: u64) -> u64 {
        let distance = self.head.abs_diff(to);
        let third = self.size_bytes / 3;
        let within_track = distance < self.track_bytes(self.zone(to));
        if within_track {
            return 0;
        }
        let (track, full) = (self.model.track_seek_ns, self.model.full_seek_ns);
        if distance <= third {
            let ratio = (u128::from(distance) << 40) / u128::from(third.max(1)); // its root has 20 bits
            let further = (u128::from(self.third_seek_ns - track) * ratio.isqrt()) >> 20;
            return track + u64::try_from(further).expect("less than a third's seek");
        }
        let (beyond, rest) = (u128::from(distance - third), u128::from((self.size_bytes - third).max(1)));
        let further = u128::from(full.saturating_sub(self.third_seek_ns)) * beyond / rest;
        self.third_seek_ns + u64::try_from(further).expect("less than a full seek")
    }

    /// The time until `bytes` at `position` have passed under the head, if it begins now.
    pub(crate) fn step(&mut self, now_ns: u64, position: u64, wanted_bytes: u64) -> (u32, u64) {
        let zone = self.zone(position);
        let bytes = wanted_bytes.min(u64::from(self.page_bytes));
        let goes_on = self.head == position && self.passed_ns == now_ns;
        let wait_ns = if goes_on { 0 } else { self.rotation_ns(now_ns, zone, position) };
        let step_ns = wait_ns + transfer_ns(bytes, zone.bytes_per_s);
        self.head = position + bytes;
        self.passed_ns = now_ns.saturating_add(step_ns);
        (u32::try_from(bytes).expect("at most a page"), step_ns)
    }

    /// What passes in one turn where `position` is.
    pub(super) fn track_bytes_at(&self, position: u64) -> u64 {
        self.track_bytes(self.zone(position))
    }

    /// How long until a place comes under the head.
    fn rotation_ns(&self, now_ns: u64, zone: Zone, position: u64) -> u64 {
        let turn_ns = self.model.rotation_ns;
        if turn_ns == 0 {
            return 0;
        }
        let within_track = (position - zone.start_byte) % self.track_bytes(zone);
        let place_ns = transfer_ns(within_track, zone.bytes_per_s);
        (place_ns + turn_ns - now_ns % turn_ns) % turn_ns
    }

    /// Bytes that pass in one turn; a turn of no time has one byte.
    fn track_bytes(&self, zone: Zone) -> u64 {
        let bytes = u128::from(zone.bytes_per_s) * u128::from(self.model.rotation_ns) / u128::from(SECOND_NS);
        u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
    }

    fn zone(&self, position: u64) -> Zone {
        let zones = &self.model.zones;
        zones[zones.partition_point(|zone| zone.start_byte <= position) - 1]
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    const SIZE_BYTES: u64 = 120_000_000_000;

    fn disk() -> DiskState {
        let zones = vec![
            Zone { start_byte: 0, bytes_per_s: 45_000_000 },
            Zone { start_byte: SIZE_BYTES / 2, bytes_per_s: 25_000_000 },
        ];
        let seeks = (1_000_000, 8_900_000, 18_000_000);
        let (track_seek_ns, average_seek_ns, full_seek_ns) = seeks;
        let disk = Disk { zones, track_seek_ns, average_seek_ns, full_seek_ns, rotation_ns: 8_333_333 };
        DiskState::new(disk, SIZE_BYTES, 65_536)
    }

    #[test]
    fn the_seek_curve_goes_through_the_three_figures_of_the_data_sheet() {
        let mut disk = disk();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut seeks_ns, mut waits_ns, mut now_ns) = (0, 0, 1);
        for _ in 0..20_000 {
            let place = random.next_u64() % (SIZE_BYTES / 4096) * 4096;
            let seek_ns = disk.seek_ns(place);
            let (bytes, step_ns) = disk.step(now_ns + seek_ns, place, 4096);
            assert_eq!(bytes, 4096);
            seeks_ns += seek_ns;
            waits_ns += step_ns - transfer_ns(4096, disk.zone(place).bytes_per_s);
            now_ns += seek_ns + step_ns;
        }
        let (mean_seek_ns, mean_wait_ns) = (seeks_ns / 20_000, waits_ns / 20_000);
        assert!(mean_seek_ns.abs_diff(8_900_000) < 89_000, "{mean_seek_ns}");
        assert!(mean_wait_ns.abs_diff(8_333_333 / 2) < 42_000, "{mean_wait_ns}");
        disk.head = 0;
        assert_eq!(disk.seek_ns(SIZE_BYTES), 18_000_000);
        assert_eq!(disk.seek_ns(4096), 0);
        assert!(disk.seek_ns(375_000).abs_diff(1_000_000) < 50_000);
    }

    #[test]
    fn who_goes_on_waits_for_nothing_and_who_pauses_for_the_place_to_come_round() {
        let mut disk = disk();
        let (_, first_ns) = disk.step(5, 0, 65_536);
        let (_, second_ns) = disk.step(5 + first_ns, 65_536, 65_536);
        assert_eq!(second_ns, transfer_ns(65_536, 45_000_000));
        let later_ns = 5 + first_ns + second_ns + 1000;
        let (_, third_ns) = disk.step(later_ns, 131_072, 65_536);
        assert!((8_333_333 - 2000 + second_ns..8_333_333 + second_ns).contains(&third_ns), "{third_ns}");
    }
}
