//! What sessions hand to the thread that owns the array.

use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shoal_documents::StateDocument;
use shoal_documents::protocol::{Answer, Content, Outcome};
use shoal_serve::Bell;

use crate::handle::ExecuteError;
use crate::order::HostOrder;

/// Something to be done by the owner of the array, in the order of arrival.
#[derive(Debug)]
pub(super) enum Job {
    /// To administer the array; whoever asked waits.
    Administer { order: HostOrder, result: SyncSender<Result<StateDocument, ExecuteError>> },
    /// To read or write its content.
    Content { content: Content, bytes: Vec<u8>, reply: Reply },
    /// To bring it to rest and end; the client hears of it, if there is one.
    Stop(Option<StopReply>),
}

/// An answer with the content that follows its line.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) content: Vec<u8>,
}

/// Of how many outages of the drives a session has heard; of none that were over before its first
/// request.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Option<u32>>>);

impl Heard {
    /// The session has a request, after so many outages.
    pub(super) fn begin(&self, outages: u32) {
        self.lock().get_or_insert(outages);
    }

    /// Whether the session has not heard of so many.
    pub(super) fn has_missed(&self, outages: u32) -> bool {
        self.lock().is_some_and(|heard| heard < outages)
    }

    /// The session hears of so many.
    pub(super) fn catch_up(&self, outages: u32) {
        let mut heard = self.lock();
        *heard = (*heard).max(Some(outages));
    }

    fn lock(&self) -> MutexGuard<'_, Option<u32>> {
        // A number is never half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the answer to one request goes. It never waits for the client.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) answers: Sender<Answered>,
    /// That of the session.
    pub(super) heard: Heard,
}

impl Reply {
    /// Hands the answer over. A client that is gone misses it.
    pub(super) fn send(self, outcome: Outcome, content: Vec<u8>) {
        let _ = self.answers.send(Answered { answer: Answer { id: Some(self.id), outcome }, content });
    }
}

/// How the client that had an array stopped hears of its end.
#[derive(Debug)]
pub(super) struct StopReply {
    pub(super) result: SyncSender<Result<StateDocument, ExecuteError>>,
    /// Disconnected when the client has its answer, or is gone.
    pub(super) answered: Receiver<()>,
}

/// The sessions' end: hands jobs over and waits for what came of them.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    sender: Sender<Job>,
    /// Wakes the owner.
    bell: Bell,
}

impl Jobs {
    /// Jobs go where `sender` leads, to an owner who watches `bell`.
    pub(super) fn new(sender: Sender<Job>, bell: Bell) -> Self {
        Self { sender, bell }
    }

    /// Hands a job over; false if the array has ended.
    pub(super) fn hand_over(&self, job: Job) -> bool {
        let is_there = self.sender.send(job).is_ok();
        self.bell.ring();
        is_there
    }

    /// Has an order carried out.
    pub(super) fn administer(&self, order: HostOrder) -> Result<StateDocument, ExecuteError> {
        let (result, came) = sync_channel(1);
        if !self.hand_over(Job::Administer { order, result }) {
            return Err(ending());
        }
        came.recv().map_err(|_| ending())?
    }

    /// Has the array stopped. The process ends when what is returned beside the result is dropped.
    pub(super) fn stop(&self) -> (Result<StateDocument, ExecuteError>, SyncSender<()>) {
        let (result, came) = sync_channel(1);
        let (unanswered, answered) = sync_channel(1);
        self.hand_over(Job::Stop(Some(StopReply { result, answered })));
        (came.recv().map_err(|_| ending()).flatten(), unanswered)
    }

    /// Hands over what is to be done with the content; false if the array is ending.
    pub(super) fn content(&self, content: Content, bytes: Vec<u8>, reply: Reply) -> bool {
        self.hand_over(Job::Content { content, bytes, reply })
    }
}

fn ending() -> ExecuteError {
    ExecuteError::Ending
}
