//! How long reads take while a member stalls, again and again.

use std::time::Duration;

use shoal_volume::{Event, Health, Volume};

use crate::stalls::rig::{LONG, Rig, pattern};

const READS: usize = 60_000;
const READ_BYTES: u32 = 4096;
const CONTENT_BYTES: u64 = 4 << 20;
/// One mirror bears it alone while the other stalls.
const DEPTH: u32 = 2;
/// A member stands still for so long, so often.
const STALL: Duration = Duration::from_millis(2600);
const PERIOD_NS: u64 = 10_000_000_000;

/// Random reads, so many at a time; how long each took, ascending. Every byte is compared.
fn latencies(level: &str, drives: usize, stalls: bool) -> Vec<u64> {
    let mut rig = Rig::new(level, drives);
    let content = pattern(CONTENT_BYTES as usize, 3);
    for (number, part) in content.chunks(65536).enumerate() {
        rig.write(0, number as u64 * 65536, part);
        assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    }
    rig.array.rest().unwrap();
    let mut offset = random_offsets();
    let mut next_stall = rig.array.now().after_ns(PERIOD_NS / 2);
    let mut begun = vec![None; DEPTH as usize];
    let mut taken = Vec::with_capacity(READS);
    while taken.len() < READS {
        for id in 0..DEPTH {
            if begun[id as usize].is_none() {
                let at = offset();
                begun[id as usize] = Some((rig.array.now(), at));
                rig.read(id, at, READ_BYTES);
            }
        }
        if stalls && rig.array.now() >= next_stall {
            rig.stall(1, STALL);
            next_stall = next_stall.after_ns(PERIOD_NS);
        }
        let answer = rig.any_answer();
        let id = answer.id.number as u32;
        let (since, at) = begun[id as usize].take().unwrap();
        assert_eq!(answer.result, Ok(()));
        taken.push(rig.array.now().since_ns(since));
        let expected = &content[at as usize..at as usize + READ_BYTES as usize];
        assert!(rig.bytes(id, READ_BYTES as usize) == expected, "wrong bytes at {at}");
    }
    assert_eq!(rig.array.status().health, Health::Optimal);
    assert!(!rig.array.take_news().iter().any(|news| matches!(news.event, Event::MemberFailed(_))));
    taken.sort_unstable();
    taken
}

/// Where to read next: the same places each time.
fn random_offsets() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (CONTENT_BYTES / u64::from(READ_BYTES)) * u64::from(READ_BYTES)
    }
}

/// In parts of ten thousand.
fn percentile(latencies: &[u64], part: usize) -> u64 {
    latencies[latencies.len() * part / 10_000 - 1]
}

/// The table is printed: run it with `--nocapture`.
#[test]
fn a_stalling_member_does_not_double_the_longest_reads() {
    println!("level  stalls     p50       p99     p99.9    p99.99   longest (us)");
    for (level, drives) in [("1", 2), ("5", 4), ("6", 5), ("10", 4)] {
        let [without, with] = [false, true].map(|stalls| latencies(level, drives, stalls));
        for (name, latencies) in [("no", &without), ("yes", &with)] {
            let us = |part| percentile(latencies, part) / 1000;
            let longest = latencies.last().unwrap() / 1000;
            println!("{level:5}  {name:6} {:7}  {:8}  {:8}  {:8}  {longest:8}", us(5000), us(9900), us(9990), us(9999));
        }
        let (without, with) = (percentile(&without, 9999), percentile(&with, 9999));
        assert!(with <= 2 * without, "raid{level}: {with} ns with a stalling member, {without} ns without");
    }
}

/// A member that people should look at is named, and stays a member.
#[test]
fn a_member_that_stalls_is_suspect() {
    let mut rig = Rig::new("5", 3);
    rig.write(0, 0, &pattern(65536, 1));
    assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    let suspects = |rig: &Rig| -> Vec<bool> { rig.array.status().members.iter().map(|it| it.suspect).collect() };
    assert_eq!(suspects(&rig), [false, false, false]);
    rig.stall(1, Duration::from_secs(5));
    rig.write(0, 0, &pattern(65536, 2));
    assert!(rig.answer(0, Duration::from_secs(2)).is_none());
    assert_eq!(suspects(&rig), [false, true, false]);
    assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    assert_eq!(suspects(&rig), [false, false, false]);
    // Slow again and again, if never for long.
    for round in 0..200 {
        rig.stall(1, Duration::from_millis(300));
        rig.write(0, 0, &pattern(65536, round));
        assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    }
    assert_eq!(suspects(&rig), [false, true, false]);
}
