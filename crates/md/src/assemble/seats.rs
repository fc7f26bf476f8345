//! Who sits where: one member for each role, and beside it the drive that is to replace it.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use shoal_array::{MemberState, Role};

use super::{AssembleError, Candidate, Verdict};
use crate::limits::NUMBER_LIMIT;
use crate::superblock::MemberUse;

/// One role of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The candidate that has it.
    pub candidate: Option<usize>,
    /// Its state.
    pub state: MemberState,
    /// It is being rebuilt, and what it needs is what the write-intent bitmap says. Where the
    /// bitmap is not to be believed, everything beyond its position is.
    pub by_bitmap: bool,
    /// The candidate that is to take its place.
    pub replacement: Option<Replacement>,
}

/// A drive that becomes the copy of a member, to take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The candidate.
    pub candidate: usize,
    /// Bytes of the data area that are copied.
    pub position_bytes: u64,
}

/// Gives every role to the freshest candidate that has it, and a replacement its place beside it. A
/// replacement without a member to replace takes the role itself, as far as it has come; its
/// verdict changes accordingly.
pub(super) fn seat(
    candidates: &[Candidate],
    verdicts: &mut [Verdict],
    raid_devices: usize,
    member_bytes: impl Fn(usize) -> u64,
) -> Result<Vec<Slot>, AssembleError> {
    let empty = Slot { candidate: None, state: MemberState::Missing, by_bitmap: false, replacement: None };
    let mut slots = vec![empty; raid_devices];
    recognise_replacements(candidates, verdicts);
    for index in 0..candidates.len() {
        let (role, state, by_bitmap) = match verdicts[index] {
            Verdict::InSync(role) => (role, MemberState::InSync, false),
            Verdict::Rebuilding { role, position_bytes, by_bitmap } => {
                (role, MemberState::Rebuilding { position: position_bytes }, by_bitmap)
            }
            _ => continue,
        };
        let slot = &mut slots[role.index()];
        if fresher(candidates, verdicts, slot.candidate, index, role)? {
            *slot = Slot { candidate: Some(index), state, by_bitmap, replacement: None };
        }
    }
    for index in 0..candidates.len() {
        let Verdict::Replacement { role, position_bytes } = verdicts[index] else { continue };
        let slot = &mut slots[role.index()];
        if fresher(candidates, verdicts, slot.replacement.map(|other| other.candidate), index, role)? {
            slot.replacement = Some(Replacement { candidate: index, position_bytes });
        }
    }
    for (role, slot) in (0..).map(Role).zip(&mut slots) {
        if slot.candidate.is_none() {
            promote(role, slot, verdicts, &member_bytes);
        }
    }
    Ok(slots)
}

/// A spare was made a replacement in an update that did not reach itself: the freshest table gives
/// it a role that another member has too, and only its own superblock could have said why.
fn recognise_replacements(candidates: &[Candidate], verdicts: &mut [Verdict]) {
    for index in 0..candidates.len() {
        let Verdict::Rebuilding { role, position_bytes: 0, by_bitmap: false } = verdicts[index] else { continue };
        let was_spare = candidates[index].superblock.own_use() == MemberUse::Spare;
        if was_spare && verdicts.contains(&Verdict::InSync(role)) {
            verdicts[index] = Verdict::Replacement { role, position_bytes: 0 };
        }
    }
}

/// Every number is one candidate's: of a member with a role, of its replacement, of the freshest
/// spare or journal that has it, in this order. Whoever else carries it, or one that no table has
/// room for, is a copy of somebody.
pub(super) fn send_strays_away(candidates: &[Candidate], verdicts: &mut [Verdict], slots: &mut [Slot]) {
    let rank = |index: &usize| match verdicts[*index] {
        Verdict::InSync(_) | Verdict::Rebuilding { .. } => Some(0),
        Verdict::Replacement { .. } => Some(1),
        Verdict::Spare | Verdict::Journal => Some(2),
        _ => None,
    };
    let superblock = |index: usize| &candidates[index].superblock;
    let order = |index: &usize| (rank(index), Reverse(superblock(*index).events), superblock(*index).device_uuid.0);
    let mut claims: Vec<usize> = (0..candidates.len()).filter(|index| rank(index).is_some()).collect();
    claims.sort_by_key(order);
    let mut taken = BTreeSet::new();
    let mut journals = 0;
    for index in claims {
        let number = superblock(index).dev_number;
        journals += usize::from(verdicts[index] == Verdict::Journal);
        let is_second_journal = verdicts[index] == Verdict::Journal && journals > 1;
        if number < NUMBER_LIMIT && !is_second_journal && taken.insert(number) {
            continue;
        }
        verdicts[index] = Verdict::Stray;
        for slot in slots.iter_mut() {
            slot.replacement = slot.replacement.filter(|replacement| replacement.candidate != index);
            if slot.candidate == Some(index) {
                *slot = Slot { candidate: None, state: MemberState::Missing, by_bitmap: false, replacement: None };
            }
        }
    }
}

/// The replacement is all there is of this role.
fn promote(role: Role, slot: &mut Slot, verdicts: &mut [Verdict], member_bytes: impl Fn(usize) -> u64) {
    let Some(Replacement { candidate, position_bytes }) = slot.replacement.take() else { return };
    slot.candidate = Some(candidate);
    if position_bytes >= member_bytes(candidate) {
        slot.state = MemberState::InSync;
        verdicts[candidate] = Verdict::InSync(role);
    } else {
        slot.state = MemberState::Rebuilding { position: position_bytes };
        verdicts[candidate] = Verdict::Rebuilding { role, position_bytes, by_bitmap: false };
    }
}

/// Whether `index` gets the seat that `seated` has. The one that does not is told so.
fn fresher(
    candidates: &[Candidate],
    verdicts: &mut [Verdict],
    seated: Option<usize>,
    index: usize,
    role: Role,
) -> Result<bool, AssembleError> {
    let Some(seated) = seated else { return Ok(true) };
    let [first, second] = [&candidates[seated], &candidates[index]];
    match first.superblock.events.cmp(&second.superblock.events) {
        Ordering::Equal => {
            let [first, second] = [first.drive.clone(), second.drive.clone()];
            Err(AssembleError::Disagree { first, second, what: "members (both claim one role)" })
        }
        Ordering::Greater => {
            verdicts[index] = Verdict::RoleTaken(role);
            Ok(false)
        }
        Ordering::Less => {
            verdicts[seated] = Verdict::RoleTaken(role);
            Ok(true)
        }
    }
}
