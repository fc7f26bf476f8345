//! Drives that are read and written in batches, each of which is waited for.

use std::io;

use shoal_drive::{Arena, DriveId, Io, IoKind, Memory};
use shoal_md::{SUPERBLOCK_BYTES, Superblock, Unverified};

use super::error::{DriveRequest, GrowError};
use crate::VolumeError;
use crate::superblocks::{ProbeError, read_superblock, superblock_places};
use crate::world::World;

/// The drives of a world, whose whole arena is at hand.
pub(super) struct Drives<'a, W> {
    world: &'a mut W,
    /// Small reads and writes go through the arena's first bytes, everything else through the rest.
    small: Memory,
}

/// One I/O of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) drive: DriveId,
    pub(super) offset: u64,
    pub(super) memory: Memory,
}

impl<'a, W: World> Drives<'a, W> {
    pub(super) fn new(world: &'a mut W) -> Self {
        Self { world, small: Memory { offset: 0, length: SUPERBLOCK_BYTES as u32 } }
    }

    pub(super) fn world(&mut self) -> &mut W {
        self.world
    }

    pub(super) fn name(&self, drive: DriveId) -> String {
        self.world.facts(drive).name
    }

    pub(super) fn hardware(&self, drive: DriveId) -> Option<String> {
        self.world.hardware(drive)
    }

    pub(super) fn size_bytes(&self, drive: DriveId) -> u64 {
        self.world.facts(drive).size_bytes
    }

    pub(super) fn arena(&self) -> &Arena {
        self.world.arena()
    }

    /// Where memory for batches starts, and how much there is.
    pub(super) fn room(&self) -> (usize, usize) {
        let start = self.small.length as usize;
        (start, self.world.arena().len_bytes() - start)
    }

    /// Reads all of these. The errors, by index.
    pub(super) fn read(&mut self, steps: &[Step]) -> Result<Vec<(usize, io::Error)>, VolumeError> {
        self.perform(steps.iter().map(|step| (step.drive, step.offset, IoKind::Read(step.memory))))
    }

    /// Writes all of these.
    pub(super) fn write(&mut self, steps: &[Step]) -> Result<(), GrowError> {
        let failed = self.perform(steps.iter().map(|step| (step.drive, step.offset, IoKind::Write(step.memory))))?;
        match failed.into_iter().next() {
            Some((index, cause)) => Err(self.failed(steps[index].drive, DriveRequest::Write, cause)),
            None => Ok(()),
        }
    }

    /// Makes what was written to these durable.
    pub(super) fn flush(&mut self, drives: impl Iterator<Item = DriveId> + Clone) -> Result<(), GrowError> {
        let failed = self.perform(drives.clone().map(|drive| (drive, 0, IoKind::Flush)))?;
        match failed.into_iter().next() {
            Some((index, cause)) => {
                let drive = drives.clone().nth(index).expect("a flush was asked of it");
                Err(self.failed(drive, DriveRequest::Flush, cause))
            }
            None => Ok(()),
        }
    }

    pub(super) fn failed(&self, drive: DriveId, what: DriveRequest, cause: io::Error) -> GrowError {
        GrowError::Drive { id: drive, drive: self.name(drive), what, cause }
    }

    fn perform(
        &mut self,
        ios: impl Iterator<Item = (DriveId, u64, IoKind)>,
    ) -> Result<Vec<(usize, io::Error)>, VolumeError> {
        let mut count = 0;
        for (token, (drive, offset, kind)) in (0..).zip(ios) {
            self.world.submit(Io { token, drive, kind, offset });
            count += 1;
        }
        let mut finished = Vec::new();
        while finished.len() < count {
            self.world.wait(count - finished.len(), None, &mut finished)?;
        }
        let failed =
            finished.into_iter().filter_map(|done| Some((usize::try_from(done.token).ok()?, done.result.err()?)));
        let mut failed: Vec<_> = failed.collect();
        failed.sort_by_key(|(index, _)| *index);
        Ok(failed)
    }

    pub(super) fn read_small(&mut self, drive: DriveId, offset: u64, bytes: &mut [u8]) -> Result<(), GrowError> {
        let memory = Memory { length: u32::try_from(bytes.len()).expect("it is small"), ..self.small };
        if let Some((_, cause)) = self.read(&[Step { drive, offset, memory }])?.into_iter().next() {
            return Err(self.failed(drive, DriveRequest::Read, cause));
        }
        self.world.arena().read(memory, bytes);
        Ok(())
    }

    pub(super) fn write_small(&mut self, drive: DriveId, offset: u64, bytes: &[u8]) -> Result<(), GrowError> {
        let memory = Memory { length: u32::try_from(bytes.len()).expect("it is small"), ..self.small };
        self.world.arena().write(memory, bytes);
        self.write(&[Step { drive, offset, memory }])
    }

    pub(super) fn superblock(&mut self, drive: DriveId) -> Result<Superblock, GrowError> {
        let name = self.name(drive);
        let probed = read_superblock(self.size_bytes(drive), |offset, bytes| self.read_small(drive, offset, bytes));
        probed
            .map_err(|problem: ProbeError<GrowError>| GrowError::NoMember { drive: name, problem: problem.to_string() })
    }

    /// Writes superblocks, all at once, and makes them durable.
    pub(super) fn write_superblocks(&mut self, superblocks: &[(DriveId, Superblock)]) -> Result<(), GrowError> {
        for some in superblocks.chunks((self.room().1 / SUPERBLOCK_BYTES).max(1)) {
            let mut steps = Vec::new();
            for (index, (drive, superblock)) in some.iter().enumerate() {
                let memory = Memory { offset: self.room().0 + index * SUPERBLOCK_BYTES, length: self.small.length };
                self.arena().write(memory, superblock.encode().as_slice());
                steps.push(Step { drive: *drive, offset: superblock.super_offset_bytes(), memory });
            }
            self.write(&steps)?;
        }
        self.flush(superblocks.iter().map(|(drive, _)| *drive))
    }

    /// Takes away superblocks of arrays that a drive was a member of.
    pub(super) fn clear_superblocks(&mut self, drive: DriveId) -> Result<(), GrowError> {
        for (_, offset) in superblock_places(self.size_bytes(drive)) {
            let mut bytes = [0; SUPERBLOCK_BYTES];
            self.read_small(drive, offset, &mut bytes)?;
            if Unverified::has_magic(&bytes) {
                bytes.fill(0);
                self.write_small(drive, offset, &bytes)?;
            }
        }
        Ok(())
    }
}
