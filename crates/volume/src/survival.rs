//! How many drives an array is sure to survive the loss of, over all levels of a nest.
//!
//! An array of redundancy r fails with its member number r + 1, whichever these are in the worst
//! case. A member that is a drive costs one drive; one that is an array costs what that one does;
//! one that is missing, or not filled yet, has been paid for. So the cheapest way to lose an array
//! is to lose its r + 1 cheapest members, and it survives one drive less.

use crate::status::{ArrayStatus, MemberOn, MemberStatus};
use shoal_array::{Level, MemberState};

/// Drives that may be lost in any combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survival {
    /// As the array is.
    pub now: u32,
    /// When all of its members are there and in sync.
    pub whole: u32,
}

impl ArrayStatus {
    /// What is survived; 0 now of an array that has failed. Of a mirror of several pairs more may
    /// be survived, if they are the right ones.
    pub fn survival(&self) -> Survival {
        let of = |price| self.price(price).saturating_sub(1);
        Survival { now: of(Price::Now), whole: of(Price::Whole) }
    }

    /// How many drives have to be lost for the array to be.
    fn price(&self, price: Price) -> u32 {
        let mut members: Vec<u32> = self.members.iter().map(|member| price.of(member)).collect();
        members.sort_unstable();
        members.iter().take(price.redundancy_of(self) + 1).sum()
    }
}

/// By which state of the members.
#[derive(Clone, Copy)]
enum Price {
    Now,
    Whole,
}

impl Price {
    /// Parity that is not known to agree with the data restores nothing.
    fn redundancy_of(self, array: &ArrayStatus) -> usize {
        let has_parity = matches!(array.level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_));
        match self {
            Self::Now if has_parity && array.needs_resync => 0,
            Self::Now | Self::Whole => array.redundancy,
        }
    }

    fn of(self, member: &MemberStatus) -> u32 {
        match (self, member.state, &member.on) {
            (Self::Now, MemberState::Missing | MemberState::Rebuilding { .. }, _) => 0,
            (_, _, Some(MemberOn::Array(inner))) => inner.price(self),
            // Of an array inside that is not there nothing is known.
            (_, _, Some(MemberOn::Drive(_)) | None) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use shoal_array::{Health, ParityLayout, Raid0Layout, Role};

    use super::*;

    fn array(level: Level, redundancy: usize, members: Vec<Option<MemberOn>>) -> ArrayStatus {
        let member = |(role, on): (u16, Option<MemberOn>)| MemberStatus {
            role: Role(role),
            state: if on.is_some() { MemberState::InSync } else { MemberState::Missing },
            on,
            replacement: None,
            suspect: false,
        };
        ArrayStatus {
            name: String::new(),
            uuid: String::new(),
            level,
            chunk_bytes: 0,
            capacity_bytes: 0,
            redundancy,
            health: Health::Optimal,
            consistency: None,
            needs_resync: false,
            events: 0,
            update_time_unix_s: 0,
            members: (0..).zip(members).map(member).collect(),
            spares: Vec::new(),
            left_out: Vec::new(),
            progress: None,
            write_back: None,
            traffic: None,
            problem: None,
            unattached: Vec::new(),
        }
    }

    const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);

    fn drive() -> Option<MemberOn> {
        Some(MemberOn::Drive("drive".to_owned()))
    }

    fn raid5(lacking: usize) -> Option<MemberOn> {
        let members = (0..3).map(|role| if role < lacking { None } else { drive() }).collect();
        Some(MemberOn::Array(Box::new(array(RAID5, 1, members))))
    }

    fn survival(level: Level, redundancy: usize, members: Vec<Option<MemberOn>>) -> (u32, u32) {
        let Survival { now, whole } = array(level, redundancy, members).survival();
        (now, whole)
    }

    #[test]
    fn arrays_of_drives_survive_their_redundancy() {
        assert_eq!(survival(RAID5, 1, vec![drive(), drive(), drive()]), (1, 1));
        assert_eq!(survival(RAID5, 1, vec![drive(), None, drive()]), (0, 1));
        assert_eq!(survival(RAID5, 1, vec![None, None, drive()]), (0, 1));
        assert_eq!(survival(Level::Raid1, 2, vec![drive(), None, drive()]), (1, 2));
    }

    #[test]
    fn parity_that_is_not_in_sync_survives_nothing_and_copies_do() {
        let unsynced = |level, redundancy| {
            let array = array(level, redundancy, vec![drive(), drive(), drive(), drive()]);
            let Survival { now, whole } = ArrayStatus { needs_resync: true, ..array }.survival();
            (now, whole)
        };
        assert_eq!([unsynced(RAID5, 1), unsynced(Level::Raid1, 3)], [(0, 1), (3, 3)]);
    }

    #[test]
    fn arrays_of_arrays_survive_what_all_their_levels_do() {
        let stripes = Level::Raid0(Raid0Layout::Original);
        assert_eq!(survival(stripes, 0, vec![raid5(0), raid5(0)]), (1, 1));
        assert_eq!(survival(stripes, 0, vec![raid5(0), raid5(1)]), (0, 1));
        assert_eq!(survival(Level::Raid1, 1, vec![raid5(0), raid5(0)]), (3, 3));
        assert_eq!(survival(Level::Raid1, 1, vec![raid5(1), raid5(0)]), (2, 3));
        assert_eq!(survival(Level::Raid1, 1, vec![None, raid5(0)]), (1, 2));
    }
}
