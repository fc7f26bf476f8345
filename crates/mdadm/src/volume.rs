//! The content of an array that md runs, as a volume: `/dev/mdN` by direct I/O, with a look at
//! sysfs now and then.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_drive::{Arena, DriveId};
use shoal_volume::{
    BufferPlan, Completion, DriveVolume, Health, Instant, LiveVolume, RealWorld, Request, RequestError, Volume,
    VolumeError,
};

use crate::array::KernelArray;
use crate::error::KernelError;

/// How often the array is looked at while nothing goes on but requests.
const LOOK_DISTANCE: Duration = Duration::from_millis(500);
/// And while something does.
const BUSY_LOOK_DISTANCE: Duration = Duration::from_millis(100);

/// The content of a running md device as a volume, by direct I/O on the device.
#[derive(Debug)]
pub struct KernelVolume {
    array: KernelArray,
    content: DriveVolume<RealWorld>,
    /// The array's device in the world; none when it has been let go.
    drive: Option<DriveId>,
    looked_at: Instant,
    /// Answers to requests that came too late.
    refused: Vec<Completion>,
}

impl KernelVolume {
    /// The content of `array`, whose device is `drive` in `world`.
    pub fn new(array: KernelArray, world: RealWorld, plan: BufferPlan, drive: DriveId) -> Self {
        let content = DriveVolume::new(world, drive, plan);
        let looked_at = content.now();
        Self { array, content, drive: Some(drive), looked_at, refused: Vec::new() }
    }

    /// The array.
    pub fn array(&self) -> &KernelArray {
        &self.array
    }

    /// The array, to do something to it.
    pub fn array_mut(&mut self) -> &mut KernelArray {
        &mut self.array
    }

    /// Lets background work go on for so long, or to its end. Returns whether there is more to do.
    pub fn run_background(&mut self, patience: Duration) -> Result<bool, KernelError> {
        let begun = self.now();
        loop {
            self.array.look()?;
            self.measure_if_grown();
            let elapsed = Duration::from_nanos(self.now().since_ns(begun));
            let Some(left) = patience.checked_sub(elapsed).filter(|_| self.array.progress().is_some()) else { break };
            std::thread::sleep(left.min(BUSY_LOOK_DISTANCE / 4));
        }
        Ok(self.array.progress().is_some())
    }

    /// Makes durable what was written, and hands the members back: the device is closed, md lets
    /// them go.
    pub fn rest(&mut self) -> Result<(), KernelError> {
        let Some(drive) = self.drive.take() else { return Ok(()) };
        self.array.stop_scrub()?;
        // Whoever waits for answers now has gone.
        let drained = self.content.poll(usize::MAX, None, &mut Vec::new());
        let device = self.content.world_mut().remove_drive(drive);
        let flushed = device.as_ref().map_or(Ok(()), shoal_drive::Drive::sync);
        let path = self.array.device().path();
        drop(device);
        let released = self.array.release();
        flushed.map_err(|source| KernelError::Attribute { path, source })?;
        drained?;
        released
    }

    fn look_if_due(&mut self) {
        let distance = self.look_distance();
        if Duration::from_nanos(self.now().since_ns(self.looked_at)) < distance || self.drive.is_none() {
            return;
        }
        self.looked_at = self.now();
        // What cannot be seen now may be seen the next time; requests tell by themselves what does
        // not work.
        let _ = self.array.look();
        self.measure_if_grown();
    }

    /// A device that has grown is used to its new end.
    fn measure_if_grown(&mut self) {
        let Some(drive) = self.drive else { return };
        if self.array.device().size_bytes() != self.content.facts().size_bytes {
            // Until it can be measured it is used as far as it was.
            let _ = self.content.world_mut().measure_drive(drive);
            self.content.look_again();
        }
    }

    fn look_distance(&self) -> Duration {
        if self.array.progress().is_some() { BUSY_LOOK_DISTANCE } else { LOOK_DISTANCE }
    }
}

impl Drop for KernelVolume {
    /// Whoever had it did not come to an orderly end, and there is nobody to tell what went wrong.
    fn drop(&mut self) {
        let _ = self.rest();
    }
}

impl Volume for KernelVolume {
    fn size_bytes(&self) -> u64 {
        self.content.size_bytes()
    }

    fn logical_block_bytes(&self) -> u32 {
        self.content.logical_block_bytes()
    }

    fn arena(&self) -> &Arena {
        self.content.arena()
    }

    fn request_buffers(&self) -> u32 {
        self.content.request_buffers()
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.content.request_buffer_bytes()
    }

    fn submit(&mut self, request: Request) {
        match self.drive {
            Some(_) => self.content.submit(request),
            None => self.refused.push(Completion { id: request.id, result: Err(RequestError::Failed) }),
        }
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        completions.append(&mut self.refused);
        self.content.poll(at_least, timeout, completions)?;
        self.look_if_due();
        Ok(())
    }

    fn now(&self) -> Instant {
        self.content.now()
    }

    fn is_degraded(&self) -> bool {
        self.array.status().health != Health::Optimal
    }
}

impl LiveVolume for KernelVolume {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        completions.append(&mut self.refused);
        let patience = if completions.is_empty() { patience.min(self.look_distance()) } else { Duration::ZERO };
        self.content.turn(patience, completions)?;
        self.look_if_due();
        Ok(())
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError> {
        self.content.watch(file)
    }
}
