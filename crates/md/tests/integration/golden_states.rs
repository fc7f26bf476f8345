//! Members as Linux left them in the middle of something: a replacement being copied, a member
//! away, the same being brought back by the bitmap, a journal. What we would have recorded is what
//! Linux did.
//!
//! `tests/fixtures/README.md` says how they were made.
use std::path::Path;

use shoal_array::{MemberState, Role};
use shoal_md::{
    Candidate, Features, MemberUse, Membership, MinorVersion, NewMember, ReAddProblem, Readmission, RefusalReason,
    Replacement, SUPERBLOCK_BYTES, SinceItLeft, Superblock, Unverified, Uuid, Verdict, assemble,
};

const MIB: u64 = 1 << 20;
const SIZES: [u64; 4] = [32 * MIB, 36 * MIB, 44 * MIB, 36 * MIB];

fn candidates(file: &str, minor: MinorVersion) -> Vec<Candidate> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{file}.superblocks"));
    let bytes = std::fs::read(path).unwrap();
    let areas = bytes.chunks(SUPERBLOCK_BYTES).zip(SIZES).zip('b'..);
    let candidate = |((area, size), letter): ((&[u8], u64), char)| Candidate {
        drive: letter.to_string(),
        superblock: Unverified::parse_and_verify(area.try_into().unwrap(), minor, size).unwrap(),
    };
    areas.map(candidate).collect()
}

#[test]
fn a_replacement_is_seated_beside_its_member_as_far_as_it_is_copied() {
    let found = candidates("replacing", MinorVersion::Start4K);
    let assembly = assemble(&found).unwrap();
    let position_bytes = found[3].superblock.recovery_offset_sectors * 512;
    assert!(position_bytes > 0 && position_bytes < 31 * MIB);
    let in_sync = |role| Verdict::InSync(Role(role));
    let replacement = Verdict::Replacement { role: Role(1), position_bytes };
    assert_eq!(assembly.verdicts, [in_sync(0), in_sync(1), in_sync(2), replacement]);
    assert_eq!(assembly.slots[1].replacement, Some(Replacement { candidate: 3, position_bytes }));

    // From the same start, the same superblocks.
    let assembled = Membership::of_assembly(&assembly, &found);
    for own in found.iter().map(|candidate| &candidate.superblock) {
        assert_eq!(assembled.superblock(own.dev_number).unwrap(), own);
    }
    let mut made = assembled.clone();
    made.fail(3).unwrap();
    made.remove(3).unwrap();
    let drive = NewMember { drive: "e".to_owned(), size_bytes: SIZES[3], uuid: found[3].superblock.device_uuid };
    assert_eq!(made.add_spare(&drive), Ok(3));
    made.start_replacement(3, Role(1)).unwrap();
    made.record_rebuild_position(3, position_bytes).unwrap();
    for own in assembled.superblocks() {
        assert!(made.superblock(own.dev_number) == Ok(own), "number {}", own.dev_number);
    }

    // Without its member it is all there is.
    let alone = [0, 2, 3].map(|index| found[index].clone());
    let assembly = assemble(&alone).unwrap();
    assert_eq!(assembly.slots[1].state, MemberState::Rebuilding { position: position_bytes });
}

/// Members 0 and 2, which have gone on without member 1, and that one.
fn away() -> (Membership, Candidate) {
    let mut found = candidates("away", MinorVersion::Start);
    let left = found.remove(1);
    let assembly = assemble(&found).unwrap();
    assert_eq!(assembly.missing_roles(), [Role(1)]);
    (Membership::of_assembly(&assembly, &found), left)
}

#[test]
fn a_member_that_left_is_known_as_such() {
    let assembly = assemble(&candidates("away", MinorVersion::Start)).unwrap();
    assert!(matches!(assembly.verdicts[1], Verdict::Stale { .. }), "{:?}", assembly.verdicts);
}

#[test]
fn a_member_comes_back_by_the_bitmap_as_with_linux() {
    let (mut members, left) = away();
    let back = members.re_add(&left, Some(0), SinceItLeft::Unknown).unwrap();
    assert_eq!(back, Readmission { dev_number: 1, role: Role(1) });

    let linux = candidates("returning", MinorVersion::Start);
    let assembly = assemble(&linux).unwrap();
    let position_bytes = linux[1].superblock.recovery_offset_sectors * 512;
    assert_eq!(assembly.verdicts[1], Verdict::Rebuilding { role: Role(1), position_bytes, by_bitmap: true });
    members.record_rebuild_position(1, position_bytes).unwrap();
    for theirs in linux.iter().map(|candidate| &candidate.superblock) {
        let mut ours: Superblock = members.superblock(theirs.dev_number).unwrap().clone();
        ours.events = theirs.events;
        ours.update_time = theirs.update_time;
        assert_eq!(&ours, theirs);
    }
    members.finish_rebuild(1).unwrap();
    assert_eq!(members.superblock(1).unwrap().features, Features::BITMAP);
}

/// What is wrong with one that wants to come back.
fn problem(change: impl Fn(&mut Membership, &mut Superblock), events_cleared: Option<u64>) -> ReAddProblem {
    let (mut members, mut left) = away();
    change(&mut members, &mut left.superblock);
    let before = members.clone();
    let error = members.re_add(&left, events_cleared, SinceItLeft::Unknown).unwrap_err();
    assert_eq!(members, before, "a refusal changes nothing");
    let message = error.to_string();
    let mend = match error.why {
        ReAddProblem::StillThere => "there is nothing to do",
        ReAddProblem::OtherArray => "take another drive",
        _ => "add it as a new drive",
    };
    assert!(message.starts_with("c cannot be re-added: ") && message.contains(mend), "{message}");
    error.why
}

#[test]
fn who_cannot_come_back_is_told_why() {
    use ReAddProblem as P;
    let events = away().1.superblock.events;
    assert_eq!(problem(|_, own| own.array_uuid = Uuid([7; 16]), Some(0)), P::OtherArray);
    assert_eq!(problem(|members, own| own.device_uuid = members.superblocks()[0].device_uuid, Some(0)), P::StillThere);
    assert_eq!(problem(|_, own| own.size_sectors -= 128, Some(0)), P::OtherShape);
    assert_eq!(problem(|_, own| own.dev_number = 9, Some(0)), P::NoRole);
    assert_eq!(problem(|_, own| own.features = own.features | Features::RECOVERY_OFFSET, Some(0)), P::Incomplete);
    assert_eq!(problem(|_, own| own.features = own.features | Features::REPLACEMENT, Some(0)), P::Incomplete);
    assert_eq!(problem(|_, own| own.events += 1000, Some(0)), P::RunAlone);
    assert_eq!(problem(|_, _| (), None), P::NoBitmap);
    let too_old = P::TooOld { events, events_cleared: events + 1 };
    assert_eq!(problem(|_, _| (), Some(events + 1)), too_old);
    let taken = |members: &mut Membership, _: &mut Superblock| {
        let drive = NewMember { drive: "f".to_owned(), size_bytes: SIZES[1], uuid: Uuid([5; 16]) };
        let spare = members.add_spare(&drive).unwrap();
        members.start_rebuild(spare, Role(1)).unwrap();
    };
    assert_eq!(problem(taken, Some(0)), P::RoleTaken { role: Role(1) });

    // It may have seen the very last clearing; and what came back half may come back again.
    let (mut members, left) = away();
    assert!(members.re_add(&left, Some(events), SinceItLeft::Unknown).is_ok());
    let (mut members, mut left) = away();
    left.superblock.features = left.superblock.features | Features::RECOVERY_OFFSET | Features::RECOVERY_BITMAP;
    assert!(members.re_add(&left, Some(events), SinceItLeft::Unknown).is_ok());
}

#[test]
fn a_member_that_was_run_without_the_others_does_not_come_back() {
    // Its own table says that the others had left, or failed.
    let (mut members, left) = away();
    let alone = [left.clone()];
    let mut half = Membership::of_assembly(&assemble(&alone).unwrap(), &alone);
    half.advance(left.superblock.update_time);
    let half = Candidate { drive: "c".to_owned(), superblock: half.superblocks()[0].clone() };
    assert_eq!(members.re_add(&half, Some(0), SinceItLeft::Unknown).unwrap_err().why, ReAddProblem::RunAlone);

    // Or that one had failed which is in sync here.
    let mut all = candidates("returning", MinorVersion::Start);
    for member in &mut all {
        member.superblock.events = left.superblock.events;
    }
    let mut half = Membership::of_assembly(&assemble(&all).unwrap(), &all);
    half.fail(0).unwrap();
    let half = Candidate { drive: "c".to_owned(), superblock: half.superblock(1).unwrap().clone() };
    assert_eq!(
        (half.superblock.member_use(0), half.superblock.member_use(2)),
        (MemberUse::Faulty, MemberUse::Active(Role(2)))
    );
    assert_eq!(members.re_add(&half, Some(0), SinceItLeft::Unknown).unwrap_err().why, ReAddProblem::RunAlone);
}

#[test]
fn a_number_that_was_given_away_is_not_taken_back() {
    let (mut members, left) = away();
    let spare = |number: u32| NewMember {
        drive: "f".to_owned(),
        size_bytes: SIZES[1],
        uuid: Uuid((u128::from(number) + 5).to_le_bytes()),
    };
    let mut given = 0;
    while members.add_spare(&spare(given)).is_ok() {
        given += 1;
    }
    assert_eq!(given, 1918, "all but the two that are there");
    assert_eq!(members.re_add(&left, Some(0), SinceItLeft::Unknown).unwrap_err().why, ReAddProblem::TableFull);
    members.remove(55).unwrap();
    assert_eq!(members.re_add(&left, Some(0), SinceItLeft::Unknown), Ok(Readmission { dev_number: 55, role: Role(1) }));
}

#[test]
fn an_array_without_its_journal_is_refused_by_name() {
    let found = candidates("journal", MinorVersion::Start4K);
    let assembly = assemble(&found).unwrap();
    assert_eq!(assembly.verdicts[3], Verdict::Journal);
    assert_eq!(assembly.refused, []);
    assert_eq!(assembly.missing_roles(), []);
    // The members know of it: the newest data may be there.
    assert_eq!(assemble(&found[..3]).unwrap().refused, [RefusalReason::Journal]);
}
