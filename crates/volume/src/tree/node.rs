//! One array in a tree: its engine, where its members are, and what their superblocks say.

use shoal_array::{Array, Background, Level, MemberState, Role, Scratch, ScrubMode};
use shoal_md::{MemberNumber, Membership, Superblock};

use crate::LeftOut;
use crate::bad_blocks::BadBlockNotes;
use crate::ppl::{LogPlace, Replayed, first_columns, has_logs};

use super::checkpoint::Checkpoint;
use super::intent::{BitmapCopy, Intent};
use super::mirror::Mirror;
use super::ppl::Logs;
use super::record::Recorder;
use super::{Activity, RestDelay, Target};

/// Where a member's bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) target: Target,
    /// First byte of the data area.
    pub(crate) data_offset_bytes: u64,
    /// First byte of the superblock.
    pub(crate) super_offset_bytes: u64,
    /// First byte of the write-intent bitmap, if there is one.
    pub(crate) bitmap_offset_bytes: Option<u64>,
    /// The partial parity log, if there is one.
    pub(crate) log: Option<LogPlace>,
}

impl Place {
    /// Where a member lies on `target`, as its superblock says.
    pub(crate) fn of(target: Target, superblock: &Superblock) -> Self {
        Self {
            target,
            data_offset_bytes: superblock.data_offset_bytes(),
            super_offset_bytes: superblock.super_offset_bytes(),
            bitmap_offset_bytes: superblock.bitmap_area().map(|area| area.offset_bytes),
            log: LogPlace::of(superblock),
        }
    }
}

/// One drive, or inner array, that carries a superblock of this array.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) place: Place,
    /// Its number in the superblocks, which is not its role.
    pub(crate) number: MemberNumber,
    pub(crate) duty: Duty,
    /// Number of its notes in the arena.
    pub(crate) buffer: u32,
    pub(crate) bad_blocks: BadBlockNotes,
    /// What its copy of the write-intent bitmap is worth.
    pub(crate) bitmap: BitmapCopy,
}

/// What a slot does in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    Member(Role),
    /// It is being filled, to replace the member.
    Replacement(Role),
    /// A former member that has been re-added. The superblocks are about to say that it is being
    /// filled; until they do the engine does not have it, and its data area is not written to.
    Returning(Role),
    Spare,
    /// The write journal: its superblock is kept up to date, and nothing else is written to it.
    Journal(JournalLog),
    /// Failed, or too old to be used: nothing is read from it or written to it any more.
    Out,
}

/// What a write journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalLog {
    /// What its members may lack: the array cannot do without it.
    Unreplayed,
    /// Nothing: the array can do without it.
    Empty,
}

/// One array: its engine, the slots that its members lie on, and the state of its superblocks,
/// bitmap, logs and mirrors.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) array: Array,
    pub(crate) slots: Vec<Slot>,
    /// In the places of members that are being replaced.
    pub(crate) mirrors: Vec<Mirror>,
    /// The superblocks as they are to be written next.
    pub(crate) membership: Membership,
    /// The freshest superblock at assembly: what does not change while the array runs.
    pub(crate) facts: Superblock,
    /// Members that have been filled, and whose superblocks do not say so yet: until then a crash
    /// leaves them as members that are being filled, and so they are told.
    pub(crate) filled: Vec<Role>,
    /// Drives that were given, belong to the array, and are not used.
    pub(crate) left_out: Vec<LeftOut>,
    /// Members whose superblocks are one update behind the others', with what is to be written
    /// there.
    pub(crate) behind: Vec<(Target, Superblock)>,
    /// Updates to be recorded before anything is written to the array, as its members' superblocks
    /// do not say yet what was found when it was put together.
    pub(crate) updates_due: u32,
    pub(crate) activity: Activity,
    /// How long after its last write the array is marked clean; if never, it is when it is closed.
    pub(crate) rest_delay: Option<RestDelay>,
    pub(crate) recorder: Recorder,
    /// The members' partial parity logs, if the array has them.
    pub(crate) logs: Logs,
    /// What was replayed of them and not written, as the array is only read.
    pub(crate) replayed: Replayed,
    /// The write-intent bitmap, if the array has one and is open for writing.
    pub(crate) intent: Option<Intent>,
    /// Buffers given to the engine.
    pub(crate) scratch: Scratch,
    /// Rate of rebuilds and scrubs.
    pub(crate) background: Background,
    pub(crate) logical_block_bytes: u32,
    /// How far background work had come when the superblocks were last written.
    pub(crate) checkpoint: Checkpoint,
    /// The scrub under way.
    pub(crate) scrub: Option<ScrubMode>,
    /// It has another name than when it was put together: that is recorded, whatever the level.
    pub(crate) is_renamed: bool,
    /// Open for writing.
    pub(crate) writable: bool,
}

impl Node {
    /// The place of the member with this role.
    pub(crate) fn place(&self, role: Role) -> Option<Place> {
        self.slot_of(role).map(|slot| self.slots[slot].place)
    }

    /// The slot of the member with this role.
    pub(crate) fn slot_of(&self, role: Role) -> Option<usize> {
        self.slots.iter().position(|slot| slot.duty == Duty::Member(role))
    }

    /// Takes a slot away, while no superblock and no bitmap is being written: those behind it move
    /// up.
    pub(crate) fn remove_slot(&mut self, slot: usize) -> Slot {
        self.recorder.slot_removed(slot);
        self.slots.remove(slot)
    }

    /// No superblock and no bitmap is being written, or waits for it.
    pub(crate) fn is_settled(&self) -> bool {
        self.recorder.is_idle() && self.intent.as_ref().is_none_or(Intent::is_idle)
    }

    /// The update that the superblocks are at.
    pub(crate) fn events(&self) -> u64 {
        self.membership.events().max(self.facts.events)
    }

    /// Whether the array's superblocks say active and clean, and record failures: levels with
    /// redundancy do.
    pub(crate) fn keeps_records(&self) -> bool {
        self.writable && self.array.geometry().redundancy() > 0
    }

    /// Whether losing this member too would lose data. Of mirrors the engine itself knows which
    /// copies are the last.
    pub(crate) fn cannot_spare(&self, role: Role) -> bool {
        let states = self.array.member_states().iter().enumerate();
        let others_lost =
            states.filter(|(other, state)| *other != role.index() && **state != MemberState::InSync).count();
        !self.has_copies() && others_lost >= self.array.geometry().redundancy()
    }

    /// Whether this member is still needed by what is recorded: another one has been filled, and a
    /// crash would leave it as one that has not.
    pub(crate) fn awaits_record_without(&self, role: Role) -> bool {
        let states = (0..).map(Role).zip(self.array.member_states()).filter(|(other, _)| *other != role);
        let is_lost =
            |(other, state): &(Role, &MemberState)| self.recorded_state(*other, **state) != MemberState::InSync;
        !self.filled.is_empty() && states.filter(is_lost).count() >= self.array.geometry().redundancy()
    }

    /// Whether the level keeps its data in copies.
    pub(crate) fn has_copies(&self) -> bool {
        matches!(self.array.geometry().shape().level, Level::Raid1 | Level::Raid10(_))
    }

    /// How a member is by what is recorded of it: one that has just been filled may not be in sync
    /// yet, and one that returns is being filled before the engine has it.
    pub(crate) fn recorded_state(&self, role: Role, state: MemberState) -> MemberState {
        match state {
            MemberState::Missing if self.returning(role).is_some() => MemberState::Rebuilding { position: 0 },
            MemberState::InSync if self.filled.contains(&role) => {
                MemberState::Rebuilding { position: self.array.geometry().used_bytes(role) }
            }
            state => state,
        }
    }

    /// The place of the member that returns to this role.
    pub(crate) fn returning(&self, role: Role) -> Option<Place> {
        self.slots.iter().find(|slot| slot.duty == Duty::Returning(role)).map(|slot| slot.place)
    }

    /// The slots that take part: all but those that are out.
    pub(crate) fn slots_in_use(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|&slot| self.slots[slot].duty != Duty::Out).collect()
    }

    /// Brings the superblocks in step with the engine: members that failed, rebuilds that went on.
    pub(crate) fn renew_membership(&mut self) {
        self.renew_members();
        self.renew_replacements();
        self.renew_bad_blocks();
        match (&self.activity, self.resync_position_to_record()) {
            (_, Some(position)) => self.membership.record_resync_position(position),
            (Activity::Clean | Activity::Refused { .. }, None) => self.membership.mark_clean(),
            (Activity::Marking { .. } | Activity::Active { .. }, None) => self.membership.mark_active(),
        }
    }

    /// What the superblocks are to say of a resync. While writes are under way it is nothing, as a
    /// crash would leave anything out of sync; but with partial parity logs it counts then too, and
    /// is never 0: see [`crate::ppl`].
    pub(super) fn resync_position_to_record(&self) -> Option<u64> {
        let position = self.array.resync_position()?;
        match has_logs(&self.facts) {
            // What a replacement's original could not read is made good: nothing else is in doubt.
            true if self.array.is_resync_partial() => None,
            true => Some(position.max(first_columns(self.array.geometry()).into())),
            false => matches!(self.activity, Activity::Clean | Activity::Refused { .. }).then_some(position),
        }
    }

    fn renew_members(&mut self) {
        let states = self.array.member_states();
        for slot in &mut self.slots {
            let Duty::Member(role) = slot.duty else { continue };
            let known = match states[role.index()] {
                MemberState::InSync => Ok(()),
                MemberState::Rebuilding { position } => {
                    self.membership.record_rebuild_position(slot.number.get(), position)
                }
                MemberState::Missing => {
                    slot.duty = Duty::Out;
                    self.membership.fail(slot.number.get())
                }
            };
            known.expect("slots in use are in the superblocks");
        }
    }

    fn renew_bad_blocks(&mut self) {
        for slot in 0..self.slots.len() {
            let Slot { number, duty, .. } = self.slots[slot];
            let dev_number = number.get();
            let (Duty::Member(role) | Duty::Replacement(role) | Duty::Returning(role)) = duty else { continue };
            let known = self.known_bad_blocks(role, dev_number).clone();
            let superblock = self.membership.superblock(dev_number).expect("slots in use are in the superblocks");
            let has_some = self.slots[slot].bad_blocks.renew(superblock, &known);
            self.membership.record_bad_blocks(dev_number, has_some).expect("slots in use are in the superblocks");
        }
    }
}
