//! Takes the last array's superblocks off the drives: a study's arrays are built without a resync,
//! and what is left of one must not be taken for an array whose parity is right. In their place is
//! what a load writes, so that the drive is known as one whose content nobody misses.

use shoal_bench::{BenchError, Fill};
use shoal_volume::{Command, DriveVolume, Request, RequestId, Volume, VolumeError};

use crate::bay::{Bay, Requests};
use crate::run::StepError;

/// Superblocks of version 1.2, the one that is written here, lie 4 KiB from a drive's start and are
/// 4 KiB long at most.
const START_BYTES: u32 = 8192;

/// Writes over the start of every drive. Simulated ones hold nothing by now.
///
/// # Errors
/// If a drive cannot be opened or written.
pub fn erase_superblocks<B: Bay>(bay: &B) -> Result<(), StepError> {
    if bay.simulated().is_some() {
        return Ok(());
    }
    for (drive, _) in (0..).zip(bay.drives()) {
        let opened =
            bay.open(&[drive], Requests { count: 2, bytes: START_BYTES, compared: false }).map_err(StepError::Open)?;
        let mut volume = DriveVolume::new(opened.world, opened.drives[0], opened.plan);
        overwrite_start(&mut volume)?;
    }
    Ok(())
}

fn overwrite_start<V: Volume>(volume: &mut V) -> Result<(), StepError> {
    let mut start = [0; START_BYTES as usize];
    Fill::new(0, u64::from(START_BYTES)).write(0, 0, &mut start);
    volume.arena().write(volume.request_memory(0), &start);
    let span = volume.request_span(0, START_BYTES);
    for command in [Command::Write { offset: 0, span }, Command::Flush] {
        volume.submit(Request { id: RequestId::client(0), command });
        let mut completions = Vec::new();
        while completions.is_empty() {
            volume.poll(1, None, &mut completions).map_err(|error: VolumeError| BenchError::Volume(error))?;
        }
        if let Err(error) = completions[0].result {
            return Err(StepError::Background { what: format!("erasing a superblock failed ({error})") });
        }
    }
    Ok(())
}
