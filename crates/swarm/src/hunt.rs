//! Plays many seeds, on several threads, and gathers what came of them.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use shoal_volume::Arena;

use crate::limits::{DRIVES_MAX, FAILURES_MAX};
use crate::player::{self, Counts, Played};
use crate::{Failure, Scenario, sample};

/// A seed that fails.
#[derive(Clone, Debug)]
pub struct Find {
    /// Which.
    pub seed: u64,
    /// What a checker objected to.
    pub failure: Failure,
}

/// What came of many seeds.
#[derive(Clone, Debug, Default)]
pub struct Hunt {
    /// Seeds that were played.
    pub seeds: u64,
    /// Ascending.
    pub finds: Vec<Find>,
    /// Sums over all of them.
    pub counts: Counts,
    /// Of all traces: equal for equal seeds, in whatever order they were played.
    pub trace_hash: u64,
}

/// How far a hunt is, for whoever watches it from another thread.
#[derive(Debug)]
pub struct Watch {
    /// Seeds done.
    pub done: AtomicU64,
    /// What each thread plays now; [`Watch::IDLE`] if it does not.
    pub playing: Vec<AtomicU64>,
    /// Set to end the hunt early.
    pub stop: AtomicBool,
}

impl Watch {
    /// No seed.
    pub const IDLE: u64 = u64::MAX;

    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        let playing = (0..threads.max(1)).map(|_| AtomicU64::new(Self::IDLE)).collect();
        Self { done: AtomicU64::new(0), playing, stop: AtomicBool::new(false) }
    }
}

/// Plays all seeds of a range, on as many threads as `watch` is for.
pub fn hunt(seeds: Range<u64>, watch: &Watch) -> std::io::Result<Hunt> {
    let arenas = watch.playing.iter().map(|_| player::arena(DRIVES_MAX));
    let arenas = arenas.collect::<Result<Vec<_>, _>>()?;
    let (next, hunt) = (AtomicU64::new(seeds.start), Mutex::new(Hunt::default()));
    std::thread::scope(|scope| {
        for (arena, playing) in arenas.iter().zip(&watch.playing) {
            let (next, hunt, end) = (&next, &hunt, seeds.end);
            scope.spawn(move || {
                while !watch.stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    playing.store(seed, Ordering::Relaxed);
                    let played = play_caught(&sample(seed), arena, false);
                    playing.store(Watch::IDLE, Ordering::Relaxed);
                    watch.done.fetch_add(1, Ordering::Relaxed);
                    let mut hunt = hunt.lock().expect("nobody panics with it");
                    hunt.add(seed, played);
                    if hunt.finds.len() >= FAILURES_MAX {
                        watch.stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut hunt = hunt.into_inner().expect("nobody panics with it");
    hunt.finds.sort_by_key(|find| find.seed);
    Ok(hunt)
}

impl Hunt {
    fn add(&mut self, seed: u64, played: Played) {
        self.seeds += 1;
        self.counts.add(&played.counts);
        let of_seed = (played.trace_hash ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.trace_hash = self.trace_hash.wrapping_add(of_seed);
        if let Some(failure) = played.failure {
            self.finds.push(Find { seed, failure });
        }
    }
}

/// Plays a scenario on memory of its own.
pub fn play(scenario: &Scenario, is_traced: bool) -> std::io::Result<Played> {
    let arena = player::arena(scenario.drives())?;
    Ok(play_caught(scenario, &arena, is_traced))
}

/// A panic of the code under test is a finding like others.
pub(crate) fn play_caught(scenario: &Scenario, arena: &Arena, is_traced: bool) -> Played {
    // What the panicking code had is gone with it, but for the arena, whose bytes mean nothing to
    // the next one.
    catch_unwind(AssertUnwindSafe(|| player::play(scenario, arena, is_traced))).unwrap_or_else(|payload| Played {
        failure: Some(Failure { checker: "panics", what: message_of(payload.as_ref()) }),
        trace_hash: 0,
        counts: Counts::default(),
        lines: String::new(),
    })
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it does not say why".to_owned())
}
