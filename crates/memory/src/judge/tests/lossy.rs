//! Members that lack updates which they had flushed.

use super::*;

/// All flushed this update.
fn flushed(all: &[Found]) -> Book {
    seen(all).with_flushed(100)
}

fn lost(events: u64) -> Suspicion {
    Suspicion::LostUpdates { events, flushed_events: 100 }
}

#[test]
fn a_member_that_was_set_back_by_one_update_is_left_out() {
    for (level, members) in [(Level::Raid1, 2), (RAID5, 3)] {
        let mut all = array(level, members, 0);
        let book = flushed(&all);
        assert_eq!(judge(Some(&book), &all), nothing());
        all[1] = at(all[1].clone(), 99);
        assert_eq!(judge(Some(&book), &all), out(1, lost(99)), "{level}");
        let only_seen = seen(&all);
        assert_eq!(judge(Some(&only_seen), &all), nothing(), "{level}: a cut may have left it so");
        // The next update is announced, and was not written yet.
        let announced: Vec<_> = all.iter().map(|found| at(found.clone(), 101)).collect();
        assert_eq!(judge(Some(&book.after(sight(&announced))), &all), out(1, lost(99)), "{level}");
    }
}

#[test]
fn where_it_cannot_be_missed_somebody_has_to_say_so() {
    let mut all = array(RAID5, 3, 0);
    let book = flushed(&all);
    all[1] = at(all[1].clone(), 99);
    let said = doubt(&book, &all[..2]);
    assert!(said.contains("b cannot be missed, and it is at update 99, though it had flushed update 100"), "{said}");
    assert!(said.contains("give the members that are missing too") && said.contains("shoal trust"), "{said}");
    assert_eq!(judge(Some(&book), &all[..2]).left_out, [], "a word is enough");
    let striped = array(Level::Raid0(shoal_array::Raid0Layout::Original), 2, 0);
    let set_back = [striped[0].clone(), at(striped[1].clone(), 99)];
    assert!(doubt(&flushed(&striped), &set_back).contains("b cannot be missed"));
}

#[test]
fn all_set_back_together_are_an_older_state() {
    let all = array(Level::Raid1, 2, 0);
    let set_back: Vec<_> = all.iter().map(|found| at(found.clone(), 99)).collect();
    for there in [&set_back[..], &set_back[..1]] {
        let said = doubt(&flushed(&all), there);
        assert!(said.contains(" holds an older state (update 99) than this host has seen (update 100"), "{said}");
    }
}

#[test]
fn a_spare_has_nothing_to_lose_and_a_rival_gains_nothing() {
    let all = array(Level::Raid1, 2, 1);
    let book = flushed(&all);
    let spare_behind = [all[0].clone(), all[1].clone(), at(all[2].clone(), 99)];
    assert_eq!(judge(Some(&book), &spare_behind), nothing());
    let there = [all[0].clone(), at(all[1].clone(), 99), stranger(&all[1], 500)];
    assert!(doubt(&book, &there).contains("stick was never seen"), "a member of the last update is missing");
}

/// What the last copy had not flushed when it refused to went with its power, and nobody else has
/// it.
#[test]
fn a_last_copy_that_refused_a_flush_may_lack_what_it_had_not_flushed() {
    let last = &array(Level::Raid1, 2, 0)[..1];
    let book = flushed(last).after(sight(&[at(last[0].clone(), 104)]));
    let said = doubt(&book, last);
    assert!(said.contains("holds an older state (update 100) than this host has seen (update 104"), "{said}");
    let refused = book.with_refused_flush(last[0].candidate.superblock.device_uuid, Refusal::Drive);
    assert_eq!(judge(Some(&refused), last), nothing());
    let set_back = [at(last[0].clone(), 99)];
    assert!(judge(Some(&refused), &set_back).doubt.is_some(), "it had flushed more");
}

/// Its drive took the superblock, and lost its power before it said so: nobody else has run it
/// since.
#[test]
fn an_update_that_was_given_up_and_lies_on_a_member_is_none_of_another_host() {
    let mut all = array(Level::Raid1, 2, 0);
    let book = seen(&all);
    all[0] = at(all[0].clone(), 101);
    let update_time_unix_s = all[0].candidate.superblock.update_time.seconds();
    assert_eq!(Standing::of(Some(&book), &all), Standing::GoneOn);
    assert!(judge(Some(&book), &all[..1]).doubt.is_some(), "another host may have run it alone");
    let book = book.with_given_up(GivenUp { events: 101, update_time_unix_s });
    for there in [&all[..], &all[..1], &all[1..]] {
        assert_eq!(judge(Some(&book), there), nothing());
    }
    assert_eq!(Standing::of(Some(&book), &all), Standing::Whole);
    let with_stick = [all[0].clone(), all[1].clone(), stranger(&all[1], 101)];
    assert_eq!(judge(Some(&book), &with_stick), out(2, Suspicion::NeverSeen));
}

/// The file was cut short under the array, and is as long again.
#[test]
fn a_file_that_was_cut_short_is_left_out_or_needs_a_word() {
    let cut = |book: Book, member: &Found| {
        book.with_refused_flush(member.candidate.superblock.device_uuid, Refusal::LostContent)
    };
    let mut all = array(RAID5, 3, 0);
    let book = cut(seen(&all), &all[1]);
    assert_eq!(judge(Some(&book), &all), out(1, Suspicion::LostContent));
    let said = doubt(&book, &all[..2]);
    assert!(said.starts_with("b cannot be missed, and its file was cut short"), "{said}");
    assert!(said.contains("shoal recover") && said.contains("shoal trust"), "{said}");
    // One put back from a backup is judged as any copy is.
    all[1].hardware = Some("backup".to_owned());
    assert_eq!(judge(Some(&book), &all), nothing());
    let striped = array(Level::Raid0(shoal_array::Raid0Layout::Original), 2, 0);
    assert!(doubt(&cut(seen(&striped), &striped[1]), &striped).starts_with("b cannot be missed"));
    // The last copy has lost content, and the other one is old.
    let mirror = array(Level::Raid1, 2, 0);
    let alone = cut(seen(&mirror).after(sight(&without(&mirror, 1, 102))), &mirror[0]);
    let there = [at(mirror[0].clone(), 102), mirror[1].clone()];
    for there in [&there[..], &there[..1]] {
        let said = doubt(&alone, there);
        assert!(said.starts_with("a cannot be missed, and its file was cut short"), "{said}");
        assert_eq!(judge(Some(&alone), there).left_out, [], "a word is enough");
    }
}
