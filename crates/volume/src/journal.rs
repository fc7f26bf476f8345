//! The write journal of RAID4, 5 and 6: replayed when the array is put together, and not used while it runs.
//!
//! What the journal holds is newer than the members, so an array is not read without it. The order, when it is opened for
//! writing:
//!
//! 1. rows with data and parity go to the members, which are flushed;
//! 2. the array is put together, and data that had been acknowledged and not been given to the members is written to
//!    it, as if it came from its user, and flushed;
//! 3. an empty block goes behind the log, and is flushed; the journal's superblock names it as the log's start.
//!
//! Only then may anybody else write to the array: a replay of the old log would undo it. If power is cut before that, all of it
//! is done again. From then on the array runs as one without a journal, with a resync after a crash, and the journal's
//! superblock is kept up to date with the members'. So Linux takes both back, and finds an empty log.
//!
//! Opened for reading only, an array is refused if the members differ from what the journal has for them.

use shoal_array::{Geometry, MemberIo, Shape};
use shoal_md::{
    Assembly, JOURNAL_BLOCK_BYTES, Journal, JournalBlock, JournalEnd, JournalIo, RowBlock, SECTOR_BYTES, Superblock,
    replay_journal,
};

use crate::assemble::{OpenError, level_superblocks};
use crate::tree::{NodeId, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

/// A journal that was read, and what is still to be done.
pub(crate) struct ReadJournal {
    journal: Journal,
    end: JournalEnd,
    target: Target,
    superblock: Superblock,
}

/// Replays the rows of the journal, if the array has one.
pub(crate) fn open_journal<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Option<ReadJournal>, OpenError> {
    let Some(index) = assembly.journal() else { return Ok(None) };
    let cause = |cause| OpenError::Geometry { name: assembly.name(), cause };
    let geometry = Geometry::new(shape.clone()).map_err(cause)?;
    let (target, superblock) = members[index].clone();
    let seat = |index: usize| (members[index].0, members[index].1.data_offset_bytes());
    let seats = assembly.slots.iter().map(|slot| {
        let replacement = slot.replacement.map(|replacement| replacement.candidate);
        slot.candidate.into_iter().chain(replacement).map(seat).collect()
    });
    let journal = Journal::new(&superblock);
    let origin_bytes = superblock.data_offset_bytes();
    let mut io = Io { tree, target, origin_bytes, seats: seats.collect(), writable: options.writable, stale_blocks: 0 };
    let replayed = replay_journal(&journal, &geometry, &mut io)?;
    let end = replayed.map_err(|problem| OpenError::Journal { name: assembly.name(), problem })?;
    if !options.writable && (io.stale_blocks > 0 || !end.data.is_empty()) {
        return Err(OpenError::JournalNotReplayed { name: assembly.name() });
    }
    if options.writable {
        io.flush()?;
    }
    Ok(Some(ReadJournal { journal, end, target, superblock }))
}

/// Gives the array what was acknowledged, and ends the log.
pub(crate) fn settle_journal<W: World>(tree: &mut Tree<W>, node: NodeId, read: ReadJournal) -> Result<(), OpenError> {
    let ReadJournal { journal, end, target, superblock } = read;
    if end.row_blocks == 0 && end.data.is_empty() {
        return Ok(());
    }
    level_superblocks(tree)?;
    let name = tree.name(target);
    let origin_bytes = superblock.data_offset_bytes();
    let array = Target::Node(node);
    let array_name = tree.nodes[node.0].facts.name();
    for block in &end.data {
        let mut bytes = [0; JOURNAL_BLOCK_BYTES];
        let read = tree.read_small(target, origin_bytes + block.journal_sector * SECTOR_BYTES, &mut bytes)?;
        read.map_err(|_| OpenError::JournalIo { drive: name.clone() })?;
        write(tree, array, block.offset, &bytes)?.map_err(|()| OpenError::JournalIo { drive: array_name.clone() })?;
    }
    flush(tree, array)?.map_err(|()| OpenError::JournalIo { drive: array_name })?;
    let empty = journal.empty_block(end.sector, end.sequence);
    let ended = tree.write_small(target, origin_bytes + end.sector * SECTOR_BYTES, empty.as_slice())?;
    ended.map_err(|_| OpenError::JournalIo { drive: name.clone() })?;
    let membership = &mut tree.nodes[node.0].membership;
    let dev_number = superblock.dev_number;
    membership.record_journal_tail(dev_number, end.sector).expect("the journal is among the members");
    let superblock = membership.superblock(dev_number).expect("just seen").clone();
    let moved = tree.write_small(target, superblock.super_offset_bytes(), superblock.encode().as_slice())?;
    moved.map_err(|_| OpenError::JournalIo { drive: name })
}

/// The journal, and by role the member and its replacement: their targets, and where their data start.
struct Io<'a, W> {
    tree: &'a mut Tree<W>,
    target: Target,
    origin_bytes: u64,
    seats: Vec<Vec<(Target, u64)>>,
    writable: bool,
    /// Blocks that a member holds otherwise than the journal.
    stale_blocks: u64,
}

impl<W: World> JournalIo for Io<'_, W> {
    type Error = OpenError;

    fn read(&mut self, sector: u64, block: &mut JournalBlock) -> Result<(), OpenError> {
        let read = self.tree.read_small(self.target, self.origin_bytes + sector * SECTOR_BYTES, block)?;
        read.map_err(|_| OpenError::JournalIo { drive: self.tree.name(self.target) })
    }

    fn write(&mut self, row: RowBlock) -> Result<(), OpenError> {
        let mut block = [0; JOURNAL_BLOCK_BYTES];
        self.read(row.journal_sector, &mut block)?;
        for seat in self.seats.get(row.role.index()).cloned().unwrap_or_default() {
            self.renew(seat, row.member_offset, &block)?;
        }
        Ok(())
    }
}

impl<W: World> Io<'_, W> {
    /// Writes a block to a member, unless it is there already.
    fn renew(&mut self, seat: (Target, u64), member_offset: u64, block: &JournalBlock) -> Result<(), OpenError> {
        let (target, data_offset_bytes) = seat;
        let offset = data_offset_bytes + member_offset;
        let mut held = [0; JOURNAL_BLOCK_BYTES];
        if self.tree.read_small(target, offset, &mut held)?.is_ok() && held == *block {
            return Ok(());
        }
        self.stale_blocks += 1;
        if !self.writable {
            return Ok(());
        }
        write(self.tree, target, offset, block)?.map_err(|()| OpenError::JournalIo { drive: self.tree.name(target) })
    }

    fn flush(&mut self) -> Result<(), OpenError> {
        for (target, _) in self.seats.iter().flatten() {
            flush(self.tree, *target)?.map_err(|()| OpenError::JournalIo { drive: self.tree.name(*target) })?;
        }
        Ok(())
    }
}

fn write<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    offset: u64,
    bytes: &[u8],
) -> Result<Result<(), ()>, VolumeError> {
    let span = tree.small_span(bytes.len());
    tree.world.arena().write(tree.plan.memory(span), bytes);
    Ok(tree.call(target, MemberIo::Write { offset, span })?.map_err(drop))
}

fn flush<W: World>(tree: &mut Tree<W>, target: Target) -> Result<Result<(), ()>, VolumeError> {
    Ok(tree.call(target, MemberIo::Flush)?.map_err(drop))
}
