//! Names of levels and layouts, as mdadm spells them.

use core::fmt;
use core::str::FromStr;

use super::{Level, ParityLayout, Raid0Layout, Raid10Layout};

impl fmt::Display for Level {
    /// `linear`, `raid0`, `raid1`, ...; the layout has a name of its own.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Linear => "linear",
            Self::Raid0(_) => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid4 => "raid4",
            Self::Raid5(_) => "raid5",
            Self::Raid6(_) => "raid6",
            Self::Raid10(_) => "raid10",
        })
    }
}

impl fmt::Display for Raid0Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Original => "original",
            Self::Alternate => "alternate",
        })
    }
}

impl ParityLayout {
    /// Every layout, in the order of md's numbers.
    pub const ALL: [Self; 14] = [
        Self::LeftAsymmetric,
        Self::RightAsymmetric,
        Self::LeftSymmetric,
        Self::RightSymmetric,
        Self::ParityFirst,
        Self::ParityLast,
        Self::DdfZeroRestart,
        Self::DdfNRestart,
        Self::DdfNContinue,
        Self::LeftAsymmetric6,
        Self::RightAsymmetric6,
        Self::LeftSymmetric6,
        Self::RightSymmetric6,
        Self::ParityFirst6,
    ];

    /// mdadm's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeftAsymmetric => "left-asymmetric",
            Self::RightAsymmetric => "right-asymmetric",
            Self::LeftSymmetric => "left-symmetric",
            Self::RightSymmetric => "right-symmetric",
            Self::ParityFirst => "parity-first",
            Self::ParityLast => "parity-last",
            Self::DdfZeroRestart => "ddf-zero-restart",
            Self::DdfNRestart => "ddf-N-restart",
            Self::DdfNContinue => "ddf-N-continue",
            Self::LeftAsymmetric6 => "left-asymmetric-6",
            Self::RightAsymmetric6 => "right-asymmetric-6",
            Self::LeftSymmetric6 => "left-symmetric-6",
            Self::RightSymmetric6 => "right-symmetric-6",
            Self::ParityFirst6 => "parity-first-6",
        }
    }
}

impl fmt::Display for ParityLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl fmt::Display for Raid10Layout {
    /// `near=2`, `far=2`, `near=2, offset=2`, with `, far-sets` after it where that is set.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let far_name = if self.offset { "offset" } else { "far" };
        match (self.near, self.far) {
            (near, 1) => write!(formatter, "near={near}")?,
            (1, far) => write!(formatter, "{far_name}={far}")?,
            (near, far) => write!(formatter, "near={near}, {far_name}={far}")?,
        }
        if self.far_sets { formatter.write_str(", far-sets") } else { Ok(()) }
    }
}

/// The name is no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLayout;

impl fmt::Display for UnknownLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not a layout: give one such as left-symmetric (raid5, raid6), n2, f2 or o2 (raid10)")
    }
}

impl core::error::Error for UnknownLayout {}

impl FromStr for Raid0Layout {
    type Err = UnknownLayout;

    fn from_str(name: &str) -> Result<Self, UnknownLayout> {
        match name {
            "original" => Ok(Self::Original),
            "alternate" => Ok(Self::Alternate),
            _ => Err(UnknownLayout),
        }
    }
}

impl FromStr for ParityLayout {
    type Err = UnknownLayout;

    /// Takes mdadm's names, in any case, and its short forms `ls`, `rs`, `la`, `ra`.
    fn from_str(name: &str) -> Result<Self, UnknownLayout> {
        let short = match name {
            "la" => Some(Self::LeftAsymmetric),
            "ra" => Some(Self::RightAsymmetric),
            "ls" => Some(Self::LeftSymmetric),
            "rs" => Some(Self::RightSymmetric),
            _ => None,
        };
        let by_name = || Self::ALL.into_iter().find(|layout| layout.name().eq_ignore_ascii_case(name));
        short.or_else(by_name).ok_or(UnknownLayout)
    }
}

impl FromStr for Raid10Layout {
    type Err = UnknownLayout;

    /// Takes mdadm's `n2`, `f2`, `o2`, and what [`fmt::Display`] writes: `near=2, far=2, far-sets`.
    fn from_str(name: &str) -> Result<Self, UnknownLayout> {
        let mut layout = Self { near: 1, far: 1, offset: false, far_sets: false };
        for term in name.split(',').map(str::trim) {
            if term == "far-sets" {
                layout.far_sets = true;
                continue;
            }
            let digits = term.find(|character: char| character.is_ascii_digit()).ok_or(UnknownLayout)?;
            let copies = term[digits..].parse().map_err(|_| UnknownLayout)?;
            match &term[..digits] {
                "n" | "near=" => layout.near = copies,
                "f" | "far=" => layout.far = copies,
                "o" | "offset=" => (layout.far, layout.offset) = (copies, true),
                _ => return Err(UnknownLayout),
            }
        }
        if layout.copies() < 2 { Err(UnknownLayout) } else { Ok(layout) }
    }
}
