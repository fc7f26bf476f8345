//! The link between two hosts is what it says, and nothing of it stays behind.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::time::Duration;

use shoal_network::{LinkSpeed, Pair};

#[test]
fn a_stream_gets_what_the_link_has() {
    let pair = Pair::start(&[]).unwrap();
    for speed in ["100Mbit", "1Gbit"] {
        let speed: LinkSpeed = speed.parse().unwrap();
        pair.shape(speed).unwrap();
        let found = pair.calibrate(speed, Duration::from_secs(2)).unwrap();
        eprintln!("{found:?}");
    }
}
