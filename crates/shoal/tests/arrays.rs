//! Arrays of every level from their making to their repair, by the program alone.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod support;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use support::{Bay, has, names, pattern};

struct Case {
    level: &'static str,
    layout: Option<&'static str>,
    drives: usize,
    /// Members that can be lost together.
    lost: &'static [usize],
    capacity_bytes: u64,
}

const fn case(
    level: &'static str,
    layout: Option<&'static str>,
    drives: usize,
    lost: &'static [usize],
    mib: u64,
) -> Case {
    Case { level, layout, drives, lost, capacity_bytes: mib << 20 }
}

/// Drives of 8 MiB, of which 7 are for data.
const CASES: [Case; 17] = [
    case("linear", None, 3, &[], 21),
    case("0", None, 3, &[], 21),
    case("0", Some("alternate"), 2, &[], 14),
    case("1", None, 3, &[0, 2], 7),
    case("4", None, 4, &[3], 21),
    case("5", None, 3, &[0], 14),
    case("5", Some("right-asymmetric"), 4, &[1], 21),
    case("5", Some("ddf-zero-restart"), 4, &[], 0),
    case("6", None, 5, &[1, 4], 21),
    case("6", Some("left-asymmetric-6"), 5, &[1], 0),
    case("10", None, 4, &[0, 3], 14),
    case("10", Some("f2"), 4, &[2], 14),
    case("10", Some("o2"), 3, &[1], 10),
    case("50", None, 6, &[0, 5], 0),
    case("60", None, 8, &[0, 1, 6, 7], 0),
    case("51", None, 6, &[0, 1, 2, 4], 0),
    case("61", None, 8, &[0, 1, 2, 3, 5, 6], 0),
];
