//! The stick, from what the study measured of one: its rates and its access time.

use shoal_sim::DriveModel;

use super::{SINGLE_BYTES, host};
use crate::ReplayError;
use crate::calibrate::{solve, with_longer_random_reads, with_read_rate, with_write_rate};
use crate::host::{ReadAhead, WriteBack};
use crate::methods::{dd_read, dd_write, seeker};
use crate::rig::{alone, drive, model};

/// What `hdparm -t`, `dd` and `seeker` printed: MiB/s, MB/s, ms.
const READ_MIB_PER_S: f64 = 23.38;
const WRITE_MB_PER_S: f64 = 14.0;
const ACCESS_MS: f64 = 6.63;
/// Of a run that a rate is solved with: steady from the first request on, so that little is enough.
const TRIAL_BYTES: u64 = 8 << 20;

/// The stick with all of them.
pub(super) fn stick() -> Result<DriveModel, ReplayError> {
    let reading = reading(model("rally2")?)?;
    let access_ms = seeker(&mut drive(&alone(reading.clone()), &host())?)?.access_ms();
    writing(with_longer_random_reads(reading, ACCESS_MS - access_ms))
}

fn reading(base: DriveModel) -> Result<DriveModel, ReplayError> {
    let host = host();
    let read = |rate: f64| {
        let volume = drive(&alone(with_read_rate(base.clone(), rate)), &host)?;
        dd_read(ReadAhead::new(volume, host.read_ahead_bytes, host.turn_ns), TRIAL_BYTES)
    };
    let rate = solve(read, READ_MIB_PER_S * 1.048_576)?;
    Ok(with_read_rate(base, rate))
}

/// What dd prints is faster than the stick: it does not wait for what it leaves dirty.
fn writing(base: DriveModel) -> Result<DriveModel, ReplayError> {
    let host = host();
    let written = SINGLE_BYTES - host.dirty_bytes;
    let target = WRITE_MB_PER_S * written as f64 / SINGLE_BYTES as f64;
    let write = |rate: f64| {
        let volume = drive(&alone(with_write_rate(base.clone(), rate)), &host)?;
        dd_write(WriteBack::new(volume, 0), TRIAL_BYTES, true)
    };
    let rate = solve(write, target)?;
    Ok(with_write_rate(base, rate))
}
