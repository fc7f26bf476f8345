mod announced;
mod elsewhere;
mod joined;
mod lossy;

use shoal_array::{Level, ParityLayout};
use shoal_md::{ConsistencyPolicy, CreateRequest, Membership, MinorVersion, NewMember, Timestamp, Uuid, plan_creation};

use super::*;
use crate::book::{GivenUp, Left, Sight};

const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const ARRAY: Uuid = Uuid([9; 16]);

/// The members of an array, drives `a`, `b`, ... on hardware of the same names, all at update 100.
fn array(level: Level, members: u8, spares: u8) -> Vec<Found> {
    let drives = |numbers: std::ops::Range<u8>| {
        let drive = |number| NewMember { drive: name(number), size_bytes: 64 << 20, uuid: Uuid([number; 16]) };
        numbers.map(drive).collect()
    };
    let request = CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: None,
        members: drives(0..members),
        spares: drives(members..members + spares),
        name: "pond".to_owned(),
        homehost: None,
        array_uuid: ARRAY,
        creation_time: Timestamp::from_seconds(1_700_000_000),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    };
    let found = |(number, mut superblock): (u8, Superblock)| {
        superblock.events = 100;
        Found { candidate: Candidate { drive: name(number), superblock }, hardware: Some(name(number)) }
    };
    (0..).zip(plan_creation(&request).unwrap().superblocks).map(found).collect()
}

fn name(number: u8) -> String {
    char::from(b'a' + number).to_string()
}

/// The book of a host that has seen these as they are.
fn seen(found: &[Found]) -> Book {
    Book::of(sight(found))
}

fn sight(found: &[Found]) -> Sight {
    let member = |found: &Found| {
        let superblock = &found.candidate.superblock;
        let role = match superblock.own_use() {
            MemberUse::Active(role) => Some(role.0),
            _ => None,
        };
        let (uuid, hardware) = (superblock.device_uuid, found.hardware.clone());
        Member { uuid, hardware, drive: found.candidate.drive.clone(), role, refusal: None }
    };
    let events = found.iter().map(|found| found.candidate.superblock.events).max().unwrap();
    Sight { array: ARRAY, events, members: found.iter().map(member).collect(), others: Vec::new() }
}

fn at(mut found: Found, events: u64) -> Found {
    found.candidate.superblock.events = events;
    found
}

/// A stick that says that it is this member, under a device UUID of its own.
fn stranger(of: &Found, events: u64) -> Found {
    let mut stranger = at(of.clone(), events);
    stranger.candidate.superblock.device_uuid = Uuid([0xee; 16]);
    stranger.candidate.drive = "stick".to_owned();
    stranger.hardware = Some("stick".to_owned());
    stranger
}

/// The others, after they have seen this one fail, at this update.
fn without(all: &[Found], failed: u32, events: u64) -> Vec<Found> {
    let candidates: Vec<_> = all.iter().map(|found| found.candidate.clone()).collect();
    let mut membership = Membership::of_assembly(&shoal_md::assemble(&candidates).unwrap(), &candidates);
    membership.fail(failed).unwrap();
    let mut others = Vec::new();
    for found in all {
        if let Ok(superblock) = membership.superblock(found.candidate.superblock.dev_number) {
            let candidate = Candidate { superblock: superblock.clone(), ..found.candidate.clone() };
            others.push(at(Found { candidate, ..found.clone() }, events));
        }
    }
    others
}

fn nothing() -> Judgement {
    Judgement::default()
}

fn out(index: usize, suspicion: Suspicion) -> Judgement {
    Judgement { left_out: vec![(index, suspicion)], doubt: None }
}

fn elsewhere(missing: usize, members: usize) -> Option<Doubt> {
    Some(Doubt::Degraded { missing, members, run: Run::ElsewhereSince })
}

fn doubt(book: &Book, found: &[Found]) -> String {
    let judgement = judge(Some(book), found);
    let doubt = judgement.doubt.unwrap_or_else(|| panic!("no doubt, only {:?}", judgement.left_out));
    assert!(!doubt.is_for_lack_of_members());
    format!("{doubt}: {}", doubt.way_out())
}

#[test]
fn what_was_seen_starts_whole_or_in_part() {
    for (level, members) in [(Level::Raid1, 2), (RAID5, 3), (Level::Raid6(ParityLayout::LeftSymmetric), 5)] {
        let all = array(level, members, 1);
        let book = seen(&all);
        assert_eq!(judge(Some(&book), &all), nothing());
        for without in 0..all.len() {
            let mut some = all.clone();
            some.remove(without);
            assert_eq!(judge(Some(&book), &some), nothing(), "{level} without {without}");
        }
    }
}

#[test]
fn halves_of_a_mirror_in_turn() {
    let all = array(Level::Raid1, 2, 0);
    let (a, book) = (all[0].clone(), seen(&all));
    // a fails; b goes on alone.
    let b_later = without(&all, 0, 107).remove(0);
    let book = book.after(sight(std::slice::from_ref(&b_later)));
    assert_eq!(judge(Some(&book), std::slice::from_ref(&b_later)), nothing());
    assert_eq!(judge(Some(&book), &[a.clone(), b_later.clone()]), nothing(), "md finds a old");
    let said = doubt(&book, std::slice::from_ref(&a));
    assert!(said.contains("a holds an older state (update 100)") && said.contains("(update 107, on b)"), "{said}");
    assert!(said.contains("give b too") && said.contains("shoal trust"), "{said}");

    // a was run alone elsewhere, for longer than b here.
    let a_alone = without(&all, 1, 150).remove(0);
    assert_eq!(judge(Some(&book), &[a_alone.clone(), b_later]), out(0, Suspicion::RunApart));
    let said = doubt(&book, &[a_alone]);
    assert!(said.contains("a left the array and claims update 150") && said.contains("while b is missing"), "{said}");
}

#[test]
fn a_cut_between_book_and_superblocks_is_no_reason_for_doubt() {
    for (level, members) in [(Level::Raid1, 2), (RAID5, 3)] {
        let all = array(level, members, 0);
        let announced: Vec<_> = all.iter().map(|found| at(found.clone(), 101)).collect();
        let book = seen(&all).after(sight(&announced));
        // Any of the superblocks may have been written.
        for written in 0..1_usize << members {
            let mixed = |(number, found): (usize, &Found)| at(found.clone(), 100 + (written as u64 >> number & 1));
            let cut: Vec<_> = all.iter().enumerate().map(mixed).collect();
            assert_eq!(judge(Some(&book), &cut), nothing(), "{level} {written:b}");
            assert_eq!(judge(Some(&book), &cut[1..]), nothing(), "{level} {written:b} without a");
        }
        // The update that was announced is that a has failed.
        let book = seen(&all).after(sight(&announced[1..]));
        assert_eq!(judge(Some(&book), &all), nothing(), "{level}: nobody has written it");
        // So a is as good as any, where b is gone and the level does without one.
        let others: Vec<_> =
            all.iter().cloned().enumerate().filter(|(number, _)| *number != 1).map(|it| it.1).collect();
        assert!(members < 3 || judge(Some(&book), &others) == nothing(), "{level}");
        // Run alone meanwhile, and not for longer than the others know, it is left out.
        let older = seen(&all.iter().map(|found| at(found.clone(), 90)).collect::<Vec<_>>());
        let since = older.after(sight(&announced[1..]));
        assert_eq!(judge(Some(&since), &all), out(0, Suspicion::RunApart), "{level}");
        assert_eq!(judge(Some(&book), &all[1..]), nothing(), "{level}");
        // It alone has got an update of that count, before it failed: that one was given up.
        let given_up = seen(&all).after(sight(&announced)).after(sight(&announced[1..]));
        let ahead = [&announced[..1], &all[1..]].concat();
        assert_eq!(judge(Some(&given_up), &ahead), out(0, Suspicion::GivenUp), "{level}");
        assert!(doubt(&book, &all[..1]).contains("a holds an older state (update 100)"), "{level}");
    }
}

#[test]
fn a_member_that_lost_updates_is_not_enough() {
    let all = array(Level::Raid1, 2, 0);
    let book = seen(&all);
    let restored = at(all[0].clone(), 98);
    assert!(doubt(&book, std::slice::from_ref(&restored)).contains("(update 98)"));
    assert_eq!(judge(Some(&book), &[restored, all[1].clone()]), nothing(), "md finds it old");
}

#[test]
fn a_stick_with_a_higher_count_does_not_take_over() {
    for (level, members) in [(Level::Raid1, 2), (RAID5, 3)] {
        let all = array(level, members, 0);
        let book = seen(&all);
        for events in [1, 99, 100, 101, 1100, u64::MAX] {
            let mut there = all.clone();
            there.push(stranger(&all[0], events));
            let judged = judge(Some(&book), &there);
            assert_eq!(judged, out(there.len() - 1, Suspicion::NeverSeen), "{level} {events}");
            // Beside all but one it may be what became of the array elsewhere, if it is ahead.
            there.remove(0);
            if events <= 100 {
                assert_eq!(judge(Some(&book), &there), out(there.len() - 1, Suspicion::NeverSeen), "{level} {events}");
            } else {
                let said = doubt(&book, &there);
                assert!(said.contains("stick was never seen in the array by this host"), "{said}");
                assert!(said.contains("while a is missing: give a too"), "{said}");
            }
        }
        let alone = [stranger(&all[0], 100)];
        assert!(doubt(&book, &alone).contains("stick was never seen"), "{level}");
    }
}

#[test]
fn members_that_were_run_elsewhere_vouch_for_who_came_to_them() {
    let all = array(RAID5, 3, 0);
    let book = seen(&all);
    let on = |index: usize, events| at(all[index].clone(), events);
    for events in [140, 139, 141] {
        let there = [stranger(&all[0], events), on(1, 140), on(2, 140)];
        assert_eq!(judge(Some(&book), &there), nothing(), "{events}");
    }
    // One that is too old is none: the member that they count on may have gone on.
    let there = [stranger(&all[0], 90), on(1, 140), on(2, 140)];
    assert_eq!(judge(Some(&book), &there).doubt, elsewhere(1, 3));
    let there = [stranger(&all[0], 160), on(1, 140), on(2, 140)];
    assert!(doubt(&book, &there).contains("stick was never seen"));
    // One that left here was taken back there.
    let book = book.after(sight(&[on(1, 103), on(2, 103)]));
    assert_eq!(judge(Some(&book), &[on(0, 140), on(1, 140), on(2, 140)]), nothing());
}

/// The other host may have gone on without the member that is here now.
#[test]
fn a_member_that_was_run_elsewhere_is_not_believed_alone() {
    let all = array(Level::Raid1, 2, 0);
    let book = seen(&all);
    assert_eq!(judge(Some(&book), &[at(all[0].clone(), 140)]).doubt, elsewhere(1, 2));
    assert_eq!(judge(Some(&book), &[at(all[0].clone(), 140), at(all[1].clone(), 140)]), nothing());
    // It was the other one that failed there.
    assert_eq!(judge(Some(&book), &without(&all, 0, 140)), nothing());
}

#[test]
fn a_copy_beside_a_member_is_told_by_its_hardware() {
    let all = array(RAID5, 3, 0);
    let book = seen(&all);
    for events in [100, 100_000] {
        let mut there = all.clone();
        there.insert(0, Found { hardware: Some("stick".to_owned()), ..at(all[1].clone(), events) });
        there[0].candidate.drive = "copy".to_owned();
        assert_eq!(judge(Some(&book), &there), out(0, Suspicion::CopyOf { drive: "b".to_owned() }), "{events}");
    }
    // Sticks of one batch share their serial, and some hardware has no name.
    for hardware in [Some("b".to_owned()), None] {
        let mut there = all.clone();
        there[1].hardware.clone_from(&hardware);
        there.push(Found { hardware, ..all[1].clone() });
        let said = doubt(&book, &there);
        assert!(said.contains("b and b claim to be one member") && said.contains("leave one of them out"), "{said}");
    }
}

#[test]
fn other_hardware_is_believed_as_long_as_it_claims_nothing_new() {
    let all = array(Level::Raid1, 2, 0);
    let book = seen(&all);
    let moved = |events| Found { hardware: Some("enclosure".to_owned()), ..at(all[0].clone(), events) };
    assert_eq!(judge(Some(&book), &[moved(100)]), nothing());
    assert_eq!(judge(Some(&book), &[moved(100), all[1].clone()]), nothing());
    assert!(doubt(&book, &[moved(1100), all[1].clone()]).contains("a was never seen"));
    let unnamed = Found { hardware: None, ..at(all[0].clone(), 1100) };
    let doubt = judge(Some(&book), &[unnamed, all[1].clone()]).doubt;
    assert_eq!(doubt, elsewhere(1, 2), "nothing tells that it is another one");
}

/// The same as the array is while it is written to.
fn in_use(mut found: Found) -> Found {
    found.candidate.superblock.resync_offset_sectors = 0;
    found
}

/// What may be copied.
const COPIED: [(Level, u8); 3] = [(Level::Raid1, 2), (RAID5, 3), (Level::Raid0(shoal_array::Raid0Layout::Original), 2)];

fn copy(of: &Found, events: u64) -> Found {
    Found { hardware: Some("copy".to_owned()), ..at(of.clone(), events) }
}

fn beside(copy: Found, rest: &[Found]) -> Vec<Found> {
    [&[copy][..], rest].concat()
}

#[test]
fn a_copy_that_was_made_while_the_array_ran_is_no_member_after_a_cut() {
    for (level, members) in COPIED {
        let all: Vec<_> = array(level, members, 0).into_iter().map(in_use).collect();
        // The power is cut. The members themselves are as they were.
        let book = seen(&all);
        assert_eq!(judge(Some(&book), &all), nothing(), "{level}");
        for there in [beside(copy(&all[0], 100), &all[1..]), vec![copy(&all[0], 100)]] {
            let said = doubt(&book, &there);
            assert!(said.contains("a is on other hardware") && said.contains("last seen as a"), "{said}");
            assert!(said.contains("leave a out") && said.contains("shoal trust"), "{said}");
        }
        // Nothing names what it lies on: nobody can tell.
        let unnamed = Found { hardware: None, ..all[0].clone() };
        assert_eq!(judge(Some(&book), &beside(unnamed, &all[1..])), nothing(), "{level}");
    }
}

#[test]
fn a_copy_in_the_place_of_its_member_is_believed_only_if_it_was_made_at_rest() {
    for (level, members) in COPIED {
        let all: Vec<_> = array(level, members, 0).into_iter().map(in_use).collect();
        // The array came to rest, and the copy from before is an update or more behind.
        let at_rest: Vec<_> = array(level, members, 0).into_iter().map(|found| at(found, 101)).collect();
        let book = seen(&at_rest);
        for events in [100, 99, 1] {
            for there in [beside(copy(&all[0], events), &at_rest[1..]), vec![copy(&all[0], events)]] {
                assert!(doubt(&book, &there).contains("a is on other hardware"), "{level} {events}");
            }
        }
        // One that was made then, of any of them or of all, is as good.
        let copied: Vec<_> = at_rest.iter().map(|found| copy(found, 101)).collect();
        assert_eq!(judge(Some(&book), &copied), nothing(), "{level}");
        assert_eq!(judge(Some(&book), &beside(copied[0].clone(), &at_rest[1..])), nothing(), "{level}");
        // The next update was announced, and power was cut before it was written.
        let announced: Vec<_> = at_rest.iter().map(|found| at(found.clone(), 102)).collect();
        let book = book.after(sight(&announced));
        assert_eq!(judge(Some(&book), &beside(copied[0].clone(), &at_rest[1..])), nothing(), "{level}");
        assert!(doubt(&book, &copied).contains("other hardware"), "{level}: no member is there");
        // It was written to the others.
        let went_on: Vec<_> = announced.into_iter().map(in_use).collect();
        assert!(doubt(&book, &beside(copied[0].clone(), &went_on[1..])).contains("other hardware"), "{level}");
        // It was run elsewhere, where a cut may have left a copy as little behind as a member.
        let elsewhere: Vec<_> = went_on.iter().map(|found| at(found.clone(), 103)).collect();
        let there = beside(copy(&at_rest[0], 102), &elsewhere[1..]);
        assert!(doubt(&book, &there).contains("other hardware"), "{level}");
    }
}

#[test]
fn a_spare_on_other_hardware_is_a_spare() {
    let all: Vec<_> = array(Level::Raid1, 2, 1).into_iter().map(in_use).collect();
    let mut there = all.clone();
    there[2].hardware = Some("enclosure".to_owned());
    assert_eq!(judge(Some(&seen(&all)), &there), nothing());
}

#[test]
fn a_spare_is_no_basis() {
    let all = array(Level::Raid1, 2, 1);
    let book = seen(&all).after(sight(&[at(all[1].clone(), 105), at(all[2].clone(), 105)]));
    let said = doubt(&book, &[all[0].clone(), at(all[2].clone(), 105)]);
    assert!(said.contains("older state (update 1"), "{said}");
}

#[test]
fn an_array_is_seen_as_md_makes_it_of_its_drives() {
    let all = array(RAID5, 3, 1);
    let seen_by_md = Sight::of_found(&all).unwrap();
    assert_eq!(seen_by_md, sight(&all));
    let others = without(&all, 0, 104);
    let mixed = [&all[..1], &others[..]].concat();
    let seen_by_md = Sight::of_found(&mixed).unwrap();
    assert_eq!((seen_by_md.events, seen_by_md.members.len()), (104, 3), "{seen_by_md:?}");
    let left = &seen_by_md.others[..];
    assert!(matches!(left, [Left { member, events: 100 }] if member.drive == "a"), "{left:?}");
    assert_eq!(Sight::of_found(&[]), None);
}

#[test]
fn who_knows_nothing_goes_by_the_freshest_table() {
    let all = array(RAID5, 3, 0);
    assert_eq!(judge(None, &all), nothing());
    let doubt = judge(None, &all[1..]).doubt.unwrap();
    assert!(doubt.is_for_lack_of_members());
    assert!(doubt.to_string().contains("1 of 3 members"), "{doubt}");
    assert!(doubt.way_out().contains("--degraded"));
    // It has failed: nobody counts on it.
    assert_eq!(judge(None, &without(&all, 0, 101)), nothing());
    // md itself says what is wrong with these.
    assert_eq!(judge(None, &[]), nothing());
    assert_eq!(judge(None, &array(Level::Raid0(shoal_array::Raid0Layout::Original), 3, 0)[1..]), nothing());
}
