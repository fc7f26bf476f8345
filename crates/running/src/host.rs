//! An array at hand, with what is told of it: what a command does to an array that nobody else
//! runs, and what a running array's process does for its clients.

use std::time::{Duration, Instant};

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, BackgroundDocument, SimulatedDocument, StateDocument, WorkDocument};
use shoal_inventory::{Environment, Held, Opened};
use shoal_volume::{
    ArrayVolume, Background, Completion, Health, HostMemory, JobProgress, MemberState, OpenOptions, ScrubMode, Volume,
};

use crate::bulletin::Bulletin;
use crate::engine::{Engine, EngineError};
use crate::handle::{ExecuteError, Handle, SpeedError};
use crate::opening::ClaimError;
use crate::order::{HostOrder, prepare};
use crate::outage::{Resumable, Terms};
use crate::world::HostWorld;

/// An array that this process runs, with the news of it, its background work and its findings.
pub struct Host {
    pub(super) environment: Environment,
    pub(super) array: Box<dyn Engine>,
    /// Simulated drives, as they were named.
    pub(super) simulated: Option<String>,
    pub(super) bulletin: Bulletin,
    pub(super) background: Background,
    /// When it was looked for slow members.
    suspected_at: Instant,
    /// The array, where its engine does not hold it itself.
    #[expect(dead_code, reason = "dropping it is its use")]
    held: Option<Held>,
}

/// How often it is looked for slow members.
const SUSPICION_DISTANCE: Duration = Duration::from_secs(1);

impl Host {
    /// Runs the array that the drives are members of, with what this host remembers of it. On
    /// `terms` it outlives an outage of its drives.
    pub(crate) fn open(
        environment: &Environment,
        opened: Opened,
        options: &OpenOptions,
        memory: Option<HostMemory>,
        terms: Option<Terms>,
    ) -> Result<Self, ClaimError> {
        let world = HostWorld::Real(Box::new(opened.world));
        let mut array = ArrayVolume::open_remembered(world, opened.plan, &opened.drives, options, memory)?;
        environment.tell_all(&array.take_remarks());
        match terms.filter(|_| array.status().health != Health::Failed) {
            Some(terms) => Ok(Self::of(environment, Resumable::new(array, terms)?, options.background)),
            None => Ok(Self::of(environment, array, options.background)),
        }
    }

    /// Takes an array that runs, at these rates of background work.
    pub fn of(environment: &Environment, array: impl Engine + 'static, background: Background) -> Self {
        let mut bulletin = Bulletin::default();
        bulletin.see(&array.status());
        array.remember(environment);
        let environment = environment.clone();
        Self {
            environment,
            array: Box::new(array),
            simulated: None,
            bulletin,
            background,
            suspected_at: Instant::now(),
            held: None,
        }
    }

    /// The same, which keeps other processes of this host from the array.
    pub(crate) fn holding(self, held: Held) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Takes an array of simulated drives, so named.
    pub(crate) fn of_simulated(
        environment: &Environment,
        array: ArrayVolume<HostWorld>,
        background: Background,
        drives: &str,
    ) -> Self {
        Self { simulated: Some(drives.to_owned()), ..Self::of(environment, array, background) }
    }

    /// Does what was ordered. The drives that came along belong to the array afterwards, or are
    /// closed.
    pub(super) fn carry_out(&mut self, order: HostOrder) -> Result<StateDocument, ExecuteError> {
        match order {
            HostOrder::Show => {}
            HostOrder::Consider { newcomer } => self.array.refuse_active(&newcomer)?,
            HostOrder::Fail { member } => self.array.fail(&member)?,
            HostOrder::Add { path, opened } => self.array.add(&path, opened)?,
            HostOrder::Remove { drive } => self.array.remove(&drive)?,
            HostOrder::Replace { member, spare, opened } => self.array.replace(&member, &spare, opened)?,
            HostOrder::ReAdd { path, opened } => self.array.re_add(&path, opened)?,
            HostOrder::Grow { growth, added } => self.array.grow(&growth, added)?,
            HostOrder::Rename { name, homehost } => {
                self.array.rename(&name, homehost.as_deref())?;
                // Members are known by the array's name.
                self.bulletin.see(&self.array.status());
            }
            HostOrder::Scrub(mode) => {
                self.array.scrub(mode)?;
                self.bulletin.start_scrub(self.array.status().name, mode == ScrubMode::Repair);
            }
            HostOrder::StopScrub => self.array.stop_scrub()?,
            HostOrder::Speed { min_bytes_per_s, max_bytes_per_s } => {
                self.set_speed(min_bytes_per_s, max_bytes_per_s)?
            }
        }
        Ok(self.state())
    }

    fn set_speed(&mut self, min_bytes_per_s: Option<u64>, max_bytes_per_s: Option<u64>) -> Result<(), ExecuteError> {
        let rate_min_bytes_per_s = min_bytes_per_s.unwrap_or(self.background.rate_min_bytes_per_s);
        let rate_max_bytes_per_s = max_bytes_per_s.unwrap_or(self.background.rate_max_bytes_per_s);
        self.background = checked_speed(Background { rate_min_bytes_per_s, rate_max_bytes_per_s, ..self.background })?;
        Ok(self.array.set_background(self.background)?)
    }

    /// What the array is, how it is, and what goes on.
    pub fn state(&mut self) -> StateDocument {
        self.look();
        let status = self.array.status();
        let progress = self.array.progress();
        let rebuilding = |member: &shoal_volume::MemberStatus| matches!(member.state, MemberState::Rebuilding { .. });
        let work = match self.bulletin.scrubs() {
            _ if self.array.is_reshaping() => WorkDocument::Reshape,
            true => WorkDocument::Scrub,
            false if status.needs_resync => WorkDocument::Resync,
            false if status.members.iter().any(rebuilding) => WorkDocument::Rebuild,
            false if status.members.iter().any(|member| member.replacement.is_some()) => WorkDocument::Replacement,
            false => WorkDocument::Rebuild,
        };
        let bytes_per_s = self.bulletin.rate(progress);
        let background = progress.map(|JobProgress { done_bytes, total_bytes }| BackgroundDocument {
            work,
            done_bytes,
            total_bytes,
            bytes_per_s,
        });
        let scrub = self.bulletin.findings().cloned();
        let simulated = self.simulated.clone().map(|drives| SimulatedDocument { drives, resync_ns: None });
        StateDocument {
            array: ArrayDocument::from(&status),
            engine: self.array.describe(),
            background,
            scrub,
            running: None,
            held_by: None,
            paused: self.array.pause(),
            attached: None,
            simulated,
        }
    }

    /// Takes in what happened since the last look.
    pub(super) fn look(&mut self) {
        let news = self.array.take_news();
        if !news.is_empty() {
            self.array.remember(&self.environment);
            self.bulletin.take_in(&news, &self.array.status());
        }
        if self.suspected_at.elapsed() >= SUSPICION_DISTANCE {
            self.bulletin.see_suspects(&self.array.status());
            self.suspected_at = Instant::now();
        }
        for remark in self.array.take_remarks() {
            self.bulletin.tell(self.array.status().name, remark);
        }
        if !self.array.is_scrubbing() {
            self.bulletin.end_scrub();
        }
    }

    /// Lets everything go on; see [`shoal_volume::LiveVolume::turn`].
    pub(super) fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        Ok(self.array.turn(patience, completions)?)
    }
}

impl Host {
    /// Brings the array to rest: what was written is durable. Nothing but its state is asked
    /// afterwards.
    pub(super) fn rest(&mut self) -> Result<(), EngineError> {
        self.array.rest()?;
        self.array.remember(&self.environment);
        Ok(())
    }
}

impl Handle for Host {
    fn execute(&mut self, command: Command) -> Result<StateDocument, ExecuteError> {
        let environment = self.environment.clone();
        let order = prepare(&environment, command, &mut |order| self.carry_out(order))?;
        self.carry_out(order)
    }

    fn wait(&mut self, patience: Duration) -> Result<StateDocument, ExecuteError> {
        self.array.run_background(patience)?;
        Ok(self.state())
    }

    fn content(&mut self) -> &mut dyn Volume {
        self.array.as_mut()
    }

    fn finish(&mut self) -> Result<StateDocument, ExecuteError> {
        self.rest()?;
        self.environment.tell_all(&self.array.take_remarks());
        Ok(self.state())
    }

    fn goes_on_by_itself(&self) -> bool {
        false
    }
}

/// Rates that background work can keep to.
fn checked_speed(background: Background) -> Result<Background, SpeedError> {
    let Background { rate_min_bytes_per_s: min, rate_max_bytes_per_s: max, .. } = background;
    if max == 0 {
        return Err(SpeedError::Never);
    }
    if min > max {
        return Err(SpeedError::Crossed { min_bytes_per_s: min, max_bytes_per_s: max });
    }
    Ok(background)
}
