//! An array at hand, with what is told of it: what a command does to an array that nobody else runs, and what a running
//! array's process does for its clients.

use std::time::{Duration, Instant};

use shoal_volume::{
    ArrayVolume, Background, Completion, Health, HostMemory, MemberState, OpenOptions, Progress, ScrubMode, Volume,
};

use super::bulletin::Bulletin;
use super::engine::Engine;
use super::handle::Handle;
use super::order::{Order, prepare};
use super::outage::{Resumable, Terms};
use super::protocol::Command;
use super::world::HostWorld;
use crate::documents::{BackgroundDocument, SimulatedDocument, StateDocument, array_document};
use crate::drives::{Opened, array_failure};
use crate::exit::Failure;
use crate::memory::tell;

/// An array that this process runs, with the news of it, its background work and its findings.
pub(crate) struct Host {
    pub(super) array: Box<dyn Engine>,
    /// Simulated drives, as they were named.
    pub(super) simulated: Option<String>,
    pub(super) bulletin: Bulletin,
    pub(super) background: Background,
    /// When it was looked for slow members.
    suspected_at: Instant,
}

/// How often it is looked for slow members.
const SUSPICION_DISTANCE: Duration = Duration::from_secs(1);

impl Host {
    /// Runs the array that the drives are members of, with what this host remembers of it. On `terms` it outlives an outage
    /// of its drives.
    pub(crate) fn open(
        opened: Opened,
        options: &OpenOptions,
        memory: Option<HostMemory>,
        terms: Option<Terms>,
    ) -> Result<Self, Failure> {
        let world = HostWorld::Real(Box::new(opened.world));
        let array = ArrayVolume::open_remembered(world, opened.plan, &opened.drives, options, memory);
        let mut array = array.map_err(array_failure)?;
        tell(&array.take_remarks());
        match terms.filter(|_| array.status().health != Health::Failed) {
            Some(terms) => Ok(Self::of(Resumable::new(array, terms)?, options.background)),
            None => Ok(Self::of(array, options.background)),
        }
    }

    /// Takes an array that runs, at these rates of background work.
    pub(crate) fn of(array: impl Engine + 'static, background: Background) -> Self {
        let mut bulletin = Bulletin::default();
        bulletin.see(&array.status());
        array.remember();
        Self { array: Box::new(array), simulated: None, bulletin, background, suspected_at: Instant::now() }
    }

    /// Takes an array of simulated drives, so named.
    pub(crate) fn of_simulated(array: ArrayVolume<HostWorld>, background: Background, drives: &str) -> Self {
        Self { simulated: Some(drives.to_owned()), ..Self::of(array, background) }
    }

    /// Does what was ordered. The drives that came along belong to the array afterwards, or are closed.
    pub(super) fn carry_out(&mut self, order: Order) -> Result<StateDocument, Failure> {
        match order {
            Order::Show => {}
            Order::Consider { newcomer } => self.array.refuse_active(&newcomer)?,
            Order::Fail { member } => self.array.fail(&member)?,
            Order::Add { path, opened } => self.array.add(&path, opened)?,
            Order::Remove { drive } => self.array.remove(&drive)?,
            Order::Replace { member, spare, opened } => self.array.replace(&member, &spare, opened)?,
            Order::ReAdd { path, opened } => self.array.re_add(&path, opened)?,
            Order::Grow { growth, added } => self.array.grow(&growth, added)?,
            Order::Scrub(mode) => {
                self.array.scrub(mode)?;
                self.bulletin.start_scrub(self.array.status().name, mode == ScrubMode::Repair);
            }
            Order::StopScrub => self.array.stop_scrub()?,
            Order::Speed { min_bytes_per_s, max_bytes_per_s } => self.set_speed(min_bytes_per_s, max_bytes_per_s)?,
        }
        Ok(self.state())
    }

    fn set_speed(&mut self, min_bytes_per_s: Option<u64>, max_bytes_per_s: Option<u64>) -> Result<(), Failure> {
        let rate_min_bytes_per_s = min_bytes_per_s.unwrap_or(self.background.rate_min_bytes_per_s);
        let rate_max_bytes_per_s = max_bytes_per_s.unwrap_or(self.background.rate_max_bytes_per_s);
        self.background = checked_speed(Background { rate_min_bytes_per_s, rate_max_bytes_per_s, ..self.background })?;
        self.array.set_background(self.background)
    }

    /// What the array is, how it is, and what goes on.
    pub(crate) fn state(&mut self) -> StateDocument {
        self.look();
        let status = self.array.status();
        let progress = self.array.progress();
        let rebuilding = |member: &shoal_volume::MemberStatus| matches!(member.state, MemberState::Rebuilding { .. });
        let work = match self.bulletin.scrubs() {
            _ if self.array.is_reshaping() => "reshape",
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
        StateDocument {
            array: array_document(&status),
            engine: self.array.describe(),
            background,
            scrub,
            running: None,
            paused: self.array.pause(),
            attached: None,
            simulated,
        }
    }

    /// Takes in what happened since the last look.
    pub(super) fn look(&mut self) {
        let news = self.array.take_news();
        if !news.is_empty() {
            self.array.remember();
            // Who has failed is not seen any more, and named as last seen.
            self.bulletin.see(&self.array.status());
        }
        news.iter().for_each(|news| self.bulletin.take_in(news));
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
        self.array.run_background(patience)?;
        Ok(self.state())
    }

    fn content(&mut self) -> &mut dyn Volume {
        self.array.as_mut()
    }

    fn finish(&mut self) -> Result<StateDocument, Failure> {
        self.array.rest()?;
        tell(&self.array.take_remarks());
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
