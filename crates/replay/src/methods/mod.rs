//! The methods that the studies measured with, each done as its program does it.

mod dd;
mod hdparm;
mod load;
mod sharing;

pub(crate) use dd::{dd_read, dd_write};
pub(crate) use hdparm::buffered_read;
pub(crate) use load::{fio, hd_tune, overlapped, seeker};
pub(crate) use sharing::{Call, Hop, Paced};

/// Bytes over nanoseconds, in MB/s.
pub(crate) fn megabytes_per_s(bytes: u64, elapsed_ns: u64) -> f64 {
    bytes as f64 * 1e3 / elapsed_ns as f64
}
