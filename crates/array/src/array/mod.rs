//! The engine. (Contract first; see the methods.)

use alloc::vec::Vec;
use core::ops::Range;

use crate::{
    BufferId, Completion, Effect, EffectId, Geometry, Instant, Outcome, Request, RequestError, Role, Shape, ShapeError,
};

/// What an array is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Level, layout, chunk, member sizes.
    pub shape: Shape,
    /// State of each member at the start, in role order.
    pub members: Vec<MemberState>,
    /// Requests are multiples of this; at least every member's own logical block size.
    pub logical_block_bytes: u32,
    /// Buffers that the engine may use for its own reads, parity and copies.
    pub scratch: Scratch,
    /// How background work shares the members with requests.
    pub background: Background,
}

/// The engine's own buffers: `count` of them, with consecutive ids from `first`, `bytes_each` long (a multiple of 4 KiB).
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// First buffer.
    pub first: BufferId,
    /// How many.
    pub count: u32,
    /// Size of each: also the widest piece of a chunk that is handled as one.
    pub bytes_each: u32,
}

impl Scratch {
    /// The fewest buffers an array of so many members can work with.
    pub fn least_count(_member_count: usize) -> u32 {
        todo!()
    }
}

/// The rate of background work: as md's sync_speed_min and sync_speed_max, in bytes a second per member.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    /// Goes on at least this fast while requests are served.
    pub rate_min_bytes_per_s: u64,
    /// Never goes faster than this.
    pub rate_max_bytes_per_s: u64,
    /// Stripes of background work in flight at most.
    pub depth: u32,
}

/// What a member can be. Changes only as `member.rs`'s table allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// Holds all its data.
    InSync,
    /// Present; holds its data below `position` (bytes of the data area), the rest is being rebuilt.
    Rebuilding {
        /// Everything below is in sync.
        position: u64,
    },
    /// Not there: never given, failed, or removed.
    Missing,
}

/// The array's health, derived from its members' states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// All members are in sync.
    Optimal,
    /// Members are missing or rebuilding; everything can still be had.
    Degraded,
    /// More members are missing than the level survives.
    Failed,
}

/// What a scrub does about what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubMode {
    /// Counts and reports.
    Check,
    /// Makes parity and mirrors agree with the data again.
    Repair,
}

/// What a scrub found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The member whose copy, P or Q does not agree with the data.
    pub role: Role,
    /// Where on it, in bytes of the data area.
    pub member_range: Range<u64>,
    /// First array byte of the stripe or mirror concerned.
    pub offset: u64,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// Something that happened, for the driver to pass on.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request is answered.
    Completed(Completion),
    /// A member failed (by I/O or by command); it is [`MemberState::Missing`] now and gets no more I/O.
    MemberFailed(Role),
    /// A range of a member could not be read and was written anew from redundancy.
    Healed { role: Role, member_range: Range<u64> },
    /// A member is fully rebuilt and in sync; the driver records it in the superblocks.
    RebuildFinished(Role),
    /// A rebuild cannot go on: its member failed, or the data to rebuild from is gone from `member_offset` on.
    RebuildStopped { role: Role, member_offset: u64 },
    /// A scrub found something.
    Mismatch(Mismatch),
    /// A range could not be read during a scrub and redundancy did not suffice to write it anew.
    ScrubUnreadable { role: Role, member_range: Range<u64> },
    /// A scrub is over.
    ScrubFinished { mismatched_bytes: u64, completed: bool },
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// There is no such role.
    NoSuchRole,
    /// The member is not in a state for this.
    State(MemberState),
    /// The array has no redundancy to do this with.
    NoRedundancy,
    /// A scrub or rebuild is under way already.
    Busy,
}

/// A background job's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of each member done.
    pub done_bytes: u64,
    /// Bytes of each member in all.
    pub total_bytes: u64,
}

/// An array that runs.
///
/// Methods come in four kinds:
/// * getters: [`Array::geometry`], [`Array::member_states`], [`Array::health`], [`Array::progress`], [`Array::is_idle`];
/// * commands: [`Array::submit`], [`Array::fail_member`], [`Array::rebuild_member`], [`Array::scrub`], ...;
/// * inputs: [`Array::handle_outcome`], [`Array::handle_timeout`];
/// * outputs: [`Array::poll_effect`], [`Array::poll_event`], [`Array::poll_timeout`].
///
/// After every command or input the driver polls effects until there are none, then events until there are none, then
/// the timeout. Times must not go back.
#[derive(Debug)]
pub struct Array {}

impl Array {
    /// Makes the engine for an array whose members are in the given states.
    pub fn new(_config: Config) -> Result<Self, ShapeError> {
        todo!()
    }
    /// Where everything lives.
    pub fn geometry(&self) -> &Geometry {
        todo!()
    }
    /// The members' states in role order.
    pub fn member_states(&self) -> &[MemberState] {
        todo!()
    }
    /// Health, derived from the member states.
    pub fn health(&self) -> Health {
        todo!()
    }
    /// Progress of the rebuild or scrub under way.
    pub fn progress(&self) -> Option<Progress> {
        todo!()
    }
    /// Nothing is in flight: no request, no effect, no background work.
    pub fn is_idle(&self) -> bool {
        todo!()
    }

    /// Takes a request in. It is answered by [`Event::Completed`], at once if it is refused.
    pub fn submit(&mut self, _now: Instant, _request: Request) {
        todo!()
    }
    /// Takes a member out: it failed, or it is to be removed. Requests in flight go on without it.
    pub fn fail_member(&mut self, _now: Instant, _role: Role) -> Result<(), CommandError> {
        todo!()
    }
    /// A fresh drive has taken a missing member's place: fill it, from `position` on.
    pub fn rebuild_member(&mut self, _now: Instant, _role: Role, _position: u64) -> Result<(), CommandError> {
        todo!()
    }
    /// Reads everything and compares.
    pub fn scrub(&mut self, _now: Instant, _mode: ScrubMode) -> Result<(), CommandError> {
        todo!()
    }
    /// Stops a scrub; its [`Event::ScrubFinished`] says `completed: false`.
    pub fn stop_scrub(&mut self, _now: Instant) {
        todo!()
    }
    /// Changes the rate of background work.
    pub fn set_background(&mut self, _now: Instant, _background: crate::Background) {
        todo!()
    }

    /// An effect has ended.
    pub fn handle_outcome(&mut self, _now: Instant, _id: EffectId, _outcome: Outcome) {
        todo!()
    }
    /// The moment that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, _now: Instant) {
        todo!()
    }

    /// The next thing to do outside.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        todo!()
    }
    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
    /// When to call [`Array::handle_timeout`], if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        todo!()
    }
}

#[allow(dead_code)]
type Unused = RequestError;
