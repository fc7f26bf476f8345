//! An export of an NBD server as a [`Volume`]: what a benchmark runs on.
//!
//! Content is copied between the volume's buffers and the client's: a copy that a program which
//! speaks NBD itself need not make, and a millisecond for some gigabytes. The server's caches, if
//! it has any, are the server's business.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::io::Errno;
use shoal_volume::{
    Arena, Command, Completion, Instant, Memory, Request, RequestError, RequestId, Span, Volume, VolumeError,
};

use crate::{Answer, Client, Operation};

/// A [`Volume`] over an export of an NBD server, with memory of its own.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    arena: Arena,
    requests: u32,
    request_bytes: u32,
    logical_block_bytes: u32,
    /// What is under way, and where the content of reads goes.
    in_flight: HashMap<RequestId, Request>,
    answer: Sender<(RequestId, Answer)>,
    answers: Receiver<(RequestId, Answer)>,
    /// Answers to what nobody was asked for.
    refused: Vec<Completion>,
    origin: std::time::Instant,
}

impl Remote {
    /// With so many buffers of so many bytes, which bound what is under way.
    pub fn new(client: Client, requests: u32, request_bytes: u32) -> std::io::Result<Self> {
        let arena = Arena::new(requests as usize * request_bytes as usize)?;
        let logical_block_bytes = client.block_bytes().min(512);
        let (answer, answers) = channel();
        let (in_flight, refused, origin) = (HashMap::new(), Vec::new(), std::time::Instant::now());
        Ok(Self {
            client,
            arena,
            requests,
            request_bytes,
            logical_block_bytes,
            in_flight,
            answer,
            answers,
            refused,
            origin,
        })
    }

    fn memory(&self, span: Span) -> Memory {
        let buffer = self.request_memory(span.buffer.0);
        Memory { offset: buffer.offset + span.offset as usize, length: span.length }
    }

    fn operation(&self, command: Command) -> Result<Operation, RequestError> {
        Ok(match command {
            Command::Read { offset, span } => Operation::Read { offset, length: span.length },
            Command::Write { offset, span } => {
                let mut data = vec![0; span.length as usize];
                self.arena.read(self.memory(span), &mut data);
                Operation::Write { offset, data, fua: false }
            }
            Command::Flush => Operation::Flush,
            Command::Discard { offset, length } => {
                let length = u32::try_from(length).map_err(|_| RequestError::Unsupported)?;
                Operation::Discard { offset, length }
            }
        })
    }

    fn complete(&mut self, id: RequestId, answer: Answer) -> Option<Completion> {
        let command = self.in_flight.remove(&id)?.command;
        let result = match (answer, command) {
            (Ok(content), Command::Read { span, .. }) => {
                self.arena.write(self.memory(span), &content);
                Ok(())
            }
            (Ok(_), _) => Ok(()),
            (Err(errno), command) => Err(error_of(errno, command)),
        };
        Some(Completion { id, result })
    }
}

/// As near as an errno comes to what a volume says.
fn error_of(errno: Errno, command: Command) -> RequestError {
    match (errno, command) {
        (Errno::ROFS | Errno::PERM, _) => RequestError::ReadOnly,
        (Errno::INVAL | Errno::NOSPC, _) => RequestError::OutOfRange,
        (Errno::OPNOTSUPP, _) => RequestError::Unsupported,
        (_, Command::Read { offset, .. }) => RequestError::Unreadable { offset },
        _ => RequestError::Failed,
    }
}

impl Volume for Remote {
    fn size_bytes(&self) -> u64 {
        let block = u64::from(self.logical_block_bytes);
        self.client.size_bytes() / block * block
    }

    fn logical_block_bytes(&self) -> u32 {
        self.logical_block_bytes
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn request_buffers(&self) -> u32 {
        self.requests
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.request_bytes
    }

    fn submit(&mut self, request: Request) {
        match self.operation(request.command) {
            Ok(operation) => {
                self.in_flight.insert(request.id, request);
                let answer = self.answer.clone();
                // A volume that is dropped meanwhile hears nothing any more.
                self.client.submit(operation, Box::new(move |result| drop(answer.send((request.id, result)))));
            }
            Err(error) => self.refused.push(Completion { id: request.id, result: Err(error) }),
        }
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        let mut wanted = at_least.saturating_sub(self.refused.len()).min(self.in_flight.len());
        completions.append(&mut self.refused);
        let until = timeout.map(|timeout| std::time::Instant::now() + timeout);
        loop {
            let next = match (wanted, until) {
                (0, _) => self.answers.try_recv().ok(),
                (_, None) => self.answers.recv().ok(),
                (_, Some(until)) => {
                    match self.answers.recv_timeout(until.saturating_duration_since(std::time::Instant::now())) {
                        Err(RecvTimeoutError::Timeout) => return Ok(()),
                        received => received.ok(),
                    }
                }
            };
            let Some((id, answer)) = next else { return Ok(()) };
            completions.extend(self.complete(id, answer));
            wanted = wanted.saturating_sub(1);
        }
    }

    fn now(&self) -> Instant {
        Instant { ns: u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }
}
