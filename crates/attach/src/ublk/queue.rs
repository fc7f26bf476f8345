//! Requests of the device, as operations of the client, and answers back.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::EventfdFlags;
use rustix::io::Errno;

use super::kernel::{Event, QueueRing};
use super::protocol::{BUFFER_BYTES, DEPTH, Descriptor, Kind, failure};
use crate::{Answer, Client, Operation};

/// The queue of one device, and the thread that serves it.
pub(super) struct Queue {
    ring: QueueRing,
    client: Client,
    answers: Arc<Answers>,
    events: Vec<Event>,
}

/// Answers that the queue has not seen yet.
struct Answers {
    list: Mutex<Vec<(u16, Answer)>>,
    wake: Arc<OwnedFd>,
}

impl Answers {
    fn push(&self, tag: u16, answer: Answer) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = list.is_empty();
        list.push((tag, answer));
        drop(list);
        if is_first {
            // It fails only if it has been called for ever without being heard.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Vec<(u16, Answer)> {
        std::mem::take(&mut *self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Queue {
    /// Offers to serve `device`, the character device. An error if the kernel does not take the
    /// offer.
    pub(super) fn open(device: File, client: Client) -> io::Result<Self> {
        let wake = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let buffer_bytes = usize::try_from(BUFFER_BYTES).expect("it fits");
        let ring = QueueRing::open(device, DEPTH, buffer_bytes, Arc::clone(&wake))?;
        let answers = Arc::new(Answers { list: Mutex::default(), wake });
        let mut this = Self { ring, client, answers, events: Vec::new() };
        this.ring.look(&mut this.events);
        let refused = this.events.iter().find_map(|event| match event {
            Event::Gone(_, errno) => Some(*errno),
            _ => None,
        });
        refused.map_or(Ok(this), |errno| Err(errno.into()))
    }

    /// Serves until the device is stopped.
    pub(super) fn serve(mut self) -> io::Result<()> {
        while !self.ring.is_over() {
            for event in std::mem::take(&mut self.events) {
                match event {
                    Event::Request(tag) => self.begin(tag),
                    Event::Woken => self.answer(),
                    Event::Gone(..) => {}
                }
            }
            if !self.ring.is_over() {
                self.ring.wait(&mut self.events)?;
            }
        }
        Ok(())
    }

    /// Hands a request to the client, whose answer comes from another thread.
    fn begin(&mut self, tag: u16) {
        let descriptor = self.ring.descriptor(tag);
        let Some(operation) = self.operation(tag, descriptor) else {
            return self.ring.finish(tag, failure(Errno::OPNOTSUPP));
        };
        let answers = Arc::clone(&self.answers);
        self.client.submit(operation, Box::new(move |answer| answers.push(tag, answer)));
    }

    fn operation(&mut self, tag: u16, descriptor: Descriptor) -> Option<Operation> {
        let Descriptor { kind, offset, length } = descriptor;
        let is_content = matches!(kind, Some(Kind::Read | Kind::Write { .. }));
        if is_content && length > BUFFER_BYTES {
            return None;
        }
        Some(match kind? {
            Kind::Read => Operation::Read { offset, length },
            Kind::Write { fua } => Operation::Write { offset, data: self.content(tag, length).to_vec(), fua },
            Kind::Flush => Operation::Flush,
            Kind::Discard => Operation::Discard { offset, length },
            Kind::Zeroes { may_discard } => Operation::WriteZeroes { offset, length, may_discard },
        })
    }

    fn content(&mut self, tag: u16, length: u32) -> &mut [u8] {
        &mut self.ring.buffer(tag)[..usize::try_from(length).expect("it fits")]
    }

    /// Passes on what the client has answered.
    fn answer(&mut self) {
        for (tag, answer) in self.answers.take() {
            let Descriptor { kind, length, .. } = self.ring.descriptor(tag);
            let done = i32::try_from(length).unwrap_or(i32::MAX);
            let result = match (answer, kind) {
                (Err(errno), _) => failure(errno),
                (Ok(content), Some(Kind::Read)) if content.len() == usize::try_from(length).expect("it fits") => {
                    self.content(tag, length).copy_from_slice(&content);
                    done
                }
                (Ok(_), Some(Kind::Read)) => failure(Errno::IO),
                (Ok(_), _) => done,
            };
            self.ring.finish(tag, result);
        }
    }
}
