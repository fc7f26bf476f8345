//! The event loop: engines, the drives below them, and arrays as members of arrays.
//!
//! A [`Tree`] owns a world and any number of nodes. A node is one array: an engine, the places of
//! its members, and their superblocks. A place is a drive of the world or another node, so an array
//! of arrays is a tree with drives as leaves. Everything moves in one thread and one loop:
//!
//! 1. outcomes are handed to the engines they belong to;
//! 2. effects are carried out: member I/O goes to the world or to the node below; `Record` starts a
//!    [`record`] run;
//! 3. every engine's events are routed: answers to whoever asked, news to whoever listens;
//! 4. when nothing moves any more, the world waits for I/O or for an engine's timer.
//!
//! Invariant: whatever is in flight in the world, or waits in a drive's
//! [elevator](crate::elevator), has exactly one entry in `pending`.

mod access;
mod activity;
mod checkpoint;
mod flights;
mod free;
mod hedge;
mod intent;
mod landing;
mod latency;
mod losses;
mod mirror;
mod node;
mod notes;
mod order;
mod ppl;
mod record;
mod renewal;
mod replace;
mod sequence;
mod silence;
mod timers;
mod upkeep;
mod write_back;

use std::collections::VecDeque;
use std::time::Duration;

use rustix::io::Errno;
use shoal_array::{
    Array, Completion, Effect, EffectId, Event, Fault, Instant, MemberIo, Outcome, Request, RequestId, Role, Submitter,
};
use shoal_drive::{DriveId, Finished};
use shoal_parity::Parity;

use crate::compute::Bytes;
use crate::elevator::Elevators;
use crate::homes::Homes;
use crate::slab::Slab;
use crate::world::World;
use crate::write_back::Purpose;
use crate::{BufferPlan, HostMemory, VolumeError};

use access::{as_command, shifted};
pub(crate) use activity::{Activity, RestDelay, SAFE_MODE_DELAY};
pub(crate) use checkpoint::Checkpoint;
pub(crate) use flights::Flights;
pub(crate) use intent::{BitmapCopy, Intent};
pub(crate) use mirror::Mirror;
use mirror::Way;
pub(crate) use node::{Duty, JournalLog, Node, Place, Slot};
use order::Flushes;
pub(crate) use ppl::Logs;
pub(crate) use record::{Recorder, Waiter};
pub(crate) use silence::Patience;
pub use silence::SILENCE;
pub(crate) use write_back::OfNode;
pub use write_back::WriteBackState;

/// The id of a request of the tree's own.
const fn own_id(token: u64) -> RequestId {
    RequestId { submitter: Submitter::Volume, number: token }
}

/// A node's place in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) usize);

/// An engine of a tree: a node's own, or that of the [mirror](mirror::Mirror) in the place of one
/// of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineId {
    pub(crate) node: NodeId,
    pub(crate) mirror: Option<Role>,
}

impl From<NodeId> for EngineId {
    fn from(node: NodeId) -> Self {
        Self { node, mirror: None }
    }
}

/// What a member's bytes lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Drive(DriveId),
    Node(NodeId),
}

/// Something that a node's engine told, beside answers to requests.
pub(crate) struct News {
    pub(crate) node: NodeId,
    pub(crate) event: Event,
}

/// Who waits for an I/O or an internal request.
enum Pending {
    /// A member I/O of an engine.
    Effect { engine: EngineId, role: Role, id: EffectId, io: MemberIo, mirrored: bool },
    /// A write or flush of a node's record run.
    Record { node: NodeId, slot: usize },
    /// A write or flush of a node's bitmap run.
    Bitmap { node: NodeId, slot: usize },
    /// Something of the write-back window.
    WriteBack(Purpose),
    /// I/O of a member's partial parity log.
    Log { node: NodeId, io: ppl::LogIo },
    /// Nobody: the array that it was for is gone, or its drive was given up.
    Forgotten,
    /// A blocking call, which finds the result in `Tree::awaited`.
    Caller,
}

/// A world of drives, and the arrays over it. Takes requests of the outermost array, and moves all
/// of them on.
pub(crate) struct Tree<W> {
    pub(crate) world: W,
    pub(crate) plan: BufferPlan,
    pub(crate) homes: Homes,
    pub(crate) parity: Parity,
    pub(crate) patience: Patience,
    pub(crate) flights: Flights,
    pub(crate) sequence: sequence::Sequence,
    elevators: Elevators,
    flushes: Flushes,
    /// For drives that are asked for nothing, and the answer: they owe one, or are to flush and
    /// have nothing new.
    unasked: VecDeque<(u64, Result<(), Errno>)>,
    /// Notes that a drive may still have something of, by what it has.
    stuck_notes: Vec<(u64, u32)>,
    /// Notes of slots that no node has yet.
    promised_notes: Vec<u32>,
    /// Number of the notes that are for small reads and writes outside of runs; none while all are
    /// stuck.
    pub(crate) small: Option<u32>,
    pub(crate) nodes: Vec<Node>,
    /// Answers to requests from outside.
    pub(crate) completions: Vec<Completion>,
    pub(crate) news: VecDeque<News>,
    pending: Slab<Pending>,
    ready: VecDeque<(EngineId, EffectId, Outcome)>,
    awaited: Option<Result<(), Fault>>,
    finished: Vec<Finished>,
    /// Requests from outside that are not answered yet.
    pub(crate) in_flight: usize,
    /// What this host remembers of its arrays, if it does.
    pub(crate) memory: Option<HostMemory>,
    /// The write-back window of the outermost array, if it has one.
    pub(crate) write_back: Option<OfNode>,
}

impl<W: World> Tree<W> {
    /// A tree without arrays over a world whose arena is cut by `plan`.
    pub(crate) fn new(world: W, plan: BufferPlan, parity: Parity) -> Self {
        Self {
            world,
            plan,
            homes: Homes::new(plan),
            parity,
            patience: Patience::default(),
            flights: Flights::default(),
            sequence: sequence::Sequence::default(),
            elevators: Elevators::default(),
            flushes: Flushes::default(),
            unasked: VecDeque::new(),
            stuck_notes: Vec::new(),
            promised_notes: Vec::new(),
            small: Some(0),
            nodes: Vec::new(),
            completions: Vec::new(),
            news: VecDeque::new(),
            pending: Slab::new(),
            ready: VecDeque::new(),
            awaited: None,
            finished: Vec::new(),
            in_flight: 0,
            memory: None,
            write_back: None,
        }
    }

    /// Takes a request from outside in, for the node's content.
    pub(crate) fn submit(&mut self, node: NodeId, request: Request) {
        assert!(request.id.submitter != Submitter::Volume, "only the volume itself submits in its own name");
        self.in_flight += 1;
        let now = self.world.now();
        self.submit_through(now, node, request);
    }

    /// Starts what is queued and waits until `at_least` requests from outside are answered, nothing
    /// is in flight, or `timeout` is over. The answers are in `completions`.
    pub(crate) fn run(&mut self, at_least: usize, timeout: Option<Duration>) -> Result<(), VolumeError> {
        let deadline = timeout.map(|timeout| self.world.now().after_ns(duration_ns(timeout)));
        self.run_until(deadline, |tree| tree.completions.len() >= at_least || tree.in_flight == 0)
    }

    /// Turns the loop until `done`, or until the deadline; at least once.
    pub(crate) fn run_until(
        &mut self,
        deadline: Option<Instant>,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), VolumeError> {
        let mut now = self.world.now();
        self.pump(now);
        loop {
            let finished = done(self);
            let wake = self.timer().into_iter().chain(deadline).min();
            let patience = wake.map(|wake| Duration::from_nanos(wake.since_ns(now)));
            if finished || self.world.pending() > 0 {
                self.world.wait(usize::from(!finished), patience, &mut self.finished)?;
            } else if let Some(patience) = patience {
                self.world.go_on()?;
                self.world.sleep(patience);
            } else {
                return Ok(()); // nothing in flight, nothing to wait for
            }
            now = self.world.now();
            self.take_finished(now);
            self.fire_timers(now);
            self.pump(now);
            if done(self) || deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(());
            }
        }
    }

    /// Turns the loop once: waits until something has happened, what the world watches can be read
    /// from, or `patience` is over. It does not wait if there are answers.
    pub(crate) fn turn(&mut self, patience: Duration) -> Result<(), VolumeError> {
        let now = self.world.now();
        self.pump(now);
        let patience = match self.timer() {
            _ if !self.completions.is_empty() => Duration::ZERO,
            Some(wake) => Duration::from_nanos(wake.since_ns(now)).min(patience),
            None => patience,
        };
        if self.world.pending() > 0 {
            self.world.wait_or_wake(usize::from(!patience.is_zero()), Some(patience), &mut self.finished)?;
        } else if !patience.is_zero() {
            self.world.go_on()?;
            self.world.sleep_or_wake(patience);
        }
        let now = self.world.now();
        self.take_finished(now);
        self.fire_timers(now);
        self.pump(now);
        Ok(())
    }

    /// Carries out effects and routes events until nothing moves.
    fn pump(&mut self, now: Instant) {
        loop {
            let mut moved = false;
            while let Some((token, answer)) = self.unasked.pop_front() {
                let (pending, answer) = (self.pending.take(token), answer.map_err(Into::into));
                self.io_ended(now, pending, answer.as_ref().copied());
                moved = true;
            }
            moved |= self.tell_outcomes(now);
            for index in 0..self.nodes.len() {
                let node = NodeId(index);
                for place in 0..=self.nodes[index].mirrors.len() {
                    moved |= self.serve(now, self.engine_at(node, place));
                }
                moved |= self.start_waiting_run(now, node) || self.start_bitmap_run(now, node);
                moved |= self.go_on_remembered(now, node);
            }
            moved |= self.tend_mirrors(now) | self.tend_spares(now) | self.tend_write_back(now);
            moved = moved || self.begin_units(now);
            if !moved {
                return self.send_writes();
            }
        }
    }

    /// Carries out all effects of an engine, and routes all its events.
    fn serve(&mut self, now: Instant, engine: EngineId) -> bool {
        let mut moved = false;
        while let Some(effect) = self.engine(engine).poll_effect() {
            self.carry_out(now, engine, effect);
            moved = true;
        }
        while let Some(event) = self.engine(engine).poll_event() {
            self.route(now, engine, event);
            moved = true;
        }
        moved
    }

    /// A node's own engine, then those of its mirrors.
    fn engine_at(&self, node: NodeId, place: usize) -> EngineId {
        let mirror = place.checked_sub(1).map(|place| self.nodes[node.0].mirrors[place].role);
        EngineId { node, mirror }
    }

    fn engine(&mut self, id: EngineId) -> &mut Array {
        let node = &mut self.nodes[id.node.0];
        match id.mirror {
            None => &mut node.array,
            Some(role) => &mut node.mirror_mut(role).expect("a mirror outlives what its engine asks for").array,
        }
    }

    fn carry_out(&mut self, now: Instant, engine: EngineId, effect: Effect) {
        match effect {
            Effect::Io { id, role, io } => self.member_io(now, engine, id, role, io),
            Effect::Compute { id, compute } => {
                let bytes = Bytes { arena: self.world.arena(), homes: &self.homes };
                let outcome = bytes.perform(self.parity, &compute);
                self.ready.push_back((engine, id, outcome));
            }
            Effect::Record { id } => self.record(now, engine.node, Waiter::Engine(engine, id)),
            Effect::Log { id, role, entries } => self.log(engine.node, id, role, entries),
        }
    }

    fn member_io(&mut self, now: Instant, engine: EngineId, id: EffectId, role: Role, io: MemberIo) {
        let node = &mut self.nodes[engine.node.0];
        let way = node.way(engine.mirror, role);
        let mirrored = matches!(way, Way::Mirror(_));
        let pending = Pending::Effect { engine, role, id, io, mirrored };
        match way {
            Way::Mirror(mirror) => {
                let id = own_id(self.pending.insert(pending));
                mirror.array.submit(now, Request { id, command: as_command(io) });
            }
            Way::Place(place) => {
                let token = self.pending.insert(pending);
                self.submit_io(now, place.target, token, shifted(io, place.data_offset_bytes));
                self.time_read(now, engine, token);
            }
            Way::Nowhere => self.ready.push_back((engine, id, Outcome::Failed(Fault::Gone))),
        }
    }

    fn route(&mut self, now: Instant, engine: EngineId, event: Event) {
        let node = engine.node;
        if let (Event::Completed(completion), None, Some(intent)) =
            (&event, engine.mirror, &mut self.nodes[node.0].intent)
        {
            intent.answered(now, completion);
        }
        match event {
            Event::Completed(completion) if completion.id.submitter != Submitter::Volume => {
                self.answer_outside(completion)
            }
            Event::Completed(completion) => self.route_internal(now, completion),
            Event::LogReleased(id) => self.log_released(now, node, id),
            event if engine.mirror.is_some() => {
                let role = engine.mirror.expect("it is one of a mirror");
                self.heed_mirror(now, node, role, event);
            }
            event => self.heed(now, node, event),
        }
    }
}

fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
