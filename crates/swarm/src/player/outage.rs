//! Drives lose their power, or too many of them fail, and the host lives on: the array ends, and
//! its owner opens another one over what the drives have kept.
//!
//! The array's user lives on, too, by the rules of those who are served ([`Unflushed`]): what he
//! was answered and has not flushed may be lost, and the next flush has to say so.

use std::collections::BTreeSet;

use shoal_volume::{ArrayLevel, Health, Incarnation, Level, NEWEST, Unflushed, VolumeError};

use super::Player;
use super::weakness::Seat;
use crate::checkers::Failure;
use crate::scenario::Step;

impl Player<'_> {
    /// All drives of a hub lose their power. If the array fails by it, its owner waits until they
    /// are back, and opens it anew. Passed over if it goes on without redundancy to spare.
    pub(super) fn lose_hub(&mut self, bus: Option<usize>) -> Result<bool, Failure> {
        let is_on_it = |drive: &usize| bus.is_none_or(|bus| self.scenario.makes[*drive].1 == bus);
        let drives: Vec<_> = (0..self.ids.len()).filter(|drive| self.ids[*drive].is_some()).filter(is_on_it).collect();
        let is_spared = self.can_spare_all(&drives);
        if drives.is_empty() || !is_spared && !self.fails_without(&drives) {
            return Ok(false);
        }
        self.counts.hubs_lost += 1;
        if is_spared {
            drives.iter().for_each(|drive| self.pull(*drive));
            return Ok(true);
        }
        // Nobody gives up a drive that hangs where it cannot be spared: its owner pulls it too, and
        // plugs it in again.
        let hangs = self.hangs.now.iter().copied().filter(|drive| !drives.contains(drive));
        let drives: Vec<_> = drives.iter().copied().chain(hangs).collect();
        self.take_stock();
        let (refusals, windows_lost) = (self.refusals, self.counts.windows_lost);
        // Power cuts are for arrays that live.
        let cuts = self.chronicle.borrow_mut().hold_cuts();
        let may_recover = self.seats().iter().any(Seat::is_being_filled);
        drives.iter().for_each(|drive| self.pull(*drive));
        if may_recover {
            self.find_lost_to_holes(&BTreeSet::new());
        }
        let ended = self.end_in_vain();
        self.chronicle.borrow_mut().resume_cuts(cuts);
        ended?;
        self.note_struck();
        if self.counts.windows_lost == windows_lost && self.has_recovered() {
            self.note_unreadable_without_redundancy();
        } else {
            self.promises.drives_lost_power(self.refusals > refusals);
        }
        self.open_again(&drives)?;
        Ok(true)
    }

    /// An array without redundancy that has lost a member is opened anew: the drive may work again.
    pub(super) fn revive_failed(&mut self) -> Result<(), Failure> {
        if self.redundancy() > 0 || self.array().status().health != Health::Failed {
            return Ok(());
        }
        self.take_stock();
        self.end_in_vain()?;
        // Who ends it asks for nothing that could be told.
        if self.scenario.write_back_bytes > 0 {
            // What the members had refused was in memory only.
            self.promises.not_written();
        } else {
            self.promises.not_told();
        }
        self.open_again(&[])
    }

    /// Whether an array that had lost too much has all of its content again: a member that was all
    /// but filled is so now, and has recorded what the others lost. A mirror that has lost its last
    /// copy keeps that one in service.
    fn has_recovered(&self) -> bool {
        let is_of_rows = self.scenario.groups() == 1 && self.has_parity();
        let is_mirror = self.scenario.level == ArrayLevel::Plain(Level::Raid1);
        let has_all = is_of_rows || is_mirror && !self.seats().iter().any(Seat::is_ghost);
        has_all && self.array().status().health != Health::Failed && self.array().is_recorded()
    }

    /// The array goes on without redundancy, with a member that was all but filled when the others
    /// were lost. It may have ranges that cannot be read: they were allowed while it did not count.
    fn note_unreadable_without_redundancy(&mut self) {
        let drives: Vec<_> = self.seats().into_iter().filter_map(|seat| seat.drive).collect();
        if drives.into_iter().any(|drive| self.content(drive).may_be_unreadable()) {
            self.answers.reads_may_fail = true;
        }
    }

    /// What an array that has lost too much still does: it answers.
    fn end_in_vain(&mut self) -> Result<(), Failure> {
        self.note(format_args!("the array is lost"));
        let may_fail = std::mem::replace(&mut self.answers.all_may_fail, true);
        if self.random.percent(25) {
            self.request(Step::Flush)?;
        }
        self.settle()?;
        // It may say what it likes; what it held in memory may be lost with it.
        if let Err(VolumeError::NotWritten { .. }) = self.array_mut().rest() {
            self.counts.windows_lost += 1;
        }
        self.answers.all_may_fail = may_fail;
        self.array_mut().world_mut().placement.verdict()
    }

    fn open_again(&mut self, back: &[usize]) -> Result<(), Failure> {
        if self.is_dark() {
            return Ok(());
        }
        self.counts.revived += 1;
        let mut contents = self.array_mut().world_mut().inner_mut().picture();
        back.iter().for_each(|drive| contents[*drive].set_gone(false));
        contents.iter_mut().for_each(|content| content.leave_started_to_chance(self.random.generator()));
        self.array = None;
        // The host lives on: what it was about to remember it remembers.
        self.books.settle();
        self.boot(contents)
    }

    /// A drive loses its power with its plug.
    pub(super) fn pull(&mut self, drive: usize) {
        let Some(id) = self.ids[drive] else { return };
        if self.armed.contains_key(&drive) {
            self.note_struck();
            let map = self.array().content_map();
            // An array that has lost too much says nothing of it: what it held before then counts.
            if map.data_area(id).is_some() {
                self.armed.insert(drive, (id, map));
            }
        }
        self.ids[drive] = None;
        let random = &mut self.random;
        let watched = self.array.as_mut().expect("there is an array between steps").world_mut();
        watched.forget_hang(drive);
        let world = watched.inner_mut();
        world.content_mut(drive).cut_power(random.generator());
        world.unplug(id);
        self.hangs.now.remove(&drive);
        self.appear(drive);
    }

    /// The user comes to the array that was opened now, and hears whether its drives have gone on.
    pub(super) fn meet_client(&self) {
        let now = self.incarnation();
        self.client.meet(&now);
    }

    /// Power was cut: the user that was is no more.
    pub(super) fn forget_client(&mut self) {
        self.client = Unflushed::new(Incarnation::default());
    }

    /// A drive has lost its power: when it appears again it has another number.
    pub(super) fn appear(&mut self, drive: usize) {
        self.incarnations[drive] = 1 + self.newest();
    }

    fn newest(&self) -> u64 {
        self.incarnations.iter().copied().max().unwrap_or(0)
    }

    fn incarnation(&self) -> Incarnation {
        let words = self.drives_in_use().into_iter().map(|drive| format!("{drive}={}", self.incarnations[drive]));
        let words =
            words.chain([format!("{NEWEST}={}", self.newest()), format!("write-back=of-{}", self.counts.windows_lost)]);
        Incarnation::parse(&words.collect::<Vec<_>>().join(","))
    }
}
