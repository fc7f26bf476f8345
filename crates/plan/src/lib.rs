//! Which array to build or buy: what it holds, costs, does and survives, before anything is wiped.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

pub mod cost;
pub mod reliability;
pub mod units;
