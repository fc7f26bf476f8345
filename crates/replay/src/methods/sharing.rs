//! Programs that write files on a host whose own work sets the pace: one, two at a time, or over a
//! network.
//!
//! Write-back takes a batch of pages of one file, then of the next that is dirty. The host works on
//! a batch (the program's pages, the file system, copies in memory), then the drives write it. What
//! a single writer loses to the drives is part of the pace that was published for it.
//!
//! A batch seldom ends with a stripe. As long as the same file goes on, RAID5 holds the last stripe
//! back until the next batch completes it (md delays stripes that are not full; a controller has
//! its cache). When the other file's turn comes that stripe is written as it is, and so is the
//! first of the next batch: data or parity have to be read for them, and these reads wait for seek
//! and rotation. That is what two writers lose: seeks before writes alone would hide in the drives'
//! caches. How much they lose depends on when the RAID of the day turned to such stripes, which is
//! not known; shoal's engine, which plays it here, reads for them while it writes the others.

use shoal_bench::Direction;

use super::megabytes_per_s;
use crate::ReplayError;
use crate::calibrate::{ns_per_byte, solve};
use crate::host::Requests;
use crate::rig::Timed;

/// A host that writes in batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced {
    batch_bytes: u64,
    /// Data in a stripe of the array, or in one stripe of each array in it.
    row_bytes: u64,
    /// The host's own work on a batch.
    work_ns: u64,
}

/// A network on the way: all bytes of a batch come over it before the batch is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hop {
    /// What a byte takes on the wire, in picoseconds.
    pub(crate) byte_ps: u64,
    /// What a call that waits for its answer takes beside, for each so many bytes.
    pub(crate) call: Option<Call>,
}

/// A remote procedure call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) bytes: u64,
    pub(crate) turn_ns: u64,
}

impl Hop {
    fn batch_ns(&self, batch_bytes: u64) -> u64 {
        let calls_ns = self.call.map_or(0, |call| batch_bytes.div_ceil(call.bytes) * call.turn_ns);
        batch_bytes * self.byte_ps / 1000 + calls_ns
    }
}

impl Paced {
    /// A host whose single writer gets `rate_mb_per_s` onto this volume.
    pub(crate) fn calibrated<V: Timed>(
        volume: impl Fn() -> Result<V, ReplayError>,
        (batch_bytes, row_bytes): (u64, u64),
        total_bytes: u64,
        rate_mb_per_s: f64,
    ) -> Result<Self, ReplayError> {
        let host = |byte_ns: f64| Self {
            work_ns: (byte_ns * batch_bytes as f64) as u64,
            ..Self::idle((batch_bytes, row_bytes))
        };
        let write =
            |byte_ns: f64| Ok(ns_per_byte(host(byte_ns).write(volume()?, &[0], total_bytes, Hop::default())?));
        Ok(host(solve(write, ns_per_byte(rate_mb_per_s))?))
    }

    /// A host that takes no time.
    pub(crate) fn idle((batch_bytes, row_bytes): (u64, u64)) -> Self {
        Self { batch_bytes, row_bytes, work_ns: 0 }
    }

    /// Writes `total_bytes`, shared evenly by files that begin at these offsets. Returns MB/s, all
    /// files together.
    pub(crate) fn write<V: Timed>(
        &self,
        volume: V,
        files: &[u64],
        total_bytes: u64,
        hop: Hop,
    ) -> Result<f64, ReplayError> {
        let mut requests = Requests::new(volume);
        let begun_ns = requests.now_ns();
        let batches = total_bytes / self.batch_bytes;
        let count = files.len() as u64;
        let mut written = files.to_vec();
        for batch in 0..batches {
            let file = usize::try_from(batch % count).expect("one of a few files");
            let mut end = files[file] + (batch / count + 1) * self.batch_bytes;
            if count == 1 && batch + 1 < batches {
                end -= end % self.row_bytes; // the next batch completes the stripe
            }
            requests.pass(self.work_ns + hop.batch_ns(self.batch_bytes));
            requests.submit(Direction::Write, written[file], end - written[file])?;
            requests.wait_for_all()?;
            written[file] = end;
        }
        Ok(megabytes_per_s(batches * self.batch_bytes, requests.now_ns() - begun_ns))
    }
}
