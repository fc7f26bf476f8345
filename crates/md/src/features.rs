//! The feature map: what a reader must understand before it may take a member.

use std::fmt;
use std::ops::BitOr;

/// A set of feature bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(pub u32);

impl Features {
    /// A write-intent bitmap lies at `bitmap_offset`.
    pub const BITMAP: Self = Self(0x1);
    /// The member is being rebuilt: it holds its data below `recovery_offset` only.
    pub const RECOVERY_OFFSET: Self = Self(0x2);
    /// The array is changing its shape.
    pub const RESHAPE_ACTIVE: Self = Self(0x4);
    /// The member's bad-block log is not empty.
    pub const BAD_BLOCKS: Self = Self(0x8);
    /// The member is to replace another one of the same role.
    pub const REPLACEMENT: Self = Self(0x10);
    /// The reshape goes from the end to the start.
    pub const RESHAPE_BACKWARDS: Self = Self(0x20);
    /// The reshape moves the start of the data.
    pub const NEW_OFFSET: Self = Self(0x40);
    /// The rebuild of this member follows the bitmap.
    pub const RECOVERY_BITMAP: Self = Self(0x80);
    /// Several hosts share the array.
    pub const CLUSTERED: Self = Self(0x100);
    /// The array has a write journal.
    pub const JOURNAL: Self = Self(0x200);
    /// The array has a partial-parity log.
    pub const PPL: Self = Self(0x400);
    /// The array has a partial-parity log of several parts.
    pub const MULTIPLE_PPLS: Self = Self(0x800);
    /// RAID0: the layout field counts.
    pub const RAID0_LAYOUT: Self = Self(0x1000);

    /// Every bit with its name, in md's words.
    const NAMES: [(Self, &'static str); 13] = [
        (Self::BITMAP, "bitmap"),
        (Self::RECOVERY_OFFSET, "recovery offset"),
        (Self::RESHAPE_ACTIVE, "reshape active"),
        (Self::BAD_BLOCKS, "bad blocks"),
        (Self::REPLACEMENT, "replacement"),
        (Self::RESHAPE_BACKWARDS, "reshape backwards"),
        (Self::NEW_OFFSET, "new offset"),
        (Self::RECOVERY_BITMAP, "recovery bitmap"),
        (Self::CLUSTERED, "clustered"),
        (Self::JOURNAL, "journal"),
        (Self::PPL, "ppl"),
        (Self::MULTIPLE_PPLS, "multiple ppls"),
        (Self::RAID0_LAYOUT, "raid0 layout"),
    ];

    /// Whether any of these bits is set.
    pub fn any_of(self, features: Self) -> bool {
        self.0 & features.0 != 0
    }

    /// This set with these bits set or cleared.
    #[must_use]
    pub fn with(self, features: Self, set: bool) -> Self {
        if set { Self(self.0 | features.0) } else { Self(self.0 & !features.0) }
    }

    /// The names of the bits that are set and known.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(feature, _)| self.any_of(*feature)).map(|&(_, name)| name).collect()
    }

    /// The bits that have no name here: whoever wrote them knows something that we do not.
    pub fn unknown(self) -> Self {
        let known = Self::NAMES.iter().fold(0, |known, (feature, _)| known | feature.0);
        Self(self.0 & !known)
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let mut separator = "";
        for (feature, name) in Self::NAMES {
            if self.any_of(feature) {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        let unknown = self.unknown();
        if unknown.0 != 0 {
            write!(f, "{separator}unknown {:#x}", unknown.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_known_and_unknown_bits() {
        assert_eq!(Features(0x1fff).unknown(), Features(0));
        assert_eq!(Features(0xffff_ffff).unknown(), Features(0xffff_e000));
        assert_eq!(
            (Features::BITMAP | Features::BAD_BLOCKS | Features(0x2000)).to_string(),
            "bitmap, bad blocks, unknown 0x2000"
        );
        assert_eq!(Features(0).to_string(), "none");
    }
}
