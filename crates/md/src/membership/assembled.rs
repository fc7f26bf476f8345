//! From an assembly to the superblocks that its members are to carry.

use shoal_array::{MemberState, Role};

use super::{Membership, set_recovery, with_own_fields};
use crate::superblock::MemberUse;
use crate::{Assembly, Candidate, Features, Replacement, Slot, Superblock};

impl Membership {
    /// The members that an assembly found good, their replacements, and the spares that have a
    /// number of their own. `candidates` are those it was made of.
    pub fn of_assembly(assembly: &Assembly, candidates: &[Candidate]) -> Self {
        let mut table = assembly.superblock.clone();
        for number in 0..table.max_dev() {
            if matches!(table.member_use(number), MemberUse::Active(_)) {
                table.set_member_use(number, MemberUse::Spare);
            }
        }
        let mut membership = Self { members: Vec::new() };
        let mut seats = Vec::new();
        for (role, slot) in (0..).map(Role).zip(&assembly.slots) {
            for (index, is_replacement) in seated(slot) {
                let mut member = with_own_fields(&table, &candidates[index].superblock);
                record_state(&mut member, slot, is_replacement);
                member.features = member.features.with(Features::REPLACEMENT, is_replacement);
                seats.push((member.dev_number, role));
                membership.members.push(member);
            }
        }
        for index in assembly.spares() {
            let mut spare = with_own_fields(&table, &candidates[index].superblock);
            spare.mark_as_empty();
            membership.members.push(spare);
        }
        if let Some(index) = assembly.journal() {
            membership.members.push(with_own_fields(&table, &candidates[index].superblock));
        }
        for (dev_number, role) in seats {
            membership.record(dev_number, MemberUse::Active(role));
        }
        membership
    }

    /// Whether these superblocks say something that the members' own do not say yet, even
    /// [levelled](Self::levelled): one that the freshest table knows is not there, or a member is
    /// something else from now on. That spares hold nothing they say with the next update.
    ///
    /// It has to be written before the array is, and in more than one update: until then whoever is
    /// absent looks like a member in sync that missed nothing. One update alone may be cut short
    /// when a single member has it; that member would be as fresh as others that go on without it.
    pub fn says_more(&self, assembly: &Assembly, candidates: &[Candidate]) -> bool {
        let known = &assembly.superblock;
        let levelled = Self::levelled(assembly, candidates);
        let own = |member: &Superblock| {
            let of_levelled = levelled.iter().map(|(_, superblock)| superblock);
            let of_others = candidates.iter().map(|candidate| &candidate.superblock);
            let superblock = of_levelled.chain(of_others).find(|own| own.device_uuid == member.device_uuid);
            superblock.is_none_or(|own| own_state(own) != own_state(member))
        };
        let differs = |number| self.members.iter().any(|any| any.member_use(number) != known.member_use(number));
        let has_role = |member: &&Superblock| member.own_use() != MemberUse::Spare;
        (0..known.max_dev()).any(differs) || self.members.iter().filter(has_role).any(own)
    }

    /// What brings members that are one update behind up to the freshest one, by index of their
    /// candidates: to be written, and flushed, before the next update of all. Power may be cut
    /// during that one again, and a member must never be two behind because of it: it would be
    /// taken for stale.
    ///
    /// They get the freshest table as it is, and a replacement that has lost its original stays
    /// one. Whatever has changed since belongs to the next update.
    pub fn levelled(assembly: &Assembly, candidates: &[Candidate]) -> Vec<(usize, Superblock)> {
        let is_behind = |index: &usize| candidates[*index].superblock.events < assembly.superblock.events;
        let mut levelled = Vec::new();
        for slot in &assembly.slots {
            for (index, is_replacement) in seated(slot).filter(|(index, _)| is_behind(index)) {
                let mut member = with_own_fields(&assembly.superblock, &candidates[index].superblock);
                record_state(&mut member, slot, is_replacement);
                if is_replacement {
                    member.features = member.features | Features::REPLACEMENT;
                }
                levelled.push((index, member));
            }
        }
        for index in assembly.spares().into_iter().chain(assembly.journal()).filter(is_behind) {
            levelled.push((index, with_own_fields(&assembly.superblock, &candidates[index].superblock)));
        }
        levelled
    }
}

/// The member with a role and its replacement: their candidates, and which of the two they are.
fn seated(slot: &Slot) -> impl Iterator<Item = (usize, bool)> {
    let replacement = slot.replacement.map(|replacement| (replacement.candidate, true));
    slot.candidate.map(|index| (index, false)).into_iter().chain(replacement)
}

/// What a superblock says of its own member's data.
fn own_state(member: &Superblock) -> (Features, Option<u64>) {
    let marks = Features::RECOVERY_OFFSET | Features::REPLACEMENT | Features::RECOVERY_BITMAP;
    let is_partial = member.features.any_of(Features::RECOVERY_OFFSET);
    (Features(member.features.0 & marks.0), is_partial.then_some(member.recovery_offset_sectors))
}

fn record_state(member: &mut Superblock, slot: &Slot, is_replacement: bool) {
    let position_bytes = match (slot.replacement, slot.state) {
        (Some(Replacement { position_bytes, .. }), _) if is_replacement => Some(position_bytes),
        (_, MemberState::Rebuilding { position }) => Some(position),
        (_, MemberState::InSync | MemberState::Missing) => None,
    };
    set_recovery(member, position_bytes);
    let by_bitmap = slot.by_bitmap && !is_replacement;
    member.features = member.features.with(Features::RECOVERY_BITMAP, by_bitmap);
}
