//! A rig for the engine: drives in memory, effects carried out one by one in a random order, time
//! that passes by chance, and a flat model that says what reads must bring.
//!
//! Everything follows from a seed.

mod build;
mod cut;
pub(crate) mod disk;
mod ending;
pub(crate) mod engine;
pub(crate) mod galois;
pub(crate) mod memory;
pub(crate) mod model;
mod races;
pub(crate) mod random;
pub(crate) mod settled;
pub(crate) mod shapes;
pub(crate) mod story;
mod trouble;

use shoal_array::{
    Command, Compute, Effect, EffectId, Event, Fault, Instant, MemberIo, Outcome, Request, RequestError, RequestId,
};

use cut::Logs;
use disk::{Disk, range_of};
use engine::{Engine, Open, Origin, Store};
use memory::Memory;
use model::Model;
use random::Random;

/// Steps after which what has not happened never will.
pub(crate) const PATIENCE_STEPS: u64 = 1_000_000;

/// In which order effects are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Any.
    Random,
    /// The latest first, mostly: the oldest starve.
    LatestFirst,
    /// As they came.
    InOrder,
    /// Each drive serves its I/O one by one, and each takes so long; computations take no time.
    Served {
        /// Time for one I/O.
        service_ns: u64,
    },
}

/// An effect that the driver has taken and not carried out yet.
#[derive(Debug)]
struct Pending {
    engine: usize,
    /// The disk's generation when the effect was given out.
    generation: u64,
    /// When it is done, if drives serve one by one.
    due: Instant,
    effect: Effect,
}

/// What the top engine answered to the story.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) open: Open,
    pub(crate) result: Result<(), RequestError>,
}

/// Engines, drives and memory.
#[derive(Debug)]
pub(crate) struct Rig {
    /// The first is the top.
    pub(crate) engines: Vec<Engine>,
    pub(crate) disks: Vec<Disk>,
    pub(crate) memory: Memory,
    pub(crate) model: Model,
    pub(crate) random: Random,
    pub(crate) schedule: Schedule,
    pending: Vec<Pending>,
    /// By engine: the partial parity logs of its members.
    logs: Vec<Logs>,
    /// By disk: when it has served all that it was given.
    busy_until: Vec<Instant>,
    /// Records are not carried out for the time being.
    pub(crate) holds_records: bool,
    /// In one of so many steps a read is taken to be late; never, if 0.
    pub(crate) overtakes_one_in: u64,
    /// How many were.
    pub(crate) overtaken: u64,
    pub(crate) now: Instant,
    pub(crate) step: u64,
    next_request: u64,
    /// Answers that the story has not looked at.
    pub(crate) answers: Vec<Answer>,
    /// Events other than answers, with the engine they are from.
    pub(crate) events: Vec<(usize, Event)>,
    trace: bool,
}

impl Rig {
    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.engines[0].array.geometry().capacity_bytes()
    }

    /// A name for the story's next request.
    pub(crate) fn next_request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId::client(self.next_request - 1)
    }

    /// Submits a request to an engine, and takes what it gives out.
    pub(crate) fn submit(&mut self, engine: usize, id: RequestId, io: MemberIo, origin: Origin) {
        self.submit_unpolled(engine, id, io, origin);
        self.drain(engine);
    }

    /// Submits a request without polling: what comes next arrives in one go with it.
    pub(crate) fn submit_unpolled(&mut self, engine: usize, id: RequestId, io: MemberIo, origin: Origin) {
        self.note(|| format!("engine {engine}: submit {id:?} {io:?}"));
        let command = match io {
            MemberIo::Read { offset, span } => Command::Read { offset, span },
            MemberIo::Write { offset, span } => Command::Write { offset, span },
            MemberIo::Flush => Command::Flush,
            MemberIo::Discard { offset, length } => Command::Discard { offset, length },
        };
        self.engines[engine].note_request(id, io, origin, self.step);
        self.engines[engine].array.submit(self.now, Request { id, command });
    }

    /// Carries out one effect, or lets time pass until the engine does something. False if nothing
    /// is left to do.
    pub(crate) fn step(&mut self) -> bool {
        self.step += 1;
        if !matches!(self.schedule, Schedule::Served { .. }) {
            self.now = self.now.after_ns(self.random.within(0..20_000));
        }
        if self.run_timeouts() {
            return true;
        }
        self.overtake_by_chance();
        let timeout = self.engines.iter().filter_map(|engine| engine.array.poll_timeout()).min();
        if let Some(pending) = self.pick(timeout) {
            self.carry_out(pending);
            return true;
        }
        let Some(timeout) = timeout else { return false };
        self.now = self.now.max(timeout);
        self.run_timeouts()
    }

    /// Tells engines whose moment has come. True if there was one.
    fn run_timeouts(&mut self) -> bool {
        let is_due = |engine: &Engine| engine.array.poll_timeout().is_some_and(|due| due <= self.now);
        let Some(engine) = self.engines.iter().position(is_due) else { return false };
        self.engines[engine].array.handle_timeout(self.now);
        self.drain(engine);
        true
    }

    /// The effect to carry out next; none if the moment of `timeout` comes before.
    fn pick(&mut self, timeout: Option<Instant>) -> Option<Pending> {
        let is_held = |pending: &Pending| self.holds_records && matches!(pending.effect, Effect::Record { .. });
        let ready = (0..self.pending.len()).filter(|index| !is_held(&self.pending[*index]));
        let ready: Vec<usize> = ready.collect();
        let (first, last) = (*ready.first()?, *ready.last()?);
        let any = ready[self.random.index(ready.len())];
        match self.schedule {
            Schedule::InOrder => Some(self.pending.remove(first)),
            Schedule::LatestFirst if !self.random.one_in(8) => Some(self.pending.remove(last)),
            Schedule::LatestFirst | Schedule::Random => Some(self.pending.swap_remove(any)),
            Schedule::Served { .. } => {
                let next = *ready.iter().min_by_key(|index| self.pending[**index].due)?;
                let due = self.pending[next].due;
                if timeout.is_some_and(|timeout| timeout < due) {
                    return None;
                }
                self.now = self.now.max(due);
                Some(self.pending.remove(next))
            }
        }
    }

    /// When an effect given out now is done, if drives serve one by one.
    fn due(&mut self, disk: Option<usize>) -> Instant {
        match (self.schedule, disk) {
            (Schedule::Served { service_ns }, Some(disk)) => {
                let due = self.busy_until[disk].max(self.now).after_ns(service_ns);
                self.busy_until[disk] = due;
                due
            }
            _ => self.now,
        }
    }

    fn carry_out(&mut self, pending: Pending) {
        let Pending { engine, generation, effect, .. } = pending;
        match effect {
            Effect::Compute { id, compute } => {
                let outcome = self.compute(engine, &compute);
                self.answer_effect(engine, id, outcome);
            }
            Effect::Record { id } => self.answer_effect(engine, id, Outcome::Done),
            Effect::Log { id, role, entries } => {
                let disk = self.engines[engine].disk(role).expect("logs are kept on drives");
                let is_gone = self.disks[disk].is_gone || self.disks[disk].generation != generation;
                if !is_gone {
                    self.keep_log(engine, id, role, &entries);
                }
                let outcome = if is_gone { Outcome::Failed(Fault::Gone) } else { Outcome::Done };
                self.answer_effect(engine, id, outcome);
            }
            Effect::Io { id, role, io } => match self.engines[engine].stores[role.index()] {
                Store::Disk(disk) => {
                    let late = self.late_read(engine, id, io);
                    let disk = &mut self.disks[disk];
                    let outcome = if disk.generation == generation {
                        disk.perform(io, &mut self.memory, self.step, &mut self.random)
                    } else {
                        Outcome::Failed(Fault::Gone)
                    };
                    self.undo_late_read(late);
                    self.answer_effect(engine, id, outcome);
                }
                Store::Engine(inner) => {
                    let request = self.next_request();
                    self.submit(inner, request, io, Origin::Effect(engine, id));
                }
            },
        }
    }

    fn compute(&mut self, engine: usize, compute: &Compute) -> Outcome {
        self.note(|| format!("engine {engine}: {compute:?}"));
        self.memory.perform(compute)
    }

    fn answer_effect(&mut self, engine: usize, id: EffectId, outcome: Outcome) {
        self.note(|| format!("engine {engine}: outcome {id:?} {outcome:?}"));
        self.engines[engine].note_outcome(id, outcome == Outcome::Done);
        self.engines[engine].array.handle_outcome(self.now, id, outcome);
        self.drain(engine);
    }

    /// Takes all that an engine gives out.
    pub(crate) fn drain(&mut self, engine: usize) {
        while let Some(effect) = self.engines[engine].array.poll_effect() {
            self.note(|| format!("engine {engine}: {effect:?}"));
            let io = match &effect {
                Effect::Io { role, io, .. } => self.engines[engine].disk(*role).map(|disk| (disk, *io)),
                Effect::Compute { .. } | Effect::Record { .. } | Effect::Log { .. } => None,
            };
            let changes = io.map_or(vec![], |(disk, io)| self.disks[disk].changes(io, &self.memory));
            let disk = match &effect {
                Effect::Log { role, .. } => self.engines[engine].disk(*role),
                _ => io.map(|(disk, _)| disk),
            };
            let generation = disk.map_or(0, |disk| self.disks[disk].generation);
            let due = self.due(io.map(|(disk, _)| disk));
            self.engines[engine].note_effect(&effect, changes);
            self.pending.push(Pending { engine, generation, due, effect });
        }
        while let Some(event) = self.engines[engine].array.poll_event() {
            self.note(|| format!("engine {engine}: {event:?}"));
            match event {
                Event::Completed(completion) => {
                    let succeeded = completion.result.is_ok();
                    let open = self.engines[engine].note_answer(completion.id, succeeded, &self.disks);
                    self.pass_on(open, completion.result);
                }
                Event::LogReleased(log) => self.release_log(engine, log),
                other => {
                    if let Event::MemberFailed(role) = other {
                        self.engines[engine].failed_at[role.index()] = self.step;
                        self.lose_log(engine, role);
                    }
                    self.events.push((engine, other));
                }
            }
        }
    }

    /// An answer goes to who asked.
    fn pass_on(&mut self, open: Open, result: Result<(), RequestError>) {
        match open.origin {
            Origin::Story => {
                self.check_answer(&open, result);
                self.answers.push(Answer { open, result });
            }
            Origin::Effect(engine, effect) => {
                let outcome = match (open.io, result) {
                    (_, Ok(())) => Outcome::Done,
                    (_, Err(RequestError::Unsupported)) => Outcome::Failed(Fault::Unsupported),
                    (MemberIo::Read { .. }, Err(_)) => Outcome::Failed(Fault::Unreadable),
                    (_, Err(_)) => Outcome::Failed(Fault::Gone),
                };
                self.answer_effect(engine, effect, outcome);
            }
        }
    }

    /// Compares an answer with the model.
    fn check_answer(&mut self, open: &Open, result: Result<(), RequestError>) {
        let (offset, length) = range_of(open.io);
        match (open.io, result) {
            (MemberIo::Read { span, .. }, Ok(())) => self.model.check(open.id.number, offset, self.memory.bytes(span)),
            (MemberIo::Read { .. } | MemberIo::Flush, _) => {}
            (_, Ok(())) => self.model.complete(open.id.number, offset, length),
            (MemberIo::Discard { .. }, Err(RequestError::Unsupported))
                if !self.engines[0].discards_in_part(&self.disks) =>
            {
                self.model.withdraw(open.id.number, offset, length);
            }
            (_, Err(_)) => self.model.fail(open.id.number, offset, length),
        }
        let first_lost = match result {
            Err(RequestError::Lost { offset } | RequestError::Unreadable { offset }) => offset,
            _ => offset,
        };
        let lies_within = first_lost == offset || (offset..offset + length).contains(&first_lost);
        assert!(lies_within, "{open:?} is answered with an error elsewhere: {result:?}");
    }

    /// Steps until nothing of the story's is unanswered and no effect is in flight.
    pub(crate) fn settle(&mut self) {
        let limit = self.step + PATIENCE_STEPS;
        while self.engines.iter().any(|engine| !engine.open.is_empty() || engine.effects_in_flight() > 0) {
            assert!(self.step(), "stuck: {} requests wait for nothing", self.engines[0].open.len());
            assert!(self.step < limit, "no end in sight: {:?}", self.engines[0].open);
        }
    }

    /// Steps until an event of an engine is there for which `find` has an answer.
    pub(crate) fn wait_for<T>(&mut self, engine: usize, find: impl Fn(&Event) -> Option<T>) -> T {
        let limit = self.step + PATIENCE_STEPS;
        loop {
            let found = self.events.iter().position(|(from, event)| *from == engine && find(event).is_some());
            if let Some(index) = found {
                let (_, event) = self.events.remove(index);
                return find(&event).expect("it was found before");
            }
            assert!(self.step(), "stuck: what is waited for does not come");
            assert!(self.step < limit, "what is waited for does not come");
        }
    }

    pub(crate) fn note(&self, text: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>6} {:>10} {}", self.step, self.now.ns, text());
        }
    }
}
