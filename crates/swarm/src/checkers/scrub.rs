//! Checks that a scrub of a healthy array finds nothing.
//!
//! Not checked where silent faults happened: there a scrub may find what they left. Levels without
//! redundancy have nothing to compare.

use shoal_volume::{ArrayVolume, Event, ScrubMode, World};

use super::Failure;

const CHECKER: &str = "scrub";

/// What a scrub found, in bytes that do not agree; none if there is nothing to compare.
pub(crate) fn scrub<W: World>(
    array: &mut ArrayVolume<W>,
    mode: ScrubMode,
    has_redundancy: bool,
    settle: impl Fn(&mut ArrayVolume<W>) -> Result<(), Failure>,
) -> Result<Option<u64>, Failure> {
    array.take_news();
    if let Err(why) = array.scrub(mode) {
        return if has_redundancy { Err(Failure::new(CHECKER, why.to_string())) } else { Ok(None) };
    }
    settle(array)?;
    let mut found = None;
    for news in array.take_news() {
        if let Event::ScrubFinished { mismatched_bytes, completed } = news.event {
            if !completed {
                return Err(Failure::new(CHECKER, "a scrub of a healthy array did not get to its end"));
            }
            found = Some(found.unwrap_or(0) + mismatched_bytes);
        }
    }
    match found {
        None => Err(Failure::new(CHECKER, "a scrub was started, and never heard of again")),
        found => Ok(found),
    }
}

/// Parity and copies agree with the data.
pub(crate) fn check_scrub(mismatched_bytes: Option<u64>) -> Result<(), Failure> {
    match mismatched_bytes {
        None | Some(0) => Ok(()),
        Some(bytes) => Err(Failure::new(CHECKER, format!("a healthy array has {bytes} bytes that do not agree"))),
    }
}
