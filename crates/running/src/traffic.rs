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
    in_flight: HashMap<RequestId, InFlight>,
    next_id: u64,
    /// Of the drives, or flushes that they have refused, after which what had been answered and not
    /// flushed may be lost.
    outages: u32,
    /// Of how many a flush that was under way has told its session all.
    told_by_flushes: u32,
    /// Something was written since the last of them.
    is_untold: bool,
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
            told_by_flushes: 0,
            is_untold: true,
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
            self.is_untold |= matches!(content, Content::Write { .. });
            let command = command(volume, content, &bytes, buffer.unwrap_or(0));
            let id = RequestId::client(self.next_id);
            volume.submit(Request { id, command });
            self.in_flight.insert(id, InFlight { content, outages: self.outages, buffer, reply });
            self.next_id += 1;
        }
    }

    /// What was answered and not flushed may be lost. Flushes that are under way fail; and one of
    /// each session that comes afterwards, unless such a flush has told it and no write was under
    /// way, which may be answered meanwhile though a part of it is lost. If nothing was written
    /// since the last time, all have been told.
    pub(super) fn lose_unflushed(&mut self) {
        if !self.is_untold {
            return;
        }
        self.outages += 1;
        self.is_untold = self.in_flight.values().any(|it| matches!(it.content, Content::Write { .. }));
        if !self.is_untold {
            self.told_by_flushes = self.outages;
        }
    }

    /// Whether the volume has refused a session's flush by these answers.
    pub(super) fn has_refusal(&self, completions: &[Completion]) -> bool {
        let is_flush = |id: RequestId| self.in_flight.get(&id).is_some_and(|it| matches!(it.content, Content::Flush));
        completions.iter().any(|completion| completion.result.is_err() && is_flush(completion.id))
    }

    /// Answers what is done. A flush that was refused, which the volume says once, counts as an
    /// outage: for other sessions it is as if what was answered and not flushed were lost.
    pub(super) fn finish(&mut self, volume: &dyn Volume, completions: &mut Vec<Completion>) {
        for completion in completions.drain(..) {
            let done = self.in_flight.remove(&completion.id).expect("the volume answers what was submitted, once");
            self.free.extend(done.buffer);
            let is_flush = matches!(done.content, Content::Flush);
            if is_flush && completion.result.is_err() {
                self.lose_unflushed();
            }
            let was_under_way = done.outages < self.outages;
            let is_lost = is_flush && (was_under_way || done.reply.heard.has_missed(self.outages));
            if is_lost {
                done.reply.heard.catch_up(if was_under_way { self.told_by_flushes } else { self.outages });
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use shoal_drive::Arena;
    use shoal_volume::{Instant, VolumeError};

    use super::*;
    use crate::jobs::{Answered, Heard};

    /// Takes requests, and leaves it to the test to answer them: they are counted from 0.
    struct Patient(Arena);

    impl Volume for Patient {
        fn size_bytes(&self) -> u64 {
            1 << 20
        }

        fn logical_block_bytes(&self) -> u32 {
            512
        }

        fn arena(&self) -> &Arena {
            &self.0
        }

        fn request_buffers(&self) -> u32 {
            1
        }

        fn request_buffer_bytes(&self) -> u32 {
            4096
        }

        fn submit(&mut self, _: Request) {}

        fn poll(&mut self, _: usize, _: Option<Duration>, _: &mut Vec<Completion>) -> Result<(), VolumeError> {
            Ok(())
        }

        fn now(&self) -> Instant {
            Instant { ns: 0 }
        }
    }

    /// Sessions whose requests are answered when the test says so.
    struct Rig {
        traffic: Traffic,
        volume: Patient,
        sessions: [(Heard, Receiver<Answered>); 2],
        senders: [std::sync::mpsc::Sender<Answered>; 2],
        next: u64,
    }

    impl Rig {
        fn new() -> Self {
            let ((first, one), (second, two)) = (channel(), channel());
            Self {
                traffic: Traffic::new(1),
                volume: Patient(Arena::new(1 << 16).unwrap()),
                sessions: [(Heard::default(), one), (Heard::default(), two)],
                senders: [first, second],
                next: 0,
            }
        }

        /// A session asks for something; returns its number in the volume.
        fn ask(&mut self, session: usize, content: Content) -> u64 {
            let bytes = if let Content::Write { length, .. } = content { vec![1; length as usize] } else { Vec::new() };
            let heard = self.sessions[session].0.clone();
            let reply = Reply { id: self.next, answers: self.senders[session].clone(), heard };
            self.traffic.enter(content, bytes, reply);
            self.traffic.start(&mut self.volume);
            self.next += 1;
            self.next - 1
        }

        fn answer(&mut self, answers: &[(u64, Result<(), RequestError>)]) {
            let completion = |&(id, result): &(u64, _)| Completion { id: RequestId::client(id), result };
            self.traffic.finish(&self.volume, &mut answers.iter().map(completion).collect());
        }

        /// Whether the session's next answer is that all is well.
        fn is_well(&self, session: usize) -> bool {
            matches!(self.sessions[session].1.try_recv().unwrap().answer.outcome, Outcome::Done {})
        }

        fn write(&mut self, session: usize) {
            let id = self.ask(session, Content::Write { offset: 0, length: 512 });
            self.answer(&[(id, Ok(()))]);
            assert!(self.is_well(session));
        }

        fn flush(&mut self, session: usize) -> bool {
            let id = self.ask(session, Content::Flush);
            self.answer(&[(id, Ok(()))]);
            self.is_well(session)
        }
    }

    #[test]
    fn two_flushes_that_are_refused_at_once_fail_once_in_each_session() {
        let mut rig = Rig::new();
        rig.write(0);
        rig.write(1);
        let flushes = [rig.ask(0, Content::Flush), rig.ask(1, Content::Flush)];
        rig.answer(&flushes.map(|id| (id, Err(RequestError::Failed))));
        assert!(!rig.is_well(0) && !rig.is_well(1));
        assert!(rig.flush(0) && rig.flush(1), "both were told");
    }

    #[test]
    fn a_refused_flush_tells_other_sessions_at_once_or_by_their_next_flush() {
        let mut rig = Rig::new();
        rig.write(1);
        let (refused, other) = (rig.ask(0, Content::Flush), rig.ask(1, Content::Flush));
        rig.answer(&[(refused, Err(RequestError::Failed)), (other, Ok(()))]);
        assert!(!rig.is_well(0) && !rig.is_well(1), "it was under way");
        assert!(rig.flush(0) && rig.flush(1));
        rig.write(1);
        let refused = rig.ask(0, Content::Flush);
        rig.answer(&[(refused, Err(RequestError::Failed))]);
        assert!(!rig.is_well(0) && !rig.flush(1), "it is told afterwards");
        assert!(rig.flush(0) && rig.flush(1));
    }

    #[test]
    fn a_write_that_was_under_way_is_told_of_by_the_flush_that_covers_it() {
        let mut rig = Rig::new();
        let (refused, write) = (rig.ask(0, Content::Flush), rig.ask(1, Content::Write { offset: 0, length: 512 }));
        rig.answer(&[(refused, Err(RequestError::Failed)), (write, Ok(()))]);
        assert!(!rig.is_well(0) && rig.is_well(1));
        assert!(!rig.flush(1), "a part of it may be lost");
        assert!(rig.flush(1));
    }
}
