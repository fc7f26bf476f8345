use super::*;
use crate::checkers::stamp;

fn block(number: usize, version: Version) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK_BYTES];
    stamp(number, version, &mut bytes);
    bytes
}

fn allows(promises: &mut Promises, number: usize, version: Version) -> bool {
    let seen = promises.read_asked(number..number + 1, true);
    promises.check(&seen, &block(number, version), false, |_| false).is_ok()
}

#[test]
fn reads_return_what_was_written_last_or_is_under_way() {
    let mut promises = Promises::new(4, true);
    assert!(allows(&mut promises, 1, 0) && !allows(&mut promises, 1, 1));
    let first = promises.asked(0..2, false);
    let early = promises.read_asked(1..2, true);
    assert!(allows(&mut promises, 1, 0) && allows(&mut promises, 1, first));
    promises.answered(first, true);
    assert!(!allows(&mut promises, 1, 0) && allows(&mut promises, 1, first));
    let second = promises.asked(1..2, false);
    promises.answered(second, true);
    assert!(!allows(&mut promises, 1, first) && allows(&mut promises, 1, second));
    for version in [0, first, second] {
        assert!(promises.check(&early, &block(1, version), true, |_| false).is_ok(), "{version} was under way");
    }
    assert!(promises.check(&early, &block(0, first), true, |_| false).is_err(), "a misplaced block passed");
}

#[test]
fn writes_that_are_under_way_together_come_in_one_order() {
    let mut promises = Promises::new(1, true);
    let [first, second] = [(); 2].map(|()| promises.asked(0..1, false));
    promises.answered(second, true);
    let covered = promises.flush_asked();
    promises.flush_answered(&covered, true).unwrap();
    promises.answered(first, true);
    assert!(allows(&mut promises, 0, first) && allows(&mut promises, 0, second) && !allows(&mut promises, 0, 0));
    let covered = promises.flush_asked();
    promises.flush_answered(&covered, true).unwrap();
    let seen = promises.read_asked(0..1, true);
    assert!(promises.check(&seen, &block(0, second), true, |_| false).is_ok());
    assert!(!allows(&mut promises, 0, first) && allows(&mut promises, 0, second));
}

#[test]
fn a_power_cut_leaves_what_was_flushed_or_anything_asked_for_since() {
    let mut promises = Promises::new(1, true);
    let [old, kept] = [(); 2].map(|()| {
        let version = promises.asked(0..1, false);
        promises.answered(version, true);
        version
    });
    let [unflushed, unanswered] = [(); 2].map(|()| promises.asked(0..1, false));
    let covered = promises.flush_asked();
    promises.answered(unflushed, true);
    promises.flush_answered(&covered, true).unwrap();
    promises.power_cut();
    for (version, may) in [(0, false), (old, false), (kept, true), (unflushed, true), (unanswered, true)] {
        assert_eq!(allows(&mut promises, 0, version), may, "version {version}");
    }
    // What was seen once stays.
    let seen = promises.read_asked(0..1, true);
    assert!(promises.check(&seen, &block(0, unflushed), true, |_| false).is_ok());
    assert!(!allows(&mut promises, 0, kept) && allows(&mut promises, 0, unflushed));
}

#[test]
fn drives_that_lost_their_power_owe_a_failed_flush_if_they_had_anything_to_lose() {
    let mut promises = Promises::new(1, true);
    promises.drives_lost_power(false);
    assert!(promises.flush_answered(&[], true).is_ok(), "nothing was answered");
    let first = promises.asked(0..1, false);
    promises.answered(first, true);
    promises.drives_lost_power(false);
    promises.drives_lost_power(false);
    assert!(allows(&mut promises, 0, 0) && allows(&mut promises, 0, first));
    assert!(promises.flush_answered(&promises.flush_asked(), true).is_err(), "it is told");
    promises.flush_failed();
    assert!(promises.flush_answered(&promises.flush_asked(), true).is_ok(), "it is told once");
    assert!(allows(&mut promises, 0, 0) && allows(&mut promises, 0, first));
}

#[test]
fn what_a_failed_flush_was_to_cover_is_durable_once_all_is_renewed_and_a_later_flush_succeeds() {
    let after = |ends: &dyn Fn(&mut Promises), is_renewed: bool| {
        let mut promises = Promises::new(1, true);
        let first = promises.asked(0..1, false);
        promises.answered(first, true);
        ends(&mut promises);
        promises.flush_answered(&promises.flush_asked(), is_renewed).unwrap();
        promises.power_cut();
        assert!(allows(&mut promises, 0, first));
        allows(&mut promises, 0, 0)
    };
    assert!(!after(&Promises::flush_failed, true), "it is durable");
    assert!(after(&Promises::flush_failed, false), "a member is still to be renewed");
    assert!(after(&Promises::not_told, true), "nobody could be told");
}

#[test]
fn what_was_given_up_while_others_lost_their_power_may_be_lost_later() {
    let mut promises = Promises::new(1, true);
    let first = promises.asked(0..1, false);
    promises.answered(first, true);
    promises.drives_lost_power(true);
    assert!(promises.flush_answered(&promises.flush_asked(), true).is_err(), "it is told");
    let seen = promises.read_asked(0..1, true);
    assert!(promises.check(&seen, &block(0, first), true, |_| false).is_ok());
    promises.power_cut();
    assert!(allows(&mut promises, 0, 0) && allows(&mut promises, 0, first));
}

#[test]
fn discarded_and_failed_blocks_are_old_or_new() {
    let mut promises = Promises::new(2, true);
    let written = promises.asked(0..2, false);
    promises.answered(written, true);
    let discarded = promises.asked(0..1, true);
    promises.answered(discarded, true);
    let failed = promises.asked(1..2, false);
    promises.answered(failed, false);
    let covered = promises.flush_asked();
    promises.flush_answered(&covered, true).unwrap();
    assert!(allows(&mut promises, 0, written) && allows(&mut promises, 0, 0));
    assert!(allows(&mut promises, 1, written) && allows(&mut promises, 1, failed) && !allows(&mut promises, 1, 0));
}

#[test]
fn what_was_there_before_has_to_stay_once_it_was_seen() {
    let mut promises = Promises::new(1, false);
    assert!(allows(&mut promises, 0, 7) && allows(&mut promises, 0, 8));
    let seen = promises.read_asked(0..1, true);
    assert!(promises.check(&seen, &block(0, 9), true, |_| false).is_ok());
    assert!(allows(&mut promises, 0, 9) && !allows(&mut promises, 0, 8));
    promises.excuse(0);
    assert!(allows(&mut promises, 0, 8));
}

#[test]
fn what_was_answered_before_a_block_was_lost_supersedes_nothing() {
    let mut promises = Promises::new(2, true);
    let answered = promises.asked(0..1, false);
    promises.answered(answered, true);
    let under_way = promises.asked(1..2, false);
    promises.excuse(0);
    promises.excuse(1);
    assert_eq!(promises.unsettled().collect::<Vec<_>>(), [0, 1], "a power cut would leave them to chance all the same");
    let anew = promises.asked(0..2, false);
    assert!(allows(&mut promises, 0, 9), "anything, while what is new is under way");
    promises.answered(anew, true);
    assert!(allows(&mut promises, 0, anew) && !allows(&mut promises, 0, answered) && !allows(&mut promises, 0, 9));
    promises.answered(under_way, true);
    let covered = promises.flush_asked();
    promises.flush_answered(&covered, true).unwrap();
    assert!(allows(&mut promises, 1, anew) && allows(&mut promises, 1, under_way) && !allows(&mut promises, 1, 9));
    assert!(allows(&mut promises, 0, anew) && !allows(&mut promises, 0, answered));
}

#[test]
fn tainted_blocks_are_told_apart() {
    let mut promises = Promises::new(2, true);
    let seen = promises.read_asked(0..2, true);
    let mut bytes = block(0, 5);
    bytes.extend(block(1, 0));
    assert_eq!(promises.check(&seen, &bytes, false, |number| number == 0), Ok(vec![0]));
    assert!(promises.check(&seen, &bytes, false, |number| number == 1).is_err());
}
