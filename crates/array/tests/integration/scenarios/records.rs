//! A failed member is recorded before any write that it missed is answered.

use shoal_array::{Level, ParityLayout, Role};

use super::Scene;
use crate::rig::shapes::{Topology, equal, raid10};
use crate::rig::story::FAST;

fn arrays() -> [Topology; 4] {
    [
        equal(Level::Raid1, 2, 8),
        equal(raid10(1, 2, false, false), 4, 8),
        equal(Level::Raid5(ParityLayout::LeftSymmetric), 4, 8),
        equal(Level::Raid6(ParityLayout::DdfNRestart), 5, 8),
    ]
}

/// Lets everything happen that can while records are held back.
fn run_without_records(scene: &mut Scene) {
    scene.rig.holds_records = true;
    scene.rig.drain(0);
    while scene.rig.step() {}
    scene.rig.holds_records = false;
}

#[test]
fn a_write_that_a_member_missed_waits_for_the_record_and_reads_do_not() {
    for topology in arrays() {
        let mut scene = Scene::new(&topology, &[], FAST);
        let capacity_bytes = scene.rig.capacity_bytes();
        scene.rig.disks[0].fails_after = Some(0);
        scene.write(0, 16 << 10);
        run_without_records(&mut scene);
        assert_eq!(scene.results(), vec![], "answered before the failure was recorded");
        scene.read(capacity_bytes - 4096, 4096);
        run_without_records(&mut scene);
        assert_eq!(scene.results(), vec![Ok(())], "a read needs no record");
        scene.run();
        assert_eq!(scene.results(), vec![Ok(())]);
    }
}

#[test]
fn a_second_failure_needs_a_second_record() {
    let topology = equal(Level::Raid6(ParityLayout::LeftSymmetric), 5, 8);
    let mut scene = Scene::new(&topology, &[], FAST);
    scene.rig.engines[0].array.fail_member(scene.rig.now, Role(0)).unwrap();
    scene.run();
    scene.rig.disks[3].fails_after = Some(0);
    scene.write(0, 12 << 10);
    run_without_records(&mut scene);
    assert_eq!(scene.results(), vec![], "answered before the second failure was recorded");
    scene.run();
    assert_eq!(scene.results(), vec![Ok(())]);
}

/// The answer to the first record says nothing of a failure that came after it was given out; the
/// rig checks that.
#[test]
fn a_record_covers_only_failures_before_it() {
    let topology = equal(Level::Raid6(ParityLayout::LeftSymmetric), 5, 8);
    let mut scene = Scene::new(&topology, &[], FAST);
    scene.rig.disks[0].fails_after = Some(0);
    scene.write(0, 12 << 10);
    run_without_records(&mut scene);
    scene.rig.disks[3].fails_after = Some(0);
    scene.write(12 << 10, 12 << 10);
    run_without_records(&mut scene);
    assert_eq!(scene.results(), vec![]);
    scene.run();
    assert_eq!(scene.results(), vec![Ok(()), Ok(())]);
}
