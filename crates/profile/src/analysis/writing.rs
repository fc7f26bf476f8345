//! What flash does when it is written to: its rate, the fast area and its cliff, pauses, allocation
//! units.

use shoal_sim::{AllocationUnits, DriveModel, FastArea, Stall};

use crate::measure::Observation;
use crate::probe::{
    Direction, FILL_BYTES, INTERLEAVED_MAX, JUMP_BYTES, JUMP_REGIONS, PIECE_BYTES, Question, REFILL_REST_NS,
};

use super::flash::{set_flash, set_write_rate, solve};
use super::statistics::{median, quantile, rate, spread_ppm};
use super::transfer::{MediumPace, Transfers};
use super::{Analysis, FLASH_PAGE_BYTES};

/// Kinds of pauses that a profile tells, at most: the ones that cost most.
const STALLS_MAX: usize = 4;
/// A pause is at least so much longer than other writes.
const STALL_NS_MIN: u64 = 1_000_000;

/// Regions that were written to one after the other.
struct Jump {
    /// How much was written to each.
    bytes: u64,
    /// What the first write to one took more than others.
    extra_ns: u64,
}

impl Analysis<'_> {
    pub(super) fn fit_writes(&mut self, model: &mut DriveModel, writes: &Transfers) -> Option<()> {
        model.command_ns.write = writes.command_ns;
        let method = "writes of 4 KiB one after the other, less what the bus takes";
        self.origins.measured("command.write", method, writes.spread_ppm);
        let cliff = self.of(Question::Fill).and_then(|fill| cliff(&fill.latencies_ns));
        match (cliff, writes.medium) {
            (Some(cliff), _) => self.fit_fast_area(model, cliff)?,
            (None, MediumPace::Seen { page_ns, .. }) => {
                set_write_rate(model, rate(u64::from(FLASH_PAGE_BYTES), page_ns));
                let method = "writes of 4 to 64 KiB after rests: how time grows with size";
                self.origins.measured("flash.write_rate", method, writes.spread_ppm);
                self.tell_how_much_was_written();
            }
            (None, _) => {
                self.solve_write_rate(model, 0, usize::MAX)?;
                self.tell_how_much_was_written();
            }
        }
        self.fit_units(model)?;
        self.fit_stalls(model);
        Some(())
    }

    fn tell_how_much_was_written(&mut self) {
        let bytes = self.of(Question::Fill).map_or(0, |fill| fill.latencies_ns.len() as u64 * FILL_BYTES);
        let text = format!("No slower after {} MiB were written; a fast area would be larger.", bytes >> 20);
        self.remarks.push(text);
    }

    /// The write rate at which a simulated fill is as fast as these steps of the measured one.
    fn solve_write_rate(&mut self, model: &mut DriveModel, from: usize, to: usize) -> Option<()> {
        let fill = self.of(Question::Fill)?;
        let steps = &fill.latencies_ns[from.min(fill.latencies_ns.len())..to.min(fill.latencies_ns.len())];
        let (target_ns, spread) = (median(steps), spread_ppm(steps));
        let path = "flash.write_rate";
        match solve(model, fill, target_ns, |replayed| median(&replayed.latencies_ns[1..]), set_write_rate) {
            Some(solved) => {
                set_write_rate(model, solved);
                self.origins.measured(path, "writes of 1 MiB at once: solved by simulation", spread);
            }
            None => {
                set_write_rate(model, self.beyond_bus());
                self.origins.not_measured(path, "the bus holds the drive back: four times what it carries");
            }
        }
        Some(())
    }

    fn fit_fast_area(&mut self, model: &mut DriveModel, cliff: Cliff) -> Option<()> {
        self.solve_write_rate(model, 1, cliff.at)?;
        let shoal_sim::Medium::Flash(flash) = &model.medium else { return None };
        let write_bytes_per_s = flash.bytes_per_s.write;
        self.solve_write_rate(model, cliff.at + 1, usize::MAX)?;
        let refill = self.of(Question::Refill)?;
        let is_slow = |&latency_ns: &u64| latency_ns > cliff.between_ns;
        let after_rest = refill.latencies_ns.get(1..)?;
        let emptied = after_rest.iter().position(is_slow).unwrap_or(after_rest.len()) as u64;
        let area = FastArea {
            size_bytes: (cliff.at as u64 * FILL_BYTES).min(model.size_bytes),
            write_bytes_per_s,
            drain_bytes_per_s: emptied * FILL_BYTES * 1_000_000_000 / REFILL_REST_NS,
        };
        set_flash(model, |flash| flash.fast_area = Some(area));
        let spread = 1_000_000 / u32::try_from(cliff.at.max(1)).unwrap_or(u32::MAX);
        self.origins.measured("flash.fast_area.size", "what was written in a row before writes got slower", spread);
        self.origins.measured(
            "flash.fast_area.write_rate",
            "writes of 1 MiB before that: solved by simulation",
            spread,
        );
        let method = "what was written fast again after ten seconds of rest";
        self.origins.measured("flash.fast_area.drain_rate", method, 1_000_000 / u32::try_from(emptied.max(1)).ok()?);
        Some(())
    }

    fn fit_units(&mut self, model: &mut DriveModel) -> Option<()> {
        let jumps = jumps(self.of(Question::Jumps)?);
        let random = self.of(Question::Random(Direction::Write))?;
        let one_page_ns = model.command_ns.write + self.bus_page_ns;
        let anywhere_ns = median(&random.latencies_ns).saturating_sub(one_page_ns);
        let spread = spread_ppm(&random.latencies_ns);
        let Some((unit_bytes, copy_bytes_per_s)) = units(&jumps) else {
            set_flash(model, |flash| flash.random_ns.write = anywhere_ns);
            let method = "writes of 4 KiB anywhere, less command and bus; no allocation units show";
            self.origins.measured("flash.random_write", method, spread);
            return Some(());
        };
        let last_ns = jumps.last()?.extra_ns;
        let random_ns = last_ns.saturating_sub(wait_for_last_page_ns(model));
        set_flash(model, |flash| flash.random_ns.write = random_ns);
        self.origins.measured("flash.random_write", "jumps between regions whose units are full", spread);
        let closing_ns = unit_bytes * 1_000_000_000 / copy_bytes_per_s.max(1);
        let open_units = self.open_units(last_ns + closing_ns / 2);
        set_flash(model, |flash| flash.allocation = Some(AllocationUnits { unit_bytes, open_units, copy_bytes_per_s }));
        let method = "regions begun one after the other: the pause vanishes when so much was written to each";
        self.origins.measured("flash.allocation.unit", method, spread);
        self.origins.measured("flash.allocation.copy_rate", "how the pause shrinks with what was written", spread);
        self.origins.measured("flash.allocation.open", "regions written in turn: more than so many are slow", 0);
        if u64::from(open_units) == INTERLEAVED_MAX {
            self.remarks.push(format!("At least {INTERLEAVED_MAX} allocation units can be open; more was not tried."));
        }
        Some(())
    }

    /// The most regions that can be written in turn without a write taking `slow_ns` more than one
    /// in a row.
    fn open_units(&self, slow_ns: u64) -> u32 {
        let typical_ns = |regions: u64| {
            let observation = self.of(Question::Interleaved(regions))?;
            let settled = observation.latencies_ns.len() / 3;
            Some(median(&observation.latencies_ns[settled..]))
        };
        let alone_ns = typical_ns(1).unwrap_or(0);
        let is_fast = |&regions: &u64| typical_ns(regions).is_some_and(|ns| ns < alone_ns + slow_ns);
        let most = (1..=INTERLEAVED_MAX).take_while(is_fast).last().unwrap_or(1);
        u32::try_from(most).unwrap_or(1)
    }

    fn fit_stalls(&mut self, model: &mut DriveModel) {
        let Some(trace) = self.of(Question::Trace) else { return };
        let writes = trace.latencies_ns.len();
        let stalls = stalls(&trace.latencies_ns[1..]);
        for (number, (_, spread)) in stalls.iter().enumerate() {
            let path = |name: &str| format!("flash.stall.{}.{name}", number + 1);
            let method = format!("the trace of {writes} writes of 4 KiB");
            self.origins.measured(&path("every"), &method, *spread);
            self.origins.measured(&path("duration"), &method, *spread);
            self.origins.assumed(&path("phase"), "begins with a whole round");
        }
        set_flash(model, |flash| flash.stalls = stalls.into_iter().map(|(stall, _)| stall).collect());
    }
}

/// What a write that jumps waits longer for the last page of the one before than a write that goes
/// on: all but the end of one command has to be over, not just what commands hide.
fn wait_for_last_page_ns(model: &DriveModel) -> u64 {
    let shoal_sim::Medium::Flash(flash) = &model.medium else { return 0 };
    let page_ns = u64::from(model.page_bytes) * 1_000_000_000 / flash.bytes_per_s.write.max(1);
    let command_ns = model.command_ns.write;
    page_ns.saturating_sub(command_ns / 3) - page_ns.saturating_sub(command_ns)
}

/// Where writing in a row becomes slower for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cliff {
    /// The first step that is slower.
    at: usize,
    /// Between the latencies before and after.
    between_ns: u64,
}

/// Slower means at least by a quarter, in the median of the last quarter against the first steps,
/// and not just now and then: nearly all of the one are slower than nearly all of the other.
fn cliff(latencies_ns: &[u64]) -> Option<Cliff> {
    let first = latencies_ns.get(1..latencies_ns.len().min(13))?;
    let last = &latencies_ns[latencies_ns.len() / 4 * 3..];
    let (before_ns, after_ns) = (median(first), median(last));
    if after_ns < before_ns + before_ns / 4 || quantile(last, 10) < quantile(first, 80) {
        return None;
    }
    let between_ns = u64::midpoint(before_ns, after_ns);
    let at = latencies_ns.windows(5).position(|window| window[0] > between_ns && median(window) > between_ns)?;
    Some(Cliff { at, between_ns })
}

/// The jumps of an observation, by how much was written to each region.
fn jumps(observation: &Observation) -> Vec<Jump> {
    let latencies_ns = &observation.latencies_ns;
    let (mut jumps, mut others, mut start) = (Vec::new(), Vec::new(), 0);
    for &bytes in JUMP_BYTES {
        let pieces = usize::try_from(bytes / PIECE_BYTES).expect("a few hundred");
        let regions = usize::try_from(JUMP_REGIONS).expect("a few");
        let Some(these) = latencies_ns.get(start..start + pieces * regions) else { break };
        start += these.len();
        let firsts: Vec<u64> = these.chunks(pieces).skip(regions / 2).map(|region| region[0]).collect();
        others.extend(these.chunks(pieces).flat_map(|region| &region[1..]));
        jumps.push(Jump { bytes, extra_ns: median(&firsts) });
    }
    let usual_ns = median(&others);
    jumps.iter_mut().for_each(|jump| jump.extra_ns = jump.extra_ns.saturating_sub(usual_ns));
    jumps
}

/// Size and copy rate of allocation units, if there are any: closing one of which `c` is written
/// takes `(unit - c) / rate`.
fn units(jumps: &[Jump]) -> Option<(u64, u64)> {
    let (first, last) = (jumps.first()?, jumps.last()?);
    let closing_ns = |jump: &Jump| jump.extra_ns.saturating_sub(last.extra_ns);
    let whole_ns = closing_ns(first);
    if whole_ns < 2_000_000 || whole_ns < last.extra_ns / 2 {
        return None;
    }
    // The line through the first jump and the last one that still closes something.
    let second = jumps.iter().skip(1).rfind(|jump| closing_ns(jump) > whole_ns / 10)?;
    let shrunk_ns = whole_ns.checked_sub(closing_ns(second)).filter(|&ns| ns > 0)?;
    let copy_bytes_per_s = rate(second.bytes - first.bytes, shrunk_ns);
    let rest = u128::from(whole_ns) * u128::from(copy_bytes_per_s) / 1_000_000_000;
    let unit_bytes = u64::try_from(rest).ok()?.saturating_add(first.bytes);
    // Units are whole pieces; the first one could be begun at its start only if they are.
    let unit_bytes = (unit_bytes + PIECE_BYTES / 2) / PIECE_BYTES * PIECE_BYTES;
    Some((unit_bytes.clamp(PIECE_BYTES, 1 << 40), copy_bytes_per_s))
}

/// The kinds of pauses in a trace, with the spread of each.
fn stalls(latencies_ns: &[u64]) -> Vec<(Stall, u32)> {
    let usual_ns = median(latencies_ns);
    let total_ns: u64 = latencies_ns.iter().sum();
    let mut pauses: Vec<u64> = latencies_ns
        .iter()
        .map(|latency_ns| latency_ns.saturating_sub(usual_ns))
        .filter(|&pause_ns| pause_ns > STALL_NS_MIN.max(2 * usual_ns))
        .collect();
    pauses.sort_unstable();
    // Pauses of one kind differ from the next smaller one by less than half.
    let kinds = pauses.chunk_by(|smaller, larger| *larger < smaller + smaller / 2);
    let mut found: Vec<&[u64]> = kinds.filter(|kind| kind.iter().sum::<u64>() > total_ns / 500).collect();
    found.sort_by_key(|kind| std::cmp::Reverse(kind.iter().sum::<u64>()));
    found.truncate(STALLS_MAX);
    let stall = |kind: &&[u64]| {
        let pauses = kind[0]..=kind[kind.len() - 1];
        let is_one = |latency_ns: &u64| pauses.contains(&latency_ns.saturating_sub(usual_ns));
        let first = latencies_ns.iter().position(is_one).unwrap_or(0);
        let last = latencies_ns.iter().rposition(is_one).unwrap_or(0);
        // From the first to the last: what comes before and after them is less than a round.
        let every = match kind.len() {
            0..=2 => latencies_ns.len() as f64 / kind.len() as f64,
            count => (last - first) as f64 / (count - 1) as f64,
        };
        let every_writes = (every.round() as u32).max(1);
        (Stall { every_writes, duration_ns: median(kind).min(3_600_000_000_000), phase_writes: 0 }, spread_ppm(kind))
    };
    found.iter().map(stall).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_apart_by_their_length() {
        let latency = |number: u64| match number {
            number if number % 900 == 0 => 440_000_000,
            number if number % 48 == 0 => 70_000_000,
            _ => 600_000,
        };
        let trace: Vec<u64> = (1..=9000).map(latency).collect();
        let found: Vec<_> = stalls(&trace).iter().map(|(stall, _)| (stall.every_writes, stall.duration_ns)).collect();
        assert_eq!(found, [(49, 69_400_000), (900, 439_400_000)]); // two of the short ones fall on long ones
    }

    #[test]
    fn noise_is_no_pause() {
        let trace: Vec<u64> = (0..9000).map(|number| 600_000 + number * 7919 % 500_000).collect();
        assert_eq!(stalls(&trace), []);
    }

    #[test]
    fn a_cliff_is_where_writes_become_slower_for_good() {
        let mut fill = vec![10_000_000; 100];
        fill[50] = 90_000_000; // a pause is none
        assert_eq!(cliff(&fill), None);
        fill[60..].fill(40_000_000);
        assert_eq!(cliff(&fill), Some(Cliff { at: 60, between_ns: 25_000_000 }));
    }
}
