//! An array at hand, with what is told of it: what a command does to an array that nobody else runs, and what a running
//! array's process does for its clients.

use std::path::Path;
use std::time::Duration;

use shoal_drive::Drive;
use shoal_volume::{
    ArrayVolume, Background, Completion, DriveId, LiveVolume, ManageError, MemberState, OpenOptions, Progress,
    ScrubMode, Volume,
};

use super::bulletin::Bulletin;
use super::handle::Handle;
use super::order::{Order, prepare};
use super::protocol::Command;
use super::world::HostWorld;
use crate::documents::{BackgroundDocument, SimulatedDocument, StateDocument, array_document};
use crate::drives::{Opened, array_failure};
use crate::exit::Failure;

/// See the module's documentation.
pub(crate) struct Host {
    pub(super) array: ArrayVolume<HostWorld>,
    /// Simulated drives, as they were named.
    pub(super) simulated: Option<String>,
    pub(super) bulletin: Bulletin,
    pub(super) background: Background,
}

impl Host {
    /// Runs the array that the drives are members of.
    pub(crate) fn open(opened: Opened, options: &OpenOptions) -> Result<Self, Failure> {
        let world = HostWorld::Real(Box::new(opened.world));
        let array = ArrayVolume::open(world, opened.plan, &opened.drives, options).map_err(array_failure)?;
        Ok(Self::of(array, options.background))
    }

    /// Takes an array that runs, at these rates of background work.
    pub(crate) fn of(array: ArrayVolume<HostWorld>, background: Background) -> Self {
        let mut bulletin = Bulletin::default();
        bulletin.see(&array.status());
        Self { array, simulated: None, bulletin, background }
    }

    /// Takes an array of simulated drives, so named.
    pub(crate) fn of_simulated(array: ArrayVolume<HostWorld>, background: Background, drives: &str) -> Self {
        Self { simulated: Some(drives.to_owned()), ..Self::of(array, background) }
    }

    /// Does what was ordered. The drives that came along belong to the array afterwards, or are closed.
    pub(super) fn carry_out(&mut self, order: Order) -> Result<StateDocument, Failure> {
        match order {
            Order::Show => {}
            Order::Fail { member } => {
                let member = self.find(&member)?;
                self.array.fail_drive(member).map_err(manage_failure)?;
            }
            Order::Add { path, opened } => self.take_in(&path, opened)?,
            Order::Remove { drive } => {
                let drive = self.find(&drive)?;
                self.array.remove_drive(drive).map_err(manage_failure)?;
                self.array.world_mut().remove_drive(drive);
            }
            Order::Replace { member, spare, opened } => {
                let member = self.find(&member)?;
                match opened {
                    Some(drive) => self.bring_in(drive, |array, drive| array.replace_drive(member, drive))?,
                    None => {
                        let spare = self.find(&spare)?;
                        self.array.replace_drive(member, spare).map_err(manage_failure)?;
                    }
                }
            }
            Order::ReAdd { path, opened } => self.take_back(&path, opened)?,
            Order::Scrub(mode) => {
                self.array.scrub(mode).map_err(scrub_failure)?;
                self.bulletin.start_scrub(mode == ScrubMode::Repair);
            }
            Order::StopScrub => {
                self.array.stop_scrub();
                // It ends when what it has begun is done.
                self.turn(Duration::ZERO, &mut Vec::new()).map_err(Failure::failed)?;
            }
            Order::Speed { min_bytes_per_s, max_bytes_per_s } => self.set_speed(min_bytes_per_s, max_bytes_per_s)?,
        }
        Ok(self.state())
    }

    /// The drive of the array that a path leads to, or led to when it was opened.
    fn find(&self, path: &Path) -> Result<DriveId, Failure> {
        let found = self.array.world().find(path);
        found.ok_or_else(|| manage_failure(ManageError::NotAMember { drive: path.display().to_string() }))
    }

    /// Takes a drive in and has the array do something with it; closes it if the array does not want it.
    fn bring_in(
        &mut self,
        drive: Drive,
        take: impl FnOnce(&mut ArrayVolume<HostWorld>, DriveId) -> Result<(), ManageError>,
    ) -> Result<(), Failure> {
        let id = self.array.world_mut().add_drive(drive)?;
        take(&mut self.array, id).map_err(|error| {
            // It may have become a spare before the rest went wrong.
            if matches!(self.array.remove_drive(id), Ok(()) | Err(ManageError::NotAMember { .. })) {
                self.array.world_mut().remove_drive(id);
            }
            manage_failure(error)
        })
    }

    /// Takes a drive in as a new one. Simulated ones are here already.
    fn take_in(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        match (opened, self.find(path)) {
            (Ok(drive), _) => self.bring_in(drive, ArrayVolume::add_drive),
            (Err(_), Ok(own)) if self.array.world().is_simulated() => self.array.add_drive(own).map_err(manage_failure),
            (Err(failure), _) => Err(failure),
        }
    }

    /// Takes a drive back: as it was opened anew, or, where that cannot be because it has been here all the time, as it is.
    fn take_back(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        match (opened, self.find(path)) {
            (Ok(drive), _) => self.bring_in(drive, ArrayVolume::re_add_drive),
            (Err(_), Ok(own)) => self.array.re_add_drive(own).map_err(manage_failure),
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    fn set_speed(&mut self, min_bytes_per_s: Option<u64>, max_bytes_per_s: Option<u64>) -> Result<(), Failure> {
        let rate_min_bytes_per_s = min_bytes_per_s.unwrap_or(self.background.rate_min_bytes_per_s);
        let rate_max_bytes_per_s = max_bytes_per_s.unwrap_or(self.background.rate_max_bytes_per_s);
        self.background = checked_speed(Background { rate_min_bytes_per_s, rate_max_bytes_per_s, ..self.background })?;
        self.array.set_background(self.background);
        Ok(())
    }

    /// What the array is, how it is, and what goes on.
    pub(crate) fn state(&mut self) -> StateDocument {
        self.look();
        let status = self.array.status();
        let progress = self.array.progress();
        let rebuilding = |member: &shoal_volume::MemberStatus| matches!(member.state, MemberState::Rebuilding { .. });
        let work = match self.bulletin.scrubs() {
            true => "scrub",
            false if status.needs_resync => "resync",
            false if status.members.iter().any(rebuilding) => "rebuild",
            false if status.members.iter().any(|member| member.replacement.is_some()) => "replacement",
            false => "rebuild",
        };
        let bytes_per_s = self.bulletin.rate(progress);
        let background = progress.map(|Progress { done_bytes, total_bytes }| BackgroundDocument {
            work: work.to_owned(),
            done_bytes,
            total_bytes,
            bytes_per_s,
        });
        let scrub = self.bulletin.findings().cloned();
        let simulated = self.simulated.clone().map(|drives| SimulatedDocument { drives, resync_ns: None });
        StateDocument { array: array_document(&status), background, scrub, running: None, simulated }
    }

    /// Takes in what happened since the last look.
    pub(super) fn look(&mut self) {
        let news = self.array.take_news();
        if !news.is_empty() {
            // Who has failed is not seen any more, and named as last seen.
            self.bulletin.see(&self.array.status());
        }
        news.iter().for_each(|news| self.bulletin.take_in(news));
        if self.array.progress().is_none() {
            self.bulletin.end_scrub();
        }
    }

    /// Lets everything go on; see [`ArrayVolume::turn`].
    pub(super) fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), Failure> {
        self.array.turn(patience, completions).map_err(Failure::failed)
    }
}

impl Handle for Host {
    fn execute(&mut self, command: Command) -> Result<StateDocument, Failure> {
        let order = prepare(command, &mut |order| self.carry_out(order))?;
        self.carry_out(order)
    }

    fn wait(&mut self, patience: Duration) -> Result<StateDocument, Failure> {
        self.array.run_background(patience).map_err(Failure::failed)?;
        Ok(self.state())
    }

    fn content(&mut self) -> &mut dyn Volume {
        &mut self.array
    }

    fn finish(&mut self) -> Result<StateDocument, Failure> {
        self.array.rest().map_err(Failure::failed)?;
        Ok(self.state())
    }

    fn goes_on_by_itself(&self) -> bool {
        false
    }
}

/// Rates that background work can keep to.
pub(crate) fn checked_speed(background: Background) -> Result<Background, Failure> {
    let Background { rate_min_bytes_per_s: min, rate_max_bytes_per_s: max, .. } = background;
    if max == 0 {
        return Err(Failure::usage("a speed of at most 0 would never end: choose a larger one"));
    }
    if min > max {
        return Err(Failure::Usage(format!("the least speed, {min} bytes/s, is above the greatest, {max} bytes/s")));
    }
    Ok(background)
}

/// Who is at fault when an array does not take a command.
fn manage_failure(error: ManageError) -> Failure {
    match error {
        ManageError::NotAMember { .. }
        | ManageError::InUse { .. }
        | ManageError::NoFormerMember { .. }
        | ManageError::Add(_) => Failure::usage(error),
        ManageError::Refused { .. } | ManageError::ReAdd(_) => Failure::Refused(error.to_string()),
        ManageError::NoRoom { .. } | ManageError::Superblock(_) | ManageError::Volume(_) => Failure::failed(error),
    }
}

/// Asking for what the array cannot do endangers nothing.
fn scrub_failure(error: ManageError) -> Failure {
    match error {
        ManageError::Refused { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}
