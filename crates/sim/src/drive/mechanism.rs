//! What a drive asks of its medium, whichever it is.

use crate::{DriveModel, Medium};

use super::Direction;
use super::disk::DiskState;
use super::flash::FlashState;

/// What keeps the data, at work.
#[derive(Debug)]
pub(super) enum Mechanism {
    Flash(FlashState),
    Disk(DiskState),
}

impl Mechanism {
    pub(super) fn new(model: &DriveModel) -> Self {
        match &model.medium {
            Medium::Flash(flash) => Self::Flash(FlashState::new(flash.clone(), model.page_bytes)),
            Medium::Disk(disk) => Self::Disk(DiskState::new(disk.clone(), model.size_bytes, model.page_bytes)),
        }
    }

    /// The cost of a command that does not go on where the last one ended; the wait for the place
    /// to come round is not in it.
    pub(super) fn reposition_ns(&self, direction: Direction, to: u64) -> u64 {
        match self {
            Self::Flash(flash) => flash.reposition_ns(direction),
            Self::Disk(disk) => disk.seek_ns(to),
        }
    }

    /// What a write costs before anything of it is taken.
    pub(super) fn make_room_ns(&mut self, offset: u64, length: u32) -> u64 {
        match self {
            Self::Flash(flash) => flash.make_room_ns(offset, length),
            Self::Disk(_) => 0,
        }
    }

    /// Begins to read at a place: how many bytes there will be, and when. `wanted_bytes` are waited
    /// for, none or more.
    pub(super) fn read_step(&mut self, now_ns: u64, position: u64, wanted_bytes: u64) -> (u32, u64) {
        match self {
            Self::Flash(flash) => flash.read_step(position),
            Self::Disk(disk) => disk.step(now_ns, position, if wanted_bytes == 0 { u64::MAX } else { wanted_bytes }),
        }
    }

    /// Begins to write at a place some of the bytes that wait: how many, and how long it takes.
    pub(super) fn write_step(&mut self, now_ns: u64, position: u64, waiting_bytes: u64) -> (u32, u64) {
        match self {
            Self::Flash(flash) => flash.write_step(position, waiting_bytes),
            Self::Disk(disk) => disk.step(now_ns, position, waiting_bytes),
        }
    }

    /// What one quantum of a write can carry.
    pub(super) fn quantum_bytes(&self, position: u64, page_bytes: u32) -> u32 {
        match self {
            Self::Flash(flash) => flash.left_in_page(position),
            Self::Disk(_) => page_bytes,
        }
    }

    /// Whether a medium that stopped reading ahead waits until half of the buffers are empty.
    pub(super) fn reads_in_bursts(&self) -> bool {
        matches!(self, Self::Disk(_))
    }

    /// How far it is worth to let the medium go on to a place rather than to turn to it.
    pub(super) fn reach_bytes(&self, position: u64) -> u64 {
        match self {
            Self::Flash(_) => 0,
            Self::Disk(disk) => disk.track_bytes_at(position),
        }
    }

    /// Nobody wanted anything for so long.
    pub(super) fn rest(&mut self, duration_ns: u64) {
        if let Self::Flash(flash) = self {
            flash.rest(duration_ns);
        }
    }

    /// The pause at the end of a write command.
    pub(super) fn stall_ns(&mut self) -> u64 {
        match self {
            Self::Flash(flash) => flash.stall_ns(),
            Self::Disk(_) => 0,
        }
    }

    /// What was copied to make room, so far.
    pub(super) fn copied_bytes(&self) -> u64 {
        match self {
            Self::Flash(flash) => flash.copied_bytes,
            Self::Disk(_) => 0,
        }
    }

    /// Power is lost.
    pub(super) fn reset(&mut self) {
        if let Self::Flash(flash) = self {
            flash.reset();
        }
    }
}
