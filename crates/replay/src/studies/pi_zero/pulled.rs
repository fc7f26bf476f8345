//! Drives pulled from under a linear device of the device mapper, and plugged back.
//!
//! The device is a table of segments. It names the nodes that the drives had when it was made: a
//! drive that comes back under another node is not the one that the table means. There is no state
//! of the whole: I/O fails where it meets a dead drive, and nowhere else. What was read before is
//! in the page cache and needs no I/O.

use std::collections::BTreeSet;

use shoal_bench::Direction;
use shoal_volume::{DriveId, DriveVolume, SimulatedWorld};

use super::{LINEAR, host};
use crate::ReplayError;
use crate::host::Requests;
use crate::outcomes::Outcomes;
use crate::rig::{alone, drive};

const PAGE: u64 = 4096;
/// Where the file system keeps the directory: near the start, and so on the first drive.
const DIRECTORY: u64 = 1 << 20;

/// Segments, one after the other, each on a drive.
struct LinearDevice {
    segments: Vec<Requests<DriveVolume<SimulatedWorld>>>,
    cached: BTreeSet<u64>,
}

impl LinearDevice {
    fn new() -> Result<Self, ReplayError> {
        let mut segments = Vec::new();
        for stick in LINEAR {
            segments.push(Requests::new(drive(&alone(stick.model()?), &host())?));
        }
        Ok(Self { segments, cached: BTreeSet::new() })
    }

    /// The first byte of a segment.
    fn start(&self, segment: usize) -> u64 {
        self.segments[..segment].iter().map(Requests::size_bytes).sum()
    }

    /// Whether a page can be read; if it is cached, without I/O.
    fn read(&mut self, offset: u64) -> bool {
        self.cached.contains(&offset) || (self.io(Direction::Read, offset) && self.cached.insert(offset))
    }

    fn write(&mut self, offset: u64) -> bool {
        self.io(Direction::Write, offset)
    }

    fn io(&mut self, direction: Direction, mut offset: u64) -> bool {
        for requests in &mut self.segments {
            if offset < requests.size_bytes() {
                let submitted = requests.submit(direction, offset, PAGE);
                return submitted.and_then(|()| requests.wait_for_all()).is_ok();
            }
            offset -= requests.size_bytes();
        }
        false
    }

    fn world(&mut self, segment: usize) -> &mut SimulatedWorld {
        self.segments[segment].volume().world_mut()
    }
}

/// The node that each drive of a world of its own had when the device was made.
const FIRST_NODE: DriveId = DriveId(0);

pub(super) fn play(outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let mut tell = |name: &str, holds: bool| outcomes.put(name, f64::from(u8::from(holds)));
    let mut device = LinearDevice::new()?;
    device.read(DIRECTORY);
    device.world(2).unplug(FIRST_NODE);
    tell("third drive gone: write to the first", device.write(2 * DIRECTORY));
    tell("third drive gone: read from the first", device.read(3 * DIRECTORY));
    device.world(2).replug(FIRST_NODE);
    let on_third = device.start(2) + DIRECTORY;
    tell("third drive back: read from it", device.read(on_third));
    device.world(0).unplug(FIRST_NODE);
    tell("first drive gone: write to the first", device.write(DIRECTORY));
    tell("first drive gone: what is cached", device.read(DIRECTORY));
    Ok(())
}
