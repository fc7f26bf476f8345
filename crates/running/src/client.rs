//! A running array, reached over its socket.
//!
//! Commands are asked one at a time. The content is a [`Volume`] with memory of its own: requests
//! go out as they are submitted, with what they write, and never more of them than the server takes
//! at a time; so both sides always read what the other has sent, and neither waits for the other.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_documents::protocol::{Answer, Command, Content, Outcome, REQUESTS_MAX, TRANSFER_BYTES_MAX};
use shoal_documents::{ErrorDocument, Fault, StateDocument};
use shoal_drive::{Arena, LoopError};
use shoal_volume::{Command as VolumeCommand, Completion, Instant, Request, RequestError, Volume, VolumeError};

use crate::handle::{ExecuteError, Handle};
use crate::identity::Identity;
use crate::silence::{self, PATIENCE, Wait};
use crate::wire::{ConnectError, Wire};

/// How often background work is looked at while a command waits for it.
const LOOK_DISTANCE: Duration = Duration::from_millis(200);
/// How long a process may take over its end, once it answers nobody.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// How long it is tried again where others have taken all places: those who say nothing give theirs
/// up sooner.
const CROWD_PATIENCE: Duration = Duration::from_secs(10);
/// Commands have ids with this bit, requests for content have theirs, which do not.
const COMMAND_BIT: u64 = 1 << 63;

/// A connection to the process that runs an array: sends one command at a time, and is a [`Volume`]
/// of its content.
pub struct Client {
    wire: Wire,
    array: Identity,
    next_id: u64,
    size_bytes: u64,
    logical_block_bytes: u32,
    transfer_bytes: u32,
    requests: u32,
    arena: Arena,
    in_flight: HashMap<u64, Request>,
    /// What broke the connection. Nothing is answered any more.
    broken: Option<io::Error>,
    origin: std::time::Instant,
}

impl Client {
    /// Reaches the array at a socket; none if nobody listens there.
    pub fn connect(socket: &Path) -> Result<Option<Self>, ConnectError> {
        let Some((wire, state)) = greet(socket)? else { return Ok(None) };
        let limits = state.running.ok_or_else(|| gone(&wire, "it does not say what it takes"))?;
        let transfer_bytes = limits.transfer_bytes_max.min(TRANSFER_BYTES_MAX);
        let requests = limits.requests_max.clamp(1, REQUESTS_MAX);
        let arena = Arena::new(requests as usize * transfer_bytes as usize).map_err(ConnectError::Memory)?;
        Ok(Some(Self {
            wire,
            array: Identity::of(&state.array),
            next_id: COMMAND_BIT + 1,
            size_bytes: state.array.capacity_bytes.unwrap_or(0),
            logical_block_bytes: limits.logical_block_bytes.max(1),
            transfer_bytes,
            requests,
            arena,
            in_flight: HashMap::new(),
            broken: None,
            origin: std::time::Instant::now(),
        }))
    }

    /// Which array it is.
    pub(crate) fn array(&self) -> &Identity {
        &self.array
    }

    fn send(&mut self, request: Request) -> io::Result<()> {
        let (content, bytes) = match request.command {
            VolumeCommand::Read { offset, span } => (Content::Read { offset, length: span.length }, None),
            VolumeCommand::Write { offset, span } => (Content::Write { offset, length: span.length }, Some(span)),
            VolumeCommand::Flush => (Content::Flush, None),
            VolumeCommand::Discard { .. } => return Err(io::Error::other("a running array discards nothing")),
        };
        let mut sent = Vec::new();
        if let Some(span) = bytes {
            sent.resize(span.length as usize, 0);
            self.arena.read(self.request_memory(span.buffer.0), &mut sent);
        }
        self.wire.send(request.id.number, content, &sent)?;
        self.in_flight.insert(request.id.number, request);
        Ok(())
    }

    /// Takes so many answers, or those that come in time.
    fn take_answers(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let wanted = at_least.min(self.in_flight.len());
        for _ in 0..wanted {
            match timeout {
                None => self.wire.wait(Wait::AsLongAsItTakes).map_err(|error| io::Error::other(error.to_string()))?,
                Some(_) if !self.wire.is_readable(timeout)? => return Ok(()),
                Some(_) => {}
            }
            completions.push(self.receive()?);
        }
        Ok(())
    }

    /// Takes one answer, and the content that comes with it.
    fn receive(&mut self) -> io::Result<Completion> {
        let answer = self.wire.receive()?;
        let asked = answer.id.and_then(|id| self.in_flight.remove(&id));
        let request = asked.ok_or_else(|| unexpected("an answer that nobody waits for"))?;
        let result = match (answer.outcome, request.command) {
            (Outcome::Content { bytes }, VolumeCommand::Read { span, .. }) if bytes == span.length => {
                let mut content = vec![0; bytes as usize];
                self.wire.receive_content(&mut content)?;
                self.arena.write(self.request_memory(span.buffer.0), &content);
                Ok(())
            }
            (Outcome::Done {}, VolumeCommand::Write { .. } | VolumeCommand::Flush) => Ok(()),
            (Outcome::Fault(fault), _) => Err(RequestError::from(fault)),
            (Outcome::Error(error), _) => return Err(unexpected(&error.message)),
            _ => return Err(unexpected("an answer to something else")),
        };
        Ok(Completion { id: request.id, result })
    }
}

/// Connects, and asks how the array is. A process that is about to end takes connections and
/// answers none: it is waited until nobody listens any more, or somebody new does. Where all places
/// are taken it is tried again.
fn greet(socket: &Path) -> Result<Option<(Wire, StateDocument)>, ConnectError> {
    let begun = std::time::Instant::now();
    loop {
        let Some(mut wire) = Wire::connect(socket)? else { return Ok(None) };
        let sent = wire.send(COMMAND_BIT, Command::Status, &[]);
        wire.wait(Wait::For(PATIENCE))?;
        match sent.and_then(|()| wire.receive()) {
            Ok(answer) if is_crowded(&answer) && begun.elapsed() < CROWD_PATIENCE => std::thread::sleep(LOOK_DISTANCE),
            Ok(answer) => {
                let state = state_of(&wire, answer.outcome)?;
                return Ok(Some((wire, state)));
            }
            Err(error) if is_closed(&error) && begun.elapsed() < END_PATIENCE => std::thread::sleep(LOOK_DISTANCE),
            Err(error) => return Err(gone(&wire, error).into()),
        }
    }
}

/// Whether the client was turned away, before it was asked anything, as there are too many.
fn is_crowded(answer: &Answer) -> bool {
    matches!(answer, Answer { id: None, outcome: Outcome::Error(ErrorDocument { kind: Fault::Busy, .. }) })
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the running array sent {what}"))
}

fn gone(wire: &Wire, why: impl std::fmt::Display) -> ExecuteError {
    ExecuteError::Gone { socket: wire.socket().to_owned(), why: why.to_string() }
}

fn ask(wire: &mut Wire, id: u64, mut command: Command) -> Result<StateDocument, ExecuteError> {
    for drive in command.drives() {
        let absolute: PathBuf = std::path::absolute(&*drive).map_err(ExecuteError::Directory)?;
        if absolute.to_str().is_none() {
            return Err(ExecuteError::NotText { drive: drive.clone() });
        }
        *drive = absolute;
    }
    // How it is it says at once; other commands take as long as drives do.
    let wait = match command {
        Command::Status => Wait::For(PATIENCE),
        Command::Stop => Wait::WhileItWrites(silence::END_PATIENCE),
        _ => Wait::AsLongAsItTakes,
    };
    let sent = wire.send(id, command, &[]);
    wire.wait(wait)?;
    // Whoever does not take the request may have said why.
    let answer = wire.receive().map_err(|error| gone(wire, sent.err().unwrap_or(error)))?;
    state_of(wire, answer.outcome)
}

fn state_of(wire: &Wire, outcome: Outcome) -> Result<StateDocument, ExecuteError> {
    match outcome {
        Outcome::State(state) => Ok(*state),
        Outcome::Error(error) => Err(ExecuteError::Remote(error)),
        _ => Err(gone(wire, "an answer to something else came")),
    }
}

impl Handle for Client {
    fn execute(&mut self, command: Command) -> Result<StateDocument, ExecuteError> {
        self.next_id += 1;
        ask(&mut self.wire, self.next_id, command)
    }

    fn wait(&mut self, patience: Duration) -> Result<StateDocument, ExecuteError> {
        std::thread::sleep(patience.min(LOOK_DISTANCE));
        self.execute(Command::Status)
    }

    fn content(&mut self) -> &mut dyn Volume {
        self
    }

    fn finish(&mut self) -> Result<StateDocument, ExecuteError> {
        self.execute(Command::Status)
    }

    fn goes_on_by_itself(&self) -> bool {
        true
    }
}

impl Volume for Client {
    fn size_bytes(&self) -> u64 {
        let block = u64::from(self.logical_block_bytes);
        self.size_bytes / block * block
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
        self.transfer_bytes
    }

    fn submit(&mut self, request: Request) {
        if self.broken.is_none() {
            self.broken = self.send(request).err();
        }
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        if self.broken.is_none() {
            self.broken = self.take_answers(at_least, timeout, completions).err();
        }
        // Whoever asks again hears it again: what was submitted is never answered.
        match &self.broken {
            Some(error) => {
                let why = format!("the process that runs the array does not answer any more: {error}");
                Err(VolumeError::Loop(LoopError::System(io::Error::new(error.kind(), why))))
            }
            None => Ok(()),
        }
    }

    /// The machine's time: also an array of simulated drives that runs goes by it.
    fn now(&self) -> Instant {
        Instant { ns: u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }
}
