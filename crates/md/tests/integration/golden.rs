//! Superblocks that Linux wrote: we read them right, write them back unchanged, and would have made
//! the same.
//!
//! `tests/fixtures/README.md` says how they were made.
use std::path::Path;

use shoal_array::{Level, MemberState, ParityLayout, Raid0Layout, Raid10Layout, Role};
use shoal_md::{
    Candidate, ConsistencyPolicy, CreateRequest, Features, MemberUse, MinorVersion, NewMember, SUPERBLOCK_BYTES,
    Superblock, Unverified, Verdict, assemble, plan_creation,
};

const MIB: u64 = 1 << 20;
/// Sizes of the drives that the tables call B, C, D and E.
const B: u64 = 32 * MIB;
const C: u64 = 36 * MIB;
const D: u64 = 44 * MIB;
const E: u64 = 32 * MIB;

const RAID0: Level = Level::Raid0(Raid0Layout::Original);
const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const RAID6: Level = Level::Raid6(ParityLayout::LeftSymmetric);
const RAID10: Level = Level::Raid10(Raid10Layout { near: 1, far: 2, offset: false, far_sets: false });

fn areas(fixture: &str) -> Vec<Box<[u8; SUPERBLOCK_BYTES]>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{fixture}.superblocks"));
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks(SUPERBLOCK_BYTES).map(|area| area.to_vec().into_boxed_slice().try_into().unwrap()).collect()
}

fn candidates(fixture: &str, sizes: &[u64]) -> Vec<Candidate> {
    let areas = areas(fixture);
    assert_eq!(areas.len(), sizes.len(), "{fixture}");
    let read = |(area, size): (&[u8; SUPERBLOCK_BYTES], &u64)| {
        Unverified::parse_and_verify(area, MinorVersion::Start4K, *size).unwrap()
    };
    let superblocks = areas.iter().map(Box::as_ref).zip(sizes).map(read);
    superblocks.zip('b'..).map(|(superblock, letter)| Candidate { drive: letter.to_string(), superblock }).collect()
}

#[test]
fn every_byte_is_written_back_as_it_was() {
    for (fixture, sizes) in [
        ("linear", &[B, C, D][..]),
        ("raid0", &[B, C, D]),
        ("raid0-equal", &[B, E]),
        ("raid1", &[B, C]),
        ("raid5", &[B, C, D, E]),
        ("raid5-assume-clean", &[B, C, D, E]),
        ("raid6", &[B, C, D, E]),
        ("raid10", &[B, C, D]),
        ("bitmap", &[B, C]),
        ("failed", &[B, B, B]),
        ("rebuilding", &[B, B, B]),
    ] {
        for (area, candidate) in areas(fixture).iter().zip(candidates(fixture, sizes)) {
            assert_eq!(&candidate.superblock.encode(), area, "{fixture}");
        }
    }
}

/// The request that mdadm was given, with the UUIDs and times that it chose.
fn request_like(golden: &[Candidate], level: Level, sizes: &[u64], members: usize) -> CreateRequest {
    let first = &golden[0].superblock;
    let name = first.name();
    let (homehost, name) = name.split_once(':').unwrap();
    let mut drives: Vec<NewMember> = golden
        .iter()
        .zip(sizes)
        .map(|(candidate, size)| NewMember {
            drive: candidate.drive.clone(),
            size_bytes: *size,
            uuid: candidate.superblock.device_uuid,
        })
        .collect();
    let spares = drives.split_off(members);
    CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: None,
        members: drives,
        spares,
        name: name.to_owned(),
        homehost: Some(homehost.to_owned()),
        array_uuid: first.array_uuid,
        creation_time: first.creation_time,
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    }
}

fn made_by_us(request: &CreateRequest) -> Vec<Superblock> {
    plan_creation(request).unwrap().superblocks
}

#[test]
fn arrays_that_needed_no_resync_are_made_byte_by_byte() {
    for (fixture, level, sizes, members) in [
        ("linear", Level::Linear, &[B, C, D][..], 3),
        ("raid0", RAID0, &[B, C, D], 3),
        ("raid0-equal", RAID0, &[B, E], 2),
        ("raid5-assume-clean", RAID5, &[B, C, D, E], 3),
        ("raid6", RAID6, &[B, C, D, E], 4),
    ] {
        let golden = candidates(fixture, sizes);
        let made = made_by_us(&request_like(&golden, level, sizes, members));
        assert_eq!(made.len(), golden.len());
        for (made, golden) in made.iter().zip(areas(fixture)) {
            assert_eq!(made.encode(), golden, "{fixture}, member {}", made.dev_number);
        }
    }
}

/// Linux has counted its updates meanwhile, and written the time of the last one.
#[test]
fn resynced_arrays_differ_in_events_and_time() {
    for (fixture, level, chunk_bytes, sizes) in
        [("raid1", Level::Raid1, None, &[B, C][..]), ("raid10", RAID10, Some(64 << 10), &[B, C, D])]
    {
        let golden = candidates(fixture, sizes);
        let mut request = request_like(&golden, level, sizes, sizes.len());
        request.chunk_bytes = chunk_bytes;
        for (mut made, golden) in made_by_us(&request).into_iter().zip(golden) {
            made.events = golden.superblock.events;
            made.update_time = golden.superblock.update_time;
            assert_eq!(made, golden.superblock, "{fixture}");
        }
    }
}

/// mdadm starts a RAID5 without its last member and adds that as a spare, so it gets a number
/// further on.
#[test]
fn a_rebuilt_raid5_differs_in_the_number_of_its_last_member() {
    let sizes = [B, C, D, E];
    let golden = candidates("raid5", &sizes);
    let made = made_by_us(&request_like(&golden, RAID5, &sizes, 4));
    for (role, (mut made, golden)) in (0..).map(Role).zip(made.into_iter().zip(golden)) {
        let golden = golden.superblock;
        assert_eq!(golden.own_use(), MemberUse::Active(role));
        assert_eq!(made.own_use(), MemberUse::Active(role));
        assert_eq!(golden.dev_number, [0, 1, 2, 4][role.index()]);
        made.events = golden.events;
        made.update_time = golden.update_time;
        made.dev_number = golden.dev_number;
        let [made, golden] = [made.encode(), golden.encode()];
        let differing: Vec<usize> = (0..SUPERBLOCK_BYTES).filter(|byte| made[*byte] != golden[*byte]).collect();
        let in_checksum_or_roles_3_and_4 = |byte: &usize| matches!(*byte, 216..220 | 262..266);
        assert!(differing.iter().all(in_checksum_or_roles_3_and_4), "{differing:?}");
    }
}

#[test]
fn members_are_put_together_in_any_order() {
    let candidates = candidates("raid5", &[B, C, D, E]);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let shuffled: Vec<Candidate> = order.iter().map(|index| candidates[*index].clone()).collect();
        let assembly = assemble(&shuffled).unwrap();
        for (role, slot) in assembly.slots.iter().enumerate() {
            assert_eq!((order[slot.candidate.unwrap()], slot.state), (role, MemberState::InSync));
        }
        let shape = assembly.shape().unwrap();
        assert_eq!((shape.level, shape.chunk_bytes), (RAID5, 512 << 10));
        assert_eq!(shape.member_bytes, [30 * MIB; 4]);
        assert_eq!(assembly.name(), "lab:raid5");
        assert_eq!((assembly.read_only.len(), assembly.refused.len()), (0, 0));
        assert_eq!((assembly.superblock.events, assembly.superblock.is_clean()), (18, true));
    }
}

#[test]
fn levels_without_redundancy_take_what_each_member_has() {
    for (fixture, level, data) in [("linear", Level::Linear, [31, 35, 43]), ("raid0", RAID0, [30, 34, 42])] {
        let candidates = candidates(fixture, &[B, C, D]);
        let assembly = assemble(&candidates).unwrap();
        let shape = assembly.shape().unwrap();
        assert_eq!((shape.level, shape.member_bytes), (level, data.map(|mib| mib * MIB).to_vec()));
        let incomplete = assemble(&candidates[..2]).unwrap();
        assert_eq!(incomplete.missing_roles(), [Role(2)]);
        let refused = incomplete.shape().unwrap_err().to_string();
        assert!(refused.contains("member 2 is missing"), "{refused}");
    }
}

#[test]
fn a_member_that_failed_stays_out() {
    let candidates = candidates("failed", &[B; 3]);
    let assembly = assemble(&candidates).unwrap();
    assert_eq!(assembly.verdicts, [Verdict::InSync(Role(0)), Verdict::Faulty, Verdict::InSync(Role(2))]);
    assert_eq!(assembly.member_states(), [MemberState::InSync, MemberState::Missing, MemberState::InSync]);
    assert!(!assembly.is_dirty_and_degraded());
}

#[test]
fn a_member_half_rebuilt_goes_on_where_it_was() {
    let rebuilding = candidates("rebuilding", &[B; 3]);
    let assembly = assemble(&rebuilding).unwrap();
    let position_bytes = 6144 * 512;
    assert_eq!(assembly.verdicts[2], Verdict::Rebuilding { role: Role(1), position_bytes, by_bitmap: false });
    assert_eq!(
        assembly.member_states(),
        [MemberState::InSync, MemberState::Rebuilding { position: position_bytes }, MemberState::InSync]
    );
    assert!(rebuilding[2].superblock.features.any_of(Features::RECOVERY_OFFSET));

    // The member that failed before is still around: the array has forgotten it.
    let mut all = rebuilding;
    all.push(candidates("failed", &[B; 3])[1].clone());
    assert_eq!(assemble(&all).unwrap().verdicts[3], Verdict::Stale { updates_missed: 9 });
}

#[test]
fn an_array_with_a_bitmap_can_be_written() {
    let assembly = assemble(&candidates("bitmap", &[B, C])).unwrap();
    assert_eq!(assembly.read_only, []);
    assert_eq!(assembly.shape().unwrap().member_bytes, [31 * MIB; 2]);
}
