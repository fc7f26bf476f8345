//! Drives that answer nothing any more: which, and which will.

use std::collections::{BTreeMap, BTreeSet};

use shoal_sim::Content;
use shoal_volume::Features;

use super::Player;
use super::power::superblock;

/// Drives that hang, by their number in the scenario.
#[derive(Clone, Debug, Default)]
pub(super) struct Hangs {
    /// Now, or at some time of this life.
    pub(super) now: BTreeSet<usize>,
    /// In this life, after so many I/Os since it began.
    pub(super) to_come: BTreeMap<usize, u32>,
    /// In the next life, after so many I/Os.
    pub(super) at_start: BTreeMap<usize, u32>,
}

impl Hangs {
    /// A life is over.
    pub(super) fn end_life(&mut self) {
        self.now.clear();
        self.to_come.clear();
    }

    /// Whether a drive answers nothing from the first I/O on.
    pub(super) fn is_mute(&self, drive: usize) -> bool {
        self.to_come.get(&drive) == Some(&0)
    }
}

impl Player<'_> {
    /// A drive hangs, if the array can do without it.
    pub(super) fn hang(&mut self, drive: usize) -> bool {
        if self.ids[drive].is_none() || self.hangs.now.contains(&drive) || !self.can_spare(drive) {
            return false;
        }
        self.array_mut().world_mut().inner_mut().simulation_mut().hang(drive);
        self.hangs.now.insert(drive);
        self.counts.hung += 1;
        true
    }

    /// A life begins: decides which of the drives that are there will answer nothing in it, and
    /// after how many I/Os.
    pub(super) fn let_drives_hang(&mut self, contents: &[Content]) {
        for (drive, after_ios) in std::mem::take(&mut self.hangs.at_start) {
            // One that is copied to may be the member by then: what is weak now counts against
            // that, too.
            let is_weak = !self.stock.weak.is_empty() || contents.iter().any(|it| !it.unreadable_sectors().is_empty());
            let may_stay = self.may_stay_away(drive, contents) && !(is_weak && is_replacement(&contents[drive]));
            if contents[drive].is_gone() || !may_stay {
                self.counts.passed_over += 1;
                continue;
            }
            self.counts.hung += 1;
            self.counts.hung_at_start += 1;
            self.stock.weaken(drive);
            self.hangs.to_come.insert(drive, after_ios);
            self.hangs.now.insert(drive);
        }
    }
}

/// Whether a drive is being made the replacement of a member.
fn is_replacement(content: &Content) -> bool {
    superblock(content).is_some_and(|own| own.features.any_of(Features::REPLACEMENT))
}
