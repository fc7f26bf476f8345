//! Which of the drives that an array counts on are where.

use std::path::PathBuf;

use shoal_drive::DriveKey;
use shoal_inventory::Seen;
use shoal_volume::{CountedOn, DriveId};

/// Where each drive was found that a paused array counts on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sighting {
    /// Those that are open and still lead to the same drive.
    pub(super) kept: Vec<DriveId>,
    /// Those that have come, or come back as another device.
    pub(super) fresh: Vec<(PathBuf, DriveKey)>,
    /// Those that are not the device which is open, as they were called: gone, or back.
    pub(super) gone: Vec<String>,
    /// Those that are nowhere, as they were called.
    pub(super) absent: Vec<String>,
    /// One that somebody else has written to.
    pub(super) newer: Option<String>,
}

impl Sighting {
    /// Holds what was seen against who is counted on, and what is open.
    pub(super) fn of(counted_on: &[CountedOn], seen: &[Seen], open: &[(DriveId, DriveKey)]) -> Self {
        let mut sighting = Self::default();
        for it in counted_on {
            let is_it =
                |seen: &&Seen| (seen.superblock.array_uuid, seen.superblock.device_uuid) == (it.array, it.device);
            let places: Vec<&Seen> = seen.iter().filter(is_it).collect();
            sighting.add(it, &places, open);
        }
        sighting
    }

    fn add(&mut self, it: &CountedOn, places: &[&Seen], open: &[(DriveId, DriveKey)]) {
        let kept =
            places.iter().find_map(|seen| open.iter().find(|(_, key)| *key == seen.key).map(|(id, _)| (*id, *seen)));
        let place = kept.map(|(_, seen)| seen).or_else(|| its_place(it, places));
        let newer = place.filter(|seen| seen.superblock.events > it.events);
        self.newer = self.newer.take().or_else(|| Some(newer?.path.display().to_string()));
        if let Some((id, _)) = kept {
            return self.kept.push(id);
        }
        self.gone.push(it.drive.clone());
        match place {
            Some(seen) => self.fresh.push((seen.path.clone(), seen.key)),
            None => self.absent.push(it.drive.clone()),
        }
    }
}

/// Where the drive is now: where the hardware is that it was on. If hardware has no name, here or
/// there, the one place that there is; of several one is a copy, and nobody can tell which. What is
/// on other hardware is a copy, too: who says that it is the member starts the array anew.
fn its_place<'a>(it: &CountedOn, places: &[&'a Seen]) -> Option<&'a Seen> {
    let named = it.hardware.as_ref();
    if let Some(same) = places.iter().find(|seen| named.is_some() && seen.hardware.as_ref() == named) {
        return Some(same);
    }
    match places {
        [only] if named.is_none() || only.hardware.is_none() => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use shoal_md::{
        ConsistencyPolicy, CreateRequest, Membership, NewMember, Superblock, Timestamp, Uuid, plan_creation,
    };
    use shoal_volume::{Level, MinorVersion};

    use super::*;

    fn superblock() -> Superblock {
        let member =
            |number: u8| NewMember { drive: number.to_string(), size_bytes: 64 << 20, uuid: Uuid([number; 16]) };
        let creation = plan_creation(&CreateRequest {
            level: Level::Raid1,
            chunk_bytes: None,
            members: vec![member(1), member(2)],
            spares: Vec::new(),
            name: "pond".to_owned(),
            homehost: None,
            array_uuid: Uuid([9; 16]),
            creation_time: Timestamp::from_seconds(1_700_000_000),
            clean: true,
            minor: MinorVersion::Start4K,
            consistency: ConsistencyPolicy::Resync,
        });
        Membership::of_creation(&creation.expect("two drives are a mirror")).superblocks()[0].clone()
    }

    /// Where a member is taken to be that this host knows on `known`, and was seen on such hardware
    /// with so many updates more than counted on; and whether somebody else has written to it.
    fn place(known: Option<&str>, seen: &[(Option<&str>, u64)]) -> (Option<usize>, bool) {
        let directory = tempfile::tempdir().expect("there is room");
        let superblock = superblock();
        let see = |(number, (hardware, updates)): (usize, &(Option<&str>, u64))| {
            let path = directory.path().join(number.to_string());
            std::fs::write(&path, "").expect("there is room");
            let mut superblock = superblock.clone();
            superblock.events += updates;
            let key = DriveKey::of_path(&path).expect("it is there");
            Seen { path, key, superblock, hardware: hardware.map(str::to_owned), disk_sequence: None }
        };
        let seen: Vec<_> = seen.iter().enumerate().map(see).collect();
        let it = CountedOn {
            array: superblock.array_uuid,
            events: superblock.events,
            device: superblock.device_uuid,
            hardware: known.map(str::to_owned),
            drive: "d0".to_owned(),
        };
        let sighting = Sighting::of(&[it], &seen, &[]);
        let found =
            sighting.fresh.first().map(|(path, _)| seen.iter().position(|it| it.path == *path).expect("it was seen"));
        assert_eq!(sighting.absent.is_empty(), found.is_some());
        (found, sighting.newer.is_some())
    }

    #[test]
    fn a_member_is_where_its_hardware_is() {
        assert_eq!(place(Some("a"), &[(Some("b"), 0), (Some("a"), 0)]), (Some(1), false));
        assert_eq!(place(Some("a"), &[(Some("b"), 0)]), (None, false), "a copy on other hardware");
    }

    #[test]
    fn where_hardware_has_no_name_one_place_is_it_and_several_are_none() {
        assert_eq!(place(None, &[(Some("b"), 0)]), (Some(0), false));
        assert_eq!(place(Some("a"), &[(None, 0)]), (Some(0), false));
        assert_eq!(place(None, &[(None, 0), (None, 0)]), (None, false));
    }

    #[test]
    fn only_the_member_itself_can_have_been_written_to_by_somebody_else() {
        assert_eq!(place(Some("a"), &[(Some("a"), 0), (Some("b"), 1000)]), (Some(0), false));
        assert_eq!(place(Some("a"), &[(Some("a"), 1)]), (Some(0), true));
    }
}
