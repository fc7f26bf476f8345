//! What the name of a figure says: its unit, and whether more of it is better. So neither is stored
//! a second time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes in a second.
    BytesPerSecond,
    /// Requests in a second.
    RequestsPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is faster.
    More,
    /// Less is faster.
    Less,
}

/// How long it went on says nothing of how fast it was.
const ELAPSED: &str = "elapsed_ns";

impl Unit {
    /// The unit of a figure of this name.
    pub fn of(name: &str) -> Self {
        let ends = |end: &str| name.ends_with(end);
        match () {
            () if ends("bytes_per_s") => Self::BytesPerSecond,
            () if ends("iops") => Self::RequestsPerSecond,
            () if ends("_ns") || ends("_ns_per_io") => Self::Nanoseconds,
            () if ends("bytes") => Self::Bytes,
            () => Self::Count,
        }
    }
}

impl Better {
    /// Which way a figure of this name is better; none for those that are no measure of speed.
    pub fn of(name: &str) -> Option<Self> {
        match Unit::of(name) {
            Unit::BytesPerSecond | Unit::RequestsPerSecond => Some(Self::More),
            Unit::Nanoseconds if name != ELAPSED => Some(Self::Less),
            Unit::Nanoseconds | Unit::Bytes | Unit::Count => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_figures_are() {
        for (name, unit, better) in [
            ("read_bytes_per_s", Unit::BytesPerSecond, Some(Better::More)),
            ("write_iops", Unit::RequestsPerSecond, Some(Better::More)),
            ("read_latency_p99_ns", Unit::Nanoseconds, Some(Better::Less)),
            ("cpu_ns_per_io", Unit::Nanoseconds, Some(Better::Less)),
            ("elapsed_ns", Unit::Nanoseconds, None),
            ("read_bytes", Unit::Bytes, None),
            ("read_errors", Unit::Count, None),
            ("", Unit::Count, None),
        ] {
            assert_eq!((Unit::of(name), Better::of(name)), (unit, better), "{name}");
        }
    }
}
