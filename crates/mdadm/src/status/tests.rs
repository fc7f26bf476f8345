//! What is made of recorded trees.

use shoal_volume::{ParityLayout, Raid10Layout};

use super::*;
use crate::sysfs::tests::recorded;

fn base(level: Level, redundancy: usize, count: u16) -> ArrayStatus {
    let member = |role| MemberStatus {
        role: Role(role),
        state: MemberState::Missing,
        on: None,
        replacement: None,
        suspect: false,
    };
    ArrayStatus {
        name: "pond".to_owned(),
        uuid: "5ae6f8a3:16c6cc62:35437db7:e4fec55d".to_owned(),
        level,
        chunk_bytes: 64 << 10,
        capacity_bytes: 1 << 26,
        redundancy,
        health: Health::Failed,
        consistency: None,
        needs_resync: false,
        events: 41,
        update_time_unix_s: 1,
        members: (0..count).map(member).collect(),
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
const NEAR_2: Level = Level::Raid10(Raid10Layout { near: 2, far: 1, offset: false, far_sets: false });

fn status(base: &ArrayStatus, tree: &str) -> ArrayStatus {
    array_status(base, &recorded(tree), |name| format!("/images/{name}"))
}

#[test]
fn a_whole_array() {
    let status = status(&base(RAID5, 1, 3), "raid5-clean");
    assert_eq!((status.health, status.needs_resync, status.progress), (Health::Optimal, false, None));
    assert!(status.members.iter().all(|member| member.state == MemberState::InSync));
    assert_eq!(status.members[2].on, Some(MemberOn::Drive("/images/loop2".to_owned())));
    assert_eq!(status.spares, ["/images/loop3"]);
}

#[test]
fn a_rebuild() {
    let status = status(&base(RAID5, 1, 3), "raid5-recovering");
    assert_eq!(status.health, Health::Degraded);
    assert_eq!(status.members[1].state, MemberState::Rebuilding { position: 20_000 * 512 });
    assert_eq!(status.progress, Some(JobProgress { done_bytes: 10_000 * 512, total_bytes: 79_872 * 512 }));
    assert_eq!(status.left_out, [LeftOut { name: "/images/loop1".to_owned(), cause: Cause::Verdict(Verdict::Faulty) }]);
}

#[test]
fn a_replacement_and_a_member_that_is_missing() {
    let replacing = status(&base(RAID5, 1, 3), "raid5-replacing");
    let replacement = ReplacementStatus { drive: "/images/loop3".to_owned(), position: 0 };
    assert_eq!((replacing.health, &replacing.members[0].replacement), (Health::Optimal, &Some(replacement)));
    let failed = status(&base(RAID5, 1, 3), "raid5-failed-while-replacing");
    assert_eq!((failed.health, failed.members[1].state), (Health::Degraded, MemberState::Missing));
}

/// Two of four are missing: one of each pair of copies, so all is there still. The same two would
/// be too many for RAID5.
#[test]
fn health_is_that_of_the_level() {
    assert_eq!(status(&base(NEAR_2, 1, 4), "raid10-two-failed").health, Health::Degraded);
    assert_eq!(status(&base(RAID5, 1, 4), "raid10-two-failed").health, Health::Failed);
    assert_eq!(status(&base(Level::Raid1, 1, 2), "raid1-resyncing").health, Health::Optimal);
    let missing = [MemberState::Missing, MemberState::Missing, MemberState::InSync, MemberState::InSync];
    assert_eq!(health(NEAR_2, 64 << 10, 1, &missing), Health::Failed);
}

#[test]
fn redundancy_is_that_of_the_shape() {
    let of = |level, members| redundancy(&sysfs::Shape { level, chunk_bytes: 64 << 10, members, is_changing: false });
    assert_eq!([of(Level::Raid1, 3), of(RAID5, 5), of(NEAR_2, 6)], [Some(2), Some(1), Some(1)]);
    assert_eq!(of(RAID5, 1), None);
}
