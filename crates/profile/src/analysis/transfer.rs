//! What a command costs, and a page, from transfers of growing size after a rest.
//!
//! After a rest the buffers of a reader are full, and those of a writer empty. So the first pages
//! move at the bus's pace `b`, as many as there are buffers, and then the medium's `m` shows:
//!
//! ```text
//! T(1 page)       = o + b                       the command, and nothing waited for
//! one buffer      : each further page takes b + m     the medium makes the next only when the buffer is empty
//! more buffers B  : each takes b up to B pages, then the larger of b and m
//! ```
//!
//! A machine that has rested takes longer itself, which shows with drives that are as fast as
//! memory. A drive that did not rest never takes less than o + b for a page, so o follows from the
//! shorter of the two times.
//!
//! So the first step of T tells one buffer from more, the place of its bend how many, and its slope
//! behind the bend m.

use crate::measure::Observation;
use crate::probe::TRANSFER_PAGES;

use super::statistics::{median, spread_ppm};

/// Pages up to which all transfers are one command on any bus.
const PAGES_MAX: u64 = 16;
/// Pages from which on the slope is taken.
const SLOPE_FROM: u64 = 8;

/// What transfers tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transfers {
    /// Cost of a command.
    pub(super) command_ns: u64,
    /// How the medium shows.
    pub(super) medium: MediumPace,
    /// Spread of the smallest transfers.
    pub(super) spread_ppm: u32,
}

/// How the medium shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediumPace {
    /// Through so many buffers, at this time for a page.
    Seen { page_ns: u64, buffers: u32 },
    /// Through more buffers than a transfer has pages.
    Buffered,
    /// Not at all: the bus is slower.
    BusBound,
}

impl Transfers {
    /// Out of transfers after rests and without. None if a size is missing.
    pub(super) fn new(rested: &Observation, at_once: &Observation, bus_page_ns: u64) -> Option<Self> {
        let time_ns = |pages: u64| Some(median(&latencies(rested, pages))).filter(|&ns| ns > 0);
        let first_ns = time_ns(1)?;
        let medium = pace(&time_ns, first_ns, bus_page_ns)?;
        let pages = [latencies(rested, 1), latencies(at_once, 1)];
        let shorter = pages.iter().min_by_key(|latencies_ns| median(latencies_ns))?;
        let command_ns = median(shorter).saturating_sub(bus_page_ns);
        Some(Self { command_ns, medium, spread_ppm: spread_ppm(shorter) })
    }
}

/// How long transfers of a size took, but for the first step, which did not go on from another.
pub(super) fn latencies(observation: &Observation, pages: u64) -> Vec<u64> {
    let steps = observation.probe.steps.iter().zip(&observation.latencies_ns).skip(1);
    steps.filter(|(step, _)| u64::from(step.length) == pages * 4096).map(|(_, &latency_ns)| latency_ns).collect()
}

fn pace(time_ns: &impl Fn(u64) -> Option<u64>, first_ns: u64, bus_page_ns: u64) -> Option<MediumPace> {
    let further_ns = time_ns(PAGES_MAX)?.saturating_sub(time_ns(SLOPE_FROM)?);
    let slope_ns = further_ns / (PAGES_MAX - SLOPE_FROM);
    if slope_ns <= bus_page_ns + bus_page_ns / 7 {
        return Some(MediumPace::BusBound);
    }
    let bend_ns = (slope_ns - bus_page_ns) / 2;
    // Whether all pages of a transfer came at the bus's pace, give or take half of a page's wait.
    let is_buffered = |pages: u64| time_ns(pages).is_some_and(|ns| ns < first_ns + (pages - 1) * bus_page_ns + bend_ns);
    let buffers =
        TRANSFER_PAGES.iter().copied().take_while(|&pages| pages <= PAGES_MAX && is_buffered(pages)).last()?;
    Some(match buffers {
        1 => MediumPace::Seen { page_ns: slope_ns - bus_page_ns, buffers: 1 },
        SLOPE_FROM.. => MediumPace::Buffered,
        _ => MediumPace::Seen { page_ns: slope_ns, buffers: u32::try_from(buffers).ok()? },
    })
}
