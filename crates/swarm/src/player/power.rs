//! Lives: power goes off, wherever the array is in what it does, and comes back; not every drive
//! needs to be there then.
//!
//! What is known at the end of a life (the *stock*) decides which drives may stay away: the next
//! life gets all that the level needs, of those that the array had in sync and whose superblocks
//! say so. So the host that remembers the array has no reason to refuse them, and whatever was
//! flushed in one life is on the drives of the next. Other sets are tried on the side
//! ([`super::apart`]). Drives that are not in sync may come and go as they like.

use std::collections::BTreeSet;

use shoal_sim::Content;
use shoal_volume::{ConsistencyPolicy, ContentMap, DriveId, Features, MemberUse, Superblock, read_superblock};

use super::Player;
use super::weakness::Seat;
use crate::checkers::Failure;

/// What was known of the array when a life ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Stock {
    seats: Vec<Seat>,
    pub(super) weak: BTreeSet<usize>,
    /// The drives' ids, and where content lay.
    places: Option<(Vec<Option<DriveId>>, ContentMap)>,
}

impl Stock {
    /// The drives that had a seat and were there.
    pub(super) fn drives(&self) -> Vec<usize> {
        self.seats.iter().filter_map(|seat| seat.drive).collect()
    }

    /// The array has to do without a drive, whenever that begins.
    pub(super) fn weaken(&mut self, drive: usize) {
        self.weak.extend(self.seat_of(drive));
    }

    /// Where a drive sat.
    pub(super) fn seat_of(&self, drive: usize) -> Option<usize> {
        self.seats.iter().position(|seat| seat.drive == Some(drive))
    }

    /// The seats that were weak.
    pub(super) fn weak_seats(&self) -> BTreeSet<usize> {
        self.weak.clone()
    }
}

impl Player<'_> {
    /// Cuts power for all drives and the host, now or so many events from now.
    pub(super) fn cut_power(&mut self, after_events: u32) {
        let expects_cut = self.chronicle.borrow().expects_cut();
        if after_events == 0 && !expects_cut {
            self.array_mut().world_mut().cut_power();
        } else {
            self.cut_later(after_events);
        }
    }

    /// The same, not now.
    pub(super) fn cut_later(&self, after_events: u32) {
        self.chronicle.borrow_mut().plan_cut(after_events.max(1));
    }

    pub(super) fn is_dark(&self) -> bool {
        self.chronicle.borrow().is_dark()
    }

    /// What came of something, unless power went off meanwhile: then it comes back, and the array
    /// lives again.
    pub(super) fn outlive(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        let mut done = done;
        while self.is_dark() {
            let mut contents = self.chronicle.borrow_mut().power_is_on()?;
            if self.array.is_some() {
                self.take_stock();
                self.array = None;
                // The stock knows already what has struck.
                contents.iter_mut().for_each(|content| drop(content.take_struck()));
            } else {
                self.find_replay_holes();
            }
            for content in contents.iter_mut().filter(|content| !content.is_gone()) {
                content.cut_power(self.random.generator());
            }
            self.note_broken_flushes(&mut contents);
            if !self.flipped.is_empty() && self.scenario.consistency == ConsistencyPolicy::Ppl {
                // A log's newest write with a wrong bit passes for one that never came to be.
                self.taint_unsettled();
            }
            self.promises.power_cut();
            self.forget_client();
            self.books.power_cut();
            self.answers.forget_all();
            self.buffers = (0..self.scenario.depth).collect();
            self.counts.power_cuts += 1;
            done = self.boot(contents);
        }
        done
    }

    /// Before the array's life ends.
    pub(super) fn take_stock(&mut self) {
        self.note_struck();
        self.find_holes();
        let places = Some((self.ids.clone(), self.array().content_map()));
        self.stock = Stock { seats: self.seats(), weak: self.weak_seats(), places };
    }

    /// Looks at what lived, before anything else happens to it.
    pub(super) fn come_up(&mut self) -> Result<(), Failure> {
        let were_weak = self.stock.weak.clone();
        self.find_lost_to_holes(&were_weak);
        self.forget_closed_holes();
        // Not always: looking takes time, in which the array would get on with what it has to do.
        if self.random.percent(50) { self.read_touched() } else { Ok(()) }
    }

    /// Decides which drives are not there at this start.
    pub(super) fn send_away(&mut self, contents: &mut [Content]) {
        for (drive, starts) in std::mem::take(&mut self.away) {
            let content = &mut contents[drive];
            if starts == 0 {
                content.set_gone(false);
                continue;
            }
            if !content.is_gone() {
                if !self.may_stay_away(drive, contents) {
                    self.counts.passed_over += 1;
                    continue;
                }
                contents[drive].set_gone(true);
                self.counts.away += 1;
            }
            self.away.insert(drive, starts - 1);
            // Should this life end before the array is open, it may have been missed all the same.
            self.stock.weaken(drive);
        }
    }

    /// Drives have lost power, and with it what they had said to be durable.
    fn note_broken_flushes(&mut self, contents: &mut [Content]) {
        for (drive, (old_id, before)) in self.armed.clone() {
            let struck = contents[drive].take_struck();
            let places = self.stock.places.clone();
            let now = places.as_ref().and_then(|(ids, map)| Some((ids[drive]?, map)));
            let maps: Vec<_> = [Some((old_id, &before)), now].into_iter().flatten().collect();
            self.taint(struck, &maps);
        }
    }

    /// Whether the next life is none the poorer without a drive.
    pub(super) fn may_stay_away(&self, drive: usize, contents: &[Content]) -> bool {
        if self.is_journal(drive) {
            return false;
        }
        if self.growing.contains(&drive) {
            return self.may_miss_growing(drive, contents);
        }
        let seats = &self.stock.seats;
        let Some(seat) = seats.iter().position(|seat| seat.drive == Some(drive)) else {
            return !has_replaced(drive, contents);
        };
        let group = seat / self.group_size() * self.group_size();
        let mut weak = self.stock.weak.clone();
        let superblocks: Vec<_> = seats.iter().map(|seat| superblock(&contents[seat.drive?])).collect();
        let of_group = &superblocks[group..group + self.group_size()];
        let freshest = freshest(of_group.iter().flatten());
        let is_unreadable = |place: usize| {
            let drive = seats[group + place].drive;
            drive.is_none_or(|drive| !contents[drive].unreadable_sectors().is_empty())
        };
        let is_in_sync = |place: usize| of_group[place].as_ref().is_some_and(|own| is_in_sync(own, &freshest));
        let is_unsound = |place: &usize| !is_in_sync(*place) || is_unreadable(*place);
        weak.extend((0..of_group.len()).filter(is_unsound).map(|place| group + place));
        let others =
            weak.into_iter().filter(|other| *other != seat && (group..group + self.group_size()).contains(other));
        others.count() < self.redundancy()
    }

    /// The drives that are there and carry a superblock.
    pub(super) fn carriers(&self, contents: &[Content]) -> Vec<usize> {
        (0..contents.len()).filter(|drive| superblock(&contents[*drive]).is_some()).collect()
    }

    /// The id that each drive has at the start of a life.
    pub(super) fn first_ids(contents: &[Content]) -> Vec<Option<DriveId>> {
        (0..).zip(contents).map(|(drive, it)| (!it.is_gone()).then_some(DriveId(drive))).collect()
    }
}

/// What a drive that is there says of itself.
pub(super) fn superblock(content: &Content) -> Option<Superblock> {
    if content.is_gone() {
        return None;
    }
    read_superblock(content.size_bytes(), |offset, bytes| content.look(offset, bytes)).ok()
}

/// Whether a drive has taken its seat since stock was taken.
pub(super) fn has_replaced(drive: usize, contents: &[Content]) -> bool {
    let own = superblock(&contents[drive]);
    let array = own.as_ref().map(|own| own.array_uuid);
    let of_array = contents.iter().filter_map(superblock).filter(|other| Some(other.array_uuid) == array);
    let of_array: Vec<_> = of_array.collect();
    own.is_some_and(|own| is_in_sync(&own, &freshest(of_array.iter())))
}

/// The superblocks of the last update; of one number there may be two.
fn freshest<'a>(superblocks: impl Iterator<Item = &'a Superblock> + Clone) -> Vec<&'a Superblock> {
    let events = superblocks.clone().map(|superblock| superblock.events).max();
    superblocks.filter(|superblock| Some(superblock.events) == events).collect()
}

/// The last superblock that a drive took makes it a member with all its data, and so do the
/// freshest ones of its array.
fn is_in_sync(own: &Superblock, freshest: &[&Superblock]) -> bool {
    let is_active = |by: &Superblock| matches!(by.member_use(own.dev_number), MemberUse::Active(_));
    let is_known = |by: &&Superblock| is_active(by) && own.events + 1 >= by.events;
    is_active(own) && has_all(own) && freshest.iter().all(is_known)
}

/// It is not being filled, and has no bad blocks.
pub(super) fn has_all(own: &Superblock) -> bool {
    !own.features.any_of(Features::RECOVERY_OFFSET | Features::REPLACEMENT | Features::BAD_BLOCKS)
}
