//! What is left of an array whose drives have gone away under it, until they are back.
//!
//! A [`Frame`] is the world, the memory of the requests, where each buffer is in it, and what this
//! host remembers. It has no engine and no members: nothing is read or written. The drives that
//! went are let go, those that came are taken in ([`Frame::world_mut`]), and then the array is put
//! together anew from their superblocks, as any start does it, by the rules of any start: whatever
//! refuses one refuses this, and nothing is forced. So there is no second way in which an array
//! comes to be, and none of what the engine believed of its members outlives them.
//!
//! Buffers keep their numbers, places and contents from one array to the next: requests that were
//! not answered are submitted again, by whoever held them. The first time must be over by then, or
//! a late write could undo a newer one: an array is parted only when [it has
//! drained](ArrayVolume::has_drained).

use std::time::Duration;

use shoal_drive::{Arena, DriveId, Memory};
use shoal_md::Uuid;

use crate::array_volume::{ArrayVolume, OpenOptions};
use crate::assemble::OpenError;
use crate::tree::{Node, Target, Tree};
use crate::world::World;
use crate::{BufferPlan, Incomplete, VolumeError};

/// The world, the request memory and the host's memory of an array that has no engine at present.
pub struct Frame<W> {
    tree: Tree<W>,
    /// Bytes that were answered from the write-back window, which went with the array.
    unwritten_bytes: u64,
}

/// A drive that an array cannot do without unless it is told to: this host has seen it in the last
/// update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedOn {
    /// The array that it is a member of, which may be inside another.
    pub array: Uuid,
    /// The array's updates that this process has announced: no drive has a later one by its doing.
    pub events: u64,
    /// Its device UUID.
    pub device: Uuid,
    /// By what it is known again; none if nothing does.
    pub hardware: Option<String>,
    /// Where it was last seen.
    pub drive: String,
}

impl<W: World> ArrayVolume<W> {
    /// The drives that this host has seen in the last update of each array that lies on drives;
    /// none of an array that it does not remember.
    pub fn counted_on(&mut self) -> Vec<CountedOn> {
        let Tree { nodes, memory: Some(memory), .. } = &mut self.tree else { return Vec::new() };
        let lies_on_drives = |node: &&Node| node.slots.iter().any(|slot| matches!(slot.place.target, Target::Drive(_)));
        let on_drives = nodes.iter().filter(lies_on_drives);
        on_drives.flat_map(|node| memory.counted_on(node.facts.array_uuid)).collect()
    }

    /// Whether all requests are answered, no superblock is being written, and the drives have
    /// answered all that they were asked.
    pub fn has_drained(&self) -> bool {
        let Tree { nodes, completions, in_flight, .. } = &self.tree;
        *in_flight == 0 && completions.is_empty() && self.tree.has_landed() && nodes.iter().all(Node::is_settled)
    }

    /// Forgets the array. What its members hold stays as it is.
    ///
    /// # Panics
    /// If it [has not drained](Self::has_drained): a bug in the caller.
    pub fn part(mut self) -> Frame<W> {
        assert!(self.has_drained(), "what was begun has to be over before it is begun anew");
        let unwritten_bytes = self.tree.write_back_state_of(self.root).map_or(0, |window| window.dirty_bytes);
        self.tree.clear_nodes();
        Frame { tree: self.tree, unwritten_bytes }
    }
}

impl<W: World> Frame<W> {
    /// Makes the array anew, of drives of the world. Refused as any start would be; and nothing is
    /// believed or written that somebody would have to say a word for.
    ///
    /// # Panics
    /// If it [has not drained](Self::has_drained): a bug in the caller.
    pub fn assemble(
        mut self,
        drives: &[DriveId],
        options: &OpenOptions,
    ) -> Result<ArrayVolume<W>, (Box<Self>, OpenError)> {
        assert!(self.has_drained(), "what was begun has to be over before it is begun anew");
        self.tree.renew_notes();
        let options = OpenOptions { force: false, incomplete: Incomplete::Refused, ..*options };
        if let Some(memory) = &mut self.tree.memory {
            memory.start_over();
        }
        match ArrayVolume::start(&mut self.tree, drives, &options) {
            Ok(root) => Ok(ArrayVolume { tree: self.tree, root }),
            Err(error) => {
                self.tree.clear_nodes();
                Err((Box::new(self), error))
            }
        }
    }

    /// Brings the updates that this process has announced of each array up to date: an attempt to
    /// put it together that failed may have announced one, and written it to some members.
    pub fn renew_events(&self, counted_on: &mut [CountedOn]) {
        let Some(memory) = &self.tree.memory else { return };
        for it in counted_on {
            it.events = it.events.max(memory.announced(it.array));
        }
    }

    /// There is nothing to bring to rest: says what was answered and is lost with the array, if
    /// that is the end of it.
    pub fn rest(&self) -> Result<(), VolumeError> {
        match self.unwritten_bytes {
            0 => Ok(()),
            bytes => Err(VolumeError::NotWritten { bytes }),
        }
    }

    /// Whether the drives have answered all that they were asked.
    pub fn has_drained(&self) -> bool {
        self.tree.has_landed()
    }

    /// Waits until what is watched can be read from, drives have answered what they were asked, or
    /// `patience` is over.
    pub fn turn(&mut self, patience: Duration) -> Result<(), VolumeError> {
        self.tree.turn(patience)
    }

    /// The world under it.
    pub fn world(&self) -> &W {
        &self.tree.world
    }

    /// The world under it, to take drives in and to let those go that are not there any more.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.tree.world
    }

    /// How the arena is cut.
    pub fn plan(&self) -> &BufferPlan {
        &self.tree.plan
    }

    /// The memory of the request buffers.
    pub fn arena(&self) -> &Arena {
        self.tree.world.arena()
    }

    /// Where a request buffer lies in it.
    pub fn request_memory(&self, buffer: u32) -> Memory {
        self.tree.request_memory(buffer)
    }
}

impl<W> std::fmt::Debug for Frame<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("plan", &self.tree.plan).finish_non_exhaustive()
    }
}
