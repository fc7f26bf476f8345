//! The rates of sticks and the gap of the host, from the cells that are inputs.

use std::sync::OnceLock;

use shoal_bench::Direction;
use shoal_sim::DriveModel;

use super::{BLOCK_BYTES, Cell, FILE_BYTES, MODELS, STICKS, windows};
use crate::ReplayError;
use crate::calibrate::{ns_per_byte, solve, with_read_time, with_write_time};
use crate::methods::{hd_tune, overlapped};
use crate::rig::{alone, drive, model};

/// What the host loses between two of HD Tune's requests. It follows from the cell that has both:
/// with the stick at the rate at which ATTO measures what was printed, HD Tune has to as well.
pub(super) fn gap_ns() -> Result<u64, ReplayError> {
    static GAP_NS: OnceLock<u64> = OnceLock::new();
    if let Some(&gap_ns) = GAP_NS.get() {
        return Ok(gap_ns);
    }
    let [stick, system, file_system] = [STICKS[0], "Windows XP", "NTFS"].map(str::to_owned);
    let cell = Cell { stick, system, file_system };
    let base = model(MODELS[0])?;
    let atto = |byte_ns| atto_ns(with_read_time(base.clone(), byte_ns), Direction::Read);
    let model = with_read_time(base.clone(), solve(atto, published_ns(&cell, "ATTO", "read")?)?);
    let block = f64::from(BLOCK_BYTES);
    // Nanoseconds a byte, of nanoseconds of gap a byte.
    let hd = |byte_ns: f64| hd_tune_ns(model.clone(), (byte_ns * block) as u64);
    let gap_ns = (solve(hd, published_ns(&cell, "HDTune", "read")?)? * block) as u64;
    Ok(*GAP_NS.get_or_init(|| gap_ns))
}

/// A stick that HD Tune measures as it was printed for this cell.
pub(super) fn reading(name: &str, cell: &Cell) -> Result<DriveModel, ReplayError> {
    let (base, gap_ns) = (model(name)?, gap_ns()?);
    let hd = |byte_ns| hd_tune_ns(with_read_time(base.clone(), byte_ns), gap_ns);
    let byte_ns = solve(hd, published_ns(cell, "HDTune", "read")?)?;
    Ok(with_read_time(base, byte_ns))
}

/// A stick to which ATTO writes as it was printed for this cell.
pub(super) fn writing(name: &str, cell: &Cell) -> Result<DriveModel, ReplayError> {
    let base = model(name)?;
    let atto = |byte_ns| atto_ns(with_write_time(base.clone(), byte_ns), Direction::Write);
    let byte_ns = solve(atto, published_ns(cell, "ATTO", "write")?)?;
    Ok(with_write_time(base, byte_ns))
}

fn hd_tune_ns(model: DriveModel, gap_ns: u64) -> Result<f64, ReplayError> {
    Ok(ns_per_byte(hd_tune(drive(&alone(model), &windows())?, FILE_BYTES, gap_ns)?))
}

fn atto_ns(model: DriveModel, direction: Direction) -> Result<f64, ReplayError> {
    let mut volume = drive(&alone(model), &windows())?;
    Ok(ns_per_byte(overlapped(&mut volume, direction, BLOCK_BYTES, FILE_BYTES)?.megabytes_per_s()))
}

fn published_ns(cell: &Cell, method: &str, metric: &str) -> Result<f64, ReplayError> {
    let published = cell.published(method, metric).map(ns_per_byte);
    published.ok_or_else(|| ReplayError::NotPublished(format!("{method} {metric} of {cell:?}")))
}
