//! Rotating disks: zones, seeks, the turn.

use shoal_sim::{Disk, DriveModel, Medium, Zone};

use crate::measure::Observation;
use crate::probe::{Direction, Question, ZONE_READS};

use super::statistics::{mean, median, quantile, rate, spread_ppm};
use super::transfer::Transfers;
use super::{Analysis, DISK_PAGE_BYTES};

/// Disks turn at one of these, in revolutions a minute.
const SPEEDS: &[u64] = &[4200, 5400, 5900, 7200, 10_000, 15_000];
/// The cache of a disk that does not show.
const CACHE_BYTES: u32 = 8 << 20;
const MINUTE_NS: u64 = 60_000_000_000;

/// A disk's random reads differ by the turn, and those between its ends take longest.
pub(super) fn seems_to_rotate(random: &Observation, ends: &Observation) -> bool {
    let latencies_ns = &random.latencies_ns;
    let (low, high) = (quantile(latencies_ns, 10), quantile(latencies_ns, 90));
    high - low > 2_500_000.max(low / 4) && mean(&ends.latencies_ns) > mean(latencies_ns)
}

impl Analysis<'_> {
    pub(super) fn fit_disk(&mut self, model: &mut DriveModel, reads: &Transfers) -> Option<()> {
        self.origins.assumed("buffer.page", "a segment of the cache; what matters is how many bytes the cache holds");
        self.origins.assumed("buffer.write_through", "its write cache is on");
        match self.read_ahead_pages(2) {
            Some(pages) => {
                model.page_buffers = (pages / (DISK_PAGE_BYTES / 4096)).max(1);
                let method = "how much of a stream comes at the bus's pace after a rest";
                self.origins.measured("buffer.pages", method, 250_000);
            }
            None => {
                model.page_buffers = CACHE_BYTES / DISK_PAGE_BYTES;
                self.origins.not_measured("buffer.pages", "a stream never waited for the medium: 8 MiB, as most disks");
            }
        }
        let zones = self.zones()?;
        let near = self.of(Question::Near)?;
        let rotation_ns = turn_ns(&near.latencies_ns);
        let page_ns = 4096 * 1_000_000_000 / zones.first()?.bytes_per_s;
        // Command, bus, data, and half a turn in the mean.
        let others_ns = reads.command_ns + self.bus_page_ns + page_ns + rotation_ns / 2;
        let seek_ns = |question| Some(mean(&self.of(question)?.latencies_ns[1..]).saturating_sub(others_ns));
        let track_seek_ns = seek_ns(Question::Near)?;
        let average_seek_ns = seek_ns(Question::Random(Direction::Read))?.max(track_seek_ns);
        let full_seek_ns = seek_ns(Question::Ends)?.max(average_seek_ns);
        let spread = spread_ppm(&near.latencies_ns);
        model.medium = Medium::Disk(Disk { zones, track_seek_ns, average_seek_ns, full_seek_ns, rotation_ns });
        self.origins.measured("disk.track_seek", "reads of 4 KiB a few MiB apart, less half a turn", spread);
        self.origins.measured("disk.average_seek", "reads of 4 KiB anywhere, less half a turn", spread);
        self.origins.measured("disk.full_seek", "reads of 4 KiB at both ends in turn, less half a turn", spread);
        self.origins.measured("disk.rotation", "by how much reads nearby differ; the nearest usual speed", spread);
        match self.transfers(Direction::Write) {
            Some(writes) => {
                model.command_ns.write = writes.command_ns;
                let method = "writes of 4 KiB one after the other, less what the bus takes";
                self.origins.measured("command.write", method, writes.spread_ppm);
            }
            None => self.origins.not_measured("command.write", "nothing was written: as for reads"),
        }
        Some(())
    }

    /// Places of about the same rate are one zone.
    fn zones(&mut self) -> Option<Vec<Zone>> {
        let observation = self.of(Question::Zones)?;
        let reads = usize::try_from(ZONE_READS).expect("a few");
        let places = observation.probe.steps.chunks(reads).zip(observation.latencies_ns.chunks(reads));
        let mut zones: Vec<Zone> = Vec::new();
        let mut spread = 0;
        for (steps, latencies_ns) in places {
            // The first reads wait for the seek and the turn, and may find more read than they
            // want.
            let rest = &latencies_ns[latencies_ns.len() / 4..];
            let bytes = u64::from(steps[0].length) * rest.len() as u64;
            let bytes_per_s = rate(bytes, rest.iter().sum());
            spread = spread.max(spread_ppm(rest));
            let is_new = zones.last().is_none_or(|zone| bytes_per_s.abs_diff(zone.bytes_per_s) > zone.bytes_per_s / 50);
            if is_new {
                zones.push(Zone { start_byte: if zones.is_empty() { 0 } else { steps[0].offset }, bytes_per_s });
            }
        }
        for number in 1..=zones.len() {
            let method = "reads in sixteen places";
            self.origins.measured(&format!("disk.zone.{number}.start"), method, spread);
            self.origins.measured(&format!("disk.zone.{number}.rate"), method, spread);
        }
        Some(zones)
    }
}

/// Reads nearby take a seek that is always the same, and anything up to a turn.
fn turn_ns(latencies_ns: &[u64]) -> u64 {
    let (low, high) = (quantile(latencies_ns, 2), quantile(latencies_ns, 98));
    let seen_ns = (high - low) * 100 / 96;
    let turns = SPEEDS.iter().map(|speed| MINUTE_NS / speed);
    let nearest = turns.min_by_key(|turn_ns| turn_ns.abs_diff(seen_ns)).unwrap_or(seen_ns);
    // What is far from all of them is something else than a disk, and told as it is.
    if nearest.abs_diff(seen_ns) < nearest / 8 { nearest } else { seen_ns.max(median(latencies_ns) / 100).max(1) }
}
