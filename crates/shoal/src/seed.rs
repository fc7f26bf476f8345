//! Seeds for those who give none.

use std::time::{SystemTime, UNIX_EPOCH};

/// A seed that is most likely new; small enough to be typed again, and for every reader of JSON.
pub(crate) fn fresh() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_1970.as_micros() % 1_000_000_000) as u64
}
