//! Members that answer nothing any more.

use std::time::Duration;

use shoal_volume::{ConsistencyPolicy, Event, Health, ManageError, OpenOptions, ScrubMode, Volume, VolumeError};

use crate::stalls::rig::{LONG, REQUEST_BYTES, Rig, pattern};

/// How long a member may be silent here, and what its clients have patience for.
const LIMIT: Duration = Duration::from_millis(1500);
const DEADLINE: Duration = Duration::from_secs(3);
const BITMAP: ConsistencyPolicy = ConsistencyPolicy::Bitmap { chunk_bytes: None };
/// Longer than anybody waits.
const FROZEN: Duration = Duration::from_secs(1000);

fn rig(level: &str, drives: usize) -> Rig {
    rig_with(level, drives, ConsistencyPolicy::Resync)
}

fn rig_with(level: &str, drives: usize, consistency: ConsistencyPolicy) -> Rig {
    Rig::with(level, drives, consistency, &OpenOptions { silence: Some(LIMIT), ..OpenOptions::writable() })
}

fn has_failed(rig: &mut Rig) -> bool {
    rig.array.take_news().iter().any(|news| matches!(news.event, Event::MemberFailed(_)))
}

/// The finding: writes and reads got errors, and the array was "optimal".
#[test]
fn a_redundant_array_goes_on_without_a_member_that_hangs() {
    for (level, drives) in [("1", 2), ("5", 3), ("6", 4), ("10", 4)] {
        for consistency in [ConsistencyPolicy::Resync, BITMAP, ConsistencyPolicy::Ppl] {
            if consistency == ConsistencyPolicy::Ppl && level != "5" {
                continue;
            }
            let story = format!("raid{level}, {consistency:?}");
            let mut rig = rig_with(level, drives, consistency);
            let length = REQUEST_BYTES as usize;
            rig.write(0, 0, &pattern(length, 1));
            assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()), "{story}");
            rig.stall(1, FROZEN);
            for id in 0..4 {
                rig.write(id, 0x1_0000 * u64::from(id), &pattern(length, 10 + id));
                rig.read(4 + id, 0, 4096 << (id % 2));
            }
            for id in 0..8 {
                let answer = rig.answer(id, DEADLINE);
                assert_eq!(answer.unwrap_or_else(|| panic!("{story}: {id} is not answered")).result, Ok(()), "{story}");
            }
            assert_eq!(rig.array.status().health, Health::Degraded, "{story}");
            assert!(has_failed(&mut rig), "{story}");
            assert_eq!(rig.array.take_silences().len(), 1, "{story}");
            assert!(rig.array.left_behind() > 0, "{story}");
            for id in 0..4 {
                rig.read(id, 0x1_0000 * u64::from(id), REQUEST_BYTES);
                assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()), "{story}");
                assert_eq!(rig.bytes(id, length), pattern(length, 10 + id), "{story}: {id}");
            }
            rig.array.rest().unwrap();
        }
    }
}

/// Who stops an array is told that it rests: the member that hangs is out by then, and recorded.
#[test]
fn an_array_comes_to_rest_without_a_member_that_hangs() {
    for (level, drives) in [("1", 2), ("5", 3), ("6", 4), ("10", 4)] {
        for ahead_ms in [0, 100, 300] {
            let mut rig = rig(level, drives);
            rig.write(0, 0, &pattern(4096, 1));
            assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()), "raid{level}");
            rig.stall(1, FROZEN);
            // Somebody waits for it already, so it is not looked for from when the array is to
            // rest.
            rig.write(0, 0, &pattern(4096, 2));
            rig.pass(Duration::from_millis(ahead_ms));
            rig.array.rest().unwrap_or_else(|error| panic!("raid{level}, {ahead_ms} ms: {error}"));
            assert_eq!(rig.array.status().health, Health::Degraded, "raid{level}, {ahead_ms} ms");
        }
    }
}

/// As many writes as there are buffers hang with the drive, and leave room for the reads of a scrub
/// that hang with it too: else whoever writes where it scrubs would wait for the drive.
#[test]
fn what_a_scrub_has_of_a_member_that_hangs_is_not_waited_for() {
    for (level, drives) in [("1", 2), ("5", 3), ("10", 4)] {
        let mut rig = rig(level, drives);
        let length = REQUEST_BYTES as usize;
        rig.write(0, 0, &pattern(length, 1));
        assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()), "raid{level}");
        rig.stall(1, FROZEN);
        for id in 0..8 {
            rig.write(id, 0x10_0000 + 0x1_0000 * u64::from(id), &pattern(length, 10 + id));
        }
        rig.pass(Duration::from_millis(1));
        rig.array.scrub(ScrubMode::Check).unwrap();
        for id in 0..8 {
            assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()), "raid{level}: {id}");
        }
        for id in 0..8 {
            rig.write(id, 0x1_0000 * u64::from(id), &pattern(length, 20 + id));
        }
        for id in 0..8 {
            let answer = rig.answer(id, DEADLINE);
            assert_eq!(answer.unwrap_or_else(|| panic!("raid{level}: {id} waits")).result, Ok(()), "raid{level}");
        }
    }
}

/// What the drive reads when it wakes goes nowhere where anything else is by then: whether it was
/// given up meanwhile, or only overtaken.
#[test]
fn a_late_answer_is_heard_by_nobody() {
    for (level, drives) in [("1", 2), ("5", 3), ("6", 4), ("10", 4)] {
        for (stall, is_given_up) in [(LIMIT - Duration::from_millis(300), false), (Duration::from_secs(10), true)] {
            late_answers(level, drives, stall, is_given_up);
        }
    }
}

fn late_answers(level: &str, drives: usize, stall: Duration, is_given_up: bool) {
    let mut rig = rig(level, drives);
    let length = REQUEST_BYTES as usize;
    for id in 0..8 {
        rig.write(id, 0x1_0000 * u64::from(id), &pattern(length, id));
        assert_eq!(rig.answer(id, LONG).unwrap().result, Ok(()));
    }
    rig.array.rest().unwrap();
    let start = rig.array.now();
    rig.stall(1, stall);
    // Not in their order, which would be one mirror's.
    for id in [4, 0, 5, 1, 6, 2, 7, 3] {
        rig.read(id, 0x1_0000 * u64::from(id), REQUEST_BYTES);
    }
    for id in 0..8 {
        assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()), "raid{level}: {id}");
        assert_eq!(rig.bytes(id, length), pattern(length, id), "raid{level}: {id}");
    }
    assert!(rig.array.now().since_ns(start) < 500_000_000, "raid{level}: the others have the same");
    if is_given_up {
        rig.pass(2 * LIMIT);
        assert!(rig.array.left_behind() > 0, "raid{level}");
    }
    assert_eq!(rig.array.status().health == Health::Degraded, is_given_up, "raid{level}");
    buffers_stay_as_they_are(&mut rig, level);
}

/// Puts other content in every buffer, while the drive wakes.
fn buffers_stay_as_they_are(rig: &mut Rig, level: &str) {
    let length = REQUEST_BYTES as usize;
    for id in 0..8 {
        rig.write(id, 0x8_0000 + 0x1_0000 * u64::from(id), &pattern(length, 100 + id));
    }
    for id in 0..8 {
        assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()));
    }
    rig.pass(Duration::from_secs(20));
    assert_eq!(rig.array.left_behind(), 0, "raid{level}");
    for id in 0..8 {
        assert_eq!(rig.bytes(id, length), pattern(length, 100 + id), "raid{level}: {id}");
        rig.read(id, 0x8_0000 + 0x1_0000 * u64::from(id), REQUEST_BYTES);
        assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()));
        assert_eq!(rig.bytes(id, length), pattern(length, 100 + id), "raid{level}: {id}");
    }
    rig.array.rest().unwrap();
}

/// Whoever writes to that memory next does not change what a drive does later.
#[test]
fn a_late_write_has_its_memory_for_itself() {
    let mut rig = rig("1", 2);
    // The array is marked active, so that the next write goes to its members at once.
    rig.write(1, 0, &pattern(REQUEST_BYTES as usize, 0));
    assert_eq!(rig.answer(1, DEADLINE).unwrap().result, Ok(()));
    let before = rig.array.request_memory(0);
    rig.stall(1, FROZEN);
    rig.write(0, 0, &pattern(REQUEST_BYTES as usize, 1));
    assert_eq!(rig.answer(0, DEADLINE).unwrap().result, Ok(()));
    assert!(rig.array.left_behind() > 0);
    rig.write(0, 0, &pattern(REQUEST_BYTES as usize, 2));
    assert_eq!(rig.answer(0, DEADLINE).unwrap().result, Ok(()));
    let mut left = vec![0; REQUEST_BYTES as usize];
    rig.array.arena().read(before, &mut left);
    assert_eq!(left, pattern(REQUEST_BYTES as usize, 1));
    rig.read(0, 0, REQUEST_BYTES);
    assert_eq!(rig.answer(0, DEADLINE).unwrap().result, Ok(()));
    assert_eq!(rig.bytes(0, REQUEST_BYTES as usize), pattern(REQUEST_BYTES as usize, 2));
}

/// Cheap flash stands still for seconds, and is none the worse for it.
#[test]
fn a_stall_below_the_limit_fails_nothing() {
    for (level, drives) in [("0", 2), ("1", 2), ("5", 3), ("6", 4), ("10", 4)] {
        let mut rig = rig(level, drives);
        for round in 0..4 {
            rig.stall(1, LIMIT - Duration::from_millis(50));
            for id in 0..4 {
                rig.write(id, 0x1_0000 * u64::from(id), &pattern(4096, round));
                rig.read(4 + id, 0x1_0000 * u64::from(id), 4096);
            }
            for id in 0..8 {
                assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()), "raid{level}");
            }
        }
        assert_eq!(rig.array.status().health, Health::Optimal, "raid{level}");
        assert!(!has_failed(&mut rig), "raid{level}");
    }
}

/// A hub that hangs is no reason to take members out; nor is a machine that stood still itself.
#[test]
fn what_all_share_is_held_against_nobody() {
    let mut rig = rig("5", 3);
    (0..3).for_each(|member| rig.stall(member, Duration::from_secs(20)));
    rig.write(0, 0, &pattern(4096, 1));
    rig.read(1, 0x1_0000, 4096);
    for id in [0, 1] {
        assert!(rig.answer(id, Duration::from_secs(10)).is_none());
    }
    for id in [0, 1] {
        assert_eq!(rig.answer(id, LONG).unwrap().result, Ok(()));
    }
    rig.stall(1, Duration::from_secs(10));
    rig.write(0, 0x1_0000, &pattern(4096, 2));
    assert!(rig.answer(0, Duration::from_millis(100)).is_none());
    // Nobody looks after the array, and the drive's answer lies there when somebody does.
    rig.array.world_mut().simulation_mut().advance(11_000_000_000);
    assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()));
    assert!(!has_failed(&mut rig));
    assert_eq!(rig.array.status().health, Health::Optimal);
}

/// Without redundancy there is nothing to go on with: what needs the member waits for it.
#[test]
fn a_member_that_cannot_be_spared_is_waited_for() {
    for (level, drives) in [("0", 2), ("1", 2), ("5", 3)] {
        let mut rig = rig(level, drives);
        if level != "0" {
            let drive = rig.drives[0];
            rig.array.fail_drive(drive).unwrap();
            assert!(has_failed(&mut rig));
        }
        rig.stall(1, Duration::from_secs(100));
        rig.write(0, 0, &pattern(REQUEST_BYTES as usize, 1));
        assert!(rig.answer(0, Duration::from_secs(50)).is_none(), "raid{level}");
        assert!(!has_failed(&mut rig), "raid{level}");
        assert!(matches!(rig.array.rest(), Err(VolumeError::Silent { .. })), "raid{level}");
        assert_eq!(rig.answer(0, LONG).unwrap().result, Ok(()), "raid{level}");
        rig.array.rest().unwrap();
    }
}

/// Whoever knows that a drive hangs need not wait until the array finds out.
#[test]
fn a_member_that_hangs_is_failed_and_removed_at_once() {
    for consistency in [ConsistencyPolicy::Resync, BITMAP] {
        let mut rig = rig_with("1", 2, consistency);
        let (start, drive) = (rig.array.now(), rig.drives[1]);
        rig.stall(1, FROZEN);
        for id in 0..4 {
            rig.write(id, 0x1_0000 * u64::from(id), &pattern(4096, 1));
        }
        rig.pass(Duration::from_millis(1)); // it is asked for something
        rig.array.fail_drive(drive).unwrap();
        for id in 0..4 {
            assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()));
        }
        if consistency == BITMAP {
            assert!(matches!(rig.array.re_add_drive(drive), Err(ManageError::Silent { .. })));
        }
        rig.array.remove_drive(drive).unwrap();
        rig.array.rest().unwrap();
        assert!(rig.array.now().since_ns(start) < 1_000_000_000, "{} ns", rig.array.now().since_ns(start));
        assert!(rig.array.left_behind() > 0);
    }
}

/// It keeps its superblock then, and nobody is kept waiting for more than a command waits.
#[test]
fn a_spare_that_hangs_is_removed() {
    let options = OpenOptions { silence: Some(LIMIT), ..OpenOptions::writable() };
    let mut rig = Rig::with_spares("1", 3, 1, ConsistencyPolicy::Resync, &options);
    let (start, spare) = (rig.array.now(), rig.drives[2]);
    rig.stall(2, FROZEN);
    rig.array.remove_drive(spare).unwrap();
    assert_eq!(rig.array.status().spares, [""; 0]);
    let waited_ns = rig.array.now().since_ns(start);
    assert!(waited_ns < 4 * u64::try_from(LIMIT.as_nanos()).unwrap(), "{waited_ns} ns");
}

/// It may be taken back as soon as it has answered what it was asked.
#[test]
fn a_member_that_woke_is_taken_back() {
    let mut rig = rig_with("1", 2, BITMAP);
    let drive = rig.drives[1];
    rig.stall(1, Duration::from_secs(10));
    rig.write(0, 0, &pattern(4096, 1));
    assert_eq!(rig.answer(0, DEADLINE).unwrap().result, Ok(()));
    assert_eq!(rig.array.status().health, Health::Degraded);
    rig.pass(Duration::from_secs(20));
    rig.array.re_add_drive(drive).unwrap();
    while rig.array.run_background(Duration::from_secs(60)).unwrap() {}
    assert_eq!(rig.array.status().health, Health::Optimal);
}

/// Even while the drive that it replaces has not answered.
#[test]
fn a_spare_takes_the_place_of_a_member_that_hangs() {
    let options = OpenOptions { silence: Some(LIMIT), ..OpenOptions::writable() };
    let mut rig = Rig::with_spares("5", 4, 1, ConsistencyPolicy::Resync, &options);
    rig.stall(1, FROZEN);
    for id in 0..8 {
        rig.write(id, 0x1_0000 * u64::from(id), &pattern(REQUEST_BYTES as usize, id));
    }
    for id in 0..8 {
        assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()));
    }
    while rig.array.run_background(Duration::from_secs(60)).unwrap() {}
    assert_eq!(rig.array.status().health, Health::Optimal);
    assert!(rig.array.left_behind() > 0);
    for id in 0..8 {
        rig.read(id, 0x1_0000 * u64::from(id), REQUEST_BYTES);
        assert_eq!(rig.answer(id, DEADLINE).unwrap().result, Ok(()));
        assert_eq!(rig.bytes(id, REQUEST_BYTES as usize), pattern(REQUEST_BYTES as usize, id));
    }
}

/// A copy of a member is plugged in while that one stalls, and an owner who has clients cannot wait
/// for it.
#[test]
fn a_member_that_stalls_is_not_taken_for_dead_when_a_copy_of_it_comes() {
    const PATIENT: Duration = Duration::from_secs(60);
    for stall in [Duration::from_secs(10), FROZEN] {
        let options = OpenOptions { silence: Some(PATIENT), ..OpenOptions::writable() };
        let mut rig = Rig::with_bystander("1", 2, BITMAP, &options);
        let copy = rig.copy_to_bystander(1);
        rig.have_clients();
        rig.stall(1, stall);
        for attempt in 0..3 {
            let error = rig.array.re_add_drive(copy).unwrap_err();
            assert!(matches!(error, ManageError::SilentNamesake { .. }), "{attempt}: {error}");
            assert_eq!(rig.array.status().health, Health::Optimal, "{attempt}");
            if attempt == 0 {
                assert!(error.to_string().contains("does not answer yet"), "{error}");
            }
        }
        rig.pass(2 * PATIENT);
        let health = if stall == FROZEN { Health::Degraded } else { Health::Optimal };
        assert_eq!(rig.array.status().health, health, "{stall:?}");
        if stall != FROZEN {
            let error = rig.array.re_add_drive(copy).unwrap_err();
            assert!(!matches!(error, ManageError::SilentNamesake { .. }), "it answers: {error}");
            rig.write(0, 0, &pattern(4096, 3));
            assert_eq!(rig.answer(0, DEADLINE).unwrap().result, Ok(()));
            assert_eq!(rig.array.status().health, Health::Optimal);
        }
    }
}
