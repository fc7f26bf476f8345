//! A volume in memory that answers in any order: each request is carried out when it is answered,
//! after a delay by chance, so that two writes of one block which are under way together show. All
//! chance follows from a seed. Its time stands still but for [`Served::pass`], so that no stall of
//! the machine is taken for one of a drive.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use shoal_serve::{BUFFER_BYTES_MIN, BUFFERS_MIN, Bell, Export, Exporter, Exports, Handshakes};
use shoal_volume::{Arena, Command, Completion, Instant, LiveVolume, Request, RequestError, Span, Volume, VolumeError};

use crate::client::PATIENCE;

pub(crate) const BLOCK: u32 = 4096;
/// How long nothing of a request may move.
pub(crate) const DEADLINE: Duration = Duration::from_secs(4);
/// How often requests are looked at, so how much later than the deadline they may be given up.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
pub(crate) const SIZE: u64 = 8 << 20;
/// Reads that touch this block fail.
pub(crate) const BAD_BLOCK: u64 = SIZE - 4096;
/// What touches this block is not answered before [`Served::thaw`].
pub(crate) const FROZEN_BLOCK: u64 = SIZE - (1 << 20);
/// What the volume grows by.
pub(crate) const GROWTH: u64 = 1 << 20;
const BUFFERS: u32 = BUFFERS_MIN + 6;

/// Whether it is known which drives there are.
enum Acquaintance {
    Old,
    Unknown,
    New,
}

/// What a volume's owner and the test share.
struct Shared {
    flushes: AtomicU64,
    is_over: AtomicBool,
    is_frozen: AtomicBool,
    are_flushes_frozen: AtomicBool,
    has_lost_power: AtomicBool,
    /// The number of an [`Acquaintance`].
    acquaintance: AtomicU8,
    refused_flushes: AtomicU64,
    has_grown: AtomicBool,
    now_ns: AtomicU64,
    /// Turns in which there was nothing to do but what is frozen.
    rests: AtomicU64,
    /// Whoever has it holds the owner up.
    reins: Mutex<()>,
}

pub(crate) struct MemoryVolume {
    content: Vec<u8>,
    arena: Arena,
    queue: Vec<Request>,
    random: u64,
    is_in_order: bool,
    watched: Option<Arc<OwnedFd>>,
    shared: Arc<Shared>,
}

impl Shared {
    fn new() -> Self {
        Self {
            flushes: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            is_frozen: AtomicBool::new(true),
            are_flushes_frozen: AtomicBool::new(false),
            has_lost_power: AtomicBool::new(false),
            acquaintance: AtomicU8::new(Acquaintance::Old as u8),
            refused_flushes: AtomicU64::new(0),
            has_grown: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            rests: AtomicU64::new(0),
            reins: Mutex::new(()),
        }
    }
}

impl MemoryVolume {
    fn new(seed: u64, shared: Arc<Shared>) -> Self {
        let arena = Arena::new((BUFFERS * BUFFER_BYTES_MIN) as usize).unwrap();
        let (content, random) = (vec![0; (SIZE + GROWTH) as usize], seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self { content, arena, queue: Vec::new(), random, is_in_order: false, watched: None, shared }
    }

    /// One that nobody serves yet.
    pub(crate) fn alone(seed: u64) -> Self {
        Self::new(seed, Arc::new(Shared::new()))
    }

    /// Nothing is under way but what is frozen.
    fn is_idle(&self) -> bool {
        self.queue.iter().all(|it| self.is_frozen(&it.command))
    }

    fn is_frozen(&self, command: &Command) -> bool {
        let are_flushes_frozen = self.shared.are_flushes_frozen.load(Ordering::Relaxed);
        let is_meant = touches_frozen(command) || are_flushes_frozen && *command == Command::Flush;
        is_meant && self.shared.is_frozen.load(Ordering::Relaxed)
    }

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
                self.shared.flushes.fetch_add(1, Ordering::Relaxed);
                let one_less = |left: u64| left.checked_sub(1);
                let left = &self.shared.refused_flushes;
                if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
                    return Err(RequestError::Failed);
                }
            }
            Command::Discard { .. } => return Err(RequestError::Unsupported),
        }
        Ok(())
    }
}

impl Volume for MemoryVolume {
    fn size_bytes(&self) -> u64 {
        if self.shared.has_grown.load(Ordering::Relaxed) { SIZE + GROWTH } else { SIZE }
    }

    fn logical_block_bytes(&self) -> u32 {
        BLOCK
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn now(&self) -> Instant {
        Instant { ns: self.shared.now_ns.load(Ordering::Relaxed) }
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
            if self.is_frozen(&self.queue[chosen].command) {
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
        if let (true, Some(file)) = (self.is_idle(), &self.watched) {
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
fn serve_until_over(exporter: &mut Exporter, volume: &mut MemoryVolume) {
    let shared = Arc::clone(&volume.shared);
    volume.watch(exporter.file()).unwrap();
    let mut completions = Vec::new();
    let mut is_ending = false;
    while !is_ending || !exporter.has_ended() {
        drop(shared.reins.lock().unwrap());
        if shared.is_over.load(Ordering::Relaxed) && !std::mem::replace(&mut is_ending, true) {
            exporter.end();
        }
        if shared.has_lost_power.swap(false, Ordering::Relaxed) {
            exporter.lose_unflushed();
        }
        match shared.acquaintance.load(Ordering::Relaxed) {
            known if known == Acquaintance::Unknown as u8 => exporter.hold_arrivals(),
            known if known == Acquaintance::New as u8 => {
                exporter.reincarnate("a=2");
                exporter.take_arrivals();
            }
            _ => {}
        }
        let patience = exporter.serve(volume).min(Duration::from_millis(50));
        let is_idle = volume.is_idle();
        volume.turn(patience, &mut completions).unwrap();
        exporter.finish(volume, &mut completions);
        assert!(completions.is_empty(), "all requests are the exporter's");
        shared.rests.fetch_add(u64::from(is_idle), Ordering::Relaxed);
    }
}

fn touches_frozen(command: &Command) -> bool {
    let (Command::Read { offset, span } | Command::Write { offset, span }) = *command else { return false };
    offset <= FROZEN_BLOCK && FROZEN_BLOCK < offset + u64::from(span.length)
}

/// Serves all of a volume as `pond`, and a part as `ice`, which nobody may write.
pub(crate) fn exporter() -> Exporter {
    let pond = Export::whole("pond", "", SIZE, false);
    let ice = Export { offset: 1 << 20, size_bytes: 1 << 20, ..Export::whole("ice", "", 0, true) };
    let exports = Exports::new(vec![pond, ice], SIZE, BLOCK).unwrap();
    Exporter::new(exports, 0..BUFFERS).unwrap().with_deadline(DEADLINE)
}

/// A volume that is served.
pub(crate) struct Served {
    pub(crate) handshakes: Handshakes,
    bell: Bell,
    shared: Arc<Shared>,
    owner: Option<std::thread::JoinHandle<Vec<u8>>>,
}

impl Served {
    pub(crate) fn start(seed: u64) -> Self {
        Self::start_as(seed, false)
    }

    /// The same, but that requests are carried out in the order in which they are submitted.
    pub(crate) fn start_in_order(seed: u64) -> Self {
        Self::start_as(seed, true)
    }

    fn start_as(seed: u64, is_in_order: bool) -> Self {
        let mut exporter = exporter();
        let (handshakes, bell) = (exporter.handshakes(), exporter.bell());
        let shared = Arc::new(Shared::new());
        let theirs = Arc::clone(&shared);
        let owner = std::thread::spawn(move || {
            let mut volume = MemoryVolume { is_in_order, ..MemoryVolume::new(seed, theirs) };
            serve_until_over(&mut exporter, &mut volume);
            volume.content
        });
        Self { handshakes, bell, shared, owner: Some(owner) }
    }

    /// Flushes that have been carried out.
    pub(crate) fn flushes(&self) -> u64 {
        self.shared.flushes.load(Ordering::Relaxed)
    }

    /// Until this is dropped the owner does nothing.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.shared.reins.lock().unwrap()
    }

    /// Waits until there is nothing left to do with what clients have sent, but what is frozen.
    pub(crate) fn rest(&self) {
        // One such turn may be under way, and have begun before the last was sent.
        let rests = || self.shared.rests.load(Ordering::Relaxed);
        let enough = rests() + 2;
        let start = std::time::Instant::now();
        while rests() < enough {
            assert!(start.elapsed() < PATIENCE, "the owner does not come to rest");
            self.bell.ring();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the volume's time pass, after all that could be done before, and until all is done that
    /// could be then.
    pub(crate) fn pass(&self, time: Duration) {
        self.rest();
        self.shared.now_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        self.rest();
    }

    /// From now on all blocks are answered for.
    pub(crate) fn thaw(&self) {
        self.shared.is_frozen.store(false, Ordering::Relaxed);
        self.bell.ring();
    }

    /// From now on flushes are not answered before [`Self::thaw`].
    pub(crate) fn freeze_flushes(&self) {
        self.shared.are_flushes_frozen.store(true, Ordering::Relaxed);
    }

    /// The volume goes on after its drives have been without power; returns when clients are told.
    pub(crate) fn lose_power(&self) {
        self.shared.has_lost_power.store(true, Ordering::Relaxed);
        self.rest();
    }

    /// So many flushes fail that come next.
    pub(crate) fn refuse_flushes(&self, count: u64) {
        self.shared.refused_flushes.store(count, Ordering::Relaxed);
    }

    /// From now on it is not known which drives there are.
    pub(crate) fn lose_sight(&self) {
        self.shared.acquaintance.store(Acquaintance::Unknown as u8, Ordering::Relaxed);
        self.rest();
    }

    /// It is known, and they are others.
    pub(crate) fn know_again(&self) {
        self.shared.acquaintance.store(Acquaintance::New as u8, Ordering::Relaxed);
        self.rest();
    }

    /// From now on the volume is larger.
    pub(crate) fn grow(&self) {
        self.shared.has_grown.store(true, Ordering::Relaxed);
        self.bell.ring();
    }

    /// Ends it, which waits for no drive; what is in the volume then.
    pub(crate) fn stop(mut self) -> Vec<u8> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.bell.ring();
        let owner = self.owner.take().unwrap();
        let start = std::time::Instant::now();
        while !owner.is_finished() {
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        owner.join().unwrap()
    }
}
