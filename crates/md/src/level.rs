//! Levels and layouts: md's numbers and the engine's words.

use shoal_array::{Level, ParityLayout, Raid0Layout, Raid10Layout};

/// Level and layout as the superblock stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiskLevel {
    /// -1 (linear), 0, 1, 4, 5, 6, 10.
    pub level: i32,
    /// What it means depends on the level; 0 where it means nothing.
    pub layout: u32,
}

/// Numbers that mean no level or layout that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// The level.
    #[error("md level {level} is not known: linear (-1), 0, 1, 4, 5, 6 and 10 are")]
    UnknownLevel {
        /// What was found.
        level: i32,
    },
    /// The layout.
    #[error("layout {layout:#x} is not known for {}", level_name(*level))]
    UnknownLayout {
        /// The level.
        level: i32,
        /// What was found.
        layout: u32,
    },
}

/// md's name of a level: `linear`, `raid5`.
pub fn level_name(level: i32) -> String {
    match level {
        LINEAR => "linear".to_owned(),
        number => format!("raid{number}"),
    }
}

const LINEAR: i32 = -1;

const RAID0_LAYOUTS: [(u32, Raid0Layout); 2] = [(1, Raid0Layout::Original), (2, Raid0Layout::Alternate)];

/// RAID6's layouts; RAID5 has the first [`RAID5_LAYOUTS`] of them.
const PARITY_LAYOUTS: [(u32, ParityLayout); 14] = [
    (0, ParityLayout::LeftAsymmetric),
    (1, ParityLayout::RightAsymmetric),
    (2, ParityLayout::LeftSymmetric),
    (3, ParityLayout::RightSymmetric),
    (4, ParityLayout::ParityFirst),
    (5, ParityLayout::ParityLast),
    (8, ParityLayout::DdfZeroRestart),
    (9, ParityLayout::DdfNRestart),
    (10, ParityLayout::DdfNContinue),
    (16, ParityLayout::LeftAsymmetric6),
    (17, ParityLayout::RightAsymmetric6),
    (18, ParityLayout::LeftSymmetric6),
    (19, ParityLayout::RightSymmetric6),
    (20, ParityLayout::ParityFirst6),
];
const RAID5_LAYOUTS: usize = 6;

impl DiskLevel {
    /// The numbers of a level.
    pub fn new(level: Level) -> Self {
        let (level, layout) = match level {
            Level::Linear => (LINEAR, 0),
            Level::Raid0(layout) => (0, number_of(&RAID0_LAYOUTS, layout)),
            Level::Raid1 => (1, 0),
            Level::Raid4 => (4, 0),
            Level::Raid5(layout) => (5, number_of(&PARITY_LAYOUTS, layout)),
            Level::Raid6(layout) => (6, number_of(&PARITY_LAYOUTS, layout)),
            Level::Raid10(layout) => (10, raid10_number(layout)),
        };
        Self { level, layout }
    }

    /// The level of the numbers. Layouts that mean nothing (linear, RAID1) may be anything. RAID0
    /// with layout 0 was made before there were layouts: that is the original one, as long as all
    /// members have one size.
    pub fn level(self) -> Result<Level, LevelError> {
        let Self { level, layout } = self;
        let unknown = LevelError::UnknownLayout { level, layout };
        match level {
            LINEAR => Ok(Level::Linear),
            0 if layout == 0 => Ok(Level::Raid0(Raid0Layout::Original)),
            0 => layout_of(&RAID0_LAYOUTS, layout).map(Level::Raid0).ok_or(unknown),
            1 => Ok(Level::Raid1),
            // Parity on the last member is all that the level can do, and also what layout 5 means
            // elsewhere.
            4 if matches!(layout, 0 | 5) => Ok(Level::Raid4),
            4 => Err(unknown),
            5 => layout_of(&PARITY_LAYOUTS[..RAID5_LAYOUTS], layout).map(Level::Raid5).ok_or(unknown),
            6 => layout_of(&PARITY_LAYOUTS, layout).map(Level::Raid6).ok_or(unknown),
            10 => raid10_layout(layout).map(Level::Raid10).ok_or(unknown),
            _ => Err(LevelError::UnknownLevel { level }),
        }
    }
}

fn number_of<Layout: PartialEq>(table: &[(u32, Layout)], layout: Layout) -> u32 {
    table.iter().find(|row| row.1 == layout).expect("the table names every layout").0
}

fn layout_of<Layout: Copy>(table: &[(u32, Layout)], number: u32) -> Option<Layout> {
    table.iter().find(|row| row.0 == number).map(|row| row.1)
}

const RAID10_FAR_SHIFT: u32 = 8;
const RAID10_OFFSET: u32 = 1 << 16;
/// Far copies within sets of `near * far` members. (1 << 17 alone was a faulty form of the same.)
const RAID10_FAR_SETS: u32 = 2 << 17;

fn raid10_number(layout: Raid10Layout) -> u32 {
    let offset = if layout.offset { RAID10_OFFSET } else { 0 };
    let far_sets = if layout.far_sets { RAID10_FAR_SETS } else { 0 };
    u32::from(layout.near) | u32::from(layout.far) << RAID10_FAR_SHIFT | offset | far_sets
}

fn raid10_layout(number: u32) -> Option<Raid10Layout> {
    let [near, far, ..] = number.to_le_bytes();
    let layout =
        Raid10Layout { near, far, offset: number & RAID10_OFFSET != 0, far_sets: number & RAID10_FAR_SETS != 0 };
    (near > 0 && far > 0 && raid10_number(layout) == number).then_some(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_has_its_number() {
        for (number, layout) in PARITY_LAYOUTS {
            let raid6 = DiskLevel { level: 6, layout: number };
            assert_eq!(raid6.level(), Ok(Level::Raid6(layout)));
            assert_eq!(DiskLevel::new(Level::Raid6(layout)), raid6);
            let raid5 = DiskLevel { level: 5, layout: number };
            if number < 6 {
                assert_eq!(raid5.level(), Ok(Level::Raid5(layout)));
                assert_eq!(DiskLevel::new(Level::Raid5(layout)), raid5);
            } else {
                assert_eq!(raid5.level(), Err(LevelError::UnknownLayout { level: 5, layout: number }));
            }
        }
        for (level, layout, expected) in [
            (-1, 0, Level::Linear),
            (0, 1, Level::Raid0(Raid0Layout::Original)),
            (0, 2, Level::Raid0(Raid0Layout::Alternate)),
            (1, 0, Level::Raid1),
            (4, 0, Level::Raid4),
        ] {
            assert_eq!(DiskLevel { level, layout }.level(), Ok(expected));
            assert_eq!(DiskLevel::new(expected), DiskLevel { level, layout });
        }
    }

    #[test]
    fn raid10_layouts_are_bits() {
        for (number, near, far, offset, far_sets) in [
            (0x102, 2, 1, false, false),
            (0x201, 1, 2, false, false),
            (0x10201, 1, 2, true, false),
            (0x40201, 1, 2, false, true),
            (0x50302, 2, 3, true, true),
        ] {
            let layout = Raid10Layout { near, far, offset, far_sets };
            assert_eq!(DiskLevel { level: 10, layout: number }.level(), Ok(Level::Raid10(layout)));
            assert_eq!(DiskLevel::new(Level::Raid10(layout)).layout, number);
        }
        for number in [0, 2, 0x100, 0x2_0201, 0x6_0201, 0x8_0102] {
            assert!(DiskLevel { level: 10, layout: number }.level().is_err(), "{number:#x}");
        }
    }

    #[test]
    fn unknown_numbers_are_named() {
        let refused = DiskLevel { level: 7, layout: 0 }.level().unwrap_err();
        assert!(refused.to_string().contains("level 7"), "{refused}");
        let refused = DiskLevel { level: 6, layout: 7 }.level().unwrap_err();
        assert_eq!(refused.to_string(), "layout 0x7 is not known for raid6");
        let refused = DiskLevel { level: 0, layout: 3 }.level().unwrap_err();
        assert_eq!(refused.to_string(), "layout 0x3 is not known for raid0");
    }
}
