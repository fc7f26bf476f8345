//! The stick, from what the study measured of one: its rates and its access time.

use shoal_sim::DriveModel;

use super::{SINGLE_BYTES, host};
use crate::ReplayError;
use crate::calibrate::{ns_per_byte, solve, with_longer_random_reads, with_read_time, with_write_time};
use crate::host::{ReadAhead, WriteBack};
use crate::methods::{buffered_read, dd_write, seeker};
use crate::rig::{alone, drive, model};

/// What `hdparm -t`, `dd` and `seeker` printed: MiB/s, MB/s, ms.
const READ_MIB_PER_S: f64 = 23.38;
const WRITE_MB_PER_S: f64 = 14.0;
const ACCESS_MS: f64 = 6.63;

/// The stick with all of them.
pub(super) fn stick() -> Result<DriveModel, ReplayError> {
    let reading = reading(model("rally2")?)?;
    let access_ms = seeker(&mut drive(&alone(reading.clone()), &host())?)?.access_ms();
    writing(with_longer_random_reads(reading, ACCESS_MS - access_ms))
}

fn reading(base: DriveModel) -> Result<DriveModel, ReplayError> {
    let host = host();
    let read = |byte_ns: f64| {
        let volume = drive(&alone(with_read_time(base.clone(), byte_ns)), &host)?;
        Ok(ns_per_byte(buffered_read(ReadAhead::new(volume, host.read_ahead_bytes, host.turn_ns))?))
    };
    let byte_ns = solve(read, ns_per_byte(READ_MIB_PER_S))?;
    Ok(with_read_time(base, byte_ns))
}

/// What dd prints is faster than the stick: it does not wait for what it leaves dirty.
fn writing(base: DriveModel) -> Result<DriveModel, ReplayError> {
    let host = host();
    let write = |byte_ns: f64| {
        let volume = drive(&alone(with_write_time(base.clone(), byte_ns)), &host)?;
        Ok(ns_per_byte(dd_write(WriteBack::new(volume, host.dirty_bytes), SINGLE_BYTES, false)?))
    };
    let byte_ns = solve(write, ns_per_byte(WRITE_MB_PER_S))?;
    Ok(with_write_time(base, byte_ns))
}
