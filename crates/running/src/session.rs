//! One client of a running array: a thread that reads its requests, and one that writes the
//! answers.
//!
//! Nothing that a client does or leaves undone holds up the array or other clients. A request is
//! handed over when it is complete, with what it writes; an answer is taken off the array's hands
//! at once and waits here. What is kept for a client is bounded: one line, and [`REQUESTS_MAX`]
//! requests or answers with their content. A client that begins a request has [`REQUEST_PATIENCE`]
//! to end it, and as long to take what it is answered. For its first word it has
//! [`FIRST_PATIENCE`]; between requests it may be silent for as long as it likes, but goes when
//! others want to come.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use shoal_documents::protocol::{
    Answer, Asked, Command, Content, LINE_BYTES_MAX, Outcome, REQUESTS_MAX, TRANSFER_BYTES_MAX, parse,
};
use shoal_documents::{ErrorDocument, Fault, StateDocument};
use shoal_inventory::Environment;

use crate::handle::ExecuteError;
use crate::jobs::{Answered, Heard, Jobs, Reply};
use crate::order::prepare;
use crate::seats::Seat;

/// How long a client may take over a request, or over taking what it is answered.
const REQUEST_PATIENCE: Duration = Duration::from_secs(10);

/// How long a client may take over its first word.
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(5);

/// Serves a client until it goes, makes no sense, or the array ends.
pub(super) fn serve(environment: &Environment, stream: UnixStream, seat: &Seat, jobs: &Jobs) {
    let _ = serve_until_gone(environment, &stream, seat, jobs);
    let _ = stream.shutdown(Shutdown::Both);
}

fn serve_until_gone(environment: &Environment, stream: &UnixStream, seat: &Seat, jobs: &Jobs) -> io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_PATIENCE))?;
    let (answers, to_write) = channel();
    let (started, ended) = sync_channel(REQUESTS_MAX as usize);
    let sink = stream.try_clone()?;
    let writer = std::thread::Builder::new().name("shoal-answers".to_owned());
    let writer = writer.spawn(move || write_answers(sink, &to_write, &ended))?;
    let requests = BufReader::new(Patient { stream, deadline: Some(Instant::now() + FIRST_PATIENCE) });
    let mut session = Session { environment, requests, seat, jobs, answers, heard: Heard::default(), started };
    let mut stopping = None;
    while session.serve_one(&mut stopping)? {
        session.requests.get_mut().deadline = None;
    }
    drop(session);
    // All that was asked is answered, unless the client is gone; only then may a process that is to
    // end do so.
    let _ = writer.join();
    drop(stopping);
    Ok(())
}

struct Session<'a> {
    environment: &'a Environment,
    requests: BufReader<Patient<'a>>,
    seat: &'a Seat,
    jobs: &'a Jobs,
    answers: Sender<Answered>,
    heard: Heard,
    /// Takes a request in; full while as many as a client may have are not answered.
    started: SyncSender<()>,
}

impl Session<'_> {
    /// Serves one request. Returns whether there may be another.
    fn serve_one(&mut self, stopping: &mut Option<SyncSender<()>>) -> io::Result<bool> {
        let Some(line) = self.line()? else { return Ok(false) };
        if self.started.send(()).is_err() {
            return Ok(false);
        }
        match parse(&line) {
            Ok((id, Asked::Content(content))) => self.content(id, content),
            Ok((id, Asked::Administer(Command::Stop))) => {
                let (stopped, unanswered) = self.jobs.stop();
                *stopping = Some(unanswered);
                self.answer(Some(id), outcome(stopped));
                Ok(false)
            }
            Ok((id, Asked::Administer(command))) => {
                let outcome = outcome(self.administer(command));
                Ok(self.answer(Some(id), outcome))
            }
            Err((id, why)) => {
                let known = id.is_some();
                self.answer(id, refusal(&format!("this is no request: {why}")));
                // Content may follow a line that is not understood at all; what is where cannot be
                // told any more.
                Ok(known)
            }
        }
    }

    /// Waits for a request's line; none when the client has gone.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.seat.is_idle();
        let is_over = self.requests.fill_buf()?.is_empty();
        self.seat.is_busy();
        if is_over {
            return Ok(None);
        }
        self.requests.get_mut().deadline = Some(Instant::now() + REQUEST_PATIENCE);
        let mut line = Vec::new();
        self.requests.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if line.last() == Some(&b'\n') {
            return Ok(Some(line));
        }
        if line.len() == LINE_BYTES_MAX && self.started.send(()).is_ok() {
            self.answer(None, refusal(&format!("a request's line has at most {LINE_BYTES_MAX} bytes")));
        }
        Ok(None)
    }

    fn administer(&self, mut command: Command) -> Result<StateDocument, ExecuteError> {
        if let Some(drive) = command.drives().into_iter().find(|drive| !drive.is_absolute()) {
            return Err(ExecuteError::Relative { drive: drive.clone() });
        }
        let order = prepare(self.environment, command, &mut |order| self.jobs.administer(order))?;
        self.jobs.administer(order)
    }

    /// Hands a request for content over, with what it writes.
    fn content(&mut self, id: u64, content: Content) -> io::Result<bool> {
        let length = match content {
            Content::Read { length, .. } | Content::Write { length, .. } => length,
            Content::Flush => 1,
        };
        if length == 0 || length > TRANSFER_BYTES_MAX {
            let why = format!("a read or write of {length} bytes: from 1 to {TRANSFER_BYTES_MAX} are possible");
            self.answer(Some(id), refusal(&why));
            return Ok(!matches!(content, Content::Write { .. }));
        }
        let mut bytes = Vec::new();
        if let Content::Write { .. } = content {
            bytes.resize(length as usize, 0);
            self.requests.read_exact(&mut bytes)?;
        }
        let reply = Reply { id, answers: self.answers.clone(), heard: self.heard.clone() };
        Ok(self.jobs.content(content, bytes, reply))
    }

    /// Hands an answer to the writer. Returns whether it is still there.
    fn answer(&self, id: Option<u64>, outcome: Outcome) -> bool {
        self.answers.send(Answered { answer: Answer { id, outcome }, content: Vec::new() }).is_ok()
    }
}

fn outcome(result: Result<StateDocument, ExecuteError>) -> Outcome {
    match result {
        Ok(state) => Outcome::State(Box::new(state)),
        Err(error) => Outcome::Error(ErrorDocument::of(&error)),
    }
}

fn refusal(why: &str) -> Outcome {
    Outcome::Error(ErrorDocument {
        kind: Fault::Usage,
        exit_status: Fault::Usage.exit_status(),
        message: why.to_owned(),
    })
}

/// Writes answers as they come, until nobody has any more to give. If the client does not take
/// them, they are dropped, and the reader finds the connection closed.
fn write_answers(mut sink: UnixStream, answers: &Receiver<Answered>, ended: &Receiver<()>) {
    let mut is_gone = false;
    for answered in answers {
        is_gone = is_gone || write_answer(&mut sink, &answered).is_err();
        if is_gone {
            let _ = sink.shutdown(Shutdown::Both);
        }
        let _ = ended.recv();
    }
}

fn write_answer(sink: &mut UnixStream, answered: &Answered) -> io::Result<()> {
    let mut line = serde_json::to_vec(&answered.answer)?;
    line.push(b'\n');
    sink.write_all(&line)?;
    sink.write_all(&answered.content)
}

/// Reads from a client until a moment, however slowly the bytes come.
struct Patient<'a> {
    stream: &'a UnixStream,
    deadline: Option<Instant>,
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(left)?;
        self.stream.read(bytes)
    }
}
