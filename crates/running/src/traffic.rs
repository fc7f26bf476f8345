//! Clients' reads and writes on their way through an array.
//!
//! Each takes one of the volume's request buffers; when all are taken, the next ones wait here in
//! the order of their arrival. There are never more than all clients together may have under way.

use std::collections::{HashMap, VecDeque};

use shoal_documents::protocol::{Content, Outcome};
use shoal_volume::{Command, Completion, Request, RequestError, RequestId, Volume};

use crate::jobs::Reply;

/// Clients' requests between their sockets and the array: assigns request buffers, queues what
/// finds none, and answers in the order of completion.
pub(super) struct Traffic {
    waiting: VecDeque<Waiting>,
    free: Vec<u32>,
    in_flight: HashMap<u64, InFlight>,
    next_id: u64,
    /// Of the drives, or flushes that they have refused, after which what had been answered and not
    /// flushed may be lost.
    outages: u32,
}

struct Waiting {
    content: Content,
    bytes: Vec<u8>,
    reply: Reply,
}

struct InFlight {
    content: Content,
    /// Outages before it came.
    outages: u32,
    buffer: Option<u32>,
    reply: Reply,
}

impl Traffic {
    /// None yet, through a volume with so many request buffers.
    pub(super) fn new(request_buffers: u32) -> Self {
        Self {
            waiting: VecDeque::new(),
            free: (0..request_buffers).rev().collect(),
            in_flight: HashMap::new(),
            next_id: 0,
            outages: 0,
        }
    }

    /// Takes a request in. Its length is one that a request buffer holds.
    pub(super) fn enter(&mut self, content: Content, bytes: Vec<u8>, reply: Reply) {
        reply.heard.begin(self.outages);
        self.waiting.push_back(Waiting { content, bytes, reply });
    }

    /// Submits what there are buffers for.
    pub(super) fn start(&mut self, volume: &mut dyn Volume) {
        while let Some(waiting) = self.waiting.pop_front() {
            let needs_buffer = !matches!(waiting.content, Content::Flush);
            let buffer = if needs_buffer { self.free.pop() } else { None };
            if needs_buffer && buffer.is_none() {
                self.waiting.push_front(waiting);
                return;
            }
            let Waiting { content, bytes, reply } = waiting;
            let command = command(volume, content, &bytes, buffer.unwrap_or(0));
            volume.submit(Request { id: RequestId(self.next_id), command });
            self.in_flight.insert(self.next_id, InFlight { content, outages: self.outages, buffer, reply });
            self.next_id += 1;
        }
    }

    /// What was answered and not flushed may be lost. Flushes that are under way fail; and one of
    /// each session that comes afterwards, as a write may be answered meanwhile of which a part is
    /// lost.
    pub(super) fn lose_unflushed(&mut self) {
        self.outages += 1;
    }

    /// How often that was.
    pub(super) fn outages(&self) -> u32 {
        self.outages
    }

    /// Whether the volume has refused a session's flush by these answers.
    pub(super) fn has_refusal(&self, completions: &[Completion]) -> bool {
        let is_flush = |id: RequestId| self.in_flight.get(&id.0).is_some_and(|it| matches!(it.content, Content::Flush));
        completions.iter().any(|completion| completion.result.is_err() && is_flush(completion.id))
    }

    /// Answers what is done. A flush that was refused, which the volume says once, counts as an outage: for other sessions
    /// it is as if what was answered and not flushed were lost.
    pub(super) fn finish(&mut self, volume: &dyn Volume, completions: &mut Vec<Completion>) {
        for completion in completions.drain(..) {
            let done = self.in_flight.remove(&completion.id.0).expect("the volume answers what was submitted, once");
            self.free.extend(done.buffer);
            let is_flush = matches!(done.content, Content::Flush);
            let is_refused = is_flush && completion.result.is_err();
            let is_lost = is_flush && (done.outages < self.outages || done.reply.heard.catch_up(self.outages));
            if is_refused {
                self.lose_unflushed();
                done.reply.heard.catch_up(self.outages);
            }
            let result = if is_lost { Err(RequestError::Failed) } else { completion.result };
            match (result, done.content, done.buffer) {
                (Err(error), _, _) => done.reply.send(Outcome::Fault(error.into()), Vec::new()),
                (Ok(()), Content::Read { length, .. }, Some(buffer)) => {
                    let mut bytes = vec![0; length as usize];
                    volume.arena().read(volume.request_memory(buffer), &mut bytes);
                    done.reply.send(Outcome::Content { bytes: length }, bytes);
                }
                (Ok(()), _, _) => done.reply.send(Outcome::Done {}, Vec::new()),
            }
        }
    }
}

fn command(volume: &dyn Volume, content: Content, bytes: &[u8], buffer: u32) -> Command {
    match content {
        Content::Read { offset, length } => Command::Read { offset, span: volume.request_span(buffer, length) },
        Content::Write { offset, length } => {
            volume.arena().write(volume.request_memory(buffer), bytes);
            Command::Write { offset, span: volume.request_span(buffer, length) }
        }
        Content::Flush => Command::Flush,
    }
}
