//! What is asked of a drive, and by which I/O.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// Sizes that transfers are measured at, in pages of 4 KiB. All requests of up to 64 KiB are one
/// command on any bus.
pub(crate) const TRANSFER_PAGES: &[u64] = &[1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256];
/// How much is written at the start of a region before the next one is begun.
pub(crate) const JUMP_BYTES: &[u64] = &[64 * KIB, 256 * KIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB];
/// Regions that are jumped to: more than there are open units on any drive that has few.
pub(crate) const JUMP_REGIONS: u64 = 10;
/// Most regions that are written in turn.
pub(crate) const INTERLEAVED_MAX: u64 = 8;
/// Writes in each of them.
pub(crate) const INTERLEAVED_ROUNDS: u64 = 10;
/// Places of a disk at which its rate is measured.
pub(crate) const ZONE_PLACES: u64 = 16;
/// Reads at each of them.
pub(crate) const ZONE_READS: u64 = 16;
/// What is written in a piece where much is written.
pub(crate) const FILL_BYTES: u64 = MIB;
/// What is written in a piece of a region, and read in a piece after a rest.
pub(crate) const PIECE_BYTES: u64 = 64 * KIB;
/// The rest before `Question::Refill`.
pub(crate) const REFILL_REST_NS: u64 = 10_000 * MS;

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// One I/O; the next begins when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which way.
    pub direction: Direction,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Rest before it.
    pub rest_ns: u64,
}

/// What a probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What does a command cost, and a page? Requests of growing size, each after a rest that fills
    /// or empties the buffers.
    Transfer(Direction),
    /// The same without rests: what do commands cost that follow each other at once?
    Stream(Direction),
    /// How far does a drive read ahead? A stream after a long rest.
    ReadAhead,
    /// What does it cost to go anywhere? 4 KiB at random places.
    Random(Direction),
    /// What does it cost to go to a place nearby? It is half a turn and the shortest seek of a
    /// disk.
    Near,
    /// And from one end to the other? The longest seek.
    Ends,
    /// How fast is each part of the drive?
    Zones,
    /// Does writing slow down? Much is written in a row.
    Fill,
    /// How fast does the fast area empty? More is written after a rest.
    Refill,
    /// Which pauses are there? Very many small writes, with the latency of each.
    Trace,
    /// How large are allocation units, and how fast are they copied? Regions are begun one after
    /// the other, with more written to each.
    Jumps,
    /// How many units can be open? So many regions are written in turn.
    Interleaved(u64),
}

/// A question and its I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is asked.
    pub question: Question,
    /// What is done.
    pub steps: Vec<Step>,
}

/// What probes cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are read.
    pub read_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
    /// Rests between.
    pub rest_ns: u64,
    /// I/Os.
    pub steps: u64,
}

/// Why a drive cannot be profiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no room for the probes.
    #[error("it has {size_bytes} bytes, and a profile needs at least {SIZE_MIN}: take a larger drive or file")]
    TooSmall {
        /// What it has.
        size_bytes: u64,
    },
}

/// The smallest drive that can be profiled.
const SIZE_MIN: u64 = 64 * MIB;

/// The probes for a drive of that size. Only with `write_bytes`, about so much is written: then
/// what the drive holds is lost.
pub fn plan(size_bytes: u64, write_bytes: Option<u64>, seed: u64) -> Result<Vec<Probe>, PlanError> {
    if size_bytes < SIZE_MIN {
        return Err(PlanError::TooSmall { size_bytes });
    }
    let mut planner = Planner { size_bytes, random: Xoshiro256PlusPlus::seed_from_u64(seed), probes: Vec::new() };
    planner.plan_reads();
    if let Some(write_bytes) = write_bytes {
        planner.plan_writes(write_bytes);
    }
    Ok(planner.probes)
}

/// What probes cost.
#[must_use]
pub fn cost(probes: &[Probe]) -> Cost {
    let mut cost = Cost { read_bytes: 0, written_bytes: 0, rest_ns: 0, steps: 0 };
    for step in probes.iter().flat_map(|probe| &probe.steps) {
        match step.direction {
            Direction::Read => cost.read_bytes += u64::from(step.length),
            Direction::Write => cost.written_bytes += u64::from(step.length),
        }
        cost.rest_ns += step.rest_ns;
        cost.steps += 1;
    }
    cost
}

struct Planner {
    size_bytes: u64,
    random: Xoshiro256PlusPlus,
    probes: Vec<Probe>,
}

impl Planner {
    fn plan_reads(&mut self) {
        self.transfers(Direction::Read);
        self.run(Question::ReadAhead, Direction::Read, self.part(1, 2), (PIECE_BYTES, 512), 2_000 * MS);
        self.anywhere(Direction::Read);
        self.near();
        self.ends();
        self.zones();
    }

    fn plan_writes(&mut self, write_bytes: u64) {
        let fill = (write_bytes / 4 * 3).clamp(16 * MIB, self.size_bytes / 4 * 3);
        self.run(Question::Fill, Direction::Write, 0, (FILL_BYTES, fill / FILL_BYTES), 0);
        self.run(Question::Refill, Direction::Write, 0, (FILL_BYTES, (fill / FILL_BYTES).min(512)), REFILL_REST_NS);
        let trace = (write_bytes / 4).min(self.size_bytes / 4) / (4 * KIB);
        self.run(Question::Trace, Direction::Write, self.part(3, 4), (4 * KIB, trace.min(262_144)), 0);
        self.transfers(Direction::Write);
        self.anywhere(Direction::Write);
        self.jumps();
        (1..=INTERLEAVED_MAX).for_each(|regions| self.interleaved(regions));
    }

    /// A place so many parts of the drive from its start, where no unit, page or zone is cut.
    fn part(&self, parts: u64, of: u64) -> u64 {
        self.size_bytes / of * parts / MIB * MIB
    }

    fn add(&mut self, question: Question, steps: Vec<Step>) {
        self.probes.push(Probe { question, steps });
    }

    /// Pieces one after the other; as many as there is room for. The rest is before the second: by
    /// then the drive knows where it goes on.
    fn run(&mut self, question: Question, direction: Direction, start: u64, (bytes, count): (u64, u64), rest_ns: u64) {
        let count = count.min((self.size_bytes - start) / bytes);
        let step = |number: u64| Step {
            direction,
            offset: start + number * bytes,
            length: length(bytes),
            rest_ns: if number == 1 { rest_ns } else { 0 },
        };
        self.add(question, (0..count).map(step).collect());
    }

    fn transfers(&mut self, direction: Direction) {
        let round: u64 = TRANSFER_PAGES.iter().map(|pages| pages * 4 * KIB).sum();
        let rounds = (self.size_bytes / 4 / round).clamp(1, 16);
        for (question, rest_ns) in [(Question::Transfer(direction), 10 * MS), (Question::Stream(direction), 0)] {
            let mut offset = self.part(1, 4);
            let mut steps = Vec::new();
            for pages in (0..rounds).flat_map(|_| TRANSFER_PAGES) {
                steps.push(Step { direction, offset, length: length(pages * 4 * KIB), rest_ns });
                offset += pages * 4 * KIB;
            }
            self.add(question, steps);
        }
    }

    fn anywhere(&mut self, direction: Direction) {
        let pages = self.size_bytes / (4 * KIB);
        // Disks differ from place to place; writes anywhere are slow and alike.
        let count = if direction == Direction::Read { 600 } else { 200 };
        let mut step = |_| {
            let offset = self.random.next_u64() % pages * (4 * KIB);
            Step { direction, offset, length: length(4 * KIB), rest_ns: 5 * MS }
        };
        let steps = (0..count).map(&mut step).collect();
        self.add(Question::Random(direction), steps);
    }

    fn near(&mut self) {
        let mut offset = self.part(1, 8);
        let mut steps = Vec::new();
        for _ in 0..300 {
            // Further than a track, and much less than a seek that shows.
            let jump = 4 * MIB + self.random.next_u64() % 1024 * (4 * KIB);
            offset = (offset + jump) % (self.size_bytes - MIB) / 4096 * 4096;
            steps.push(self.small_read(offset));
        }
        self.add(Question::Near, steps);
    }

    fn ends(&mut self) {
        let last = self.size_bytes / MIB * MIB - MIB;
        let mut step = |number: u64| {
            let within = self.random.next_u64() % 256 * (4 * KIB);
            self.small_read(if number.is_multiple_of(2) { within } else { last + within })
        };
        let steps = (0..200).map(&mut step).collect();
        self.add(Question::Ends, steps);
    }

    fn small_read(&self, offset: u64) -> Step {
        Step { direction: Direction::Read, offset, length: length(4 * KIB), rest_ns: 0 }
    }

    fn zones(&mut self) {
        let bytes = 4 * PIECE_BYTES.min(self.size_bytes / ZONE_PLACES / ZONE_READS / 4 / 4096 * 4096);
        let mut steps = Vec::new();
        for place in 0..ZONE_PLACES {
            let start = self.size_bytes / ZONE_PLACES * place / MIB * MIB;
            let step = |number| Step {
                direction: Direction::Read,
                offset: start + number * bytes,
                length: length(bytes),
                rest_ns: 0,
            };
            steps.extend((0..ZONE_READS).map(step));
        }
        self.add(Question::Zones, steps);
    }

    /// Where a region for writes begins: far from the others, and at the start of any allocation
    /// unit of up to 16 MiB.
    fn region(&self, number: u64) -> u64 {
        self.spacing() * (number + 1)
    }

    fn spacing(&self) -> u64 {
        let even = self.size_bytes / (JUMP_REGIONS + 2);
        if even >= 16 * MIB { even / (16 * MIB) * (16 * MIB) } else { even / MIB * MIB }
    }

    fn jumps(&mut self) {
        let mut steps = Vec::new();
        // Where there is room, each size has regions of its own: those of the one before may still
        // be open.
        let apart = if self.spacing() >= 16 * MIB * (JUMP_BYTES.len() as u64 + 1) { 16 * MIB } else { 0 };
        for (&bytes, number) in JUMP_BYTES.iter().zip(0..).filter(|(bytes, _)| **bytes <= self.spacing()) {
            for region in 0..JUMP_REGIONS {
                let start = self.region(region) + number * apart;
                steps.extend((0..bytes / PIECE_BYTES).map(|piece| self.piece(start + piece * PIECE_BYTES)));
            }
        }
        self.add(Question::Jumps, steps);
    }

    fn interleaved(&mut self, regions: u64) {
        let pieces = (0..INTERLEAVED_ROUNDS).flat_map(|round| (0..regions).map(move |region| (round, region)));
        let steps = pieces.map(|(round, region)| self.piece(self.region(region) + round * PIECE_BYTES)).collect();
        self.add(Question::Interleaved(regions), steps);
    }

    fn piece(&self, offset: u64) -> Step {
        Step { direction: Direction::Write, offset, length: length(PIECE_BYTES), rest_ns: 0 }
    }
}

fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("no step is longer than 1 MiB")
}
