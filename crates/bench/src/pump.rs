//! The closed loop under every load: keeps a number of requests in flight until the load has no
//! more.
//!
//! The volume is asked for the time once per turn, after the answers of a batch have come in: that
//! moment is the completion of all of them, and the submission of the requests that take their
//! places. Latencies are therefore too long by at most the time it takes to handle one batch, a
//! fraction of a microsecond per request, and never too short. Nothing is allocated while the loop
//! turns.

use std::collections::VecDeque;

use shoal_volume::{Arena, Command, Completion, Memory, Request, RequestError, RequestId, Volume, VolumeError};

use crate::{Direction, Event, Operation};

/// What the loop asks, and whom it tells.
pub(crate) trait Load<V: ?Sized> {
    /// The next request; `None` if there are no more for good. Asked only if there is a place for
    /// it.
    fn next(&mut self, now_ns: u64) -> Option<Operation>;
    /// Makes a buffer ready: it holds what is to be written, or is about to be read into.
    fn prepare(&mut self, arena: &Arena, place: Place, operation: &Operation);
    /// A request was answered; its buffer holds what was read.
    fn completed(&mut self, arena: &Arena, place: Place, event: &Event);
    /// A batch of answers is dealt with.
    fn turned(&mut self, volume: &mut V, now_ns: u64);
}

/// A request buffer and where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) buffer: u32,
    pub(crate) memory: Memory,
}

/// When a load began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Took {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

impl Took {
    pub(crate) fn elapsed_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Keeps a load's requests in flight, a turn at a time, so that several loads can share a world.
pub(crate) struct Pump {
    /// By buffer: the request it carries, or carried last.
    requests: Vec<(Operation, u64)>,
    /// Buffers that carry none; the one that was free longest is used next, so that all are used in
    /// turn.
    free: VecDeque<u32>,
    depth: usize,
    count: usize,
}

impl Pump {
    /// For up to `depth` requests in flight, in `buffers` request buffers.
    pub(crate) fn new(depth: u32, buffers: u32) -> Self {
        let nothing = Operation { offset: 0, length: 0, direction: Direction::Read };
        Self {
            requests: vec![(nothing, 0); buffers as usize],
            free: (0..buffers).collect(),
            depth: depth as usize,
            count: 0,
        }
    }

    /// Submits until so many are in flight as may be, or the load has no more. Whether any is in
    /// flight.
    pub(crate) fn submit<V: Volume + ?Sized>(&mut self, volume: &mut V, load: &mut impl Load<V>, now_ns: u64) -> bool {
        let arena = volume.arena().clone();
        while self.count < self.depth {
            let Some(buffer) = self.free.pop_front() else { break };
            let Some(operation) = load.next(now_ns) else {
                self.free.push_front(buffer);
                break;
            };
            self.requests[buffer as usize] = (operation, now_ns);
            load.prepare(&arena, place(volume, buffer, operation.length), &operation);
            let span = volume.request_span(buffer, operation.length);
            let command = match operation.direction {
                Direction::Read => Command::Read { offset: operation.offset, span },
                Direction::Write => Command::Write { offset: operation.offset, span },
            };
            volume.submit(Request { id: RequestId::client(u64::from(buffer)), command });
            self.count += 1;
        }
        self.count > 0
    }

    /// Tells the load of an answer.
    pub(crate) fn complete<V: Volume + ?Sized>(
        &mut self,
        volume: &V,
        load: &mut impl Load<V>,
        completion: Completion,
        now_ns: u64,
    ) {
        let buffer = u32::try_from(completion.id.number).expect("a request is named after its buffer");
        let (operation, submitted_ns) = self.requests[buffer as usize];
        let event = Event {
            intended_ns: submitted_ns,
            submitted_ns,
            completed_ns: now_ns,
            offset: operation.offset,
            length: operation.length,
            direction: operation.direction,
            result: completion.result,
        };
        load.completed(volume.arena(), place(volume, buffer, operation.length), &event);
        self.free.push_back(buffer);
        self.count -= 1;
    }
}

/// Runs a load with up to `depth` requests in flight and waits for the last answer. The volume has
/// at least `depth` request buffers, each large enough for every operation.
pub(crate) fn pump<V: Volume + ?Sized>(
    volume: &mut V,
    depth: u32,
    load: &mut impl Load<V>,
) -> Result<Took, VolumeError> {
    let mut pump = Pump::new(depth, volume.request_buffers());
    let mut completions: Vec<Completion> = Vec::with_capacity(depth as usize);
    let start_ns = volume.now().ns;
    let mut now_ns = start_ns;
    while pump.submit(volume, load, now_ns) {
        volume.poll(1, None, &mut completions)?;
        now_ns = volume.now().ns;
        for completion in completions.drain(..) {
            pump.complete(volume, load, completion, now_ns);
        }
        load.turned(volume, now_ns);
    }
    Ok(Took { start_ns, end_ns: now_ns })
}

fn place<V: Volume + ?Sized>(volume: &V, buffer: u32, length: u32) -> Place {
    Place { buffer, memory: Memory { length, ..volume.request_memory(buffer) } }
}

/// Asks for what was written to be made durable.
pub(crate) fn submit_flush<V: Volume + ?Sized>(volume: &mut V) {
    volume.submit(Request { id: RequestId::client(u64::MAX >> 1), command: Command::Flush });
}

/// Makes durable what was written: how long that took, and whether it worked.
pub(crate) fn flush<V: Volume + ?Sized>(volume: &mut V) -> Result<(Took, Result<(), RequestError>), VolumeError> {
    let start_ns = volume.now().ns;
    submit_flush(volume);
    let mut completions = Vec::with_capacity(1);
    while completions.is_empty() {
        volume.poll(1, None, &mut completions)?;
    }
    Ok((Took { start_ns, end_ns: volume.now().ns }, completions[0].result))
}
