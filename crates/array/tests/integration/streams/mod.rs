//! Sequential writers on parity levels, counted: no read of a member, and no step back, where a
//! writer has a row and a request in flight, whatever its drives' latencies and stalls.

mod bench;

use shoal_array::{Level, ParityLayout};

use crate::rig::random::Random;
use bench::{Bench, Drives, Writer};

const SEEDS: u64 = 150;

/// Drives that answer when they like: each I/O takes up to fifty times the least, and one in so
/// many stalls for a second.
const UNSTEADY: Drives = Drives { latency_ns: 100_000..5_000_000, stalls_one_in: 60, stall_ns: 1_000_000_000 };

fn level(random: &mut Random) -> Level {
    let layouts = [ParityLayout::LeftSymmetric, ParityLayout::RightAsymmetric, ParityLayout::LeftAsymmetric];
    let layout = layouts[random.index(3)];
    [Level::Raid4, Level::Raid5(layout), Level::Raid6(layout)][random.index(3)]
}

/// An array of any shape: members, chunk, and how wide its scratch buffers are.
fn bench(random: &mut Random) -> Bench {
    let members = 4 + random.index(6);
    let chunk_bytes = 4096 << random.within(0..5);
    let scratch_bytes = 4096 << random.within(0..5);
    Bench::new(level(random), members, chunk_bytes as u32, scratch_bytes as u32, UNSTEADY, random.clone())
}

/// A writer over so many rows that keeps a row and a request in flight, and two requests at least.
fn writer(random: &mut Random, bench: &Bench, rows: std::ops::Range<u64>) -> Writer {
    let row_bytes = bench.row_bytes();
    let bytes = random.within(1..2 * row_bytes / 4096) * 4096;
    let depth = (row_bytes.div_ceil(bytes) + 1 + random.within(0..3)) as usize;
    Writer {
        range: rows.start * row_bytes..rows.end * row_bytes,
        bytes,
        depth,
        is_backwards: false,
        replies_in_ns: 0..60_000,
    }
}

#[test]
fn a_writer_with_a_row_and_a_request_in_flight_causes_no_read_and_no_step_back() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut bench = bench(&mut random);
        let writer = writer(&mut random, &bench, 0..60);
        let row_bytes = bench.row_bytes();
        let seen = bench.run(std::slice::from_ref(&writer));
        assert_eq!((seen.reads, seen.steps_back), (0, 0), "seed {seed}: {writer:?} with rows of {row_bytes}");
    }
}

#[test]
fn a_writer_that_goes_backwards_causes_no_read() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut bench = bench(&mut random);
        let writer = Writer { is_backwards: true, ..writer(&mut random, &bench, 0..60) };
        let seen = bench.run(std::slice::from_ref(&writer));
        assert_eq!(seen.reads, 0, "seed {seed}: {writer:?}");
    }
}

#[test]
fn several_writers_at_once_cause_no_read() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut bench = bench(&mut random);
        let count = random.within(2..7);
        let writer = |index: u64| {
            let is_backwards = random.one_in(3);
            Writer { is_backwards, ..writer(&mut random, &bench, index * 30..index * 30 + 30) }
        };
        let writers: Vec<Writer> = (0..count).map(writer).collect();
        let seen = bench.run(&writers);
        assert_eq!(seen.reads, 0, "seed {seed}: {writers:?}");
    }
}

#[test]
fn others_small_writes_make_no_difference() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut bench = bench(&mut random);
        bench.small_writes(100..140, 32);
        let writers = [writer(&mut random, &bench, 0..60), writer(&mut random, &bench, 60..100)];
        let seen = bench.run(&writers);
        assert_eq!(seen.reads, 0, "seed {seed}: {writers:?}");
    }
}

/// Writers that meet each other, small writes among them, and more streams than anybody tells
/// apart.
#[test]
fn everybody_is_served_whoever_is_in_the_way() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let mut bench = bench(&mut random);
        let row_bytes = bench.row_bytes();
        bench.small_writes(0..100, 8);
        let count = random.within(2..25);
        let writer = |_| {
            let first = random.within(0..90);
            let bytes = random.within(1..3 * row_bytes / 4096) * 4096;
            let (depth, is_backwards) = (random.within(1..6) as usize, random.one_in(2));
            let skipped = random.within(0..row_bytes / 4096) * 4096;
            let range = first * row_bytes + skipped..(first + 10) * row_bytes;
            Writer { range, bytes, depth, is_backwards, replies_in_ns: 0..10_000_000 }
        };
        let writers: Vec<Writer> = (0..count).map(writer).collect();
        bench.run(&writers);
    }
}

/// Nobody waits who has one request in flight, and patience with who submits in bursts comes to an
/// end.
#[test]
fn patience_is_short() {
    let drives = Drives { latency_ns: 1_000_000..1_000_001, stalls_one_in: u64::MAX, stall_ns: 0 };
    let level = Level::Raid5(ParityLayout::LeftSymmetric);
    let mut bench = Bench::new(level, 6, 65536, 65536, drives, Random::new(1));
    let alone =
        Writer { range: 0..bench.row_bytes() * 20, bytes: 65536, depth: 1, is_backwards: false, replies_in_ns: 0..1 };
    let seen = bench.run(&[alone]);
    // Reads, then writes: two milliseconds for each of 100 requests, but for every fifth one, which
    // completes nothing.
    assert!(seen.end.ns <= 100 * 2_000_000, "{} ns", seen.end.ns);
}
