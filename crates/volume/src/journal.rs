//! The write journal of RAID4, 5 and 6: replayed when the array is put together, and not used while
//! it runs.
//!
//! What the journal holds is newer than the members, so an array is not read without it. The order,
//! when it is opened for writing:
//!
//! 1. rows with data and parity go to the members, which are flushed;
//! 2. the array is put together, and data that had been acknowledged and not been given to the
//!    members is written to it, as if it came from its user, and flushed;
//! 3. an empty block goes behind the log, and is flushed; the journal's superblock names it as the
//!    log's start.
//!
//! Only then may anybody else write to the array: a replay of the old log would undo it. If power
//! is cut before that, all of it is done again. From then on the array runs as one without a
//! journal, with a resync after a crash, and the journal's superblock is kept up to date with the
//! members'. So Linux takes both back, and finds an empty log.
//!
//! A member that does not take what is replayed has failed, if parity stands for it: the others say
//! so before the log is ended. The journal itself must not fail before that: nothing is recorded
//! then, and the array is not opened. Once all that it held is on the members it can be done
//! without, and the superblocks say so if it fails.
//!
//! Opened for reading only, an array is refused if the members differ from what the journal has for
//! them.

use shoal_array::{Geometry, Health, MemberIo, Shape};
use shoal_md::{
    Assembly, JOURNAL_BLOCK_BYTES, Journal, JournalBlock, JournalEnd, JournalIo, RowBlock, SECTOR_BYTES, Superblock,
    replay_journal,
};

use crate::assemble::{OpenError, UPDATES_APART, record_assembly, record_or_refuse};
use crate::tree::{Duty, JournalLog, NodeId, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

/// A journal that was read, and what is still to be done.
pub(crate) struct ReadJournal {
    journal: Journal,
    end: JournalEnd,
    target: Target,
    superblock: Superblock,
    /// Members that did not take what the journal has for them.
    lost: Vec<Target>,
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
    let mut io = Io {
        tree,
        target,
        origin_bytes,
        seats: seats.collect(),
        writable: options.writable,
        stale_blocks: 0,
        lost: Vec::new(),
    };
    let replayed = replay_journal(&journal, &geometry, &mut io)?;
    let end = replayed.map_err(|problem| OpenError::Journal { name: assembly.name(), problem })?;
    if !options.writable && (io.stale_blocks > 0 || !end.data.is_empty()) {
        return Err(OpenError::JournalNotReplayed { name: assembly.name() });
    }
    if options.writable && io.stale_blocks > 0 {
        io.flush()?;
    }
    let lost = io.lost;
    Ok(Some(ReadJournal { journal, end, target, superblock, lost }))
}

/// Gives the array what was acknowledged, and ends the log.
pub(crate) fn settle_journal<W: World>(tree: &mut Tree<W>, node: NodeId, read: ReadJournal) -> Result<(), OpenError> {
    let slots = &tree.nodes[node.0].slots;
    let slot = slots.iter().position(|slot| slot.place.target == read.target).expect("the journal has a slot");
    if read.end.row_blocks == 0 && read.end.data.is_empty() {
        tree.nodes[node.0].slots[slot].duty = Duty::Journal(JournalLog::Empty);
        return Ok(());
    }
    part_with_lost(tree, node, &read.lost)?;
    record_assembly(tree)?;
    give_data(tree, node, &read)?;
    end_log(tree, node, slot, &read)
}

/// Members that did not take their rows fail, if the array can do without them.
fn part_with_lost<W: World>(tree: &mut Tree<W>, node: NodeId, lost: &[Target]) -> Result<(), OpenError> {
    for &target in lost {
        let now = tree.world.now();
        let slot = tree.nodes[node.0].slots.iter().position(|slot| slot.place.target == target);
        tree.drop_slot(now, node, slot.expect("rows go to members and replacements"));
        tree.nodes[node.0].updates_due = UPDATES_APART;
        if tree.nodes[node.0].array.health() == Health::Failed {
            return Err(OpenError::JournalIo { drive: tree.name(target) });
        }
    }
    Ok(())
}

/// Writes to the array what was acknowledged and not given to its members, and makes it durable.
fn give_data<W: World>(tree: &mut Tree<W>, node: NodeId, read: &ReadJournal) -> Result<(), OpenError> {
    let array = Target::Node(node);
    let array_name = tree.nodes[node.0].facts.name();
    for block in &read.end.data {
        let mut bytes = [0; JOURNAL_BLOCK_BYTES];
        let place = read.superblock.data_offset_bytes() + block.journal_sector * SECTOR_BYTES;
        let held = tree.read_small(read.target, place, &mut bytes)?;
        held.map_err(|_| OpenError::JournalIo { drive: tree.name(read.target) })?;
        write(tree, array, block.offset, &bytes)?.map_err(|()| OpenError::JournalIo { drive: array_name.clone() })?;
    }
    flush(tree, array)?.map_err(|()| OpenError::JournalIo { drive: array_name })
}

/// Ends the log, or goes on without the journal: its members have all that it held.
fn end_log<W: World>(tree: &mut Tree<W>, node: NodeId, slot: usize, read: &ReadJournal) -> Result<(), OpenError> {
    tree.nodes[node.0].slots[slot].duty = Duty::Journal(JournalLog::Empty);
    let empty = read.journal.empty_block(read.end.sector, read.end.sequence);
    let place = read.superblock.data_offset_bytes() + read.end.sector * SECTOR_BYTES;
    if tree.write_small(read.target, place, empty.as_slice())?.is_ok() {
        let membership = &mut tree.nodes[node.0].membership;
        let recorded = membership.record_journal_tail(read.superblock.dev_number, read.end.sector);
        recorded.expect("the journal is among the members");
    } else {
        let now = tree.world.now();
        tree.drop_slot(now, node, slot);
    }
    record_or_refuse(tree, node)?;
    // It may have failed just there: that it is out must be durable before the array is written to.
    if tree.nodes[node.0].slots[slot].duty == Duty::Out { record_or_refuse(tree, node) } else { Ok(()) }
}

/// The journal, and by role the member and its replacement: their targets, and where their data
/// start.
struct Io<'a, W> {
    tree: &'a mut Tree<W>,
    target: Target,
    origin_bytes: u64,
    seats: Vec<Vec<(Target, u64)>>,
    writable: bool,
    /// Blocks that a member holds otherwise than the journal.
    stale_blocks: u64,
    /// Members that do not take what is written.
    lost: Vec<Target>,
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
        if write(self.tree, target, offset, block)?.is_err() {
            self.lose(target);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), OpenError> {
        let targets: Vec<_> = self.seats.iter().flatten().map(|(target, _)| *target).collect();
        for target in targets {
            if flush(self.tree, target)?.is_err() {
                self.lose(target);
            }
        }
        Ok(())
    }

    /// Whether the array can do without it is found out when it is put together.
    fn lose(&mut self, lost: Target) {
        self.lost.push(lost);
        self.seats.iter_mut().for_each(|seats| seats.retain(|(target, _)| *target != lost));
    }
}

fn write<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    offset: u64,
    bytes: &[u8],
) -> Result<Result<(), ()>, VolumeError> {
    let Some(span) = tree.small_span(bytes.len()) else { return Ok(Err(())) };
    tree.world.arena().write(tree.homes.memory(span), bytes);
    Ok(tree.call(target, MemberIo::Write { offset, span })?.map_err(drop))
}

fn flush<W: World>(tree: &mut Tree<W>, target: Target) -> Result<Result<(), ()>, VolumeError> {
    Ok(tree.call(target, MemberIo::Flush)?.map_err(drop))
}
