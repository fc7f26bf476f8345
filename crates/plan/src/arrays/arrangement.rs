//! An array that could be made.

use shoal_array::Level;
use shoal_volume::ArrayLevel;

/// An array that could be made: of which drives, in which roles, on which buses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// Level and layout.
    pub level: ArrayLevel,
    /// Drives by number, in the order of roles, and the bus that each is to be plugged into.
    pub members: Vec<(usize, usize)>,
    /// Drives that stand by.
    pub spares: Vec<(usize, usize)>,
}

impl Arrangement {
    /// `RAID5 x 6`, `RAID10 f2 x 4`, `RAID50 2 x 3`.
    pub fn title(&self) -> String {
        let members = self.members.len();
        let spares = if self.spares.is_empty() { String::new() } else { format!(" + {} spare", self.spares.len()) };
        let name = self.level.name();
        let level = if name == "linear" { "linear".to_owned() } else { format!("RAID{name}") };
        match self.level {
            ArrayLevel::Nested { groups, .. } => format!("{level} {groups} x {}{spares}", members / groups.max(1)),
            ArrayLevel::Plain(_) => {
                format!("{level}{} x {members}{spares}", if self.is_far() { " far" } else { "" })
            }
        }
    }

    /// How many members may be lost in any combination.
    pub fn redundancy(&self) -> usize {
        let sets = crate::reliability::redundancy_sets(self.level, self.members.len(), 0);
        sets.iter().map(|set| set.tolerance).min().unwrap_or(0)
    }

    /// Whether it keeps its copies far apart on each member.
    pub fn is_far(&self) -> bool {
        matches!(self.level, ArrayLevel::Plain(Level::Raid10(layout)) if layout.far > 1)
    }

    /// Whether the level divides content into chunks.
    pub fn has_chunks(&self) -> bool {
        !matches!(self.level, ArrayLevel::Plain(Level::Raid1 | Level::Linear))
    }

    /// Members and spares.
    pub fn drives(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.members.iter().chain(&self.spares).copied()
    }
}
