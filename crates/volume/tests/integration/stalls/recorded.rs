//! What is told of an array is what a power cut would leave of it.

use std::time::Duration;

use shoal_md::{MemberUse, MinorVersion, SUPERBLOCK_BYTES, Superblock, Unverified};
use shoal_volume::{ConsistencyPolicy, Event, Health, MemberState, OpenOptions, Role};

use crate::stalls::rig::{DRIVE_BYTES, Rig};

/// Where superblocks of version 1.2 are.
const SUPERBLOCK_OFFSET: u64 = 4096;

/// What a drive would hold after a power cut.
fn durable(rig: &mut Rig, drive: usize) -> Superblock {
    let mut bytes = Box::new([0; SUPERBLOCK_BYTES]);
    rig.array.world_mut().content_mut(drive).look_durable(SUPERBLOCK_OFFSET, &mut bytes[..]).unwrap();
    Unverified::parse_and_verify(&bytes, MinorVersion::Start4K, DRIVE_BYTES).unwrap()
}

#[test]
fn a_member_that_was_filled_is_in_sync_once_every_superblock_says_so() {
    let options = OpenOptions::writable();
    let mut rig = Rig::with_spares("5", 4, 1, ConsistencyPolicy::Resync, &options);
    let failing = rig.drives[2];
    rig.array.fail_drive(failing).unwrap();
    let mut was_filled = false;
    loop {
        let status = rig.array.status();
        let finished = rig.array.take_news().iter().any(|news| matches!(news.event, Event::RebuildFinished(_)));
        let is_told = status.members[2].state == MemberState::InSync;
        assert_eq!(finished, is_told, "the news and the status tell the same");
        assert_eq!(status.health == Health::Optimal, is_told, "{status:?}");
        assert_ne!(rig.array.progress().is_some(), is_told, "it is under way until then");
        if is_told {
            break;
        }
        if rig.array.progress().is_some_and(|progress| progress.done_bytes == progress.total_bytes) {
            was_filled = true;
            assert!(matches!(status.members[2].state, MemberState::Rebuilding { .. }), "{status:?}");
            let needed = rig.drives[0];
            rig.array.fail_drive(needed).unwrap_err();
        }
        rig.pass(Duration::from_micros(100));
    }
    assert!(was_filled, "the moment between was seen");
    for drive in [0, 1, 3] {
        let superblock = durable(&mut rig, drive);
        assert_eq!(superblock.recovery_offset_sectors, 0, "drive {drive}");
        let filled = durable(&mut rig, 3).dev_number;
        assert_eq!(superblock.member_use(filled), MemberUse::Active(Role(2)), "drive {drive}");
    }
    rig.array.close().unwrap();
}
