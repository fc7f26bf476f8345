//! The rates of sticks and the gap of the host, from the cells that are inputs: solved on the simulated drive itself, with the
//! same methods that measure it afterwards.

use std::sync::OnceLock;

use shoal_bench::Direction;
use shoal_sim::DriveModel;

use super::{BLOCK_BYTES, Cell, MODELS, STICKS, windows};
use crate::ReplayError;
use crate::calibrate::{solve, with_read_rate, with_write_rate};
use crate::methods::{hd_tune, overlapped};
use crate::rig::{alone, drive, model};

/// Of a run that a rate is solved with: steady from the first request on, so that little is enough.
const TRIAL_BYTES: u64 = 8 << 20;

/// What follows from the cell that has both, HD Tune's figure and ATTO's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// What the host loses between two of HD Tune's requests.
    pub(crate) gap_ns: u64,
}

impl Rates {
    /// The gap: with the stick at the rate at which ATTO measures what was printed, HD Tune has to as well.
    pub(crate) fn solved() -> Result<Self, ReplayError> {
        static GAP_NS: OnceLock<u64> = OnceLock::new();
        if let Some(&gap_ns) = GAP_NS.get() {
            return Ok(Self { gap_ns });
        }
        let cell =
            Cell { stick: STICKS[0].to_owned(), system: "Windows XP".to_owned(), file_system: "NTFS".to_owned() };
        let atto = |rate: f64| atto(with_read_rate(model(MODELS[0])?, rate), Direction::Read);
        let model = with_read_rate(model(MODELS[0])?, solve(atto, published(&cell, "ATTO", "read")?)?);
        // The longer the gap the slower: solved for its inverse, so that both grow.
        let hd = |per_s: f64| hd_tune(drive(&alone(model.clone()), &windows())?, TRIAL_BYTES, (1e9 / per_s) as u64);
        let gap_ns = (1e9 / solve(hd, published(&cell, "HDTune", "read")?)?) as u64;
        Ok(Self { gap_ns: *GAP_NS.get_or_init(|| gap_ns) })
    }

    /// A stick that HD Tune measures as it was printed for this cell.
    pub(crate) fn reading(&self, name: &str, cell: &Cell) -> Result<DriveModel, ReplayError> {
        let base = model(name)?;
        let hd = |rate: f64| {
            let topology = alone(with_read_rate(base.clone(), rate));
            hd_tune(drive(&topology, &windows())?, TRIAL_BYTES, self.gap_ns)
        };
        let rate = solve(hd, published(cell, "HDTune", "read")?)?;
        Ok(with_read_rate(base, rate))
    }
}

/// A stick to which ATTO writes as it was printed for this cell.
pub(crate) fn writing(name: &str, cell: &Cell) -> Result<DriveModel, ReplayError> {
    let base = model(name)?;
    let with_rate = |rate: f64| with_write_rate(base.clone(), rate);
    let rate = solve(|rate| atto(with_rate(rate), Direction::Write), published(cell, "ATTO", "write")?)?;
    Ok(with_rate(rate))
}

fn atto(model: DriveModel, direction: Direction) -> Result<f64, ReplayError> {
    let mut volume = drive(&alone(model), &windows())?;
    Ok(overlapped(&mut volume, direction, BLOCK_BYTES, TRIAL_BYTES)?.megabytes_per_s())
}

fn published(cell: &Cell, method: &str, metric: &str) -> Result<f64, ReplayError> {
    cell.published(method, metric).ok_or_else(|| ReplayError::NotPublished(format!("{method} {metric} of {cell:?}")))
}
