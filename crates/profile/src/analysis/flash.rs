//! Sticks, cards, SSDs: media rates, random access, and what they do when they are written to.

use shoal_sim::{DriveModel, Flash, Medium};

use crate::measure::Observation;
use crate::probe::{Direction, Question};
use crate::replay::Replay;

use super::statistics::{median, rate, spread_ppm};
use super::transfer::{MediumPace, Transfers, latencies};
use super::{Analysis, FLASH_PAGE_BYTES};

/// Page buffers where more would not show.
const BUFFERS_MAX: u32 = 65_536;

impl Analysis<'_> {
    pub(super) fn fit_flash(&mut self, model: &mut DriveModel, reads: &Transfers) -> Option<()> {
        self.origins.assumed("buffer.page", "a page of 4 KiB; what matters is how many bytes the buffers hold");
        self.origins.assumed("buffer.write_through", "a write ends when the buffers have it");
        self.fit_read_rate(model, reads)?;
        self.fit_random_read(model)?;
        match self.transfers(Direction::Write) {
            Some(writes) => self.fit_writes(model, &writes)?,
            None => self.stand_in_for_writes(model),
        }
        Some(())
    }

    fn fit_read_rate(&mut self, model: &mut DriveModel, reads: &Transfers) -> Option<()> {
        let method = "reads of 4 to 64 KiB after rests: how time grows with size";
        self.origins.measured("flash.read_rate", method, reads.spread_ppm);
        match reads.medium {
            MediumPace::Seen { page_ns, buffers } => {
                self.origins.measured("buffer.pages", method, reads.spread_ppm);
                model.page_buffers = buffers;
                set_read_rate(model, rate(u64::from(FLASH_PAGE_BYTES), page_ns));
            }
            MediumPace::Buffered => {
                model.page_buffers = self.read_ahead_pages(1).unwrap_or(16).clamp(16, BUFFERS_MAX);
                let method = "how much of a stream comes at the bus's pace after a rest";
                self.origins.measured("buffer.pages", method, 500_000);
                self.solve_read_rate(model)?;
            }
            MediumPace::BusBound => self.stand_in_for_read_rate(model),
        }
        set_flash(model, |flash| flash.bytes_per_s.write = flash.bytes_per_s.read);
        Some(())
    }

    /// The rate at which a simulated stream is as fast as the measured one.
    fn solve_read_rate(&mut self, model: &mut DriveModel) -> Option<()> {
        let stream = self.of(Question::Stream(Direction::Read))?;
        let target = latencies(stream, 16);
        let statistic = |replayed: &Observation| median(&latencies(replayed, 16));
        match solve(model, stream, median(&target), statistic, set_read_rate) {
            Some(solved) => {
                set_read_rate(model, solved);
                let method = "reads of 64 KiB at once: solved by simulation";
                self.origins.measured("flash.read_rate", method, spread_ppm(&target));
            }
            None => self.stand_in_for_read_rate(model),
        }
        Some(())
    }

    /// A drive that is faster than its bus: large pages and many, so that nothing but the bus
    /// shows.
    fn stand_in_for_read_rate(&mut self, model: &mut DriveModel) {
        model.page_bytes = LARGE_PAGE_BYTES;
        model.page_buffers = 64;
        set_read_rate(model, self.beyond_bus());
        self.origins.assumed("buffer.page", "a page of 16 KiB; the bus holds the drive back, so it does not show");
        self.origins.assumed("buffer.pages", "the bus holds the drive back, so buffers do not show");
        let stand_in = "the bus holds the drive back: four times what it carries";
        self.origins.not_measured("flash.read_rate", stand_in);
    }

    /// A rate that the bus never sees.
    pub(super) fn beyond_bus(&self) -> u64 {
        rate(4 * u64::from(FLASH_PAGE_BYTES), self.bus_page_ns).min(20_000_000_000)
    }

    /// Pages that were read ahead in a rest: the stream's fast beginning, less what the medium
    /// delivered meanwhile. Where a reader waits until half of its buffers are empty before it
    /// reads on, `halves` is 2. None if the buffers never ran empty.
    pub(super) fn read_ahead_pages(&self, halves: u64) -> Option<u32> {
        let latencies_ns = self.of(Question::ReadAhead)?.latencies_ns.get(1..)?;
        let quarter = latencies_ns.len() / 4;
        let slow_ns = median(&latencies_ns[latencies_ns.len() - quarter.max(1)..]);
        let fast_ns = median(&latencies_ns[..8.min(latencies_ns.len())]);
        if slow_ns < fast_ns + fast_ns / 5 {
            return None;
        }
        let is_slow = |window: &[u64]| median(window) > u64::midpoint(slow_ns, fast_ns);
        let pieces = latencies_ns.windows(5).position(is_slow).unwrap_or(latencies_ns.len()) as u64 + 2;
        // Of each piece the medium brings fast / slow anew, and the buffers the rest.
        let bytes = pieces * crate::probe::PIECE_BYTES;
        let from_buffers = u128::from(bytes) * u128::from(slow_ns - fast_ns) / u128::from(slow_ns);
        let from_buffers = u64::try_from(from_buffers).unwrap_or(bytes);
        // With halves: half of D at once, half of D with what comes anew; bytes = D/2 + D/2 * slow
        // / (slow - fast).
        let buffered = if halves == 1 {
            from_buffers
        } else {
            u64::try_from(2 * u128::from(bytes) * u128::from(slow_ns - fast_ns) / u128::from(2 * slow_ns - fast_ns))
                .unwrap_or(bytes)
        };
        Some(u32::try_from(buffered / 4096).unwrap_or(BUFFERS_MAX).max(1))
    }

    fn fit_random_read(&mut self, model: &mut DriveModel) -> Option<()> {
        let random = self.of(Question::Random(Direction::Read))?;
        let latencies_ns = random.latencies_ns.clone();
        let Medium::Flash(flash) = &model.medium else { return None };
        // Nothing was read ahead: the page has to be read first.
        let page_ns = u64::from(model.page_bytes) * 1_000_000_000 / flash.bytes_per_s.read.max(1);
        let others_ns = model.command_ns.read + self.bus_page_ns + page_ns;
        let random_ns = median(&latencies_ns).saturating_sub(others_ns);
        set_flash(model, |flash| flash.random_ns.read = random_ns);
        let method = "reads of 4 KiB anywhere, less command, bus and page";
        self.origins.measured("flash.random_read", method, spread_ppm(&latencies_ns));
        Some(())
    }

    fn stand_in_for_writes(&mut self, model: &mut DriveModel) {
        self.remarks
            .push("Nothing was written, so writes are not measured; --write does, and loses what is there.".to_owned());
        self.origins.not_measured("command.write", "nothing was written: as for reads");
        self.origins.not_measured("flash.write_rate", "nothing was written: as for reads");
        self.origins.not_measured("flash.random_write", "nothing was written: as for reads");
        set_flash(model, |flash| flash.random_ns.write = flash.random_ns.read);
    }
}

fn set_read_rate(model: &mut DriveModel, rate: u64) {
    set_flash(model, |flash| flash.bytes_per_s.read = rate);
}

pub(super) fn set_write_rate(model: &mut DriveModel, rate: u64) {
    set_flash(model, |flash| flash.bytes_per_s.write = rate);
}

/// Changes the flash of a model that has some.
pub(super) fn set_flash(model: &mut DriveModel, change: impl FnOnce(&mut Flash)) {
    if let Medium::Flash(flash) = &mut model.medium {
        change(flash);
    }
}

/// The rate at which a simulated drive takes `target_ns` for the first steps of an observation, by
/// `statistic`, within a hundredth. None if no rate does: then something else than the medium holds
/// the drive back.
pub(super) fn solve(
    model: &DriveModel,
    observation: &Observation,
    target_ns: u64,
    statistic: impl Fn(&Observation) -> u64,
    set_rate: impl Fn(&mut DriveModel, u64),
) -> Option<u64> {
    let mut probe = observation.probe.clone();
    probe.steps.truncate(STEPS_TO_SOLVE);
    let time_ns = |rate: u64| {
        let mut model = model.clone();
        set_rate(&mut model, rate);
        let mut replay = Replay::new(&model)?;
        let latencies_ns = probe.steps.iter().map(|&step| replay.step_ns(step)).collect();
        Some(statistic(&Observation { probe: probe.clone(), latencies_ns }))
    };
    let (mut low, mut high) = (100_000_f64, 20e9_f64);
    let fastest_ns = time_ns(high as u64)?;
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if time_ns(middle as u64)? > target_ns { low = middle } else { high = middle }
    }
    // At the bus's pace the last few hundredths of the time decide about everything, so they are
    // not believed.
    (target_ns > fastest_ns + fastest_ns / 50).then_some(high.round() as u64)
}

/// Steps that are simulated for each rate that is tried.
const STEPS_TO_SOLVE: usize = 40;
/// A page where the bus is what shows.
const LARGE_PAGE_BYTES: u32 = 16 << 10;
