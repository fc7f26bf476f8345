//! Last copies that refused a flush, and flushes that wait until these are renewed.

use super::*;

/// What it answered before may go with its power. That is written to it again, alone or beside
/// another copy.
#[test]
fn a_last_copy_that_refused_a_flush_is_renewed() {
    for (level, members) in [(Level::Raid1, 2), (NEAR2, 4)] {
        for comes_back in [false, true] {
            let (mut rig, size_bytes) = filled(level, members);
            let content = rig.read(0, size_bytes).unwrap();
            fail(&mut rig, 1);
            rig.writes = 0;
            rig.array.flush_failed(rig.now, Role(0));
            assert_eq!(rig.array.refused_flush(), [Role(0)], "{level:?}");
            if comes_back {
                fresh(&mut rig, 1);
            }
            rig.run();
            assert_eq!(rig.array.refused_flush(), [], "{level:?}");
            assert_eq!(rig.array.member_states()[0], MemberState::InSync);
            assert!(rig.writes > 0, "{level:?}");
            assert_eq!(rig.read(0, size_bytes).unwrap(), content);
            let finished =
                |event: &Event| matches!(event, Event::RebuildFinished(Role(0)) | Event::RebuildStopped { .. });
            assert!(!rig.events.iter().any(finished), "nobody was rebuilt there");
        }
    }
}

/// What each of them covers may be lost: none of them says otherwise, whoever answers first.
#[test]
fn flushes_that_are_under_way_when_a_last_copy_refuses_one_fail_with_it() {
    let (mut rig, _) = filled(Level::Raid1, 2);
    fail(&mut rig, 1);
    let flushes = [Command::Flush; 2].map(|flush| rig.submit(flush));
    rig.array.flush_failed(rig.now, Role(0));
    rig.run();
    assert_eq!(flushes.map(|flush| rig.result(flush)), [Some(Err(RequestError::Failed)); 2]);
    let later = rig.submit(Command::Flush);
    rig.run();
    assert_eq!(rig.result(later), Some(Ok(())));
}

/// A write that comes meanwhile is not undone, and a second refusal begins anew.
#[test]
fn a_renewal_undoes_no_write_and_begins_anew_when_a_flush_is_refused_again() {
    let (mut rig, size_bytes) = filled(Level::Raid1, 2);
    let mut content = rig.read(0, size_bytes).unwrap();
    fail(&mut rig, 1);
    rig.array.flush_failed(rig.now, Role(0));
    let bytes = pattern(3 * BLOCK, 9);
    let write = rig.submit_write(5 * BLOCK, &bytes);
    content[5 * BLOCK as usize..8 * BLOCK as usize].copy_from_slice(&bytes);
    for _ in 0..4 {
        rig.step();
    }
    rig.array.flush_failed(rig.now, Role(0));
    rig.run();
    assert_eq!((rig.result(write), rig.array.refused_flush()), (Some(Ok(())), &[][..]));
    assert_eq!(rig.read(0, size_bytes).unwrap(), content);
}

/// It is renewed by what it takes, not by what it is sent; and when it takes flushes again it is
/// renewed at last.
#[test]
fn who_takes_no_writes_is_not_renewed_by_them() {
    for level in [Level::Raid1, NEAR2] {
        let (mut rig, size_bytes) = filled(level, if level == NEAR2 { 4 } else { 2 });
        let content = rig.read(0, size_bytes).unwrap();
        fail(&mut rig, 1);
        rig.gone.push(0);
        rig.array.flush_failed(rig.now, Role(0));
        rig.run();
        assert_eq!(rig.array.refused_flush(), [Role(0)], "{level:?}");
        rig.gone.clear();
        let flush = rig.submit(Command::Flush);
        rig.run();
        assert_eq!((rig.result(flush), rig.array.refused_flush()), (Some(Err(RequestError::Failed)), &[][..]));
        assert_eq!(rig.read(0, size_bytes).unwrap(), content, "{level:?}");
    }
}

/// Power was cut since it refused a flush: it may have less than it was seen to have, and less than
/// its copy.
#[test]
fn who_refused_a_flush_is_read_only_where_there_is_nobody_else() {
    for (level, members) in [(Level::Raid1, 2), (NEAR2, 4)] {
        for comes_back in [true, false] {
            let (mut rig, size_bytes) = filled(level, members);
            let content = rig.read(0, size_bytes).unwrap();
            if !comes_back {
                fail(&mut rig, 1);
            }
            rig.array.members.may_lose(Role(0));
            rig.array.unflushed.doubt(Role(0));
            if comes_back {
                rig.members[0].fill(0x5a);
            }
            assert_eq!(rig.read(0, size_bytes).unwrap(), content, "{level:?}");
            rig.array.list_renewal(Role(0));
            rig.array.settle();
            rig.run();
            assert_eq!(rig.array.refused_flush(), []);
            assert!(!comes_back || level != Level::Raid1 || rig.members[0] == rig.members[1], "{level:?}");
            assert_eq!(rig.read(0, size_bytes).unwrap(), content, "{level:?}");
        }
    }
}

/// A copy of it is begun, and its bad blocks are minded elsewhere from then on: it is the same
/// drive.
#[test]
fn who_is_to_be_renewed_as_a_whole_stays_so_until_it_has_moved_to_another_drive() {
    let (mut rig, _) = flushed(Level::Raid1, 2);
    rig.array.members.may_lose(Role(0));
    rig.array.unflushed.doubt(Role(0));
    rig.array.set_bad_blocks(Role(0), BadBlocks::default()).unwrap();
    assert!(rig.array.unflushed.is_whole(Role(0)));
    rig.array.move_member(Role(0), BadBlocks::default()).unwrap();
    assert!(!rig.array.unflushed.is_whole(Role(0)));
}

/// An array of which all has been flushed, without its second member; its capacity.
fn flushed(level: Level, member_count: usize) -> (Rig, u64) {
    let mut rig = Rig::new(shape(level, member_count, CHUNK, 256), 1);
    let capacity = rig.array.geometry().capacity_bytes();
    rig.write(0, &pattern(capacity, 1)).unwrap();
    flush(&mut rig).unwrap();
    fail(&mut rig, 1);
    rig.events.clear();
    (rig, capacity)
}

fn flush(rig: &mut Rig) -> Result<(), RequestError> {
    let id = rig.submit(Command::Flush);
    rig.run();
    rig.result(id).unwrap()
}

/// The member refuses one flush.
fn refuse(rig: &mut Rig, role: u16) {
    rig.unflushable.push(role);
    assert_eq!(flush(rig), Err(RequestError::Failed));
    rig.unflushable.clear();
}

#[test]
fn only_what_was_not_flushed_is_renewed_and_a_flush_waits_for_that() {
    for (level, members) in [(Level::Raid1, 2), (NEAR2, 4)] {
        let (mut rig, capacity) = flushed(level, members);
        let mut content = rig.read(0, capacity).unwrap();
        let bytes = pattern(3 * BLOCK, 9);
        rig.write(5 * BLOCK, &bytes).unwrap();
        content[5 * BLOCK as usize..8 * BLOCK as usize].copy_from_slice(&bytes);
        rig.unflushable.push(0);
        let refused = rig.submit(Command::Flush);
        while rig.result(refused).is_none() {
            assert!(rig.step());
        }
        rig.unflushable.clear();
        assert_eq!((rig.result(refused), rig.array.refused_flush()), (Some(Err(RequestError::Failed)), &[Role(0)][..]));
        let before = rig.written[0];
        // An array that is being opened does no background work yet.
        rig.array.set_background(rig.now, Background { rate_min_bytes_per_s: 0, rate_max_bytes_per_s: 0, depth: 0 });
        let waits = rig.submit(Command::Flush);
        while rig.result(waits).is_none() {
            assert!(rig.step(), "{level:?}: a flush waits for nothing");
        }
        assert_eq!((rig.result(waits), rig.array.refused_flush()), (Some(Ok(())), &[][..]), "{level:?}");
        let renewed = rig.written[0] - before;
        assert_eq!((renewed, rig.flushed[0]), (64 << 10, rig.written[0]), "{level:?}: one region, and then the flush");
        assert_eq!(rig.read(0, capacity).unwrap(), content, "{level:?}");
    }
}

/// Flushes wait for it: so it does not wait for a rebuild, whose steps may be under way.
#[test]
fn a_renewal_goes_before_a_rebuild() {
    let (mut rig, capacity) = flushed(NEAR2, 4);
    let content = rig.read(0, capacity).unwrap();
    fail(&mut rig, 3);
    rig.write(0, &content[..BLOCK as usize]).unwrap();
    fresh(&mut rig, 3);
    for _ in 0..8 {
        rig.step();
    }
    rig.unflushable.push(0);
    let refused = rig.submit(Command::Flush);
    while rig.result(refused).is_none() {
        rig.step();
    }
    rig.unflushable.clear();
    let waits = rig.submit(Command::Flush);
    while rig.result(waits).is_none() {
        assert!(rig.step());
    }
    assert_eq!((rig.result(waits), rig.array.refused_flush()), (Some(Ok(())), &[][..]));
    assert_ne!(rig.array.member_states()[3], MemberState::InSync, "the rebuild is not over");
    rig.run();
    assert_eq!(rig.array.member_states()[3], MemberState::InSync);
    assert_eq!(rig.members[3], rig.members[2]);
    assert_eq!(rig.read(0, capacity).unwrap(), content);
}

#[test]
fn flushes_fail_while_a_last_copy_takes_flushes_and_no_writes() {
    for level in [Level::Raid1, NEAR2] {
        let (mut rig, _) = flushed(level, if level == NEAR2 { 4 } else { 2 });
        rig.write(0, &pattern(BLOCK, 9)).unwrap();
        rig.stuck.push(0);
        refuse(&mut rig, 0);
        assert_eq!((flush(&mut rig), flush(&mut rig)), (Err(RequestError::Failed), Err(RequestError::Failed)));
        assert_eq!(rig.array.refused_flush(), [Role(0)], "{level:?}");
        rig.stuck.clear();
        assert_eq!((flush(&mut rig), rig.array.refused_flush()), (Ok(()), &[][..]), "{level:?}");
    }
}

/// What the first one was to renew and did not is renewed by the second, with what was written
/// since.
#[test]
fn a_second_refusal_forgets_nothing_of_the_first() {
    let (mut rig, _) = flushed(Level::Raid1, 2);
    rig.write(0, &pattern(BLOCK, 9)).unwrap();
    rig.stuck.push(0);
    refuse(&mut rig, 0);
    rig.stuck.clear();
    rig.write(512 << 10, &pattern(BLOCK, 9)).unwrap();
    let before = rig.written[0];
    refuse(&mut rig, 0);
    assert_eq!((rig.written[0] - before, rig.array.refused_flush()), (2 * (64 << 10), &[][..]), "both regions");
    assert_eq!(flush(&mut rig), Ok(()));
}

/// It refused a flush before the array was assembled, and is renewed as a whole, which takes its
/// time. What it takes meanwhile is known as soon as it has flushed anything.
#[test]
fn a_flush_waits_for_what_a_last_copy_took_while_it_is_renewed_as_a_whole() {
    for (level, members) in [(Level::Raid1, 2), (NEAR2, 4)] {
        let (mut rig, _) = flushed(level, members);
        rig.write(5 * BLOCK, &pattern(BLOCK, 9)).unwrap();
        rig.array.members.may_lose(Role(0));
        rig.array.unflushed.doubt(Role(0));
        rig.array.list_renewal(Role(0));
        rig.array.settle();
        rig.unflushable.push(0);
        let refused = rig.submit(Command::Flush);
        while rig.result(refused).is_none() {
            assert!(rig.step());
        }
        rig.unflushable.clear();
        assert_eq!(rig.result(refused), Some(Err(RequestError::Failed)));
        assert!(rig.array.unflushed.has_to_renew(Role(0)), "{level:?}");
        let before = rig.written[0];
        let waits = rig.submit(Command::Flush);
        while rig.result(waits).is_none() {
            assert!(rig.step(), "{level:?}: a flush waits for nothing");
        }
        assert_eq!(rig.result(waits), Some(Ok(())), "{level:?}");
        assert!(!rig.array.unflushed.has_to_renew(Role(0)) && rig.flushed[0] >= before + (64 << 10), "{level:?}");
        assert_eq!(rig.array.refused_flush(), [Role(0)], "{level:?}: the rest takes longer");
        rig.run();
        assert_eq!(rig.array.refused_flush(), [], "{level:?}");
    }
}

/// Nothing was written since its last good flush: nothing is told as written again.
#[test]
fn who_had_nothing_to_lose_is_not_told_as_renewed() {
    let (mut rig, _) = flushed(Level::Raid1, 2);
    refuse(&mut rig, 0);
    assert_eq!(rig.array.refused_flush(), []);
    assert!(!rig.events.contains(&Event::Renewed(Role(0))), "{:?}", rig.events);
}
