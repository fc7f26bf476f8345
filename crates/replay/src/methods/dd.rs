//! `dd`, through the page cache. Its MB are 10^6 bytes, and without `conv=fsync` its time ends when
//! memory has taken the last block. Copies within memory take no time here, so the block size
//! cannot matter.

use super::megabytes_per_s;
use crate::ReplayError;
use crate::host::{ReadAhead, WriteBack};
use crate::rig::Timed;

/// The step in which memory is filled and emptied; `bs` is smaller, and costs nothing.
const STEP_BYTES: u64 = 64 << 10;

/// `dd if=DEVICE of=/dev/null`: what it prints, in MB/s.
pub(crate) fn dd_read<V: Timed>(mut file: ReadAhead<V>, bytes: u64) -> Result<f64, ReplayError> {
    let begun_ns = file.now_ns();
    for _ in 0..bytes / STEP_BYTES {
        file.read(STEP_BYTES)?;
    }
    Ok(megabytes_per_s(bytes, file.now_ns() - begun_ns))
}

/// `dd if=/dev/zero of=FILE`: what it prints, in MB/s. With `fsync` its time ends when all is
/// written.
pub(crate) fn dd_write<V: Timed>(mut file: WriteBack<V>, bytes: u64, fsync: bool) -> Result<f64, ReplayError> {
    let begun_ns = file.now_ns();
    for _ in 0..bytes / STEP_BYTES {
        file.write(STEP_BYTES)?;
    }
    if fsync {
        file.sync()?;
    }
    Ok(megabytes_per_s(bytes, file.now_ns() - begun_ns))
}
