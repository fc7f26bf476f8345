//! Differences of recorded trees.

use super::*;
use crate::sysfs::tests::recorded;

#[test]
fn a_member_failed_and_another_is_filled_in_its_place() {
    let (clean, recovering) = (recorded("raid5-clean"), recorded("raid5-recovering"));
    assert_eq!(events(&clean, &recovering, 3), [Event::MemberFailed(Role(1))]);
    let mut rebuilt = recovering.clone();
    rebuilt.devices.iter_mut().for_each(|device| device.is_in_sync |= !device.is_faulty);
    assert_eq!(events(&recovering, &rebuilt, 3), [Event::RebuildFinished(Role(1))]);
    assert_eq!(events(&clean, &rebuilt, 3), [Event::MemberFailed(Role(1)), Event::RebuildFinished(Role(1))]);
    assert_eq!(events(&rebuilt, &rebuilt, 3), []);
}

#[test]
fn a_member_that_fails_while_it_is_filled_ends_the_rebuild() {
    let recovering = recorded("raid5-recovering");
    let mut failed = recovering.clone();
    failed.devices.iter_mut().filter(|device| device.slot == Some(1)).for_each(|device| device.is_faulty = true);
    let stopped = Event::RebuildStopped { role: Role(1), member_offset: 20_000 * 512 };
    assert_eq!(events(&recovering, &failed, 3), [stopped]);
}

#[test]
fn a_member_that_was_replaced_has_not_failed() {
    let replacing = recorded("raid5-replacing");
    let mut replaced = replacing.clone();
    replaced.devices.retain(|device| device.name != "loop0");
    for device in replaced.devices.iter_mut().filter(|device| device.name == "loop3") {
        device.is_replacement = false;
        device.is_in_sync = true;
    }
    assert_eq!(events(&replacing, &replaced, 3), [Event::RebuildFinished(Role(0))]);
    assert_eq!(events(&recorded("raid5-clean"), &replacing, 3), []);
}

#[test]
fn a_resync_ends() {
    let resyncing = recorded("raid1-resyncing");
    let mut done = resyncing.clone();
    done.needs_resync = false;
    assert_eq!(events(&resyncing, &done, 2), [Event::ResyncFinished]);
}

#[test]
fn errors_that_were_corrected_are_told() {
    let after = recorded("raid10-two-failed");
    let mut before = after.clone();
    before.devices.iter_mut().for_each(|device| (device.corrected_errors, device.bad_bytes) = (0, 0));
    let told = remarks(&before, &after, |name| format!("/dev/{name}"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("/dev/loop0: 3 ") && told[1].contains("4096 bytes"), "{told:?}");
    assert!(remarks(&after, &after, str::to_owned).is_empty());
}
