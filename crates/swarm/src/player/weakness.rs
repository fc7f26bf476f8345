//! How much the array could lose now, and what it would lose.
//!
//! A *seat* is a member's place, named by the drive that had it first. It is weak while its member
//! is missing or being filled, its drive is pulled or hangs, or something on the drive cannot be
//! read or is about to fail. No more seats of a group may be weak than its level survives.

use std::collections::BTreeSet;

use shoal_volume::{
    ArrayLevel, ArrayStatus, ConsistencyPolicy, DriveId, Features, Level, MemberOn, MemberState, Superblock,
    read_superblock,
};

use shoal_md::SECTOR_BYTES;

use super::Player;
use super::power::{has_all, superblock};
use super::requests::BLOCK;

/// A member's place at one moment.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) is_in_sync: bool,
    /// It is in sync, or at least one of two is, while it is replaced.
    pub(super) is_held: bool,
    /// There is a member, as the array sees it.
    is_taken: bool,
    /// Who sits there, by its number in the scenario, if it is plugged in.
    pub(super) drive: Option<usize>,
    /// Who is to sit there.
    successor: Option<usize>,
}

impl Seat {
    const EMPTY: Self = Self { is_in_sync: false, is_held: false, is_taken: false, drive: None, successor: None };

    /// There is a member that does not have all of its content yet.
    pub(super) fn is_being_filled(&self) -> bool {
        self.is_taken && !self.is_held
    }

    /// The array has a member here whose drive was pulled.
    pub(super) fn is_ghost(&self) -> bool {
        self.is_taken && self.drive.is_none()
    }
}

impl Player<'_> {
    /// All seats, in the order of the drives that had them first.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let mut seats = Vec::new();
        self.collect_seats(&self.array().status(), 0, &mut seats);
        seats
    }

    fn collect_seats(&self, status: &ArrayStatus, depth: usize, seats: &mut Vec<Seat>) {
        let is_outer = depth == 0 && self.scenario.groups() > 1;
        for member in &status.members {
            match &member.on {
                Some(MemberOn::Array(inner)) => {
                    let first = seats.len();
                    self.collect_seats(inner, depth + 1, seats);
                    if member.state != MemberState::InSync {
                        seats[first..].iter_mut().for_each(|seat| (seat.is_in_sync, seat.is_held) = (false, false));
                    }
                }
                Some(MemberOn::Drive(name)) => {
                    let is_held = member.state == MemberState::InSync;
                    let is_in_sync = is_held && member.replacement.is_none();
                    let successor = member.replacement.as_ref().and_then(|it| self.drive_named(&it.drive));
                    seats.push(Seat { is_in_sync, is_held, is_taken: true, drive: self.drive_named(name), successor });
                }
                None if is_outer => {
                    seats.extend(vec![Seat::EMPTY; self.group_size()]);
                }
                None => seats.push(Seat::EMPTY),
            }
        }
    }

    /// The drive that has this name at present.
    fn drive_named(&self, name: &str) -> Option<usize> {
        let world = self.array().world().inner();
        self.ids.iter().position(|id| id.is_some_and(|id| world.name(id) == name))
    }

    /// Drives that have a seat, wait as spares, are being filled, or are the journal.
    pub(super) fn drives_in_use(&self) -> BTreeSet<usize> {
        let status = self.array().status();
        let mut names = Vec::new();
        collect_names(&status, &mut names);
        let named = names.iter().filter_map(|name| self.drive_named(name));
        named.chain(self.journal.drive).collect()
    }

    /// Drives that are plugged in, work, and have nothing to do.
    pub(super) fn free_drives(&self) -> Vec<usize> {
        let in_use = self.drives_in_use();
        (0..self.ids.len()).filter(|drive| self.ids[*drive].is_some() && !in_use.contains(drive)).collect()
    }

    /// The seats that are weak.
    pub(super) fn weak_seats(&mut self) -> BTreeSet<usize> {
        self.note_struck();
        let seats = self.seats();
        let is_weak = |(number, seat): (usize, Seat)| {
            let is_sound = seat.is_in_sync
                && seat.drive.is_some_and(|drive| {
                    let is_failing =
                        [&self.failing, &self.flipped, &self.rereading].iter().any(|it| it.contains(&drive));
                    let is_known = self.is_recorded(drive);
                    let hangs = self.hangs.now.contains(&drive);
                    let content = self.content(drive);
                    let is_well = !content.is_armed() && !content.owes_a_flush();
                    !hangs && !is_failing && is_known && is_well && !content.may_be_unreadable()
                });
            (!is_sound).then_some(number)
        };
        seats.into_iter().enumerate().filter_map(is_weak).collect()
    }

    /// Whether a member's superblock says that it has all its data, as far as it was written, and
    /// no bad blocks; also if power were cut now.
    fn is_recorded(&mut self, drive: usize) -> bool {
        let content = self.content(drive);
        let durable = read_superblock(content.size_bytes(), |offset, bytes| content.look_durable(offset, bytes)).ok();
        [superblock(content), durable].iter().all(|own| own.as_ref().is_some_and(has_all))
    }

    /// Whether the array survives it if this drive fails now in whatever way.
    pub(super) fn can_spare(&mut self, drive: usize) -> bool {
        if self.is_journal(drive) {
            return false;
        }
        // The original is let go as soon as this is durable: nobody can know any more that it is
        // needed.
        let is_copied = |own: &Superblock| {
            let has_more = own.recovery_offset_sectors * SECTOR_BYTES < own.used_bytes();
            !(own.features.any_of(Features::RECOVERY_OFFSET) && has_more)
        };
        let takes_over = superblock(self.content(drive)).as_ref().is_some_and(is_copied);
        let seats = self.seats();
        let is_there = |seat: &Seat| seat.drive == Some(drive) || seat.successor == Some(drive) && takes_over;
        let Some(seat) = seats.iter().position(is_there) else { return true };
        let size = self.group_size();
        let others = self.weak_seats().into_iter().filter(|other| *other != seat && other / size == seat / size);
        others.count() < self.redundancy()
    }

    /// The same of several that fail at once.
    pub(super) fn can_spare_all(&mut self, drives: &[usize]) -> bool {
        let seats = self.seats().into_iter().enumerate();
        let lost = seats.filter(|(_, seat)| seat.drive.is_some_and(|drive| drives.contains(&drive)));
        let mut weak = self.weak_seats();
        weak.extend(lost.map(|(seat, _)| seat));
        let size = self.group_size();
        let groups = 0..self.scenario.groups();
        !drives.iter().any(|drive| self.is_journal(*drive))
            && groups
                .into_iter()
                .all(|group| weak.iter().filter(|seat| **seat / size == group).count() <= self.redundancy())
    }

    /// Whether the array itself fails with these drives, and not a part of it that it can do
    /// without.
    pub(super) fn fails_without(&self, drives: &[usize]) -> bool {
        let is_lost = |seat: &Seat| !seat.is_held || seat.drive.is_none_or(|drive| drives.contains(&drive));
        let lost = self.seats().iter().filter(|seat| is_lost(seat)).count();
        let is_of_rows = self.scenario.groups() == 1 && (self.has_parity() || self.redundancy() == 0);
        lost == self.members || is_of_rows && lost > self.redundancy()
    }

    /// Whether the array has something on this drive only, and knows it: errors are passed on then.
    pub(super) fn is_last_copy(&self, drive: usize) -> bool {
        let is_other = |seat: &Seat| seat.drive != Some(drive) && (seat.is_held || seat.is_ghost());
        match self.scenario.level {
            ArrayLevel::Plain(Level::Linear | Level::Raid0(_)) => true,
            ArrayLevel::Plain(Level::Raid1) => !self.seats().iter().any(is_other),
            _ => false,
        }
    }

    /// Blocks that would be lost with a member that holds them, if power were cut now.
    pub(super) fn find_holes(&mut self) {
        if !self.has_parity() {
            return;
        }
        self.forget_closed_holes();
        if !self.array().is_recorded() || matches!(self.scenario.consistency, ConsistencyPolicy::Bitmap { .. }) {
            self.find_holes_of_records();
        }
        let unsettled: Vec<_> = self.promises.unsettled().collect();
        if self.scenario.consistency == ConsistencyPolicy::Ppl {
            // The log has what is needed for all other blocks of the stripe.
            self.holes.extend(unsettled);
            return;
        }
        for block in unsettled {
            let tied = self.seats.tied_to(block as u64 * BLOCK);
            self.holes.extend(tied.into_iter().map(|offset| (offset / BLOCK) as usize));
        }
    }

    /// What an outer array was recording in the arrays inside, as superblocks, takes part in the
    /// write holes of those.
    pub(super) fn find_holes_of_records(&mut self) {
        if self.has_parity() && self.scenario.consistency != ConsistencyPolicy::Ppl {
            self.holes.extend(self.seats.tied_to_records().into_iter().map(|offset| (offset / BLOCK) as usize));
        }
    }

    /// Logs could not be relied on: the holes are as wide as without them.
    pub(super) fn widen_holes(&mut self) {
        for block in self.holes.clone() {
            let tied = self.seats.tied_to(block as u64 * BLOCK);
            self.holes.extend(tied.into_iter().map(|offset| (offset / BLOCK) as usize));
        }
    }

    /// Once parity agrees everywhere there is no hole; a power cut opens it again until that is
    /// durable, which it is when the superblocks say it.
    pub(super) fn forget_closed_holes(&mut self) {
        if self.holes.is_empty() || self.array().needs_resync() {
            return;
        }
        let mut in_use = self.drives_in_use().into_iter();
        if in_use.all(|drive| superblock(self.content(drive)).is_none_or(|own| own.is_clean())) {
            self.holes.clear();
        }
    }

    /// Members are weak, or were when power was cut: what they hold, and was in a hole, is lost.
    pub(super) fn find_lost_to_holes(&mut self, were_weak: &BTreeSet<usize>) {
        if self.holes.is_empty() {
            return;
        }
        let weak: BTreeSet<_> = self.weak_seats().union(were_weak).copied().collect();
        for block in self.holes.clone() {
            let places = self.seats.places(block as u64 * BLOCK);
            if places.iter().any(|(DriveId(seat), _)| weak.contains(&(*seat as usize))) {
                self.promises.excuse(block);
                self.has_lost_to_holes = true;
            }
        }
    }

    /// As [`Self::find_lost_to_holes`], when a fault comes while the array runs.
    pub(super) fn heed_holes(&mut self) {
        self.forget_closed_holes();
        self.find_lost_to_holes(&BTreeSet::new());
    }
}

fn collect_names<'a>(status: &'a ArrayStatus, names: &mut Vec<&'a str>) {
    names.extend(status.spares.iter().map(String::as_str));
    for member in &status.members {
        names.extend(member.replacement.iter().map(|replacement| replacement.drive.as_str()));
        match &member.on {
            Some(MemberOn::Drive(name)) => names.push(name),
            Some(MemberOn::Array(inner)) => collect_names(inner, names),
            None => {}
        }
    }
}
