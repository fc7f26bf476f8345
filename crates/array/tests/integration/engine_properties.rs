//! The engine against a flat array of bytes, on every level and layout: random requests up to
//! sixteen at a time, drives that fail and sectors that cannot be read, rebuilds and scrubs
//! meanwhile, with effects carried out in any order.
//!
//! `SHOAL_SEED` sets the first seed, and `SHOAL_OPERATIONS` how many operations there are in all. A
//! story that fails says how to tell it again; `SHOAL_TRACE=1` shows every step.

use std::env;

use crate::rig::random::mix;
use crate::rig::shapes::{Topology, coarse, equal, equal_shape, raid5_layouts, raid10, unequal};
use crate::rig::story::{Faults, Tally, tell};
use shoal_array::{Level, ParityLayout, Raid0Layout};

/// Operations in all, over all tests here.
const OPERATIONS: u64 = 1_050_000;

const SEED: u64 = 20_261_121;

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

/// Says how to tell a story again that failed.
struct Telling<'a> {
    test: &'a str,
    seed: u64,
    topology: &'a Topology,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { test, seed, topology } = self;
            eprintln!("the story of seed {seed} failed, on {topology:?}; to tell it again:");
            eprintln!(
                "SHOAL_SEED={seed} SHOAL_OPERATIONS=1 cargo test -p shoal-array --test integration \
                 engine_properties::{test} -- --exact"
            );
        }
    }
}

/// Tells stories until `percent` of all operations are done. A seed determines the array, too.
fn tell_stories(test: &str, percent: u64, faults: Faults, topologies: &[Topology]) -> Tally {
    let first_seed = setting("SHOAL_SEED").unwrap_or(SEED);
    let operations = (setting("SHOAL_OPERATIONS").unwrap_or(OPERATIONS) * percent).div_ceil(100);
    let mut tally = Tally::default();
    for number in 0.. {
        let seed = if number == 0 { first_seed } else { mix(first_seed.wrapping_add(number)) };
        let topology = &topologies[(seed % topologies.len() as u64) as usize];
        let telling = Telling { test, seed, topology };
        tally += tell(topology, faults, seed);
        drop(telling);
        if tally.operations >= operations {
            break;
        }
    }
    println!("{test}: {tally:?}");
    tally
}

/// As [`tell_stories`], on arrays with redundancy: everything that can happen has to have happened.
fn tell_redundant_stories(test: &str, percent: u64, topologies: &[Topology]) {
    let tally = tell_stories(test, percent, Faults::Survivable, topologies);
    let is_long = tally.operations > 20_000;
    let background = tally.rebuilds > 0 && tally.scrubs > 0 && tally.resyncs > 0;
    let everything = tally.failures > 0 && tally.heals > 0 && tally.races > 0 && background;
    assert!(everything || !is_long, "something never happened: {tally:?}");
}

#[test]
fn linear_and_raid0_equal_a_flat_array() {
    let zones = [3, 8, 5, 8];
    let topologies = [
        unequal(Level::Linear, &zones),
        equal(Level::Raid0(Raid0Layout::Original), 3, 7),
        unequal(Level::Raid0(Raid0Layout::Original), &zones),
        unequal(Level::Raid0(Raid0Layout::Alternate), &zones),
    ];
    tell_stories("linear_and_raid0_equal_a_flat_array", 10, Faults::Survivable, &topologies);
}

#[test]
fn raid1_equals_a_flat_array() {
    let topologies = [equal(Level::Raid1, 2, 9), equal(Level::Raid1, 3, 8), equal(Level::Raid1, 5, 6)];
    tell_redundant_stories("raid1_equals_a_flat_array", 12, &topologies);
}

#[test]
fn raid4_and_raid5_equal_a_flat_array() {
    let mut topologies = vec![equal(Level::Raid4, 4, 7), equal(Level::Raid4, 2, 8)];
    for layout in raid5_layouts() {
        topologies.extend([2, 3, 4, 5].map(|members| equal(Level::Raid5(layout), members, 7)));
        topologies.push(coarse(Level::Raid5(layout), 4, 3));
    }
    tell_redundant_stories("raid4_and_raid5_equal_a_flat_array", 24, &topologies);
}

#[test]
fn raid6_equals_a_flat_array() {
    let mut topologies = vec![];
    for layout in ParityLayout::ALL {
        topologies.extend([4, 5, 6].map(|members| equal(Level::Raid6(layout), members, 7)));
        topologies.push(coarse(Level::Raid6(layout), 5, 3));
    }
    tell_redundant_stories("raid6_equals_a_flat_array", 24, &topologies);
}

#[test]
fn raid10_equals_a_flat_array() {
    let layouts = [
        (raid10(2, 1, false, false), 2),
        (raid10(2, 1, false, false), 3),
        (raid10(2, 1, false, false), 4),
        (raid10(3, 1, false, false), 5),
        (raid10(1, 2, false, false), 3),
        (raid10(1, 2, false, false), 4),
        (raid10(1, 2, false, true), 4),
        (raid10(1, 3, false, false), 4),
        (raid10(1, 2, true, false), 3),
        (raid10(1, 2, true, false), 4),
        (raid10(1, 3, true, false), 5),
        (raid10(2, 2, false, false), 4),
        (raid10(2, 2, false, false), 5),
        (raid10(2, 2, true, false), 4),
    ];
    let mut topologies = layouts.map(|(level, members)| equal(level, members, 9)).to_vec();
    topologies.push(coarse(raid10(2, 1, false, false), 3, 3));
    tell_redundant_stories("raid10_equals_a_flat_array", 14, &topologies);
}

fn nested() -> Vec<Topology> {
    let raid5 = equal_shape(Level::Raid5(ParityLayout::LeftSymmetric), 3, 6);
    let raid1 = equal_shape(Level::Raid1, 2, 6);
    let level = Level::Raid0(Raid0Layout::Original);
    vec![
        Topology::Nested { level, inner: vec![raid5.clone(), raid5.clone()] },
        Topology::Nested { level, inner: vec![raid5, raid1] },
    ]
}

#[test]
fn raid0_over_raid5_equals_a_flat_array() {
    tell_redundant_stories("raid0_over_raid5_equals_a_flat_array", 8, &nested());
}

#[test]
fn beyond_the_limit_what_is_lost_gives_errors_and_all_else_reads_right() {
    let mut topologies = vec![
        unequal(Level::Linear, &[3, 8, 5]),
        unequal(Level::Raid0(Raid0Layout::Original), &[3, 8, 5]),
        equal(Level::Raid1, 2, 9),
        equal(Level::Raid1, 3, 9),
        equal(Level::Raid4, 4, 7),
        equal(Level::Raid5(ParityLayout::LeftSymmetric), 4, 7),
        equal(Level::Raid5(ParityLayout::RightAsymmetric), 3, 7),
        equal(Level::Raid6(ParityLayout::LeftSymmetric), 5, 7),
        equal(Level::Raid6(ParityLayout::DdfNContinue), 6, 7),
        equal(raid10(2, 1, false, false), 4, 9),
        equal(raid10(1, 2, false, false), 4, 9),
        equal(raid10(2, 1, false, false), 3, 9),
        equal(raid10(1, 2, true, false), 3, 9),
        coarse(Level::Raid5(ParityLayout::LeftSymmetric), 4, 3),
    ];
    topologies.extend(nested());
    let test = "beyond_the_limit_what_is_lost_gives_errors_and_all_else_reads_right";
    let tally = tell_stories(test, 8, Faults::Any, &topologies);
    let everything = tally.lost_blocks > 0 && tally.bad_blocks > 0 && tally.resyncs > 0;
    assert!(everything || tally.operations < 20_000, "something never happened: {tally:?}");
}
