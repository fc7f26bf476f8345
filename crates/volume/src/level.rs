//! Levels and layouts as people write them.

use shoal_array::{Level, ParityLayout, Raid0Layout, Raid10Layout};

use crate::create::ArrayLevel;

/// Why a level cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LevelError {
    /// There is no such level.
    #[error("`{level}` is no level: give linear, 0, 1, 4, 5, 6, 10, or 50, 60, 51 or 61 for arrays of arrays")]
    Level {
        /// What was given.
        level: String,
    },
    /// The level has no such layout.
    #[error("level {level} has no layout `{layout}`: give {choice}")]
    Layout {
        /// The level.
        level: String,
        /// What was given.
        layout: String,
        /// What there is.
        choice: &'static str,
    },
}

const PARITY_CHOICE: &str = "one of mdadm's names, such as left-symmetric";

impl ArrayLevel {
    /// Reads a level and its layout; `groups` is for levels of arrays of arrays.
    pub fn parse(level: &str, layout: Option<&str>, groups: usize) -> Result<Self, LevelError> {
        let number = level.strip_prefix("raid").unwrap_or(level);
        let nested = |outer, inner| {
            let inner = plain(inner, layout)?;
            Ok(Self::Nested { outer: plain(outer, None)?, inner, groups })
        };
        match number {
            "50" => nested("0", "5"),
            "60" => nested("0", "6"),
            "51" => nested("1", "5"),
            "61" => nested("1", "6"),
            _ => Ok(Self::Plain(plain(number, layout)?)),
        }
    }

    /// The level's number or name, as `--level` takes it.
    pub fn name(self) -> String {
        let number = |level: Level| level.to_string().trim_start_matches("raid").to_owned();
        match self {
            Self::Plain(level) => number(level),
            Self::Nested { outer, inner, .. } => number(inner) + &number(outer),
        }
    }

    /// The layout's name, where the level has a choice of them.
    pub fn layout_name(self) -> Option<String> {
        match self {
            Self::Plain(level) | Self::Nested { inner: level, .. } => layout_name(level),
        }
    }
}

/// The layout's name, where the level has a choice of them.
pub fn layout_name(level: Level) -> Option<String> {
    match level {
        Level::Linear | Level::Raid1 | Level::Raid4 => None,
        Level::Raid0(layout) => Some(layout.to_string()),
        Level::Raid5(layout) | Level::Raid6(layout) => Some(layout.to_string()),
        Level::Raid10(layout) => Some(layout.to_string()),
    }
}

fn plain(level: &str, layout: Option<&str>) -> Result<Level, LevelError> {
    match level {
        "linear" => without_layout(Level::Linear, level, layout),
        "1" => without_layout(Level::Raid1, level, layout),
        "4" => without_layout(Level::Raid4, level, layout),
        "0" => Ok(Level::Raid0(read(level, layout, Raid0Layout::Original, "original or alternate")?)),
        "5" => Ok(Level::Raid5(read(level, layout, ParityLayout::LeftSymmetric, PARITY_CHOICE)?)),
        "6" => Ok(Level::Raid6(read(level, layout, ParityLayout::LeftSymmetric, PARITY_CHOICE)?)),
        "10" => {
            let near_2 = Raid10Layout { near: 2, far: 1, offset: false, far_sets: false };
            Ok(Level::Raid10(read(level, layout, near_2, "n2, f2, o2 or the like")?))
        }
        _ => Err(LevelError::Level { level: level.to_owned() }),
    }
}

fn without_layout(it: Level, level: &str, layout: Option<&str>) -> Result<Level, LevelError> {
    match layout {
        None => Ok(it),
        Some(layout) => Err(refusal(level, layout, "none")),
    }
}

fn read<L: std::str::FromStr>(
    level: &str,
    layout: Option<&str>,
    default: L,
    choice: &'static str,
) -> Result<L, LevelError> {
    layout.map_or(Ok(default), |layout| layout.parse().map_err(|_| refusal(level, layout, choice)))
}

fn refusal(level: &str, layout: &str, choice: &'static str) -> LevelError {
    LevelError::Layout { level: level.to_owned(), layout: layout.to_owned(), choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["linear", "0", "1", "4", "5", "6", "10", "50", "60", "51", "61"] {
            let level = ArrayLevel::parse(name, None, 2).expect("these are levels");
            assert_eq!(level.name(), name);
            let again = ArrayLevel::parse(name, level.layout_name().as_deref(), 2);
            assert_eq!(again, Ok(level));
        }
    }

    #[test]
    fn nonsense_is_named() {
        assert!(matches!(ArrayLevel::parse("7", None, 2), Err(LevelError::Level { .. })));
        let error = ArrayLevel::parse("5", Some("n2"), 2).expect_err("no layout of RAID5");
        assert!(error.to_string().contains("`n2`"), "{error}");
        assert!(ArrayLevel::parse("1", Some("near"), 2).is_err());
    }
}
