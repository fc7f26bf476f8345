//! The engine: one owner of all state, one event at a time.
//!
//! How a request travels:
//!
//! ```text
//!  submit ► requests ► order ► direct ──────────────────────────► effects ► driver
//!           (checks)   (who     │ │ (pieces that are one member's,  (I/O, computations,
//!                      overlaps │ │  or every mirror's)              records)
//!                      waits)   │ └─ a read failed ─┐                   │
//!                               ▼                   ▼                   ▼
//!                            slices ──────────────► op ◄─────── handle_outcome
//!                            (parity stripes:       (reads, computes, writes as
//!                             lock, queue, gather)   planned by plan/)
//!                               ▲                   ▲
//!                               └── jobs (rebuild, scrub) ◄ pace
//! ```
//!
//! Two levels of locking keep content right. *Requests that overlap* run in the order of submission
//! ([`order`]). *Slices of stripes* ([`slices`]) are held by one operation at a time, as parity
//! ties its blocks together. Levels without parity need no slices: what the background does to a
//! mirror takes its turn among the requests.
//!
//! [`member`] has the members' states, their one table of changes, and all that is derived from
//! them. [`record`] holds answers back until failed members are recorded, and with a partial parity
//! log the writes of stripes too. [`races`] lets the others answer for a member that takes long to
//! be read. [`scratch`] deals out buffers so that nobody waits for ever, and [`streams`] lets
//! sequential writers fill their stripes.

mod bad_blocks;
mod config;
mod direct;
mod effects;
mod event;
mod guide;
mod jobs;
mod member;
mod op;
mod order;
mod pace;
mod plan;
mod profile;
mod races;
mod record;
mod regions;
mod requests;
mod resync;
mod scratch;
mod slab;
mod slices;
mod streams;
#[cfg(test)]
mod tests;
mod unflushed;

use alloc::{collections::VecDeque, vec::Vec};

use crate::{Effect, EffectId, Geometry, Instant, Outcome, Request, Role, ShapeError};
pub use bad_blocks::{BadBlocks, BadBlocksFull};
pub use config::{Background, Config, Health, LogRoom, MemberState, Scratch};
pub use event::{Blame, CommandError, Event, JobProgress, Matter, Mismatch, ScrubMode};
pub use regions::Regions;
pub use resync::Resync;

use effects::Effects;
use jobs::Jobs;
use member::{Members, Protection};
use op::Op;
use order::Tickets;
use pace::Pace;
use profile::Profile;
use races::Race;
use record::Records;
use requests::Active;
use scratch::Pool;
use slab::{Key, Slab};
use slices::Slices;
use streams::Streams;
use unflushed::Unflushed;

/// Who waits for a turn in the order.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Request(Key<Active>),
    /// A background step on a mirror.
    Step(Key<Op>),
}

/// An array that runs.
///
/// Methods come in four kinds:
/// * getters: [`Array::geometry`], [`Array::member_states`], [`Array::health`],
///   [`Array::progress`], [`Array::is_idle`];
/// * commands: [`Array::submit`], [`Array::fail_member`], [`Array::rebuild_member`],
///   [`Array::scrub`], ...;
/// * inputs: [`Array::handle_outcome`], [`Array::handle_timeout`];
/// * outputs: [`Array::poll_effect`], [`Array::poll_event`], [`Array::poll_timeout`].
///
/// After every command or input the driver polls effects until there are none, then events until
/// there are none, then the timeout. Several requests may be submitted in one go before that: small
/// writes to one stripe are then done as one. Times must not go back.
#[derive(Debug)]
pub struct Array {
    geometry: Geometry,
    profile: Profile,
    members: Members,
    requests: Slab<Active>,
    order: Tickets<Owner>,
    /// Those whose turn in the order has come.
    runnable: VecDeque<Owner>,
    slices: Slices,
    streams: Streams,
    ops: Slab<Op>,
    races: Slab<Race>,
    pool: Pool,
    records: Records,
    unflushed: Unflushed,
    /// By role; of missing members nothing is known.
    bad_blocks: Vec<BadBlocks>,
    jobs: Jobs,
    pace: Pace,
    effects: Effects,
    events: VecDeque<Event>,
    /// The latest time heard.
    now: Instant,
}

impl Array {
    /// Makes the engine for an array whose members are in the given states.
    ///
    /// # Panics
    /// If there is not one state for each member, or fewer or smaller buffers than [`Scratch`] asks
    /// for, or regions of another array: bugs in the driver.
    pub fn new(config: Config) -> Result<Self, ShapeError> {
        let geometry = Geometry::new(config.shape.clone())?;
        let member_count = geometry.shape().member_bytes.len();
        config.assert_sound(member_count);
        let profile = Profile::new(&geometry, &config);
        let mut members = Members::new(&geometry, config.members);
        let mut unflushed = match members.protection() {
            Protection::Mirrors => Unflushed::of_copies(&geometry),
            Protection::None | Protection::Parity => Unflushed::default(),
        };
        for role in config.refused_flush {
            members.may_lose(role);
            unflushed.doubt(role);
        }
        let mut bad_blocks = config.bad_blocks;
        bad_blocks.resize(member_count, BadBlocks::default());
        let mut array = Self {
            geometry,
            profile,
            members,
            requests: Slab::new(),
            order: Tickets::new(),
            runnable: VecDeque::new(),
            slices: Slices::default(),
            streams: Streams::default(),
            ops: Slab::new(),
            races: Slab::new(),
            pool: Pool::new(config.scratch),
            records: Records::default(),
            unflushed,
            bad_blocks,
            jobs: Jobs::default(),
            pace: Pace::new(config.background),
            effects: Effects::new(),
            events: VecDeque::new(),
            now: Instant::default(),
        };
        array.list_jobs(config.resync);
        Ok(array)
    }

    /// Where everything lives.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The members' states in role order.
    pub fn member_states(&self) -> &[MemberState] {
        self.members.states()
    }

    /// Health, derived from the member states.
    pub fn health(&self) -> Health {
        self.members.health()
    }

    /// What is known of this member's bad blocks; none for a missing member.
    pub fn bad_blocks(&self, role: Role) -> &BadBlocks {
        &self.bad_blocks[role.index()]
    }

    /// Everything below is in sync, in sync bytes; `None`: everything is.
    pub fn resync_position(&self) -> Option<u64> {
        self.members.resync().map(|resync| resync.position)
    }

    /// Whether a resync is due of some regions only: the others are in sync, wherever it stands.
    pub fn is_resync_partial(&self) -> bool {
        self.members.resync().is_some_and(|resync| resync.only.is_some())
    }

    /// Progress of the resync, rebuild or scrub under way.
    pub fn progress(&self) -> Option<JobProgress> {
        self.job_progress()
    }

    /// Nothing is in flight: no request, no effect, no background work.
    pub fn is_idle(&self) -> bool {
        self.requests.len() == 0 && self.effects.in_flight() == 0 && self.ops.len() == 0 && self.jobs_are_idle()
    }

    /// A write or discard is not answered yet.
    pub fn is_changing(&self) -> bool {
        self.requests.values().any(Active::changes_content)
    }

    /// Takes a request in. It is answered by [`Event::Completed`], at once if it is refused.
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.hear(now);
        self.pace.foreground(now);
        self.take_in(request);
        self.settle();
    }

    /// Whether the member has the only copy of some mirrored data that can be relied on: it is not
    /// taken out.
    pub fn is_last_copy(&self, role: Role) -> bool {
        self.members.is_last_copy(role)
    }

    /// Takes a member out: it failed, or it is to be removed. Requests in flight go on without it.
    /// The last member that has some mirrored data is not taken out; a level with parity, or
    /// without redundancy, loses data by the member that is one too many, and is [`Health::Failed`]
    /// then.
    pub fn fail_member(&mut self, now: Instant, role: Role) -> Result<(), CommandError> {
        self.hear(now);
        match self.members.states().get(role.index()) {
            None => return Err(CommandError::NoSuchRole),
            Some(MemberState::Missing) => return Err(CommandError::State(MemberState::Missing)),
            Some(_) if self.members.is_last_copy(role) => return Err(CommandError::NoRedundancy),
            Some(_) => self.take_out(role),
        }
        self.settle();
        Ok(())
    }

    /// Whether a member has failed and no record says so yet.
    pub fn has_unrecorded_failure(&self) -> bool {
        self.records.is_due()
    }

    /// A drive has taken a missing member's place: fill it, from `position` on. What it holds below
    /// must be up to date, and what it holds outside `only` (in sync bytes) as well: then it is a
    /// member that came back. What is being written while it comes is added to `only`. Several
    /// members are rebuilt one after the other. Also starts a rebuild again that had stopped.
    pub fn rebuild_member(
        &mut self,
        now: Instant,
        role: Role,
        position: u64,
        only: Option<Regions>,
    ) -> Result<(), CommandError> {
        self.hear(now);
        self.start_rebuild(role, position, only)?;
        self.settle();
        Ok(())
    }

    /// Makes parity and copies agree where they are not known to: after a crash, or on a new array.
    pub fn resync(&mut self, now: Instant, resync: Resync) -> Result<(), CommandError> {
        self.hear(now);
        self.start_resync(resync)?;
        self.settle();
        Ok(())
    }

    /// Reads everything and compares; see [`ScrubMode`] for what is done about what it finds.
    pub fn scrub(&mut self, now: Instant, mode: ScrubMode) -> Result<(), CommandError> {
        self.hear(now);
        self.start_scrub(mode)?;
        self.settle();
        Ok(())
    }

    /// Stops a scrub; its [`Event::ScrubFinished`] says `completed: false`.
    pub fn stop_scrub(&mut self, now: Instant) {
        self.hear(now);
        self.end_scrub_early();
        self.settle();
    }

    /// Changes the rate of background work.
    pub fn set_background(&mut self, now: Instant, background: Background) {
        self.hear(now);
        self.pace.set(background);
        self.settle();
    }

    /// An effect has ended.
    ///
    /// # Panics
    /// If no such effect is in flight, or it cannot end like that: bugs in the driver.
    pub fn handle_outcome(&mut self, now: Instant, id: EffectId, outcome: Outcome) {
        self.hear(now);
        self.effect_ended(id, outcome);
        self.settle();
    }

    /// The moment that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.hear(now);
        self.settle();
    }

    /// The next thing to do outside.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        loop {
            if let Some(effect) = self.effects.poll() {
                return Some(effect);
            }
            self.look_at_plugs();
            if !self.slices.has_work() {
                return None;
            }
            self.work_on_slices();
            self.settle();
        }
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`Array::handle_timeout`], if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_step_due().into_iter().chain(self.patience_due()).min()
    }

    fn hear(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time went back from {:?} to {now:?}", self.now);
        self.now = now;
    }

    /// Brings everything to rest that an event has set in motion, short of the slices: these are
    /// looked at when the driver polls, see [`slices`].
    fn settle(&mut self) {
        loop {
            self.serve_scratch();
            self.run_jobs();
            self.release_flushes();
            if self.answer_bad_read() {
                continue;
            }
            let Some(owner) = self.runnable.pop_front() else { break };
            match owner {
                Owner::Request(request) => self.cut_pieces(request),
                Owner::Step(op) => self.begin(op),
            }
        }
        if cfg!(debug_assertions) {
            self.check_invariants();
        }
    }

    /// What holds between events.
    fn check_invariants(&self) {
        let scratch_held = self.ops.values().map(Op::scratch_held).sum();
        assert!(self.pool.adds_up(scratch_held), "buffers are lost: {scratch_held} held");
        let outstanding: usize = self.ops.values().map(Op::outstanding).sum();
        assert!(outstanding <= self.effects.in_flight(), "operations wait for effects that nobody has");
        let stripe_ops = self.ops.values().filter(|op| op.holds_slice()).count();
        assert!(self.slices.held_count() <= stripe_ops, "a slice is held by nobody");
        let somebody_waits = self.requests.len() > 0 || self.ops.len() > 0;
        let something_moves = self.effects.awaited() > 0
            || self.slices.has_work()
            || self.slices.has_plugs()
            || self.next_step_due().is_some();
        assert!(!somebody_waits || something_moves, "requests wait for nothing");
        assert!(self.streams_add_up(), "streams are miscounted");
    }
}
