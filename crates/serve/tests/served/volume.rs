//! A volume in memory that answers in any order: each request is carried out when it is answered, after a delay by chance,
//! so that two writes of one block which are under way together show. All chance follows from a seed.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use shoal_serve::{BUFFER_BYTES_MIN, BUFFERS_MIN, Bell, Door, Export, Exporter, Exports};
use shoal_volume::{Arena, Command, Completion, Instant, LiveVolume, Request, RequestError, Span, Volume, VolumeError};

pub(crate) const BLOCK: u32 = 4096;
/// How long nothing of a request may move.
pub(crate) const DEADLINE: Duration = Duration::from_secs(4);
pub(crate) const SIZE: u64 = 8 << 20;
/// Reads that touch this block fail.
pub(crate) const BAD_BLOCK: u64 = SIZE - 4096;
/// What touches this block is not answered before [`Served::thaw`].
pub(crate) const FROZEN_BLOCK: u64 = SIZE - (1 << 20);
/// What the volume grows by.
pub(crate) const GROWTH: u64 = 1 << 20;
const BUFFERS: u32 = BUFFERS_MIN + 6;

pub(crate) struct MemoryVolume {
    content: Vec<u8>,
    arena: Arena,
    queue: Vec<Request>,
    random: u64,
    is_in_order: bool,
    watched: Option<Arc<OwnedFd>>,
    pub(crate) flushes: Arc<AtomicU64>,
    is_frozen: Arc<AtomicBool>,
    has_grown: Arc<AtomicBool>,
    origin: std::time::Instant,
}

impl MemoryVolume {
    fn chance(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % below as u64) as usize
    }

    fn carry_out(&mut self, command: Command) -> Result<(), RequestError> {
        let place = |span: Span| shoal_volume::Memory {
            offset: (span.buffer.0 * BUFFER_BYTES_MIN + span.offset) as usize,
            length: span.length,
        };
        let range = |offset: u64, length: u32| {
            assert!(offset.is_multiple_of(u64::from(BLOCK)) && length.is_multiple_of(BLOCK) && length > 0);
            assert!(offset + u64::from(length) <= SIZE + GROWTH);
            offset as usize..offset as usize + length as usize
        };
        match command {
            Command::Read { offset, span } if offset < SIZE && offset + u64::from(span.length) > BAD_BLOCK => {
                return Err(RequestError::Unreadable { offset: BAD_BLOCK.max(offset) });
            }
            Command::Read { offset, span } => {
                self.arena.write(place(span), &self.content[range(offset, span.length)]);
            }
            Command::Write { offset, span } => {
                self.arena.read(place(span), &mut self.content[range(offset, span.length)]);
            }
            Command::Flush => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
            }
            Command::Discard { .. } => return Err(RequestError::Unsupported),
        }
        Ok(())
    }
}

impl Volume for MemoryVolume {
    fn size_bytes(&self) -> u64 {
        if self.has_grown.load(Ordering::Relaxed) { SIZE + GROWTH } else { SIZE }
    }

    fn logical_block_bytes(&self) -> u32 {
        BLOCK
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn now(&self) -> Instant {
        Instant { ns: self.origin.elapsed().as_nanos() as u64 }
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
        // Some of them, in any order; the others stay under way.
        for _ in 0..self.queue.len().min(3) {
            let chosen = if self.is_in_order { 0 } else { self.chance(self.queue.len()) };
            if self.is_frozen.load(Ordering::Relaxed) && touches_frozen(&self.queue[chosen].command) {
                continue;
            }
            let Request { id, command } = self.queue.remove(chosen);
            completions.push(Completion { id, result: self.carry_out(command) });
        }
        Ok(())
    }
}

impl LiveVolume for MemoryVolume {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        let is_frozen = self.is_frozen.load(Ordering::Relaxed);
        let is_idle = self.queue.iter().all(|it| is_frozen && touches_frozen(&it.command));
        if let (true, Some(file)) = (is_idle, &self.watched) {
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

/// The owner's loop.
fn serve_until(is_over: &AtomicBool, exporter: &mut Exporter, volume: &mut MemoryVolume) {
    volume.watch(exporter.file()).unwrap();
    let mut completions = Vec::new();
    let mut is_ending = false;
    while !is_ending || !exporter.has_ended() {
        if is_over.load(Ordering::Relaxed) && !std::mem::replace(&mut is_ending, true) {
            exporter.end();
        }
        let patience = exporter.serve(volume).min(Duration::from_millis(50));
        volume.turn(patience, &mut completions).unwrap();
        exporter.finish(volume, &mut completions);
        assert!(completions.is_empty(), "all requests are the exporter's");
    }
}

fn touches_frozen(command: &Command) -> bool {
    let (Command::Read { offset, span } | Command::Write { offset, span }) = *command else { return false };
    offset <= FROZEN_BLOCK && FROZEN_BLOCK < offset + u64::from(span.length)
}

/// A volume that is served: all of it as `pond`, and a part as `ice`, which nobody may write.
pub(crate) struct Served {
    pub(crate) door: Door,
    pub(crate) flushes: Arc<AtomicU64>,
    bell: Bell,
    stop: Arc<AtomicBool>,
    is_frozen: Arc<AtomicBool>,
    has_grown: Arc<AtomicBool>,
    owner: Option<std::thread::JoinHandle<Vec<u8>>>,
}

impl Served {
    pub(crate) fn start(seed: u64) -> Self {
        Self::start_when(seed, false, || {})
    }

    /// The same, but that nothing is served until `ready` returns; and in the order in which it was asked for, if so wanted.
    pub(crate) fn start_when(seed: u64, is_in_order: bool, ready: impl FnOnce() + Send + 'static) -> Self {
        let pond = Export::whole("pond", "", SIZE, false);
        let ice = Export { offset: 1 << 20, size_bytes: 1 << 20, ..Export::whole("ice", "", 0, true) };
        let exports = Exports::new(vec![pond, ice], SIZE, BLOCK).unwrap();
        let mut exporter = Exporter::new(exports, 0..BUFFERS).unwrap().with_deadline(DEADLINE);
        let flushes = Arc::new(AtomicU64::new(0));
        let (door, bell, stop) = (exporter.door(), exporter.bell(), Arc::new(AtomicBool::new(false)));
        let (is_frozen, has_grown) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let (frozen, grown) = (Arc::clone(&is_frozen), Arc::clone(&has_grown));
        let (counter, is_over) = (Arc::clone(&flushes), Arc::clone(&stop));
        let owner = std::thread::spawn(move || {
            let arena = Arena::new((BUFFERS * BUFFER_BYTES_MIN) as usize).unwrap();
            let (content, random) = (vec![0; (SIZE + GROWTH) as usize], seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let (queue, watched) = (Vec::new(), None);
            let origin = std::time::Instant::now();
            let mut volume = MemoryVolume {
                content,
                arena,
                queue,
                random,
                is_in_order,
                watched,
                flushes: counter,
                is_frozen: frozen,
                has_grown: grown,
                origin,
            };
            ready();
            serve_until(&is_over, &mut exporter, &mut volume);
            volume.content
        });
        Self { door, flushes, bell, stop, is_frozen, has_grown, owner: Some(owner) }
    }

    /// From now on all blocks are answered for.
    pub(crate) fn thaw(&self) {
        self.is_frozen.store(false, Ordering::Relaxed);
        self.bell.ring();
    }

    /// From now on the volume is larger.
    pub(crate) fn grow(&self) {
        self.has_grown.store(true, Ordering::Relaxed);
        self.bell.ring();
    }

    /// Ends it; what is in the volume then.
    pub(crate) fn stop(mut self) -> Vec<u8> {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
        self.owner.take().unwrap().join().unwrap()
    }
}
