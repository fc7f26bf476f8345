//! What the superblocks say while an array runs, and what becomes of it after a crash.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use support::{Bench, pattern};

/// Longer than md's delay, after which an array nobody writes to is clean.
const PAUSE: Duration = Duration::from_millis(350);

/// Written to, then left alone: the superblocks say clean, though nobody has closed it; written to again, they do not.
#[test]
fn an_array_left_alone_is_clean() {
    for (level, drives) in [("1", 2), ("5", 3), ("6", 4), ("10", 4), ("51", 6)] {
        let bench = Bench::new(drives);
        let mut array = bench.create(level, None);
        support::write(&mut array, 0, &pattern(100_000, 1));
        assert!(!bench.are_clean(), "raid{level}: written to, and a crash would go unnoticed");
        array.turn_for(PAUSE);
        // An outer array comes to rest by writing to the inner ones.
        array.turn_for(PAUSE);
        assert!(bench.are_clean(), "raid{level}: left alone");
        support::write(&mut array, 0, &pattern(100_000, 2));
        assert!(!bench.are_clean(), "raid{level}: written to again");
        array.close().unwrap();
        assert!(bench.are_clean(), "raid{level}: closed");
    }
}

/// Somebody who goes on reading does not keep an array from being marked clean.
#[test]
fn readers_do_not_keep_an_array_active() {
    let bench = Bench::new(3);
    let mut array = bench.create("5", None);
    support::write(&mut array, 0, &pattern(100_000, 1));
    let end = std::time::Instant::now() + PAUSE;
    while std::time::Instant::now() < end {
        support::read(&mut array, 0, 100_000);
    }
    assert!(bench.are_clean());
    array.close().unwrap();
}
