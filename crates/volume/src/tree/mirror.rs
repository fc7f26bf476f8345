//! Replacing a drive that still works: a mirror in the place of its member.
//!
//! The drive of a member is copied to another one, and leaves when that is done. Meanwhile the
//! member *is* a mirror of two, the original and the replacement: a second engine, between the
//! node's engine and the two drives, that nobody else sees. What the array writes goes to both,
//! what it reads comes from where it is, and the copying is the mirror's rebuild. A block that the
//! original cannot read is had from the array's redundancy like any other, and written to both.
//!
//! On the drives it is md's own replacement: two superblocks with the same role, the second marked
//! as a replacement with the position that it is filled to. The mirror has no superblocks; where
//! its engine wants its members' states recorded, the array's record run does so.
//!
//! | phase | the member's I/O goes to | its superblocks say | it ends when |
//! | --- | --- | --- | --- |
//! | opening | the mirror, where the replacement is missing yet | replacement, nothing copied | no older I/O is under way on the original alone |
//! | copying | the mirror | replacement, copied up to a position | all is copied |
//! | vouching | the mirror | replacement, all copied | that is recorded |
//! | vouched | the mirror | the same | the original's partial parity log holds nothing that is still needed |
//! | changing | the mirror | the replacement is the member, the original faulty | that is recorded |
//! | draining | the drive that remains; the mirror, until its own work has ended | | the mirror has nothing in flight |
//!
//! Vouching comes before changing, because power may be cut while superblocks are being written: a
//! replacement that is one update behind then still says that it has everything.
//!
//! If the replacement fails the original goes on alone. If the member fails, because the original
//! does or somebody says so, the replacement is its *successor*: what was copied is kept. The
//! array's engine may have let the member miss writes between its failure and the succession, so
//! all that was written while the mirror was there is filled again, and what was not copied.

use std::ops::Range;

use shoal_array::{
    Array, BadBlocks, CommandError, Config, Health, Instant, JobProgress, Level, MemberState, Regions, Role, Scratch,
    Shape, ShapeError,
};

use super::{Duty, Node, Place, Slot};
use crate::ppl::has_logs;

/// The original's and the replacement's role in the mirror.
pub(super) const ORIGINAL: Role = Role(0);
pub(super) const REPLACEMENT: Role = Role(1);

/// How far a replacement has come. The table above says what happens in each phase, and what ends
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Opening,
    Copying,
    Vouching,
    Vouched,
    Changing,
    Draining,
}

/// A replacement that is to become the member before all was copied.
#[derive(Clone, Debug)]
pub(super) struct Successor {
    /// It has everything below, but for what was written while the mirror was there.
    pub(super) position: u64,
    pub(super) bad_blocks: BadBlocks,
}

/// Two drives in the place of one member.
#[derive(Debug)]
pub(crate) struct Mirror {
    /// The member.
    pub(crate) role: Role,
    pub(crate) array: Array,
    pub(crate) phase: Phase,
    /// Where the original and the replacement are.
    places: [Place; 2],
    /// Numbers of their notes.
    notes: [u32; 2],
    /// Numbers in the superblocks.
    pub(super) original: u32,
    pub(super) replacement: u32,
    /// What the array has written while the mirror was there, and what was not in sync when it
    /// came, in its sync bytes.
    pub(super) touched: Regions,
    /// What the original could not read, in bytes of the member's data area: to be mended by the
    /// array.
    pub(super) lost: Vec<Range<u64>>,
    /// Where the copying stopped, and when it stops there again it has failed.
    pub(super) stopped_at: Option<u64>,
    pub(super) successor: Option<Successor>,
    pub(crate) scratch: Scratch,
}

/// What a mirror is made of.
pub(crate) struct MirrorParts {
    pub(crate) role: Role,
    /// The original's slot, and the replacement's.
    pub(crate) slots: [usize; 2],
    /// How far the replacement was filled when the array was last run; none if it is new.
    pub(crate) position: Option<u64>,
    pub(crate) bad_blocks: [BadBlocks; 2],
    pub(crate) scratch: Scratch,
}

/// Regions that a set of what was written has at most: 8 KiB of memory.
const REGIONS_LIMIT: u64 = 1 << 16;
const REGION_BYTES: u64 = 64 << 10;

/// No part of an array: a set over what its resync goes over, coarse enough to be small.
pub(super) fn no_regions(array: &Array) -> Regions {
    let total_bytes = array.geometry().sync_bytes();
    let least = total_bytes.div_ceil(REGIONS_LIMIT).max(1).next_power_of_two();
    Regions::new(least.max(REGION_BYTES), total_bytes)
}

impl Mirror {
    pub(crate) fn new(node: &Node, parts: MirrorParts) -> Result<Self, ShapeError> {
        let used_bytes = node.array.geometry().used_bytes(parts.role);
        let shape = Shape { level: Level::Raid1, chunk_bytes: 0, member_bytes: vec![used_bytes; 2] };
        // If it was stopped before the array had mended that.
        let lost = parts.bad_blocks[REPLACEMENT.index()].log_entries();
        let replacement = parts.position.map_or(MemberState::Missing, |position| MemberState::Rebuilding { position });
        let config = Config {
            logical_block_bytes: node.logical_block_bytes,
            background: node.background,
            writable: node.writable,
            bad_blocks: parts.bad_blocks.into(),
            ..Config::new(shape, vec![MemberState::InSync, replacement], parts.scratch)
        };
        let [original, replacement] = parts.slots.map(|slot| &node.slots[slot]);
        Ok(Self {
            role: parts.role,
            array: Array::new(config)?,
            phase: if parts.position.is_some() { Phase::Copying } else { Phase::Opening },
            places: [original.place, replacement.place],
            notes: [original.buffer, replacement.buffer],
            original: original.number.get(),
            replacement: replacement.number.get(),
            touched: no_regions(&node.array),
            lost,
            stopped_at: None,
            successor: None,
            scratch: parts.scratch,
        })
    }

    /// The replacement has not everything yet.
    pub(super) fn needs_original(&self) -> bool {
        self.takes_io() && self.state(REPLACEMENT) != MemberState::InSync
    }

    /// Whether the member's I/O goes to the mirror.
    pub(crate) fn takes_io(&self) -> bool {
        self.phase != Phase::Draining
    }

    /// Where one of its two members is.
    pub(super) fn notes(&self, role: Role) -> u32 {
        self.notes[role.index()]
    }

    /// No unit begins in the original's partial parity log any more: it is about to leave with it.
    /// Not so while the array is to mend something first: that waits for writes, which wait for the
    /// log.
    pub(super) fn moves_log(&self, notes: u32) -> bool {
        let leaves = match self.phase {
            Phase::Vouched => self.lost.is_empty(),
            Phase::Changing => true,
            Phase::Opening | Phase::Copying | Phase::Vouching | Phase::Draining => false,
        };
        leaves && notes == self.notes(ORIGINAL)
    }

    /// It writes of its own accord: nobody may pass it by then, or what it has read before would be
    /// written over what they have written.
    fn is_at_work(&self) -> bool {
        self.array.progress().is_some()
    }

    pub(super) fn place(&self, role: Role) -> Place {
        self.places[role.index()]
    }

    /// The replacement waits to become the member.
    pub(super) fn has_successor(&self) -> bool {
        self.successor.is_some()
    }

    pub(super) fn state(&self, role: Role) -> MemberState {
        self.array.member_states()[role.index()]
    }

    /// Everything below is copied.
    pub(crate) fn position(&self) -> u64 {
        match self.state(REPLACEMENT) {
            MemberState::Rebuilding { position } => position,
            MemberState::InSync => self.total_bytes(),
            MemberState::Missing => 0,
        }
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.array.geometry().capacity_bytes()
    }
}

/// Where an engine's I/O on one of its members goes.
pub(super) enum Way<'a> {
    Mirror(&'a mut Mirror),
    Place(Place),
    Nowhere,
}

impl Node {
    /// The node's engine, and those of its mirrors.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &Array> {
        std::iter::once(&self.array).chain(self.mirrors.iter().map(|mirror| &mirror.array))
    }

    pub(crate) fn engines_mut(&mut self) -> impl Iterator<Item = &mut Array> {
        std::iter::once(&mut self.array).chain(self.mirrors.iter_mut().map(|mirror| &mut mirror.array))
    }

    /// Where I/O goes that the node's engine, or that of a mirror in it, gives out for one of its
    /// members.
    pub(super) fn way(&mut self, mirror: Option<Role>, role: Role) -> Way<'_> {
        if let Some(mirrored) = mirror {
            return self.mirror(mirrored).map_or(Way::Nowhere, |mirror| Way::Place(mirror.place(role)));
        }
        let place = self.place(role);
        let is_in_between = |mirror: &&mut Mirror| mirror.role == role && (mirror.takes_io() || mirror.is_at_work());
        match (self.mirrors.iter_mut().find(is_in_between), place) {
            (Some(mirror), _) => Way::Mirror(mirror),
            (None, Some(place)) => Way::Place(place),
            (None, None) => Way::Nowhere,
        }
    }

    /// The slot of the drive that an engine's I/O went to: of a mirror's engine, that of its
    /// original or its replacement.
    pub(super) fn slot_asked(&self, mirror: Option<Role>, role: Role) -> Option<usize> {
        let Some(mirrored) = mirror else { return self.slot_of(role) };
        let notes = self.mirror(mirrored)?.notes(role);
        self.slots.iter().position(|slot| slot.buffer == notes)
    }

    pub(crate) fn mirror(&self, role: Role) -> Option<&Mirror> {
        self.mirrors.iter().find(|mirror| mirror.role == role)
    }

    pub(crate) fn mirror_mut(&mut self, role: Role) -> Option<&mut Mirror> {
        self.mirrors.iter_mut().find(|mirror| mirror.role == role)
    }

    /// What is known of the bad blocks of a drive that is a member of this role, or its
    /// replacement.
    pub(super) fn known_bad_blocks(&self, role: Role, dev_number: u32) -> &BadBlocks {
        let Some(mirror) = self.mirror(role) else { return self.array.bad_blocks(role) };
        match &mirror.successor {
            Some(successor) => &successor.bad_blocks,
            None if !mirror.takes_io() => self.array.bad_blocks(role),
            None if mirror.original == dev_number => mirror.array.bad_blocks(ORIGINAL),
            None => mirror.array.bad_blocks(REPLACEMENT),
        }
    }

    /// What is under way: a rebuild, resync or scrub, and each member that is being replaced,
    /// unless the array is only read. A member or replacement that has all of its content is still
    /// under way until it is recorded as a member in sync.
    pub(crate) fn works(&self) -> impl Iterator<Item = JobProgress> {
        let replaced =
            |mirror: &Mirror| JobProgress { done_bytes: mirror.position(), total_bytes: mirror.total_bytes() };
        let mirrors = self.mirrors.iter().filter(|_| self.writable);
        let filled = self.array.progress().is_none().then(|| self.unrecorded()).into_iter().flatten();
        self.array.progress().into_iter().chain(filled).chain(self.to_be_filled()).chain(mirrors.map(replaced))
    }

    /// The work on members that return: none of it is done.
    fn to_be_filled(&self) -> impl Iterator<Item = JobProgress> {
        let roles = (0..self.array.member_states().len() as u16).map(Role);
        let returning = roles.filter(|role| self.array.health() != Health::Failed && self.returning(*role).is_some());
        returning.map(|role| JobProgress { done_bytes: 0, total_bytes: self.array.geometry().used_bytes(role) })
    }

    /// The work on members that are filled, and not recorded as that.
    fn unrecorded(&self) -> impl Iterator<Item = JobProgress> {
        let done_bytes = |role: &Role| self.array.geometry().used_bytes(*role);
        let filled = self.filled.iter().filter(|_| self.array.health() != Health::Failed);
        filled.map(done_bytes).map(|bytes| JobProgress { done_bytes: bytes, total_bytes: bytes })
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.works().next().is_some()
    }

    pub(crate) fn has_draining_mirrors(&self) -> bool {
        self.mirrors.iter().any(|mirror| !mirror.takes_io())
    }

    /// The filling of a replacement ends: somebody says so, or it did not take its superblock.
    /// Refused if it is the only one left of the two.
    pub(crate) fn fail_replacement(&mut self, now: Instant, role: Role) -> Result<(), CommandError> {
        let mirror = self.mirror_mut(role).ok_or(CommandError::NoSuchRole)?;
        mirror.array.fail_member(now, REPLACEMENT)
    }

    /// A range of the array is about to be written: mirrors remember.
    pub(super) fn touch(&mut self, offset: u64, length: u64) {
        for mirror in &mut self.mirrors {
            let end = offset.saturating_add(length).min(self.array.geometry().capacity_bytes());
            if offset < end {
                mirror.touched.insert(self.array.geometry().sync_range(offset, end - offset));
            }
        }
    }

    /// Brings slots and superblocks in step with what the mirrors' engines say.
    pub(super) fn renew_replacements(&mut self) {
        for index in 0..self.mirrors.len() {
            let mirror = &self.mirrors[index];
            let (role, replacement) = (mirror.role, mirror.replacement);
            let Some(slot) = self.slots.iter().position(|slot| slot.duty == Duty::Replacement(role)) else {
                self.record_change(index);
                continue;
            };
            let is_missing = mirror.phase != Phase::Opening && mirror.state(REPLACEMENT) == MemberState::Missing;
            let has_failed = is_missing && mirror.successor.is_none();
            // Once the member has failed as a whole it misses writes, and its replacement is no
            // more than a successor.
            let is_alone = mirror.takes_io() && mirror.state(ORIGINAL) == MemberState::Missing;
            let known = if has_failed {
                self.slots[slot].duty = Duty::Out;
                self.membership.fail(replacement)
            } else if mirror.phase == Phase::Changing || is_alone {
                self.change_over(index, slot);
                Ok(())
            } else {
                self.membership.record_rebuild_position(replacement, self.position_to_record(mirror))
            };
            known.expect("replacements are in the superblocks");
        }
    }

    /// How far a replacement may be trusted if the array stops now. Once the member has failed it
    /// misses writes, unless none is answered any more: then what was copied is the best that there
    /// is.
    fn position_to_record(&self, mirror: &Mirror) -> u64 {
        let member_works = self.array.member_states()[mirror.role.index()] != MemberState::Missing;
        let has_parity = matches!(self.facts.level(), Ok(Level::Raid4 | Level::Raid5(_) | Level::Raid6(_)));
        let is_stopped = has_parity && self.array.health() == Health::Failed;
        match &mirror.successor {
            Some(successor) if is_stopped => successor.position,
            None if member_works || is_stopped => mirror.position(),
            _ => 0,
        }
    }

    /// Makes the replacement the member.
    fn change_over(&mut self, mirror: usize, slot: usize) {
        let Mirror { role, original, .. } = self.mirrors[mirror];
        for former in self.slots.iter_mut().filter(|former| former.number.get() == original) {
            former.duty = Duty::Out;
        }
        self.slots[slot].duty = Duty::Member(role);
        self.record_change(mirror);
    }

    /// A replacement that is the member is said to be that: as one that stands in for the original
    /// while something in that one's partial parity log is needed.
    fn record_change(&mut self, mirror: usize) {
        let Mirror { role, replacement, .. } = self.mirrors[mirror];
        if !self.slots.iter().any(|slot| slot.number.get() == replacement && slot.duty == Duty::Member(role)) {
            return;
        }
        let changed = match self.leaves_log(&self.mirrors[mirror]) {
            true => self.membership.stand_in(replacement),
            false => self.membership.finish_replacement(replacement),
        };
        changed.expect("replacements are in the superblocks");
    }

    fn leaves_log(&self, mirror: &Mirror) -> bool {
        self.logs.has_unit(mirror.notes(ORIGINAL))
    }

    /// Whether a slot has a replacement whose original is out, and may have left something behind
    /// in its partial parity log. That says so itself: it gets each update before the others.
    pub(super) fn stands_in(&self, slot: usize) -> bool {
        let Slot { duty, number, .. } = &self.slots[slot];
        match *duty {
            Duty::Replacement(role) => {
                has_logs(&self.facts) && self.array.member_states()[role.index()] == MemberState::Missing
            }
            Duty::Member(role) => {
                let is_its = |mirror: &&Mirror| mirror.replacement == number.get();
                self.mirror(role).filter(is_its).is_some_and(|mirror| self.leaves_log(mirror))
            }
            Duty::Returning(_) | Duty::Spare | Duty::Journal(_) | Duty::Out => false,
        }
    }
}
