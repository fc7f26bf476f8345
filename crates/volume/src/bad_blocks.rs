//! The bad-block log of a member: read at assembly, and kept up to date by record runs.
//!
//! The engine knows of the bad blocks in the data area that the array uses. A log may list others;
//! these are kept as they are. A log that a superblock calls empty is not read: whatever lies there
//! is old.

use shoal_array::BadBlocks;
use shoal_md::{BadBlockList, BadBlockLog, Features, Superblock};

use crate::OpenError;
use crate::tree::{Target, Tree};
use crate::world::World;

/// A member's log.
#[derive(Clone, Debug)]
pub(crate) struct BadBlockNotes {
    log: BadBlockLog,
    offset_bytes: u64,
    /// What the log holds.
    written: BadBlockList,
    /// What is being written to it.
    writing: Option<BadBlockList>,
    /// What it is to hold.
    current: BadBlockList,
}

impl BadBlockNotes {
    /// The log of a member that has no bad blocks.
    pub(crate) fn empty(superblock: &Superblock) -> Self {
        Self::new(superblock, BadBlockList::default())
    }

    fn new(superblock: &Superblock, list: BadBlockList) -> Self {
        let area = superblock.bad_block_log_area();
        let log = if area.is_some() { superblock.bad_block_log } else { BadBlockLog::default() };
        Self {
            log,
            offset_bytes: area.map_or(0, |area| area.offset_bytes),
            written: list.clone(),
            writing: None,
            current: list,
        }
    }

    /// What the engine is to know of it.
    pub(crate) fn for_engine(&self, superblock: &Superblock) -> BadBlocks {
        if self.log.entries() == 0 { BadBlocks::default() } else { self.current.bad_blocks(superblock) }
    }

    /// Takes over what the engine knows. Says whether there are any bad blocks now.
    pub(crate) fn renew(&mut self, superblock: &Superblock, known: &BadBlocks) -> bool {
        self.current.set_within_data(superblock, &known.log_entries());
        !self.current.is_empty()
    }

    /// Whether the log on the drive is not, and is not about to be, what it is to be.
    pub(crate) fn is_stale(&self) -> bool {
        *self.writing.as_ref().unwrap_or(&self.written) != self.current
    }

    /// The log as it is to be written, and where, if the drive does not have it.
    pub(crate) fn change(&mut self) -> Option<(u64, Vec<u8>)> {
        self.writing = None;
        if !self.is_stale() {
            return None;
        }
        self.writing = Some(self.current.clone());
        let bytes = self.current.encode(self.log).expect("the engine keeps to the limit that it was given");
        Some((self.offset_bytes, bytes))
    }

    /// What was last asked for is durable.
    pub(crate) fn secured(&mut self) {
        if let Some(writing) = self.writing.take() {
            self.written = writing;
        }
    }
}

/// Reads the log of a member.
pub(crate) fn read_bad_blocks<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    superblock: &Superblock,
) -> Result<BadBlockNotes, OpenError> {
    if !superblock.features.any_of(Features::BAD_BLOCKS) {
        return Ok(BadBlockNotes::empty(superblock));
    }
    let error = |tree: &Tree<W>, problem: String| OpenError::BadBlocks { drive: tree.name(target), problem };
    let area = superblock.bad_block_log_area().zip(superblock.bad_block_log.bytes());
    let Some((area, length)) = area else {
        return Err(error(tree, "it has no place on the drive".to_owned()));
    };
    let mut bytes = vec![0; length];
    if tree.read_small(target, area.offset_bytes, &mut bytes)?.is_err() {
        return Err(error(tree, "it cannot be read".to_owned()));
    }
    let list = BadBlockList::decode(superblock.bad_block_log, &bytes);
    Ok(BadBlockNotes::new(superblock, list.map_err(|problem| error(tree, problem.to_string()))?))
}
