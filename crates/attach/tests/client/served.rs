//! Content in memory, served at a Unix socket by a server that can be killed and started again,
//! stand still, or be somebody else.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use shoal_serve::{Address, BUFFER_BYTES_MIN, BUFFERS_MIN, Export, Exporter, Exports, Listener, Protection};
use shoal_volume::{Arena, Command, Completion, Instant, LiveVolume, Request, RequestError, Span, Volume, VolumeError};

pub(crate) const SIZE: u64 = 8 << 20;
const BLOCK: u32 = 4096;
const BUFFERS: u32 = BUFFERS_MIN + 6;

const RUNS: u8 = 0;
const STANDS_STILL: u8 = 1;
const KILLED: u8 = 2;

/// What outlives a server: the drive, so to say.
#[derive(Clone)]
pub(crate) struct Medium {
    pub(crate) content: Arc<Mutex<Vec<u8>>>,
    pub(crate) flushes: Arc<AtomicU64>,
    /// The first half of it can be discarded; so many bytes were.
    pub(crate) discarded_bytes: Arc<AtomicU64>,
}

impl Medium {
    pub(crate) fn new() -> Self {
        Self {
            content: Arc::new(Mutex::new(vec![0; SIZE as usize])),
            flushes: Arc::default(),
            discarded_bytes: Arc::default(),
        }
    }
}

/// Carries out requests in order, a few at a time; those that it has when it is killed are carried
/// out as chance has it.
struct SlowVolume {
    medium: Medium,
    arena: Arena,
    queue: Vec<Request>,
    watched: Option<Arc<OwnedFd>>,
    random: u64,
}

impl SlowVolume {
    fn carry_out(&mut self, command: Command) -> Result<(), RequestError> {
        let place = |span: Span| shoal_volume::Memory {
            offset: (span.buffer.0 * BUFFER_BYTES_MIN + span.offset) as usize,
            length: span.length,
        };
        let range = |offset: u64, length: u32| offset as usize..offset as usize + length as usize;
        let mut content = self.medium.content.lock().unwrap();
        match command {
            Command::Read { offset, span } => self.arena.write(place(span), &content[range(offset, span.length)]),
            Command::Write { offset, span } => self.arena.read(place(span), &mut content[range(offset, span.length)]),
            Command::Flush => drop(self.medium.flushes.fetch_add(1, Ordering::Relaxed)),
            Command::Discard { offset, length } if offset + length <= SIZE / 2 => {
                content[range(offset, length as u32)].fill(0);
                self.medium.discarded_bytes.fetch_add(length, Ordering::Relaxed);
            }
            Command::Discard { .. } => return Err(RequestError::Unsupported),
        }
        Ok(())
    }

    fn chance(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random & 1 == 0
    }
}

impl Volume for SlowVolume {
    fn size_bytes(&self) -> u64 {
        SIZE
    }

    fn logical_block_bytes(&self) -> u32 {
        BLOCK
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn now(&self) -> Instant {
        Instant { ns: 0 }
    }

    fn request_buffers(&self) -> u32 {
        BUFFERS
    }

    fn request_buffer_bytes(&self) -> u32 {
        BUFFER_BYTES_MIN
    }

    fn submit(&mut self, request: Request) {
        self.queue.push(request);
    }

    fn poll(&mut self, _: usize, _: Option<Duration>, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        for Request { id, command } in self.queue.drain(..self.queue.len().min(3)).collect::<Vec<_>>() {
            completions.push(Completion { id, result: self.carry_out(command) });
        }
        Ok(())
    }
}

impl LiveVolume for SlowVolume {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        if let (true, Some(file)) = (self.queue.is_empty(), &self.watched) {
            let timeout = Timespec::try_from(patience).unwrap();
            poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)).unwrap();
        }
        self.poll(1, None, completions)
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError> {
        self.watched = Some(file);
        Ok(())
    }
}

/// A server of `pond`, at a socket in a directory.
pub(crate) struct Server {
    manner: Arc<AtomicU8>,
    owner: Option<JoinHandle<()>>,
    listener: Option<Listener>,
    pub(crate) address: Address,
}

impl Server {
    pub(crate) fn start(directory: &Path, medium: &Medium, seed: u64) -> Self {
        Self::start_at(&Address::Unix(socket(directory)), medium, seed, "array 1:2:3:4")
    }

    pub(crate) fn start_at(address: &Address, medium: &Medium, seed: u64, description: &str) -> Self {
        Self::start_with(address, medium, seed, (description, ""))
    }

    /// The same array on drives of which something is told.
    pub(crate) fn start_incarnation(directory: &Path, medium: &Medium, incarnation: &str) -> Self {
        Self::start_with(&Address::Unix(socket(directory)), medium, 1, ("array 1:2:3:4", incarnation))
    }

    fn start_with(address: &Address, medium: &Medium, seed: u64, (description, incarnation): (&str, &str)) -> Self {
        let pond = Export::whole("pond", description, SIZE, false);
        let exports = Exports::new(vec![pond], SIZE, BLOCK).unwrap().with_incarnation(incarnation);
        let mut exporter = Exporter::new(exports, 0..BUFFERS).unwrap();
        let listener = Listener::open(address, &Protection::Local).unwrap();
        listener.start(exporter.handshakes()).unwrap();
        let address = listener.address().clone();
        let manner = Arc::new(AtomicU8::new(RUNS));
        let (own, medium) = (Arc::clone(&manner), medium.clone());
        let owner = std::thread::spawn(move || {
            let arena = Arena::new((BUFFERS * BUFFER_BYTES_MIN) as usize).unwrap();
            let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut volume = SlowVolume { medium, arena, queue: Vec::new(), watched: None, random };
            volume.watch(exporter.file()).unwrap();
            let mut completions = Vec::new();
            loop {
                match own.load(Ordering::Relaxed) {
                    RUNS => {
                        let patience = exporter.serve(&mut volume).min(Duration::from_millis(5));
                        volume.turn(patience, &mut completions).unwrap();
                        exporter.finish(&mut volume, &mut completions);
                    }
                    STANDS_STILL => std::thread::sleep(Duration::from_millis(1)),
                    _ => break,
                }
            }
            // What drives have been told they may still do, before anybody else can have them.
            for Request { command, .. } in std::mem::take(&mut volume.queue) {
                if volume.chance() {
                    let _ = volume.carry_out(command);
                }
            }
        });
        Self { manner, owner: Some(owner), listener: Some(listener), address }
    }

    pub(crate) fn stand_still(&self) {
        self.manner.store(STANDS_STILL, Ordering::Relaxed);
    }

    pub(crate) fn go_on(&self) {
        self.manner.store(RUNS, Ordering::Relaxed);
    }

    /// Ends it in the midst of everything.
    pub(crate) fn kill(mut self) {
        self.manner.store(KILLED, Ordering::Relaxed);
        self.owner.take().unwrap().join().unwrap();
        drop(self.listener.take());
    }
}

pub(crate) fn socket(directory: &Path) -> PathBuf {
    directory.join("pond.nbd")
}
