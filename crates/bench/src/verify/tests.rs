#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};

use shoal_volume::{RequestError, Volume};

use super::{Verification, Verified};
use crate::memory_volume::MemoryVolume;
use crate::{
    Bench, Blocks, Conditions, Found, Limit, Pattern, TargetDescription, TargetKind, Watch, Workload, WrongUnit,
};

const SIZE_BYTES: usize = 1 << 20;
const BLOCK: u32 = 65_536;

fn verification(offset: u64, length: u64, pass: u64) -> Verification {
    let blocks = Blocks::of_range(offset, length, BLOCK, SIZE_BYTES as u64, 512).unwrap();
    Verification { blocks, depth: 3, seed: 5, pass }
}

fn write(verification: Verification, volume: &mut MemoryVolume) -> Verified {
    verification.write(volume, &AtomicBool::new(false), &mut |_, _| {}).unwrap()
}

fn compare(verification: Verification, volume: &mut MemoryVolume) -> Verified {
    verification.compare(volume, &AtomicBool::new(false), &mut |_, _| {}).unwrap()
}

#[test]
fn what_was_written_is_found_again() {
    let mut volume = MemoryVolume::new(SIZE_BYTES, 4, BLOCK);
    for whole in [verification(0, 0, 1), verification(512, 3 * 65_536, 2)] {
        let written = write(whole, &mut volume);
        let read = compare(whole, &mut volume);
        assert!(written.is_good() && read.is_good());
        assert_eq!(written.bytes, whole.blocks.count * u64::from(BLOCK));
        assert_eq!(read.bytes, written.bytes);
    }
}

#[test]
fn every_kind_of_wrong_content_is_found() {
    let mut volume = MemoryVolume::new(SIZE_BYTES, 4, BLOCK);
    let whole = verification(0, 0, 2);
    write(verification(0, 0, 1), &mut volume);
    let stale = volume.content[4096..8192].to_vec();
    write(whole, &mut volume);
    volume.content[4096..8192].copy_from_slice(&stale);
    volume.content.copy_within(65_536..65_536 + 4096, 131_072);
    volume.content[200_000] ^= 1;
    volume.content[SIZE_BYTES - 4096..].fill(0);
    let read = compare(whole, &mut volume);
    assert!(!read.is_good());
    assert_eq!((read.bytes, read.wrong_bytes, read.errors), (SIZE_BYTES as u64, 4 * 4096, 0));
    let expected = [
        (4096, Found::OtherPass { pass: 1 }),
        (131_072, Found::OtherOffset { offset: 65_536, pass: 2 }),
        (196_608, Found::Damaged { first_byte: 200_000 - 196_608 }),
        (SIZE_BYTES as u64 - 4096, Found::Zeros),
    ];
    assert_eq!(read.wrong, expected.map(|(offset, found)| WrongUnit { offset, found }));
}

#[test]
fn errors_are_no_success_and_no_wrong_bytes() {
    let mut volume = MemoryVolume::new(SIZE_BYTES, 4, BLOCK);
    let whole = verification(0, 0, 1);
    write(whole, &mut volume);
    volume.faults.push((65_536, RequestError::Lost { offset: 65_536 }));
    let read = compare(whole, &mut volume);
    assert_eq!((read.errors, read.wrong_bytes, read.bytes), (1, 0, (SIZE_BYTES - 65_536) as u64));
    assert!(!read.is_good());
    volume.faults = vec![(u64::MAX, RequestError::Failed)];
    let written = write(whole, &mut volume);
    assert_eq!((written.errors, written.bytes), (1, SIZE_BYTES as u64), "the flush failed");
}

#[test]
fn the_caller_gets_the_volume_between_requests() {
    let mut volume = MemoryVolume::new(SIZE_BYTES, 4, BLOCK);
    let mut done = Vec::new();
    let interrupt = AtomicBool::new(false);
    let mut between = |volume: &mut MemoryVolume, bytes: u64| {
        assert_eq!(volume.size_bytes(), SIZE_BYTES as u64);
        done.push(bytes);
        interrupt.store(bytes >= SIZE_BYTES as u64 / 2, Ordering::Relaxed);
    };
    let written = verification(0, 0, 1).write(&mut volume, &interrupt, &mut between).unwrap();
    assert!(written.interrupted && !written.is_good());
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(written.bytes < SIZE_BYTES as u64);
}

#[test]
fn a_range_for_another_volume_is_refused() {
    let mut volume = MemoryVolume::new(SIZE_BYTES / 2, 4, BLOCK);
    assert!(verification(0, 0, 1).write(&mut volume, &AtomicBool::new(false), &mut |_, _| {}).is_err());
    assert!(volume.requests.is_empty());
}

#[test]
fn what_a_load_wrote_is_found_again() {
    let mut volume = MemoryVolume::new(SIZE_BYTES, 4, BLOCK);
    let workload = Workload {
        pattern: Pattern::Sequential,
        read_percent: 0,
        block_size_bytes: BLOCK,
        depth: 3,
        limit: Limit::Bytes(8 * u64::from(BLOCK)),
        warm_up_ns: 0,
        range_offset: 65_536,
        range_bytes: 8 * u64::from(BLOCK),
        visit_once: false,
        seed: 5,
    };
    let target = TargetDescription {
        name: "memory".to_owned(),
        kind: TargetKind::File,
        size_bytes: SIZE_BYTES as u64,
        logical_block_bytes: 512,
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
        engine: None,
    };
    let bench = Bench { target, workload, repeats: 1, conditions: Conditions::default() };
    let interrupt = AtomicBool::new(false);
    write(verification(0, 0, 1), &mut volume);
    bench.run(&mut volume, &mut Watch { interrupt: &interrupt, progress: &mut |_| {}, observer: &mut () }).unwrap();
    let compare_load = |verification: Verification, volume: &mut MemoryVolume| {
        verification.compare_load(volume, &AtomicBool::new(false), &mut |_, _| {}).unwrap()
    };
    let covered = verification(65_536, 8 * u64::from(BLOCK), 0);
    assert!(compare_load(covered, &mut volume).is_good());
    let other = compare_load(Verification { seed: 6, ..covered }, &mut volume);
    assert_eq!(other.wrong_bytes, other.bytes);
    assert_eq!(other.wrong[0].found, Found::OtherRun);
}
