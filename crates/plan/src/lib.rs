//! Which array to build or buy: what it holds, costs, does and survives, before anything is wiped.
//!
//! [`plan`] takes drives and a purpose, and ranks the arrays that are worth a look. What it says of
//! each comes from where it is decided in earnest: capacity from md's placement and the engine's
//! geometry ([`arrays`]), speeds from the engine itself on simulated drives ([`speed`]). What no
//! drive can show is worked out here: the chance of loss ([`reliability`]), cost ([`cost`]), wear
//! ([`wear`]), power ([`power`]), and what is in the way ([`limits`]).

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod advice;
mod alternatives;
pub mod arrays;
pub mod cost;
pub mod document;
pub mod drives;
pub mod format;
pub mod limits;
mod planner;
pub mod power;
mod presets;
mod purpose;
pub mod reliability;
#[cfg(test)]
mod sample;
pub mod speed;
pub mod units;
pub mod wear;
mod words;

pub use advice::create_line;
pub use planner::{PlanError, PlanRequest, plan};
pub use presets::{Preset, find_preset, presets};
pub use purpose::{Goal, Purpose, PurposeError};
