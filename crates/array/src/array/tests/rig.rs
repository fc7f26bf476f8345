//! A small world for the engine: members and buffers as byte vectors, faults to order, effects done
//! in a chosen order.

use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

use shoal_parity::Parity;

use crate::*;

pub(super) const BLOCK: u64 = 512;
const SCRATCH_BYTES: u32 = 8192;

/// An engine and the world it works on.
pub(super) struct Rig {
    pub(super) array: Array,
    pub(super) members: Vec<Vec<u8>>,
    /// Blocks that cannot be read: (role, block number).
    pub(super) unreadable: Vec<(u16, u64)>,
    /// Members that answer nothing any more.
    pub(super) gone: Vec<u16>,
    /// Members that take no write any more.
    pub(super) stuck: Vec<u16>,
    /// Members that take no flush.
    pub(super) unflushable: Vec<u16>,
    /// By role: bytes that the member had been written by its last flush.
    pub(super) flushed: Vec<u64>,
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    in_flight: VecDeque<Effect>,
    pub(super) events: Vec<Event>,
    pub(super) writes: usize,
    pub(super) reads: usize,
    /// Bytes written, by role.
    pub(super) written: Vec<u64>,
    pub(super) hold_records: bool,
    pub(super) refuse_records: bool,
    pub(super) refuse_logs: bool,
    /// How often the log was asked.
    pub(super) logged: usize,
    /// By role: the bad-block log and the state, as recorded last.
    pub(super) logs: Vec<(BadBlocks, MemberState)>,
    random: u64,
    pub(super) now: Instant,
    next_id: u64,
    pending: Vec<(RequestId, u32)>,
}

pub(super) fn shape(level: Level, member_count: usize, chunk_bytes: u32, rows: u64) -> Shape {
    Shape { level, chunk_bytes, member_bytes: vec![rows * u64::from(chunk_bytes); member_count] }
}

impl Rig {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let count = shape.member_bytes.len();
        Self::with_states(shape, vec![MemberState::InSync; count], seed, true)
    }

    pub(super) fn with_states(shape: Shape, states: Vec<MemberState>, seed: u64, writable: bool) -> Self {
        let members = shape.member_bytes.iter().map(|bytes| vec![0; *bytes as usize]).collect();
        Self::assemble(members, seed, |scratch| Config { writable, ..Config::new(shape, states, scratch) })
    }

    /// An engine over members that hold something already.
    pub(super) fn assemble(members: Vec<Vec<u8>>, seed: u64, config: impl FnOnce(Scratch) -> Config) -> Self {
        let count = Scratch::least_count(members.len()) + (seed % 3) as u32 * 4;
        let bytes_each = [SCRATCH_BYTES, 12288, 4096][(seed % 7 % 3) as usize];
        let config = Config {
            logical_block_bytes: BLOCK as u32,
            background: Background { rate_min_bytes_per_s: 1 << 40, rate_max_bytes_per_s: 1 << 50, depth: 3 },
            ..config(Scratch { first: BufferId(0), count, bytes_each })
        };
        Self {
            array: Array::new(config).unwrap(),
            written: vec![0; members.len()],
            flushed: vec![0; members.len()],
            members,
            unreadable: vec![],
            gone: vec![],
            stuck: vec![],
            unflushable: vec![],
            buffers: vec![vec![0; bytes_each as usize]; count as usize],
            free: vec![],
            in_flight: VecDeque::new(),
            events: vec![],
            writes: 0,
            reads: 0,
            hold_records: false,
            refuse_records: false,
            refuse_logs: false,
            logged: 0,
            logs: vec![],
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now: Instant::default(),
            next_id: 0,
            pending: vec![],
        }
    }

    pub(super) fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }

    pub(super) fn random_seed(&mut self, seed: u64) {
        self.random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    }

    fn buffer(&mut self, bytes: Vec<u8>) -> Span {
        let length = bytes.len() as u32;
        let index = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(vec![]);
            self.buffers.len() as u32 - 1
        });
        self.buffers[index as usize] = bytes;
        Span { buffer: BufferId(index), offset: 0, length }
    }

    pub(super) fn submit(&mut self, command: Command) -> RequestId {
        let id = RequestId::client(self.next_id);
        self.next_id += 1;
        self.now = self.now.after_ns(1000);
        self.array.submit(self.now, Request { id, command });
        id
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn last_id(&self) -> u64 {
        self.next_id - 1
    }

    pub(super) fn submit_write(&mut self, offset: u64, bytes: &[u8]) -> RequestId {
        let span = self.buffer(bytes.to_vec());
        let id = self.submit(Command::Write { offset, span });
        self.pending.push((id, span.buffer.0));
        id
    }

    pub(super) fn submit_read(&mut self, offset: u64, length: u64) -> RequestId {
        let span = self.buffer(vec![0xEE; length as usize]);
        let id = self.submit(Command::Read { offset, span });
        self.pending.push((id, span.buffer.0));
        id
    }

    /// The bytes of a request that was answered.
    pub(super) fn take_bytes(&mut self, id: RequestId) -> Vec<u8> {
        let index = self.pending.iter().position(|(pending, _)| *pending == id).unwrap();
        let (_, buffer) = self.pending.swap_remove(index);
        self.free.push(buffer);
        core::mem::take(&mut self.buffers[buffer as usize])
    }

    pub(super) fn result(&self, id: RequestId) -> Option<Result<(), RequestError>> {
        self.events.iter().find_map(|event| match event {
            Event::Completed(completion) if completion.id == id => Some(completion.result),
            _ => None,
        })
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RequestError> {
        let id = self.submit_write(offset, bytes);
        self.run();
        self.take_bytes(id);
        self.result(id).unwrap()
    }

    pub(super) fn read(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, RequestError> {
        let id = self.submit_read(offset, length);
        self.run();
        let bytes = self.take_bytes(id);
        self.result(id).unwrap().map(|()| bytes)
    }

    pub(super) fn poll(&mut self) {
        while let Some(effect) = self.array.poll_effect() {
            self.in_flight.push_back(effect);
        }
        while let Some(event) = self.array.poll_event() {
            self.events.push(event);
        }
    }

    /// Does one effect, a random one; `false` if there is none.
    pub(super) fn step(&mut self) -> bool {
        self.poll();
        let hold_records = self.hold_records;
        let ready: Vec<_> = (0..self.in_flight.len())
            .filter(|index| !(hold_records && matches!(self.in_flight[*index], Effect::Record { .. })))
            .collect();
        if ready.is_empty() {
            let Some(due) = self.array.poll_timeout() else { return false };
            self.now = self.now.max(due);
            self.array.handle_timeout(self.now);
            self.poll();
            return !self.in_flight.is_empty() || self.array.poll_timeout().is_some();
        }
        let index = ready[self.random(ready.len() as u64) as usize];
        let effect = self.in_flight.remove(index).unwrap();
        let (id, outcome) = self.perform(effect);
        self.now = self.now.after_ns(1000);
        self.array.handle_outcome(self.now, id, outcome);
        self.poll();
        true
    }

    pub(super) fn run(&mut self) {
        for _ in 0..10_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the engine does not come to rest");
    }

    fn bytes(&self, span: Span) -> &[u8] {
        &self.buffers[span.buffer.0 as usize][span.offset as usize..][..span.length as usize]
    }

    fn bytes_mut(&mut self, span: Span) -> &mut [u8] {
        &mut self.buffers[span.buffer.0 as usize][span.offset as usize..][..span.length as usize]
    }

    fn perform(&mut self, effect: Effect) -> (EffectId, Outcome) {
        match effect {
            Effect::Io { id, role, io } => (id, self.perform_io(role, io)),
            Effect::Compute { id, compute } => (id, self.perform_compute(compute)),
            Effect::Log { id, .. } => {
                self.logged += 1;
                (id, if self.refuse_logs { Outcome::Failed(Fault::Gone) } else { Outcome::Done })
            }
            Effect::Record { id } if self.refuse_records => (id, Outcome::Failed(Fault::Gone)),
            Effect::Record { id } => {
                let states = self.array.member_states().iter().zip(0..);
                let log = |role| self.array.bad_blocks(Role(role)).clone();
                self.logs = states.map(|(state, role)| (log(role), *state)).collect();
                (id, Outcome::Done)
            }
        }
    }

    fn perform_io(&mut self, role: Role, io: MemberIo) -> Outcome {
        if self.gone.contains(&role.0) {
            return Outcome::Failed(Fault::Gone);
        }
        match io {
            MemberIo::Read { offset, span } => {
                self.reads += 1;
                let end = offset + u64::from(span.length);
                let is_bad =
                    |(bad, block): &(u16, u64)| *bad == role.0 && offset < (block + 1) * BLOCK && block * BLOCK < end;
                if self.unreadable.iter().any(is_bad) {
                    self.bytes_mut(span).fill(0xBD);
                    return Outcome::Failed(Fault::Unreadable);
                }
                let bytes = self.members[role.index()][offset as usize..end as usize].to_vec();
                self.bytes_mut(span).copy_from_slice(&bytes);
            }
            MemberIo::Write { .. } if self.stuck.contains(&role.0) => return Outcome::Failed(Fault::Gone),
            MemberIo::Write { offset, span } => {
                self.writes += 1;
                self.written[role.index()] += u64::from(span.length);
                let end = offset + u64::from(span.length);
                let bytes = self.bytes(span).to_vec();
                self.members[role.index()][offset as usize..end as usize].copy_from_slice(&bytes);
                self.unreadable
                    .retain(|(bad, block)| !(*bad == role.0 && offset <= block * BLOCK && (block + 1) * BLOCK <= end));
            }
            MemberIo::Flush if self.unflushable.contains(&role.0) => return Outcome::Failed(Fault::Gone),
            MemberIo::Flush => self.flushed[role.index()] = self.written[role.index()],
            MemberIo::Discard { .. } => {}
        }
        Outcome::Done
    }

    fn perform_compute(&mut self, compute: Compute) -> Outcome {
        match compute {
            Compute::Copy { from, to } => {
                let bytes = self.bytes(from).to_vec();
                self.bytes_mut(to).copy_from_slice(&bytes);
            }
            Compute::Compare { left, right } => return self.compare(left, right),
            Compute::Update { p, q, exponent, old, new } => {
                let (old, new) = (self.bytes(old).to_vec(), self.bytes(new).to_vec());
                let [mut p_bytes, mut q_bytes] = [p, q].map(|span| span.map(|span| self.bytes(span).to_vec()));
                Parity::best().update(p_bytes.as_deref_mut(), q_bytes.as_deref_mut(), exponent, &old, &new);
                for (span, bytes) in [(p, p_bytes), (q, q_bytes)] {
                    if let (Some(span), Some(bytes)) = (span, bytes) {
                        self.bytes_mut(span).copy_from_slice(&bytes);
                    }
                }
            }
            Compute::Solve { data, p, q } => self.solve(&data, p, q),
        }
        Outcome::Done
    }

    fn compare(&self, left: Span, right: Span) -> Outcome {
        assert_eq!(left.length, right.length);
        let blocks = self.bytes(left).chunks(BLOCK as usize).zip(self.bytes(right).chunks(BLOCK as usize));
        let differs = blocks.enumerate().filter(|(_, (left, right))| left != right);
        let ranges: Vec<_> =
            differs.map(|(block, _)| block as u32 * BLOCK as u32..(block as u32 + 1) * BLOCK as u32).collect();
        if ranges.is_empty() { Outcome::Done } else { Outcome::Differs(ranges) }
    }

    fn solve(&mut self, data: &[Block], p: Block, q: Block) {
        let mut contents: Vec<Option<Box<[u8]>>> = Vec::new();
        let all: Vec<Block> = data.iter().copied().chain([p, q]).collect();
        for block in &all {
            contents.push(match block {
                Block::Known(span) => Some(self.bytes(*span).into()),
                Block::Lost(span) => Some(vec![0xCC; span.length as usize].into()),
                Block::Absent => None,
            });
        }
        let mut blocks: Vec<_> = all
            .iter()
            .zip(&mut contents)
            .map(|(block, bytes)| match (block, bytes) {
                (Block::Known(_), Some(bytes)) => shoal_parity::Block::Known(bytes),
                (Block::Lost(_), Some(bytes)) => shoal_parity::Block::Lost(bytes),
                _ => shoal_parity::Block::Absent,
            })
            .collect();
        let (q, p) = (blocks.pop().unwrap(), blocks.pop().unwrap());
        Parity::best().solve(&mut blocks, p, q).unwrap();
        for (block, bytes) in all.iter().zip(contents) {
            if let (Block::Lost(span), Some(bytes)) = (block, bytes) {
                self.bytes_mut(*span).copy_from_slice(&bytes);
            }
        }
    }
}
