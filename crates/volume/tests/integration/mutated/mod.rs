//! Whatever superblocks, bitmaps and logs say, and whatever stray copies lie beside the members: an
//! array is examined, opened, written, flushed and closed without a panic, and without end.
//!
//! A set is an array of a few drives, as it was left in the middle of something, with some bytes of
//! what is beside the data changed. Checksums are made right again, so that what is changed is
//! believed. Every set follows from its number. `SHOAL_MUTATIONS=N` tries N sets, `SHOAL_SEED=N`
//! begins with set N.

mod arrays;
pub(crate) mod mutate;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use arrays::Set;
use shoal_volume::{ArrayVolume, Command, DriveId, LiveVolume, OpenOptions, Request, RequestId, Volume, inspect};

const SETS: u64 = 1450;
/// Nobody waits longer for one set. There is nothing to wait for but the processor.
const PATIENCE: Duration = Duration::from_secs(300);

/// What became of a set.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    opened: u64,
    refused: u64,
}

/// Examines the array, and uses it if it lets itself be used. Says whether it did.
fn use_all(set: &Set, members: &[DriveId]) -> bool {
    let (world, plan) = set.world();
    let _ = inspect(world, plan, members, &OpenOptions::read_only());
    for options in [OpenOptions::writable(), OpenOptions { force: true, ..OpenOptions::writable() }] {
        let (world, plan) = set.world();
        let Ok(mut array) = ArrayVolume::open(world, plan, members, &options) else { continue };
        let block = u64::from(array.logical_block_bytes());
        let size = array.size_bytes();
        let length = (3 * block).min(u64::from(array.request_buffer_bytes())).min(size);
        let span = array.request_span(0, length as u32);
        for offset in [0, size / 2 / block * block, (size - length) / block * block] {
            run(&mut array, Command::Write { offset: offset.min(size - length), span });
        }
        run(&mut array, Command::Read { offset: 0, span });
        run(&mut array, Command::Flush);
        // It comes to rest, and rebuilds what it can.
        let _ = array.run_background(Duration::from_millis(300));
        let _ = array.turn(Duration::from_millis(300), &mut Vec::new());
        run(&mut array, Command::Write { offset: 0, span });
        let _ = array.status();
        let _ = array.close();
        return true; // force would add nothing
    }
    false
}

fn run(array: &mut ArrayVolume<shoal_volume::SimulatedWorld>, command: Command) {
    array.submit(Request { id: RequestId::client(1), command });
    let mut answers = Vec::new();
    array.poll(1, None, &mut answers).unwrap();
    assert_eq!(answers.len(), 1, "a request has one answer");
}

#[test]
fn nothing_that_a_drive_says_makes_an_array_panic_or_hang() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (first, count) = (number("SHOAL_SEED", 1), number("SHOAL_MUTATIONS", SETS));
    let (said, heard) = channel();
    let worker = std::thread::spawn(move || {
        let bases = Set::bases();
        let mut tally = Tally::default();
        let mut panicked = Vec::new();
        for seed in first..first + count {
            said.send(seed).unwrap();
            let (set, members) = mutate::mutated(&bases, seed);
            match std::panic::catch_unwind(|| use_all(&set, &members)) {
                Ok(true) => tally.opened += 1,
                Ok(false) => tally.refused += 1,
                Err(_) => panicked.push((seed, set.name)),
            }
        }
        (tally, panicked)
    });
    let mut at = first;
    loop {
        match heard.recv_timeout(PATIENCE) {
            Ok(seed) => at = seed,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("set {at} has no end: SHOAL_SEED={at} SHOAL_MUTATIONS=1 shows it"),
        }
    }
    let (tally, panicked) = worker.join().unwrap();
    println!("{count} sets from {first} on: {} opened, {} refused", tally.opened, tally.refused);
    assert!(panicked.is_empty(), "{} sets panicked; SHOAL_SEED=N shows one: {panicked:?}", panicked.len());
    assert!(tally.opened > count / 10 || count < 100, "too few sets are any use: {tally:?}");
}
