//! Partial parity logs of an array at rest: read and replayed when the array is put together, made
//! empty for a new start.
//!
//! # After a crash
//!
//! First every member's log is read, and nothing is written. Then, if the array was active, every
//! entry is replayed: what the chunks that were being written hold now, together with the partial
//! parity, is the parity. An entry of which a chunk is on a missing member is left out, as there is
//! no telling. Parity is flushed, and the superblocks say who is missing, before the logs are made
//! empty; until then everything can be done again, with the same result.
//!
//! What the superblocks and the logs say decides what has to follow. The superblocks say *0*: in
//! sync, and active; *a position*: a resync has come so far; or *the end*, which a resync has come
//! to.
//!
//! | superblocks | logs | complete array | degraded array |
//! | --- | --- | --- | --- |
//! | 0 | whole, and something was replayed | in sync, as for Linux | in sync |
//! | 0 | whole, all of them empty | resync, as for Linux: nobody says that it ever was in sync | in sync |
//! | 0 | one was torn by the crash | resync, as for Linux | in sync: of its stripes nothing was written yet |
//! | a position | whole or torn | the resync goes on from there, as for Linux | refused without `--force` |
//! | the end | whole or torn | in sync | in sync |
//! | any | one cannot be read, or says what cannot be | resync of all | refused without `--force` |
//! | any | that of a member being rebuilt cannot be read, or the member fails in the replay | | as without it; its rebuild begins anew |
//! | any | a member in sync refuses the flush behind the replay | all of it is [written again](crate::tree), and flushed, before the logs are made empty | the same |
//! | any | the member whose log it is is gone, and its [replacement](super::mirror) stands in for it, filled in part | | as without it; its rebuild begins anew |
//! | any | the same, and all was copied | resync of all | refused without `--force` |
//!
//! A log is about parity of the member that has it, and where one member is being rebuilt all
//! others have their data: nothing is in doubt but what the rebuild makes anew.
//!
//! Degraded, "in sync" says: what is computed for the missing member is right, but for blocks that
//! were being written when it was lost. Who is refused may still read: the logs are replayed in
//! memory then.
//!
//! # While a resync is under way
//!
//! Beyond its position parity is in doubt, and what is computed of it for a missing member may be
//! anything, flushed or not. So whoever starts the array without a member has to know that there
//! was a resync. From 0 nobody can tell: it is what the superblocks of every array say that was
//! being written, and logs that are empty are those of an array in sync that had just been marked
//! active. Without logs that does no harm, as no array is started then that is dirty and degraded.
//!
//! With logs the position counts while the array is written, too. All is logged, from the first
//! write on, so a crash leaves parity below the position as good as it was; the superblocks go on
//! to say how far it reaches, and neither shoal nor Linux takes a position that is not 0 for "in
//! sync". Beyond the position, parity is computed from all data, and agrees with what was written;
//! but nobody knows of which stripes that holds. All begins in this order, so that a crash in
//! between changes nothing:
//!
//! | step | if power is cut behind it |
//! | --- | --- |
//! | logs are replayed | the superblocks and the logs are as they were: all is done again |
//! | if all is to be resynced, the [first columns](first_columns) are made to agree | the same |
//! | the superblocks say from where on parity is in doubt; that is not 0 any more | the logs are replayed again, with the same result |
//! | the logs are made empty, and writes begin | the resync goes on from its position |
//! | the resync has come to its end: the superblocks say 0, or clean | |
//!
//! Linux says 0 while it resyncs and writes, and cannot tell such an array from one in sync either.

mod empty;
mod first_columns;
mod found;
mod replay;

use shoal_array::{Fault, Geometry, Health, LogRoom, MemberState, Role, Shape};
use shoal_md::{Area, Assembly, Features, MemberUse, PPL_HEADER_BYTES, Superblock};

use crate::assemble::OpenError;
use crate::buffers::NOTE_BYTES;
use crate::tree::{Duty, Logs, Place, Slot, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

pub(crate) use first_columns::{first_columns, sync_first_columns};
use found::FoundLogs;
pub(crate) use replay::Replayed;

/// A member's log, as its superblock places it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPlace {
    pub(crate) area: Area,
    /// Each write lies behind the one before it; otherwise each at the start.
    pub(crate) is_chain: bool,
}

impl LogPlace {
    /// Where a member's log lies, if there is one with room for anything.
    pub(crate) fn of(superblock: &Superblock) -> Option<Self> {
        let area = superblock.ppl_area()?;
        let least = 2 * PPL_HEADER_BYTES as u64;
        let is_chain = superblock.features.any_of(Features::MULTIPLE_PPLS);
        (area.size_bytes >= least).then_some(Self { area, is_chain })
    }
}

/// The logs of an array that is being put together.
#[derive(Debug, Default)]
pub(crate) struct OpenLogs {
    /// What the engine may ask for in one go; none if nothing is logged.
    pub(crate) room: Option<LogRoom>,
    /// The logs, to be made empty once the superblocks say who is there.
    pub(crate) logs: Logs,
    /// Parity that was replayed and not written.
    pub(crate) replayed: Replayed,
    /// From where on the array is in doubt, in sync bytes; none: nowhere.
    pub(crate) in_doubt_from: Option<u64>,
    /// Members being rebuilt of which nothing is right, as their logs were not believed.
    rebuilt_anew: Vec<Role>,
    /// Members that refused the flush behind the replay, and are to be
    /// [renewed](Tree::renew_members) before the logs are made empty.
    pub(crate) refused_flush: Vec<Role>,
}

impl OpenLogs {
    /// What the members of an array hold, by its superblocks and these logs.
    pub(crate) fn member_states(&self, assembly: &Assembly) -> Vec<MemberState> {
        let mut states = assembly.member_states();
        self.rebuilt_anew.iter().for_each(|role| states[role.index()] = MemberState::Rebuilding { position: 0 });
        states
    }

    /// Whether members have less than their superblocks say.
    pub(crate) fn has_rebuilds_anew(&self) -> bool {
        !self.rebuilt_anew.is_empty()
    }
}

/// What is read through a small buffer fails in two ways.
type Io<T> = Result<Result<T, Fault>, VolumeError>;

/// Whether the array with this superblock has partial parity logs.
pub(crate) fn has_logs(superblock: &Superblock) -> bool {
    superblock.features.any_of(Features::PPL | Features::MULTIPLE_PPLS)
}

/// The roles of members that stand in for others: what was written in their rows may be in the log
/// of the other one. What was written before a clean end is where it belongs, whoever has the log.
///
/// A replacement whose own superblock missed the last update stands in for nobody if that update
/// gave the role to it alone: it did so because nothing in the other one's log was needed any more.
/// Any other update that takes the role from the original is [told to the replacement
/// first](crate::tree).
fn stand_ins(members: &[(Target, Superblock)], assembly: &Assembly) -> Vec<Role> {
    let freshest = &assembly.superblock;
    if freshest.is_clean() {
        return Vec::new();
    }
    let holds = |number: u32, role: Role| freshest.member_use(number) == MemberUse::Active(role);
    let is_alone = |role, own: u32| (0..freshest.max_dev()).all(|number| number == own || !holds(number, role));
    let stands_in = |role: Role, own: &Superblock| {
        let is_last_told = own.events == freshest.events;
        own.features.any_of(Features::REPLACEMENT) && (is_last_told || !is_alone(role, own.dev_number))
    };
    let roles = (0..).map(Role).zip(&assembly.slots);
    let roles = roles.filter_map(|(role, slot)| slot.candidate.map(|index| (role, &members[index].1)));
    roles.filter(|(role, own)| stands_in(*role, own)).map(|(role, _)| role).collect()
}

/// Replays the logs of an array, if it has any: on its members if it is opened for writing; in
/// memory if it is degraded and only read. The logs stay as they are: while superblocks may still
/// name one that is absent now, its stripes' entries, which were left out, are needed.
pub(crate) fn open_logs<W: World>(
    tree: &mut Tree<W>,
    (members, slots): (&[(Target, Superblock)], &[Slot]),
    assembly: &Assembly,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<OpenLogs, OpenError> {
    let recorded = assembly.resync_position_bytes();
    let is_degraded = assembly.is_dirty_and_degraded();
    let is_solved_for = is_degraded && assembly.health() == Health::Degraded;
    if !has_logs(&assembly.superblock) || !options.writable && !is_solved_for {
        return Ok(OpenLogs { in_doubt_from: recorded, ..OpenLogs::default() });
    }
    let geometry =
        Geometry::new(shape.clone()).map_err(|cause| OpenError::Geometry { name: assembly.name(), cause })?;
    let in_use = slots.iter().filter(|slot| slot.duty != Duty::Out);
    if let Some(slot) = in_use.clone().find(|slot| options.writable && slot.place.log.is_none()) {
        return Err(OpenError::LogRoom { drive: tree.name(slot.place.target) });
    }
    let mut found = tree.find_logs(slots, &geometry, assembly, &stand_ins(members, assembly))?;
    let judge = |found: &FoundLogs| match found.in_doubt_from(recorded, geometry.sync_bytes(), is_degraded) {
        Some(_) if is_degraded && options.writable && !options.force => {
            Err(OpenError::DirtyDegraded { name: assembly.name() })
        }
        in_doubt_from => Ok(in_doubt_from),
    };
    judge(&found)?;
    if !options.writable {
        let replayed = tree.replay_in_memory(slots, &mut found)?;
        return Ok(OpenLogs { replayed, in_doubt_from: judge(&found)?, ..OpenLogs::default() });
    }
    if recorded.is_some() {
        tree.replay_logs(slots, &assembly.member_states(), &mut found)?;
    }
    let in_doubt_from = judge(&found)?;
    let room = Logs::room(in_use.filter_map(|slot| slot.place.log.as_ref()));
    let logs = found.logs(slots);
    let FoundLogs { rebuilt_anew, refused_flush, .. } = found;
    Ok(OpenLogs { room, logs, replayed: Replayed::default(), in_doubt_from, rebuilt_anew, refused_flush })
}

/// Where the member with this role lies.
fn place_of(slots: &[Slot], role: Role) -> Option<Place> {
    slots.iter().find(|slot| slot.duty == Duty::Member(role)).map(|slot| slot.place)
}

/// Offsets and lengths of the pieces that small buffers can hold.
fn pieces(length: u32) -> impl Iterator<Item = (u32, usize)> {
    (0..length).step_by(NOTE_BYTES as usize).map(move |start| (start, (length - start).min(NOTE_BYTES) as usize))
}
