//! The window over an engine that answers in any order, held against a flat copy of what was
//! written.

mod refusals;
mod stretches;

use std::cell::RefCell;
use std::ops::Range;

use shoal_array::BufferId;

use super::flushes::REST_NS;
use super::prices::RUNS_MIN;
use super::*;
use crate::buffers::Stretches;

const CAPACITY: u64 = 1 << 20;
const REQUEST_BYTES: u32 = 64 << 10;
const REQUESTS: u32 = 6;
const BUFFERS: u32 = 3;
const BUFFER_BYTES: u32 = 32 << 10;

/// A generator of numbers, as good as is needed here (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The memory of all buffers.
struct Memory(RefCell<Vec<Vec<u8>>>);

impl Content for Memory {
    fn read(&self, span: Span, bytes: &mut [u8]) {
        let start = span.offset as usize;
        bytes.copy_from_slice(&self.0.borrow()[span.buffer.0 as usize][start..start + bytes.len()]);
    }

    fn write(&self, span: Span, bytes: &[u8]) {
        let start = span.offset as usize;
        self.0.borrow_mut()[span.buffer.0 as usize][start..start + bytes.len()].copy_from_slice(bytes);
    }
}

/// A request that the window has not answered.
struct Asked {
    request: Request,
    /// What its range may read as, when it is a read: what it was when the read came.
    expected: Vec<u8>,
    /// What has to be with the members when it is answered, if it is a flush, where nobody wrote
    /// since.
    durable: Vec<u8>,
    /// When it came.
    since: u64,
}

struct World {
    window: WriteBack,
    memory: Memory,
    /// What the members have.
    members: Vec<u8>,
    /// What was written and answered.
    answered: Vec<u8>,
    /// By block: when a write or discard of it last came, or was answered.
    touched: Vec<u64>,
    clock: u64,
    /// With the engine, in the order in which it came.
    engine: Vec<(Option<Purpose>, Request)>,
    asked: Vec<Option<Asked>>,
    now: Instant,
    member_writes: usize,
    stretch_reads: usize,
}

impl World {
    fn new(layout: Layout, window_bytes: u64) -> Self {
        let span = |buffer| Span { buffer: BufferId(buffer), offset: 0, length: BUFFER_BYTES };
        let buffers: Vec<Span> = (REQUESTS..REQUESTS + BUFFERS).map(span).collect();
        let lengths = (0..REQUESTS + BUFFERS).map(|n| if n < REQUESTS { REQUEST_BYTES } else { BUFFER_BYTES });
        let mut window = WriteBack::new(layout, window_bytes, &buffers);
        window.set_whole(true);
        Self {
            window,
            memory: Memory(RefCell::new(lengths.map(|length| vec![0; length as usize]).collect())),
            members: vec![0; CAPACITY as usize],
            answered: vec![0; CAPACITY as usize],
            touched: vec![0; CAPACITY as usize / 512],
            clock: 0,
            engine: Vec::new(),
            asked: (0..REQUESTS).map(|_| None).collect(),
            now: Instant::default(),
            member_writes: 0,
            stretch_reads: 0,
        }
    }

    fn submit(&mut self, buffer: u32, command: Command) {
        let request = Request { id: RequestId::client(buffer.into()), command };
        let expected = self.answered[bytes_of(&request.command.range())].to_vec();
        let durable = if command == Command::Flush { self.answered.clone() } else { Vec::new() };
        self.touch(&request);
        self.asked[buffer as usize] = Some(Asked { request, expected, durable, since: self.clock });
        self.window.submit(self.now, request, &self.memory);
        self.pump();
    }

    /// It is known what runs cost, and not what stretches do: these are tried.
    fn runs_are_dear(&mut self) {
        self.window.prices.runs_took(self.now, 1 << 40, RUNS_MIN);
    }

    fn touch(&mut self, request: &Request) {
        self.clock += 1;
        if matches!(request.command, Command::Write { .. } | Command::Discard { .. }) {
            let at = bytes_of(&request.command.range());
            self.touched[at.start / 512..at.end / 512].fill(self.clock);
        }
    }

    fn pump(&mut self) {
        while let Some(step) = self.window.next_step(&self.memory) {
            match step {
                Step::Pass(request) => self.engine.push((None, request)),
                Step::Submit(purpose, command) => {
                    let number = u64::MAX; // nobody looks at it
                    self.engine.push((Some(purpose), Request { id: RequestId::client(number), command }));
                }
                Step::Answer(completion) => self.answer(completion),
            }
        }
    }

    /// The engine does one of those that nothing before them overlaps.
    fn engine_does(&mut self, random: &mut Random, result: Result<(), RequestError>) {
        if let Some(index) = self.pick(random) {
            self.engine_does_this(index, result);
        }
    }

    /// Picks one of those that nothing before them overlaps.
    fn pick(&self, random: &mut Random) -> Option<usize> {
        let free = |index: &usize| {
            let range = self.engine[*index].1.command.range();
            self.engine[..*index].iter().all(|(_, other)| {
                let other = other.command.range();
                other.end <= range.start || range.end <= other.start
            })
        };
        let free: Vec<usize> = (0..self.engine.len()).filter(free).collect();
        (!free.is_empty()).then(|| free[random.below(free.len() as u64) as usize])
    }

    fn engine_does_this(&mut self, index: usize, result: Result<(), RequestError>) {
        let (purpose, request) = self.engine.remove(index);
        self.now = self.now.after_ns(1000);
        self.stretch_reads += usize::from(purpose == Some(Purpose::Stretch));
        let at = bytes_of(&request.command.range());
        match request.command {
            Command::Write { span, .. } => {
                self.member_writes += 1;
                if result.is_ok() {
                    let mut bytes = vec![0; span.length as usize];
                    self.memory.read(span, &mut bytes);
                    self.members[at].copy_from_slice(&bytes);
                }
            }
            Command::Read { span, .. } => self.memory.write(span, &self.members[at]),
            Command::Discard { .. } => self.members[at].fill(0),
            Command::Flush => {}
        }
        match purpose {
            Some(purpose) => self.window.ended(self.now, purpose, result, &self.memory),
            None => self.answer(Completion { id: request.id, result }),
        }
        self.pump();
    }

    fn answer(&mut self, completion: Completion) {
        let asked = self.asked[completion.id.number as usize].take().expect("it is answered once");
        self.touch(&asked.request);
        let at = bytes_of(&asked.request.command.range());
        match asked.request.command {
            Command::Write { span, .. } => {
                let mut bytes = vec![0; span.length as usize];
                self.memory.read(span, &mut bytes);
                self.answered[at].copy_from_slice(&bytes);
            }
            Command::Read { span, .. } => {
                let mut bytes = vec![0; span.length as usize];
                self.memory.read(span, &mut bytes);
                assert!(bytes == asked.expected, "a read of {at:?} is not what was written");
            }
            Command::Discard { .. } => self.answered[at].fill(0),
            Command::Flush if completion.result.is_ok() => {
                let is_lost = |&block: &usize| {
                    let bytes = block * 512..(block + 1) * 512;
                    let range = bytes.start as u64..bytes.end as u64;
                    let is_old = self.touched[block] < asked.since && !self.has_overlap(&range);
                    is_old && asked.durable[bytes.clone()] != self.members[bytes]
                };
                let lost = (0..self.touched.len()).find(is_lost);
                assert_eq!(lost, None, "a block is not with the members though a flush says so");
            }
            Command::Flush => {}
        }
    }

    fn has_overlap(&self, range: &Range<u64>) -> bool {
        self.asked.iter().flatten().any(|asked| {
            let other = asked.request.command.range();
            other.start < range.end && range.start < other.end
        })
    }
}

fn bytes_of(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn command(random: &mut Random, offset: u64, span: Span) -> Command {
    match random.below(12) {
        0 => Command::Flush,
        1 => Command::Discard { offset, length: span.length.into() },
        2..5 => Command::Read { offset, span },
        _ => Command::Write { offset, span },
    }
}

/// Lets everything come to its end.
fn end(world: &mut World, random: &mut Random) {
    // First what waits for room, then what is left of it in the window.
    for _ in 0..3 {
        while !world.engine.is_empty() {
            world.engine_does(random, Ok(()));
        }
        world.window.empty();
        world.pump();
    }
}

/// One story: requests of all kinds that do not overlap, at random, some of them sequential; with
/// members that refuse loads at times, or never.
fn story(seed: u64, layout: Layout, window_bytes: u64, refuses: bool) -> usize {
    let mut random = Random(seed * 2 + 1);
    let mut world = World::new(layout, window_bytes);
    tell(&mut world, &mut random, refuses);
    end(&mut world, &mut random);
    assert!(world.window.pages.is_empty() && world.window.is_at_rest(), "something waits for nothing");
    assert!(world.asked.iter().all(Option::is_none), "a request is not answered");
    assert!(world.members == world.answered, "what was answered is with the members at the end");
    world.stretch_reads
}

fn tell(world: &mut World, random: &mut Random, refuses: bool) {
    let mut stream = 0;
    for _ in 0..600 {
        let buffer = random.below(u64::from(REQUESTS)) as u32;
        if world.asked[buffer as usize].is_none() && random.below(3) > 0 {
            let blocks_max = [16, 128][random.below(2) as usize];
            let length = (1 + random.below(blocks_max)) * 512;
            let offset = if random.below(2) == 0 { stream } else { random.below((CAPACITY - length) / 512) * 512 };
            let range = offset..(offset + length).min(CAPACITY);
            let span = Span { buffer: BufferId(buffer), offset: 0, length: (range.end - range.start) as u32 };
            let command = command(random, offset, span);
            if command == Command::Flush || !world.has_overlap(&range) {
                if let Command::Write { .. } = command {
                    stream = if range.end == CAPACITY { 0 } else { range.end };
                    let value = random.below(256) as u8;
                    world.memory.0.borrow_mut()[buffer as usize].fill(value);
                }
                world.submit(buffer, command);
            }
        } else if random.below(40) == 0 {
            world.window.prices = Prices::default();
            if random.below(2) == 0 {
                world.runs_are_dear();
            }
        } else if random.below(20) == 0 {
            world.now = world.now.after_ns(REST_NS);
            world.window.look(world.now);
            world.pump();
        } else {
            if let Some(index) = world.pick(random) {
                let is_load = matches!(world.engine[index].0, Some(Purpose::Load(_) | Purpose::Stretch));
                let is_refused = refuses && is_load && random.below(3) == 0;
                world.engine_does_this(index, if is_refused { Err(RequestError::Failed) } else { Ok(()) });
            }
        }
    }
}

fn layout(row_bytes: u64, chunk_bytes: u64) -> Layout {
    Layout {
        row_bytes,
        chunk_bytes,
        group_rows: 4,
        stretch_runs: Some(5),
        stretches: Stretches::Measured,
        capacity_bytes: CAPACITY,
    }
}

#[test]
fn what_was_answered_is_read_back_and_what_was_flushed_is_with_the_members() {
    let mut stretch_reads = 0;
    for seed in 0..60 {
        stretch_reads += story(seed, layout(12 << 10, 4 << 10), 256 << 10, false); // two rows in a buffer
        stretch_reads += story(seed, layout(60 << 10, 20 << 10), 256 << 10, false); // rows of two buffers, of three chunks
        story(seed, layout(240 << 10, 40 << 10), 320 << 10, false); // rows that are longer than all buffers
        story(seed, layout(240 << 10, 40 << 10), 32 << 10, false); // a window smaller than a request
    }
    assert!(stretch_reads > 1000, "only {stretch_reads} reads for stretches");
}

#[test]
fn a_flush_covers_what_the_members_have_refused_before_and_takes_since() {
    for seed in 0..300 {
        story(seed, layout(12 << 10, 4 << 10), 256 << 10, true);
        story(seed, layout(60 << 10, 20 << 10), 256 << 10, true);
    }
}

fn write(world: &mut World, buffer: u32, offset: u64, length: u32) {
    world.submit(buffer, Command::Write { offset, span: Span { buffer: BufferId(buffer), offset: 0, length } });
}

#[test]
fn small_sequential_writes_leave_as_whole_rows_in_ascending_order() {
    let mut world = World::new(layout(24 << 10, 8 << 10), 256 << 10);
    for part in 0..48 {
        write(&mut world, 0, part * 4096, 4096);
    }
    let mut random = Random(1);
    let mut end = 0;
    while !world.engine.is_empty() {
        let range = world.engine[0].1.command.range();
        assert_eq!((range.start, (range.end - range.start) % (24 << 10)), (end, 0), "rows are whole, and in order");
        end = range.end;
        let only = world.engine.split_off(1);
        world.engine_does(&mut random, Ok(()));
        let new = std::mem::replace(&mut world.engine, only);
        world.engine.extend(new);
    }
    assert_eq!((end, world.member_writes), (48 * 4096, 8));
}

#[test]
fn whole_rows_pass_alone_or_if_there_are_many() {
    let passes = |offset: u64, length: u32| {
        let mut world = World::new(layout(4 << 10, 4 << 10), 256 << 10);
        write(&mut world, 0, offset, length);
        let ranges = world.engine.iter().map(|(_, request)| request.command.range());
        let ranges: Vec<_> = ranges.map(|range| (range.start >> 10, range.end >> 10)).collect();
        assert_eq!(world.asked[0].is_some(), ranges.iter().any(|(start, end)| end - start > 4));
        (ranges, world.window.dirty_bytes())
    };
    assert_eq!(passes(4 << 10, 8 << 10), (vec![(4, 12)], 0), "two rows");
    assert_eq!(passes(2 << 10, 38 << 10), (vec![(4, 40)], 2 << 10), "nine rows, and half of one");
    assert_eq!(passes(2 << 10, 8 << 10), (vec![(4, 8)], 4 << 10), "one row, which is staged, and halves");
}

#[test]
fn the_window_is_emptied_when_nobody_writes() {
    let mut world = World::new(layout(12 << 10, 4 << 10), 256 << 10);
    write(&mut world, 0, 0, 4096);
    let due = world.window.due().unwrap();
    world.window.look(Instant { ns: due.ns - 1 });
    world.pump();
    assert!(world.engine.is_empty());
    world.window.look(due);
    world.pump();
    assert_eq!(world.engine.len(), 1);
}
