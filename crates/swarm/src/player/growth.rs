//! The array grows: the owner closes it, gives it more members, another chunk or another layout,
//! and opens it again.
//!
//! Power may be cut meanwhile, and the owner may stop it: whoever opens the array then goes on with
//! it first, as `shoal grow --continue` does, without members that are not there if parity stands
//! for them. A member may fail in the midst of it, and has to be left behind.

use shoal_sim::Content;
use shoal_volume::{
    Absent, ArrayLevel, ConsistencyPolicy, DriveId, Features, GrowError, GrowOptions, GrowRefusal, Grown, Level,
    Superblock, Volume, continue_reshape, grow,
};

use super::Player;
use super::power::{has_all, superblock};
use super::requests::BLOCK;
use super::worlds::world;
use crate::checkers::Failure;
use crate::limits::GROWTH_TRIES_MAX;
use crate::scenario::Growth;
use crate::watched::Watched;

const CHECKER: &str = "grows";

impl Player<'_> {
    /// Closes the array in order, lets it grow, and opens it.
    pub(super) fn grow(&mut self, growth: Growth) -> Result<(), Failure> {
        if !self.can_grow() {
            return Ok(());
        }
        let Some(mut contents) = self.close_whole()? else { return Ok(()) };
        let members = self.carriers(&contents);
        let is_free = |drive: &usize| !members.contains(drive) && !contents[*drive].is_gone();
        let newcomers: Vec<_> = (0..contents.len()).filter(is_free).take(growth.more).collect();
        self.growing = self.stock.drives().into_iter().chain(newcomers.iter().copied()).collect();
        if self.stock.weak_seats().is_empty() {
            self.make_trouble(growth.trouble, &mut contents);
        }
        growth.cuts_after.into_iter().flatten().for_each(|events| self.cut_later(events));
        let options = GrowOptions {
            raid_devices: Some(self.members + newcomers.len()),
            chunk_bytes: growth.chunk_bytes.filter(|_| self.has_parity()),
            layout: growth.layout.filter(|_| self.has_layouts()),
            bitmap: None,
        };
        self.counts.grown += 1;
        let mut windows_left = growth.windows.unwrap_or(u32::MAX);
        let ids = |drives: &[usize]| drives.iter().map(|drive| DriveId(*drive as u32)).collect::<Vec<_>>();
        let (grown, contents) = self.in_world(contents, |world| {
            grow(world, &ids(&members), &ids(&newcomers), &options, &mut |_: u64, _: u64| {
                windows_left = windows_left.saturating_sub(1);
                windows_left > 0
            })
        })?;
        self.note(format_args!("drives {members:?} grow by {newcomers:?}, {options:?}: {grown:?}"));
        self.boot(contents)
    }

    fn can_grow(&self) -> bool {
        let level = match self.scenario.level {
            ArrayLevel::Plain(level) => level,
            ArrayLevel::Nested { .. } => return false,
        };
        let grows = self.has_parity() || matches!(level, Level::Linear | Level::Raid1);
        let is_resynced = self.scenario.consistency == ConsistencyPolicy::Resync;
        grows && is_resynced && !self.silent.is_any() && self.armed.is_empty() && self.journal.drive.is_none()
    }

    fn has_layouts(&self) -> bool {
        matches!(self.scenario.level, ArrayLevel::Plain(Level::Raid5(_) | Level::Raid6(_)))
    }

    /// Does something with the drives while no array runs: what came of it, and what they hold
    /// then.
    fn in_world<T>(
        &mut self,
        contents: Vec<Content>,
        what: impl FnOnce(&mut Watched) -> T,
    ) -> Result<(T, Vec<Content>), Failure> {
        self.boots += 1;
        let mut world = world(self.scenario, contents, &self.arena, self.boots, &self.chronicle)?;
        (0..self.scenario.drives() as u32).map(DriveId).for_each(|drive| world.placement.give(drive));
        let done = what(&mut world);
        if self.is_dark() {
            return Err(Failure::new(CHECKER, "power was cut"));
        }
        world.placement.verdict()?;
        Ok((done, world.into_inner().contents()))
    }

    /// Goes on with a growth that was cut short or stopped, without members that are not there.
    pub(super) fn go_on_growing(&mut self, contents: Vec<Content>) -> Result<Vec<Content>, Failure> {
        if self.growing.is_empty() {
            return Ok(contents);
        }
        let mut contents = contents;
        for _ in 0..GROWTH_TRIES_MAX {
            let all = self.carriers(&contents);
            let is_under_way = |drive: &usize| superblock(&contents[*drive]).is_some_and(|own| is_reshaping(&own));
            if !all.iter().any(is_under_way) {
                break;
            }
            let members: Vec<_> = all.iter().map(|drive| DriveId(*drive as u32)).collect();
            let go_on =
                |world: &mut Watched| continue_reshape(world, &members, Absent::LeftBehind, &mut |_: u64, _: u64| true);
            let (grown, after) = self.in_world(contents, go_on)?;
            contents = after;
            self.note(format_args!("drives {all:?} go on growing: {grown:?}"));
            self.counts.grown_on += 1;
            match grown {
                Ok(Grown::Done | Grown::ToBeFilled) | Err(GrowError::Refused { why: GrowRefusal::NoReshape, .. }) => {
                    break;
                }
                Ok(Grown::Stopped { .. }) | Err(GrowError::Drive { .. }) => {}
                Err(error) => return Err(Failure::new(CHECKER, format!("it does not go on growing: {error}"))),
            }
        }
        // Whoever lets an array grow has the host remember it, whatever came of it.
        self.remember_found(&contents);
        Ok(contents)
    }

    /// The array is open, in the shape that it has by now.
    pub(super) fn adopt_shape(&mut self) {
        if std::mem::take(&mut self.growing).is_empty() {
            return;
        }
        let (members, blocks) = (self.array().status().members.len(), (self.array().size_bytes() / BLOCK) as usize);
        self.members = members;
        // What a linear array gains is what lay there.
        self.promises.extend(blocks, self.has_parity());
        self.seats = self.array().content_map().by_role();
    }

    /// Whether a drive that takes part in a growth that was cut short may be missed now.
    pub(super) fn may_miss_growing(&self, drive: usize, contents: &[Content]) -> bool {
        let own: Vec<_> = self.growing.iter().map(|drive| superblock(&contents[*drive])).collect();
        let events = own.iter().flatten().map(|own| own.events).max();
        let is_sound = |own: &Option<Superblock>| {
            let is_fresh = |own: &Superblock| Some(own.events) == events && has_all(own);
            own.as_ref().is_some_and(|own| is_reshaping(own) && is_fresh(own))
        };
        let weak = self.stock.weak_seats();
        let seat = self.stock.seat_of(drive);
        own.iter().all(is_sound) && weak.iter().all(|other| Some(*other) == seat)
    }
}

fn is_reshaping(own: &Superblock) -> bool {
    own.features.any_of(Features::RESHAPE_ACTIVE)
}
