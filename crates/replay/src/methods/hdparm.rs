//! `hdparm -t`: buffered reads from the start, 2 MiB at a time, until three seconds are over. Its
//! "MB" are MiB.

use crate::ReplayError;
use crate::host::ReadAhead;
use crate::rig::Timed;

const BUFFER_BYTES: u64 = 2 << 20;
const AT_LEAST_NS: u64 = 3_000_000_000;

/// What it prints, in MiB/s.
pub(crate) fn buffered_read<V: Timed>(mut file: ReadAhead<V>) -> Result<f64, ReplayError> {
    let begun_ns = file.now_ns();
    let mut buffers: u64 = 0;
    while file.now_ns() - begun_ns < AT_LEAST_NS {
        file.read(BUFFER_BYTES)?;
        buffers += 1;
    }
    let elapsed_s = (file.now_ns() - begun_ns) as f64 / 1e9;
    Ok(2.0 * buffers as f64 / elapsed_s)
}
