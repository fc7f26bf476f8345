//! What a link of Ethernet carries, and how a queue of Linux is made to carry just that.
//!
//! A frame takes more of a link than the kernel counts of it:
//!
//! | bytes | what | counted by the kernel |
//! | --- | --- | --- |
//! | 7 + 1 | preamble and start of frame (IEEE 802.3, 3.1.1) | no |
//! | 14 | addresses and type | yes |
//! | 1500 | what the frame carries at most | yes |
//! | 4 | check sequence | no |
//! | 12 | gap to the next frame (IEEE 802.3, 4.4.2: 96 bit times) | no |
//!
//! So the link's time for a full frame is that of 1538 bytes, of which the queue sees 1514; and of
//! those a TCP stream with timestamps (RFC 7323), as Linux makes them, has 1448 to itself: 20 bytes
//! are IP's header, 20 TCP's, 12 its option. A gigabit link carries 941.5 Mbit/s of such a stream,
//! and 100 Mbit/s carry 94.1.
//!
//! The queue is `tbf`, which lets bytes pass as tokens come in. Its rate is the link's times
//! 1514/1538: right for full frames, and so for the direction in which the content flows. Bare
//! acknowledgements are taken for smaller than they are, by a tenth of the time of which they need
//! a fiftieth.
//!
//! Two hosts of one machine hand each other 64 KiB at a time, as a card with segmentation offload
//! is handed them; the kernel counts such a bundle with the headers of all frames that a card would
//! make of it. Cutting it into frames here would cost a processor most of its time and change no
//! rate, so bundles stay whole, and the bucket holds two of them: what waits for tokens may be a
//! bundle, and while the timer that ends the wait is late, tokens are not lost. That is how much a
//! link may be ahead of its rate, once: a millisecond of a gigabit link.

use std::fmt;
use std::str::FromStr;

/// A full frame, as the kernel counts it.
const FRAME_COUNTED_BYTES: u64 = 1514;
/// A full frame, as it occupies the link.
const FRAME_ON_LINK_BYTES: u64 = 1538;
/// What of it is a TCP stream's, with timestamps.
const FRAME_PAYLOAD_BYTES: u64 = 1448;
/// The largest bundle of frames that the kernel hands on, and a second one.
pub(crate) const BUCKET_BYTES: u64 = 128 << 10;
/// What may wait at each end, as time: the thousand frames of a card's usual queue, at a gigabit.
pub(crate) const QUEUE_MS: u64 = 12;

/// How fast a link is: bits of its line in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpeed {
    bits_per_s: u64,
}

impl LinkSpeed {
    /// The slowest that makes sense to measure.
    const SLOWEST: u64 = 1_000_000;
    /// The fastest that one machine can play two hosts of.
    const FASTEST: u64 = 10_000_000_000;

    /// A link of so many bits a second; `None` if it is below 1 Mbit/s or above 10 Gbit/s.
    pub fn of(bits_per_s: u64) -> Option<Self> {
        (Self::SLOWEST..=Self::FASTEST).contains(&bits_per_s).then_some(Self { bits_per_s })
    }

    /// Bits of the line in a second.
    pub fn bits_per_s(self) -> u64 {
        self.bits_per_s
    }

    /// What a TCP stream gets of it, in bytes a second.
    pub fn payload_bytes_per_s(self) -> u64 {
        self.bits_per_s / 8 * FRAME_PAYLOAD_BYTES / FRAME_ON_LINK_BYTES
    }

    /// The queue's rate, in bits a second.
    pub(crate) fn counted_bits_per_s(self) -> u64 {
        self.bits_per_s / 1000 * FRAME_COUNTED_BYTES * 1000 / FRAME_ON_LINK_BYTES
    }

    /// The most bytes of a stream that can come through in so long, the bucket included.
    pub fn most_bytes_in(self, elapsed_ns: u64) -> u64 {
        let bytes = u128::from(self.payload_bytes_per_s()) * u128::from(elapsed_ns) / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(BUCKET_BYTES)
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits_per_s {
            bits if bits.is_multiple_of(1_000_000_000) => write!(f, "{} Gbit/s", bits / 1_000_000_000),
            bits if bits.is_multiple_of(1_000_000) => write!(f, "{} Mbit/s", bits / 1_000_000),
            bits => write!(f, "{} kbit/s", bits / 1000),
        }
    }
}

impl FromStr for LinkSpeed {
    type Err = String;

    /// Takes what people write: `1Gbit`, `100Mbit`, `2500 Mbit/s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let bare = lower.trim_end_matches("/s").trim_end_matches("bit").trim_end();
        let (digits, unit) = match bare.as_bytes().last() {
            Some(b'g') => (&bare[..bare.len() - 1], 1_000_000_000),
            Some(b'm') => (&bare[..bare.len() - 1], 1_000_000),
            _ => return Err(format!("`{text}` is no speed of a link: write it as 1Gbit or 100Mbit")),
        };
        let number: u64 = digits.trim_end().parse().map_err(|_| format!("`{text}`: `{digits}` is no number"))?;
        let speed = number.checked_mul(unit).and_then(Self::of);
        speed.ok_or_else(|| format!("`{text}`: a link may have 1 Mbit/s to 10 Gbit/s"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::LinkSpeed;

    #[test]
    fn speeds_are_read_as_people_write_them() {
        let speed = |text: &str| text.parse::<LinkSpeed>().map(LinkSpeed::bits_per_s);
        assert_eq!(speed("1Gbit"), Ok(1_000_000_000));
        assert_eq!(speed("100Mbit"), Ok(100_000_000));
        assert_eq!(speed("2500 Mbit/s"), Ok(2_500_000_000));
        assert_eq!(speed("10g"), Ok(10_000_000_000));
        for wrong in ["", "1", "fast", "0Mbit", "11Gbit", "99999999999999999999Gbit", "-1Mbit", "1Kbit", "\u{e9}bit"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
        assert_eq!("1000Mbit".parse::<LinkSpeed>().unwrap().to_string(), "1 Gbit/s");
    }

    #[test]
    fn a_stream_gets_what_the_headers_leave() {
        let gigabit: LinkSpeed = "1Gbit".parse().unwrap();
        assert_eq!(gigabit.payload_bytes_per_s() * 8 / 100_000, 9414); // 941.4 Mbit/s
        assert_eq!(gigabit.counted_bits_per_s() / 100_000, 9843);
        assert_eq!(gigabit.most_bytes_in(1_000_000_000), gigabit.payload_bytes_per_s() + (128 << 10));
    }
}
