//! Fault hunting: a seed is a world of drives, faults and power cuts; checkers judge what an array makes of it.

#![forbid(unsafe_code)]

mod checkers;
mod fleet;
mod player;
mod random;
mod sample;
mod scenario;
mod watched;

pub use checkers::Failure;
pub use fleet::Make;
pub use player::{Counts, Played};
pub use sample::sample;
pub use scenario::{Run, Scenario, Step};

/// Plays a scenario on memory of its own.
pub fn play(scenario: &Scenario, is_traced: bool) -> std::io::Result<Played> {
    let arena = shoal_volume::Arena::new(player::arena_bytes(scenario.drives()))?;
    Ok(player::play(scenario, &arena, is_traced))
}
