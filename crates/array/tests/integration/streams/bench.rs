//! Writers, an engine without bytes, and drives that take their time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;

use shoal_array::{
    Array, Background, BufferId, Command, Config, Effect, EffectId, Event, Instant, Level, MemberIo, MemberState,
    Outcome, Request, RequestId, Role, Scratch, Shape, Span,
};

use crate::rig::random::Random;

const BLOCK: u32 = 512;
const ROWS: u64 = 256;

/// How long drives take.
#[derive(Clone, Debug)]
pub(super) struct Drives {
    pub(super) latency_ns: Range<u64>,
    /// One I/O in so many takes `stall_ns` more, and all behind it wait.
    pub(super) stalls_one_in: u64,
    pub(super) stall_ns: u64,
}

/// Writes a range once, so much at a time, keeping so many in flight.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) range: Range<u64>,
    pub(super) bytes: u64,
    pub(super) depth: usize,
    pub(super) is_backwards: bool,
    /// After an answer it goes on in so long.
    pub(super) replies_in_ns: Range<u64>,
}

/// What members were asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Reads in rows that are not for small writes alone.
    pub(super) reads: u64,
    /// Writes there that begin before the highest end of any earlier one.
    pub(super) steps_back: u64,
    /// When the last answer came.
    pub(super) end: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Ends(EffectId),
    /// A writer submits its next.
    Writes(usize),
}

/// An array, and who uses it.
pub(super) struct Bench {
    array: Array,
    drives: Drives,
    chunk_bytes: u64,
    random: Random,
    now: Instant,
    /// What comes when; the count keeps what comes at once in order.
    agenda: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    count: u64,
    busy_until: Vec<Instant>,
    highest: Vec<u64>,
    /// Rows of others' small writes, and how many are in flight.
    small: (Range<u64>, usize),
    /// By request: whose it is.
    owners: HashMap<RequestId, Owner>,
    next_request: u64,
    seen: Seen,
}

#[derive(Clone, Debug)]
enum Owner {
    Writer(usize),
    Small,
}

impl Bench {
    pub(super) fn new(
        level: Level,
        members: usize,
        chunk_bytes: u32,
        scratch_bytes: u32,
        drives: Drives,
        random: Random,
    ) -> Self {
        let shape = Shape { level, chunk_bytes, member_bytes: vec![ROWS * u64::from(chunk_bytes); members] };
        let scratch = Scratch { first: BufferId(1), count: 16 * members as u32, bytes_each: scratch_bytes };
        let mut config = Config::new(shape, vec![MemberState::InSync; members], scratch);
        config.background = Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 };
        Self {
            array: Array::new(config).expect("a sound shape"),
            drives,
            chunk_bytes: u64::from(chunk_bytes),
            random,
            now: Instant::default(),
            agenda: BinaryHeap::new(),
            count: 0,
            busy_until: vec![Instant::default(); members],
            highest: vec![0; members],
            small: (0..0, 0),
            owners: HashMap::new(),
            next_request: 0,
            seen: Seen::default(),
        }
    }

    pub(super) fn row_bytes(&self) -> u64 {
        self.chunk_bytes * self.array.geometry().data_count() as u64
    }

    /// Others write blocks in these rows, so many at a time, for as long as the writers go on.
    pub(super) fn small_writes(&mut self, rows: Range<u64>, depth: usize) {
        self.small = (rows, depth);
    }

    /// Lets writers write all that they have to.
    ///
    /// # Panics
    /// If somebody waits for ever.
    pub(super) fn run(&mut self, writers: &[Writer]) -> Seen {
        let mut left: Vec<VecDeque<Range<u64>>> = writers.iter().map(Writer::requests).collect();
        for _ in 0..self.small.1 {
            self.write_small();
        }
        for (index, writer) in writers.iter().enumerate() {
            for _ in 0..writer.depth {
                self.write_next(index, &mut left[index]);
            }
        }
        while self.owners.values().any(|owner| matches!(owner, Owner::Writer(_)))
            || left.iter().any(|it| !it.is_empty())
        {
            self.poll(writers);
            self.step(&mut left);
        }
        self.seen.end = self.now;
        self.seen
    }

    fn step(&mut self, left: &mut [VecDeque<Range<u64>>]) {
        let next = self.agenda.peek().map(|Reverse((at, ..))| *at);
        let timeout = self.array.poll_timeout();
        let moment = next.into_iter().chain(timeout).min().expect("somebody waits for nothing");
        self.now = self.now.max(moment);
        if timeout.is_some_and(|timeout| timeout <= self.now) {
            self.array.handle_timeout(self.now);
        }
        while let Some(Reverse((at, ..))) = self.agenda.peek()
            && *at <= self.now
        {
            match self.agenda.pop().expect("it was there").0.2 {
                Happening::Ends(id) => self.array.handle_outcome(self.now, id, Outcome::Done),
                Happening::Writes(writer) => self.write_next(writer, &mut left[writer]),
            }
        }
    }

    fn plan(&mut self, at: Instant, what: Happening) {
        self.count += 1;
        self.agenda.push(Reverse((at, self.count, what)));
    }

    fn write_next(&mut self, writer: usize, left: &mut VecDeque<Range<u64>>) {
        if let Some(range) = left.pop_front() {
            self.write(range, Owner::Writer(writer));
        }
    }

    /// A block anywhere in its rows.
    fn write_small(&mut self) {
        let (rows, _) = self.small.clone();
        let blocks = rows.start * self.row_bytes() / u64::from(BLOCK)..rows.end * self.row_bytes() / u64::from(BLOCK);
        let start = self.random.within(blocks) * u64::from(BLOCK);
        self.write(start..start + u64::from(BLOCK), Owner::Small);
    }

    fn write(&mut self, range: Range<u64>, owner: Owner) {
        let id = RequestId::client(self.next_request);
        self.next_request += 1;
        self.owners.insert(id, owner);
        let span = Span { buffer: BufferId(0), offset: 0, length: (range.end - range.start) as u32 };
        self.array.submit(self.now, Request { id, command: Command::Write { offset: range.start, span } });
    }

    /// Takes what the engine has to say.
    fn poll(&mut self, writers: &[Writer]) {
        while let Some(effect) = self.array.poll_effect() {
            match effect {
                Effect::Io { id, role, io } => self.begin(id, role, io),
                Effect::Compute { id, .. } | Effect::Record { id } | Effect::Log { id, .. } => {
                    self.plan(self.now, Happening::Ends(id));
                }
            }
        }
        while let Some(event) = self.array.poll_event() {
            let Event::Completed(completion) = event else { continue };
            assert_eq!(completion.result, Ok(()));
            match self.owners.remove(&completion.id).expect("answered once") {
                Owner::Writer(writer) => {
                    let in_ns = self.random.within(writers[writer].replies_in_ns.clone());
                    self.plan(self.now.after_ns(in_ns), Happening::Writes(writer));
                }
                Owner::Small => self.write_small(),
            }
        }
    }

    fn begin(&mut self, id: EffectId, role: Role, io: MemberIo) {
        let (offset, length, is_read) = match io {
            MemberIo::Read { offset, span } => (offset, u64::from(span.length), true),
            MemberIo::Write { offset, span } => (offset, u64::from(span.length), false),
            MemberIo::Flush | MemberIo::Discard { .. } => unreachable!("nobody asks for that"),
        };
        let index = role.index();
        if !self.small.0.contains(&(offset / self.chunk_bytes)) {
            self.seen.reads += u64::from(is_read);
            self.seen.steps_back += u64::from(!is_read && offset < self.highest[index]);
            self.highest[index] = self.highest[index].max(offset + length);
        }
        let stall_ns = if self.random.one_in(self.drives.stalls_one_in) { self.drives.stall_ns } else { 0 };
        let latency_ns = self.random.within(self.drives.latency_ns.clone()) + stall_ns;
        let due = self.busy_until[index].max(self.now).after_ns(latency_ns);
        self.busy_until[index] = due;
        self.plan(due, Happening::Ends(id));
    }
}

impl Writer {
    fn requests(&self) -> VecDeque<Range<u64>> {
        let Range { start, end } = self.range;
        let length = end - start;
        let steps = (0..length).step_by(self.bytes as usize);
        let forwards = steps.map(|at| at..(at + self.bytes).min(length));
        if self.is_backwards {
            forwards.map(|it| end - it.end..end - it.start).collect()
        } else {
            forwards.map(|it| start + it.start..start + it.end).collect()
        }
    }
}
