//! A volume that answers in any order, served to clients of all manners.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod client;
mod deadline;
mod gone;
mod greedy;
mod outlived;
mod volume;

use std::collections::HashMap;
use std::io::Write;

use client::{Answer, BLOCK_STATUS, Client, DISC, FLUSH, FUA, READ, TRIM, WRITE, WRITE_ZEROES};
use volume::{BAD_BLOCK, SIZE, Served};

fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(length).collect()
}

#[test]
fn content_of_any_size_and_place_comes_back() {
    let served = Served::start(1);
    for structured in [true, false] {
        let mut client = Client::open(&served, "pond", structured);
        for (number, (offset, length)) in
            [(0, 1), (4095, 2), (5, 4096), (4096, 4096), (100, 131_072), (8192, 131_072), (1, 3_000_000), (7, 6)]
                .into_iter()
                .enumerate()
        {
            let bytes = pattern(length, number as u64 + 1);
            client.write(offset, &bytes);
            assert!(client.read(offset, length as u32) == bytes, "{length} bytes at {offset}");
        }
        assert_eq!(client.call(0, WRITE_ZEROES, 10, 1_000_000, &[]), Answer::Done);
        assert!(client.read(10, 1_000_000) == vec![0; 1_000_000]);
        assert_eq!(client.read(9, 1), pattern(10, 8)[2..3].to_vec());
    }
    served.stop();
}

#[test]
fn clients_that_write_parts_of_the_same_blocks_do_not_undo_each_other() {
    const CLIENTS: usize = 4;
    const RUN: usize = 700;
    const ROUNDS: u64 = 4;
    let served = Served::start(7);
    let area = 64 << 10;
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = Client::open(&served, "pond", number % 2 == 0);
            scope.spawn(move || {
                // Every fourth run of 700 bytes is this client's, so most blocks are everybody's.
                let runs: Vec<usize> = (0..area / RUN).filter(|run| run % CLIENTS == number).collect();
                for round in 0..ROUNDS {
                    for (cookie, run) in runs.iter().enumerate() {
                        let bytes = pattern(RUN, round * 1000 + *run as u64);
                        let flags = if run % 5 == 0 { FUA } else { 0 };
                        client.request(flags, WRITE, cookie as u64, (run * RUN) as u64, RUN as u32, &bytes);
                    }
                    for _ in &runs {
                        assert_eq!(client.answer(0).1, Answer::Done);
                    }
                }
            });
        }
    });
    let content = served.stop();
    for run in 0..area / RUN {
        let expected = pattern(RUN, (ROUNDS - 1) * 1000 + run as u64);
        assert!(content[run * RUN..(run + 1) * RUN] == expected, "run {run} was undone");
    }
}

#[test]
fn many_requests_at_a_time_are_answered_each_once() {
    let served = Served::start(3);
    let mut client = Client::open(&served, "pond", true);
    let image = pattern(2 << 20, 9);
    client.write(0, &image);
    let mut asked = HashMap::new();
    for cookie in 0..300_u64 {
        let (offset, length) = (cookie * 6007, (cookie * 977 % 200_000 + 1) as u32);
        client.request(0, READ, cookie, offset, length, &[]);
        asked.insert(cookie, (offset, length));
        if cookie % 10 == 9 {
            for _ in 0..10 {
                let (cookie, answer) = client.answer_of_many();
                let (offset, length) = asked.remove(&cookie).expect("answered once");
                let Answer::Content(parts) = answer else { panic!("{answer:?}") };
                let expected = &image[offset as usize..offset as usize + length as usize];
                assert!(client::join(offset, &parts, true) == expected, "{length} bytes at {offset}");
            }
        }
    }
    assert!(asked.is_empty());
    served.stop();
}

/// Flags, kind, offset, length, payload, and the error.
type Case<'a> = (u16, u16, u64, u32, &'a [u8], u32);

/// An answer that is not structured is one run of bytes, whatever its client asks for meanwhile.
#[test]
fn nothing_comes_in_the_midst_of_a_long_answer_that_is_not_structured() {
    const LONG: u32 = 700_000;
    for seed in 1..=20 {
        let served = Served::start(seed);
        let mut client = Client::open(&served, "pond", false);
        let bytes = pattern(LONG as usize, seed);
        client.write(0, &bytes);
        let mut lengths = Vec::new();
        for cookie in 0..24 {
            let (kind, offset, length) = match cookie % 3 {
                0 => (READ, 0, LONG),
                1 => (WRITE, u64::from(LONG) + 4096 * cookie, 512),
                _ => (FLUSH, 0, 0),
            };
            let payload = if kind == WRITE { &bytes[..512] } else { &[] };
            client.request(0, kind, cookie, offset, length, payload);
            lengths.push(if kind == READ { length as usize } else { 0 });
        }
        for _ in 0..lengths.len() {
            let head = client.receive(16);
            assert_eq!(head[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], "seed {seed}");
            let cookie = u64::from_be_bytes(head[8..].try_into().unwrap());
            let length = std::mem::take(&mut lengths[cookie as usize]);
            assert!(client.receive(length) == bytes[..length], "seed {seed}");
        }
        served.stop();
    }
}

#[test]
fn errors_are_told_and_the_connection_goes_on() {
    let served = Served::start(4);
    for structured in [true, false] {
        let mut client = Client::open(&served, "pond", structured);
        let cases: &[Case<'_>] = &[
            (0, READ, SIZE, 1, &[], 22),
            (0, WRITE, SIZE - 1, 2, b"ab", 28),
            (0, READ, 0, 0, &[], 22),
            (0, 99, 0, 5, &[], 22),
            (8, WRITE, 0, 2, b"ab", 22),
            // Quickly: this volume discards nothing.
            (16, WRITE_ZEROES, 0, 65_536, &[], 95),
            (0, READ, BAD_BLOCK, 10, &[], 5),
            // Its other bytes cannot be had, so a part of it cannot be written.
            (0, WRITE, BAD_BLOCK + 1, 3, b"abc", 5),
        ];
        for &(flags, kind, offset, length, payload, error) in cases {
            let answer = client.call(flags, kind, offset, length, payload);
            assert_eq!(answer, Answer::Error(error), "{kind} at {offset}");
        }
        assert_eq!(client.call(0, TRIM, 1, 100_000, &[]), Answer::Done, "a trim is a hint");
        let status = client.call(0, BLOCK_STATUS, 5, 70_000, &[]);
        assert_eq!(status, if structured { Answer::Extent(70_000, 0) } else { Answer::Error(22) });
        client.write(BAD_BLOCK, &pattern(4096, 1));
        let mut ice = Client::open(&served, "ice", structured);
        assert_eq!(ice.call(0, WRITE, 0, 2, b"ab"), Answer::Error(1));
        assert_eq!(ice.call(0, READ, (1 << 20) - 1, 2, &[]), Answer::Error(22));
        client.write((1 << 20) + 5, b"through the ice");
        assert_eq!(ice.read(5, 15), b"through the ice");
    }
    served.stop();
}

#[test]
fn a_read_that_breaks_off_ends_a_connection_that_has_no_words_for_it() {
    let served = Served::start(5);
    served.thaw();
    let (offset, length) = (SIZE - (1 << 20), 1 << 20);
    let mut client = Client::open(&served, "pond", true);
    assert_eq!(client.call(0, READ, offset, length, &[]), Answer::Error(5));
    let mut client = Client::open(&served, "pond", false);
    client.request(0, READ, 1, offset, length, &[]);
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut client.stream, &mut rest);
    assert!(rest.len() < length as usize, "{}", rest.len());
    served.stop();
}

#[test]
fn what_is_to_be_durable_is_flushed_before_it_is_answered() {
    let served = Served::start(6);
    let mut client = Client::open(&served, "pond", true);
    let flushes = || served.flushes();
    client.write(0, b"not yet");
    assert_eq!(flushes(), 0);
    assert_eq!(client.call(FUA, WRITE, 9, 3, b"now"), Answer::Done);
    assert_eq!(flushes(), 1);
    assert_eq!(client.call(FUA, WRITE_ZEROES, 9, 3, &[]), Answer::Done);
    assert_eq!(flushes(), 2);
    assert_eq!(client.call(0, FLUSH, 0, 0, &[]), Answer::Done);
    assert_eq!(flushes(), 3);
    // A flush has no range, whatever is said.
    assert_eq!(client.call(0, FLUSH, u64::MAX, u32::MAX, &[]), Answer::Done);
    assert_eq!(flushes(), 4);
    served.stop();
}

#[test]
fn clients_that_stall_vanish_or_talk_nonsense_cost_nobody_else_anything() {
    let served = Served::start(8);
    let mut good = Client::open(&served, "pond", true);
    let image = pattern(1 << 20, 3);
    good.write(0, &image);
    let mut bad: Vec<Client> = Vec::new();
    for number in 0..12 {
        let mut client = Client::open(&served, "pond", number % 2 == 0);
        match number % 4 {
            // Reads that it never takes.
            0 => (0..40).for_each(|cookie| client.request(0, READ, cookie, 0, 1 << 20, &[])),
            // A payload that never ends.
            1 => client.request(0, WRITE, 1, 4 << 20, 1 << 20, &[7; 1000]),
            // Half a request.
            2 => client.stream.write_all(&[0x25, 0x60, 0x95]).unwrap(),
            _ => (0..20).for_each(|cookie| client.request(0, WRITE, cookie, 5 << 20, 100_000, &[7; 100_000])),
        }
        if number % 3 == 0 {
            drop(client);
        } else {
            bad.push(client);
        }
    }
    let mut nonsense = Client::open(&served, "pond", true);
    nonsense.stream.write_all(&pattern(5000, 1)).unwrap();
    let mut greedy = Client::open(&served, "pond", true);
    greedy.request(0, WRITE, 1, 0, u32::MAX, &[]);
    let silent = Client::connect(&served, true);
    for round in 0..50_u64 {
        let bytes = pattern(200_000, round);
        good.write(2 << 20, &bytes);
        assert!(good.read(2 << 20, 200_000) == bytes);
    }
    assert!(nonsense.is_closed() && greedy.is_closed());
    assert!(good.read(0, 1 << 20) == image);
    drop((bad, silent));
    served.stop();
}

#[test]
fn whoever_says_goodbye_is_answered_first() {
    let served = Served::start(9);
    let mut client = Client::open(&served, "pond", true);
    let image = pattern(300_000, 4);
    client.request(0, WRITE, 1, 77, 300_000, &image);
    client.request(0, DISC, 0, 0, 0, &[]);
    assert_eq!(client.answer(0), (1, Answer::Done));
    assert!(client.is_closed());
    assert!(served.stop()[77..300_077] == image);
}

#[test]
fn a_server_that_ends_answers_what_it_has_begun() {
    let served = Served::start(10);
    let mut client = Client::open(&served, "pond", true);
    let image = pattern(1 << 20, 5);
    client.request(0, WRITE, 1, 0, 1 << 20, &image);
    assert_eq!(client.answer(0), (1, Answer::Done));
    assert!(served.stop()[..1 << 20] == image);
    assert!(client.is_closed());
}
