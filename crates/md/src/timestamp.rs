//! md's timestamps.

/// Seconds since 1970 in the low 40 bits, microseconds (or 0) in the high 24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    const SECONDS_BITS: u32 = 40;
    const SECONDS_MASK: u64 = (1 << Self::SECONDS_BITS) - 1;

    /// A timestamp of whole seconds, as mdadm writes it.
    pub fn from_seconds(seconds: u64) -> Self {
        Self(seconds & Self::SECONDS_MASK)
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0 & Self::SECONDS_MASK
    }

    /// Microseconds within the second; the kernel leaves them 0.
    pub fn microseconds(self) -> u32 {
        u32::try_from(self.0 >> Self::SECONDS_BITS).expect("24 bits are left")
    }
}
