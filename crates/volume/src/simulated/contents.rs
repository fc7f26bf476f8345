//! What simulated drives hold, and how it gets into memory.

use shoal_drive::{Arena, Memory};
use shoal_sim::{Content, Fault, Topology};

use super::{SimulatedWorld, SimulatedWorldError};

/// What the drives of a simulated world hold.
#[derive(Debug)]
pub enum Contents {
    /// Zeros at first, then what is written; of a drive that lies about its capacity, what it keeps
    /// of that.
    Kept,
    /// Nothing: reads find whatever was in the buffer. For runs that measure time, of users who
    /// compare nothing: a scrub or resync would find differences.
    Discarded,
    /// This, drive by drive.
    Given(Vec<Content>),
}

impl Contents {
    /// One content for each drive, of its size.
    pub(super) fn of(self, topology: &Topology) -> Result<Vec<Content>, SimulatedWorldError> {
        let mut sizes = topology.drives.iter().map(|(model, _)| model.size_bytes);
        let contents = match self {
            Self::Kept => return Ok(topology.drives.iter().map(|(model, _)| Content::of(model)).collect()),
            Self::Discarded => return Ok(sizes.map(Content::discarded).collect()),
            Self::Given(contents) => contents,
        };
        if contents.len() != topology.drives.len() {
            return Err(SimulatedWorldError::ContentCount { contents: contents.len(), drives: topology.drives.len() });
        }
        for (drive, content) in contents.iter().enumerate() {
            let drive_bytes = sizes.next().expect("there are as many");
            if content.size_bytes() != drive_bytes {
                return Err(SimulatedWorldError::ContentSize {
                    drive,
                    content_bytes: content.size_bytes(),
                    drive_bytes,
                });
            }
        }
        Ok(contents)
    }
}

impl SimulatedWorld {
    /// What a drive holds; `drive` counts as in the topology.
    pub fn content_mut(&mut self, drive: usize) -> &mut Content {
        &mut self.contents[drive]
    }

    /// What all drives hold at this moment, with what is in flight begun and not ended.
    pub fn picture(&self) -> Vec<Content> {
        // They share all that neither of them changes.
        self.contents.clone()
    }

    /// What all drives hold. What is in flight is left as the drives have it: begun, and not ended.
    pub fn contents(self) -> Vec<Content> {
        self.contents
    }
}

/// Reads into memory, if there is anything to read.
pub(super) fn read(content: &mut Content, offset: u64, arena: &Arena, memory: Memory) -> Result<(), Fault> {
    if !content.is_kept() {
        return content.read(offset, &mut []);
    }
    content.read_parts(offset, u64::from(memory.length), |done, part| {
        let length = memory.length - done as u32;
        arena.write(Memory { offset: memory.offset + done, length }, part);
    })
}
