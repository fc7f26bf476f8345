//! Lives of arrays, told with real processes: what was flushed is there in every life, and nothing
//! hangs.
//!
//! A story is a seed: an array on image files, and a few lives of it. In each life a server starts
//! with some of the members, an NBD client writes, flushes and reads, an administrator works on the
//! array meanwhile, and the server is killed or stopped. Another host may run it in between, and
//! the clock may jump. A [model](model) knows what each block may hold. Whatever starts has to hold
//! that; with all members there the array has to start; at the end all of them are in sync again
//! and a scrub finds nothing.
//!
//! `SHOAL_STORIES=N` tells N of them, `SHOAL_STORY=N` that one.

mod host;
mod life;
mod model;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use host::Clock;
use life::Story;

/// Told in the short form.
const STORIES: u64 = 30;
/// Told at the same time: they wait for processes and files.
const AT_ONCE: usize = 3;

/// What is left to chance.
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.next_u64() % limit as u64).unwrap()
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Some of these, `count` of them.
    fn some(&mut self, mut from: Vec<usize>, count: usize) -> Vec<usize> {
        while from.len() > count {
            from.remove(self.below(from.len()));
        }
        from
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

#[test]
fn what_was_flushed_is_there_in_every_life() {
    let clock = Clock::find();
    if clock.is_none() {
        println!("SKIPPED: stories in which the clock jumps need libfaketime (apt: faketime); told without");
    }
    let seeds = match number("SHOAL_STORY") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SHOAL_STORIES").unwrap_or(STORIES),
    };
    let (queue, failed) = (Mutex::new(seeds), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(seed) = next(&queue) {
                    let told = catch_unwind(AssertUnwindSafe(|| Story::new(seed, clock.as_ref()).tell()));
                    if told.is_err() {
                        eprintln!("that was the story of SHOAL_STORY={seed}");
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "stories {failed:?} end badly");
}

fn next(queue: &Mutex<std::ops::Range<u64>>) -> Option<u64> {
    queue.lock().unwrap().next()
}
