//! What a flush costs the members, counted.

use std::fs::File;
use std::time::Duration;

use shoal_array::{Command, Request, RequestId};
use shoal_sim::Content;
use shoal_volume::{ArrayVolume, Health, LiveVolume, MemberTraffic, OpenOptions, SimulatedWorld, Volume, World};

use crate::support::{Bench, create_options, pattern, world_of_sticks, write};

const DRIVE_BYTES: u64 = 16 << 20;
const BLOCK_BYTES: u32 = 4096;
const CHUNK_BYTES: u32 = 64 << 10;
const COUNT: u64 = 20;

/// An array in sync and at rest.
fn array(level: &str, members: usize) -> ArrayVolume<SimulatedWorld> {
    let contents = (0..members).map(|_| Content::new(DRIVE_BYTES)).collect();
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let ids = world.drives();
    let create = create_options(level, None, if level == "1" { 0 } else { CHUNK_BYTES });
    let mut array = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap();
    rest(&mut array, Duration::from_secs(1));
    array
}

fn ask(array: &mut ArrayVolume<SimulatedWorld>, command: Command) {
    let mut completions = Vec::new();
    array.submit(Request { id: RequestId::client(0), command });
    array.poll(1, None, &mut completions).unwrap();
    assert_eq!(completions.pop().map(|completion| completion.result), Some(Ok(())));
}

/// Lets time pass while nobody asks for anything.
fn rest(array: &mut ArrayVolume<SimulatedWorld>, duration: Duration) {
    let end = array.now().after_ns(u64::try_from(duration.as_nanos()).unwrap());
    while array.now() < end {
        let left = Duration::from_nanos(end.since_ns(array.now()));
        array.turn(left, &mut Vec::new()).unwrap();
    }
}

/// What blocks that are written and flushed, one after the other at such intervals, are to the
/// members.
fn trickle(array: &mut ArrayVolume<SimulatedWorld>, interval: Duration) -> MemberTraffic {
    let before = array.member_traffic().unwrap();
    for _ in 0..COUNT {
        let span = array.request_span(0, BLOCK_BYTES);
        ask(array, Command::Write { offset: 0, span });
        ask(array, Command::Flush);
        rest(array, interval);
    }
    array.member_traffic().unwrap().since(before)
}

#[test]
fn members_with_nothing_new_are_not_flushed() {
    for (level, members, written) in [("1", 2, 2), ("5", 3, 2), ("5", 6, 2), ("6", 6, 3)] {
        let mut array = array(level, members);
        let asked = trickle(&mut array, Duration::ZERO);
        println!("RAID{level} of {members}: {asked:?}");
        // Marked active once, with superblocks on all.
        assert_eq!(asked.flushes, COUNT * written + members as u64, "RAID{level} of {members}");
        ask(&mut array, Command::Flush);
        let again = array.member_traffic().unwrap();
        ask(&mut array, Command::Flush);
        assert_eq!(array.member_traffic().unwrap().since(again).flushes, 0);
    }
}

/// It has nothing new, and does not hold what it held.
#[test]
fn a_file_that_was_cut_short_is_found_by_the_next_flush() {
    let bench = Bench::new(2);
    let mut array = bench.create("1", None);
    write(&mut array, 0, &pattern(4096, 1));
    File::options().write(true).open(bench.path(1)).unwrap().set_len(1 << 20).unwrap();
    array.submit(Request { id: RequestId::client(0), command: Command::Flush });
    array.poll(1, None, &mut Vec::new()).unwrap();
    assert_eq!(array.status().health, Health::Degraded);
}

#[test]
fn an_array_at_rest_is_marked_without_a_flush_before() {
    let mut array = array("1", 2);
    let asked = trickle(&mut array, Duration::from_secs(10));
    println!("{asked:?}");
    assert_eq!(asked.updates, 2 * COUNT, "marked active and clean each time");
    assert_eq!(asked.flushes, 2 * (COUNT + asked.updates), "for the content, and for either mark");
}

#[test]
fn a_trickle_of_writes_does_not_mark_the_array_clean_and_active_again() {
    for interval_ms in [150, 250, 500, 1000, 2000, 3000] {
        let mut array = array("5", 3);
        let asked = trickle(&mut array, Duration::from_millis(interval_ms));
        println!("every {interval_ms} ms: {asked:?}");
        assert!(asked.updates <= 9, "{} updates for a block every {interval_ms} ms", asked.updates);
        rest(&mut array, Duration::from_secs(4));
        let at_rest = array.member_traffic().unwrap();
        rest(&mut array, Duration::from_secs(60));
        assert_eq!(array.member_traffic().unwrap().since(at_rest).updates, 0, "it is marked clean within 4 s");
    }
}
