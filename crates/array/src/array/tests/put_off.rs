//! With a partial parity log no stripe is written while a failure is not recorded.

use super::*;

/// RAID5 of four members with a log, of which this one has failed, and nothing says so yet.
fn failed_unrecorded(role: u16) -> Rig {
    let shape = shape(RAID5, 4, CHUNK, 8);
    let members = vec![vec![0; 8 * CHUNK as usize]; 4];
    let room = LogRoom { bytes: CHUNK, entries: 4 };
    let mut rig = Rig::assemble(members, 1, |scratch| Config {
        partial_parity_log: Some(room),
        ..Config::new(shape, vec![MemberState::InSync; 4], scratch)
    });
    rig.write(0, &pattern(24 * u64::from(CHUNK), 1)).unwrap();
    rig.hold_records = true;
    fail(&mut rig, role);
    rig.writes = 0;
    rig
}

#[test]
fn a_write_begins_when_the_failure_is_recorded() {
    for role in 0..4 {
        let mut rig = failed_unrecorded(role);
        let offsets = [BLOCK, 5 * u64::from(CHUNK), 11 * u64::from(CHUNK)];
        let writes = offsets.map(|offset| rig.submit_write(offset, &pattern(3 * BLOCK, 7)));
        rig.run();
        assert_eq!((rig.writes, writes.map(|write| rig.result(write))), (0, [None; 3]), "member {role}");
        rig.hold_records = false;
        rig.run();
        assert_eq!(writes.map(|write| rig.result(write)), [Some(Ok(())); 3], "member {role}");
        for offset in offsets {
            assert_eq!(rig.read(offset, 3 * BLOCK).unwrap(), pattern(3 * BLOCK, 7));
        }
    }
}

#[test]
fn a_write_whose_log_fails_is_put_off_too() {
    let mut rig = failed_unrecorded(0);
    rig.hold_records = false;
    rig.run();
    fresh(&mut rig, 0);
    rig.run();
    (rig.hold_records, rig.refuse_logs, rig.writes) = (true, true, 0);
    let write = rig.submit_write(BLOCK, &pattern(BLOCK, 7));
    rig.run();
    assert_eq!((rig.writes, rig.result(write)), (0, None));
    rig.hold_records = false;
    rig.run();
    assert_eq!((rig.writes, rig.result(write)), (1, Some(Ok(()))));
    assert_eq!(rig.array.health(), Health::Degraded);
    let released = rig.events.iter().filter(|event| matches!(event, Event::LogReleased(_))).count();
    assert_eq!(released, rig.logged);
}

#[test]
fn a_write_fails_with_nothing_written_if_the_failure_cannot_be_recorded() {
    let mut rig = failed_unrecorded(1);
    (rig.hold_records, rig.refuse_records) = (false, true);
    for length in [BLOCK, 3 * u64::from(CHUNK), 7 * u64::from(CHUNK)] {
        assert_eq!(rig.write(BLOCK, &pattern(length, 7)), Err(RequestError::Failed));
    }
    assert_eq!(rig.writes, 0);
    rig.refuse_records = false;
    rig.write(BLOCK, &pattern(BLOCK, 7)).unwrap();
    assert_eq!(rig.read(BLOCK, BLOCK).unwrap(), pattern(BLOCK, 7));
}
