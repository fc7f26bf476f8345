//! Members that are replaced.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use shoal_md::{MemberUse, Superblock};

use super::*;

/// A replacement is a copy. What its original could not read the others have, and it is to have it,
/// too, also if the array was stopped after the copying had left it out.
#[test]
fn a_replacement_gets_what_its_original_could_not_read() {
    for (level, members) in [("5", 3), ("6", 4), ("1", 2), ("10", 4)] {
        for runs_ms in [0, 50, 150, 400] {
            let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 512 % 251) as u8).collect();
            let mut array = stopped_while_it_replaces(level, members, &bytes, runs_ms);
            finish(&mut array);
            array.rest().unwrap();
            let told = format!("raid{level}, stopped after {runs_ms} ms");
            let content = array.world_mut().content_mut(members as usize);
            let own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
            assert!(!own.features.any_of(Features::BAD_BLOCKS | Features::REPLACEMENT), "{told}");
            array.fail_drive(DriveId(0)).unwrap();
            let mut read = Vec::new();
            read_to(&mut array, 0, bytes.len() as u64, &mut read).unwrap();
            assert!(read == bytes, "{told}");
        }
    }
}

/// An array in which member 1, which cannot read all of its content, is replaced by the drive
/// behind the members; it is stopped after so long, and opened again.
fn stopped_while_it_replaces(level: &str, members: u32, bytes: &[u8], runs_ms: u64) -> ArrayVolume<SimulatedWorld> {
    let mut array = create(level, members, blank(members as usize + 1));
    write_from(&mut array, 0, &mut &*bytes).unwrap();
    let area = array.content_map().data_area(DriveId(1)).unwrap();
    array.world_mut().content_mut(1).spoil(area.start + 8192, 16 << 10);
    array.set_background(Background { rate_min_bytes_per_s: 500_000, rate_max_bytes_per_s: 500_000, depth: 1 });
    array.replace_drive(DriveId(1), DriveId(members)).unwrap();
    array.run_background(Duration::from_millis(runs_ms)).unwrap();
    let contents: Vec<_> = (0..=members).map(|drive| array.world_mut().content_mut(drive as usize).clone()).collect();
    drop(array);
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    ArrayVolume::open(world, plan, &ids(0..members + 1), &OpenOptions::writable()).unwrap()
}

/// A drive that is copied while copies do not agree yet gives the replacement what the resync was
/// to change. If it fails then, and the resync ends, as one copy is left, that is none of the
/// member's content.
#[test]
fn a_replacement_whose_original_was_not_resynced_and_failed_is_filled_anew() {
    for runs_ms in [2, 20, 60, 150, 400] {
        let mut contents = blank(3);
        let bytes: Vec<u8> = (0..DRIVE_BYTES as u32).map(|at| (at / 512 % 251) as u8).collect();
        contents[1].write(0, &bytes).unwrap();
        let mut array = create_unsynced("1", 2, contents);
        array.set_background(Background { rate_min_bytes_per_s: 2_000_000, rate_max_bytes_per_s: 2_000_000, depth: 1 });
        array.replace_drive(DriveId(1), DriveId(2)).unwrap();
        array.run_background(Duration::from_millis(runs_ms)).unwrap();
        array.fail_drive(DriveId(1)).unwrap();
        finish(&mut array);
        assert_eq!(array.status().health, Health::Optimal);
        assert_copies_agree(&mut array);
    }
}

/// A drive that was out, and was added again, is a member like others.
#[test]
fn a_former_member_that_was_added_again_is_no_former_member_any_more() {
    let mut array = create("1", 2, blank(3));
    array.replace_drive(DriveId(1), DriveId(2)).unwrap();
    finish(&mut array);
    array.add_drive(DriveId(1)).unwrap();
    array.fail_drive(DriveId(2)).unwrap();
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    array.remove_drive(DriveId(1)).expect_err("it is a member");
    array.fail_drive(DriveId(1)).unwrap();
    assert_eq!(array.status().health, Health::Degraded);
}

/// Bytes that differ from sector to sector.
pub(super) fn numbered(length: u32) -> Vec<u8> {
    (0..length).map(|at| (at / 512 % 251) as u8).collect()
}

pub(super) const SLOW: Background =
    Background { rate_min_bytes_per_s: 500_000, rate_max_bytes_per_s: 500_000, depth: 1 };
pub(super) const FAST: Background =
    Background { rate_min_bytes_per_s: 1 << 30, rate_max_bytes_per_s: 1 << 30, depth: 4 };

/// Member 1 was replaced by drive 3 and failed: the array on the others and that one is whole, and
/// has all that was written.
fn assert_replaced(mut array: ArrayVolume<SimulatedWorld>, bytes: &[u8], told: &str) {
    array.set_background(FAST);
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal, "{told}");
    array.rest().unwrap();
    let mut contents = array.world().picture();
    drop(array);
    contents.iter_mut().for_each(|content| content.set_gone(false));
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let mut array =
        ArrayVolume::open(world, plan, &[DriveId(0), DriveId(2), DriveId(3)], &OpenOptions::writable()).unwrap();
    assert_eq!(array.status().health, Health::Optimal, "{told}");
    array.fail_drive(DriveId(0)).unwrap();
    let mut read = Vec::new();
    read_to(&mut array, 0, bytes.len() as u64, &mut read).unwrap();
    assert!(read == bytes, "{told}: the replacement does not have what its superblock says");
}

/// The replacement takes the place of an original that fails: it is filled, and not the drive that
/// it replaces.
#[test]
fn a_replacement_whose_original_fails_while_it_is_copied_is_what_is_filled() {
    for runs_ms in [0, 50, 150] {
        let bytes = numbered(1 << 20);
        let mut array = create("5", 3, blank(4));
        write_from(&mut array, 0, &mut &*bytes).unwrap();
        array.set_background(SLOW);
        array.replace_drive(DriveId(1), DriveId(3)).unwrap();
        array.run_background(Duration::from_millis(runs_ms)).unwrap();
        array.fail_drive(DriveId(1)).unwrap();
        assert_replaced(array, &bytes, &format!("failed after {runs_ms} ms"));
    }
}

/// The same of one that fails before the copying has begun, which waits for what the original was
/// asked before.
#[test]
fn a_replacement_whose_original_fails_before_it_is_copied_is_what_is_filled() {
    let bytes = numbered(1 << 20);
    let mut array = create("5", 3, blank(4));
    array.add_drive(DriveId(3)).unwrap();
    write_from(&mut array, 0, &mut &*bytes).unwrap();
    array.world_mut().simulation_mut().stall(1, 1_000_000_000_000);
    let span = array.request_span(0, 8192);
    array.arena().write(array.request_memory(0), &bytes[..8192]);
    array.submit(Request { id: RequestId::client(3), command: Command::Write { offset: 0, span } });
    array.replace_drive(DriveId(1), DriveId(3)).unwrap();
    assert_replaced(array, &bytes, "failed before the copying");
}

pub(super) fn opened(contents: Vec<Content>, drives: std::ops::Range<u32>) -> ArrayVolume<SimulatedWorld> {
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let options = OpenOptions { background: SLOW, ..OpenOptions::writable() };
    ArrayVolume::open(world, plan, &ids(drives), &options).unwrap()
}

/// An array with logs whose first member is copied to the last drive, and whose first MiB is.
fn copied_beside_logs() -> ArrayVolume<SimulatedWorld> {
    let options = CreateOptions { consistency: ConsistencyPolicy::Ppl, ..create_options("5", None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(4));
    let mut array = ArrayVolume::create(world, plan, &ids(0..3), &options, &OpenOptions::writable()).unwrap();
    write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
    array.set_background(SLOW);
    array.replace_drive(DriveId(0), DriveId(3)).unwrap();
    array.run_background(Duration::from_millis(1500)).unwrap();
    array.rest().unwrap();
    array
}

/// What a log is let go of is on both drives for good: the replacement may be all that is left of
/// the two.
#[test]
fn a_replacement_has_flushed_what_no_log_holds_any_more() {
    for seed in 0..8 {
        let mut array = copied_beside_logs();
        let span = array.request_span(0, 4096);
        array.arena().write(array.request_memory(0), &[9; 4096]);
        // Rows with their parity on one member, and so in one log.
        for row in [90, 93, 96] {
            assert!(ask(&mut array, Command::Write { offset: row * 8192, span }));
        }
        let mut contents = array.world().picture();
        drop(array);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        contents.iter_mut().for_each(|content| content.cut_power(&mut random));
        let mut array = opened(contents, 1..4);
        array.set_background(FAST);
        finish(&mut array);
        assert_copies_agree(&mut array);
    }
}

/// Power was cut while both were written: what is replayed of the log fits the original. From then
/// on nothing says that the replacement has what it had been said to have, whoever is there at the
/// next start.
#[test]
fn a_replacement_that_is_copied_anew_after_a_crash_is_said_to_be() {
    let mut array = copied_beside_logs();
    let span = array.request_span(0, 4096);
    array.arena().write(array.request_memory(0), &[9; 4096]);
    // On the first member, 360 KiB from the start of its data.
    assert!(ask(&mut array, Command::Write { offset: 90 * 8192, span }));
    let area = array.content_map().data_area(DriveId(1)).unwrap();
    let mut contents = array.world().picture();
    drop(array);
    let mut written = [0; 4096];
    contents[3].read(area.start + 90 * 4096, &mut written).unwrap();
    assert_eq!(written, [9; 4096], "it was copied so far");
    // The replacement loses the write with its power.
    contents[3].write(area.start + 90 * 4096, &[7; 4096]).unwrap();
    contents.iter_mut().for_each(|content| content.flush().unwrap());
    let contents = opened(contents, 0..4).world().picture();
    let mut array = opened(contents, 1..4);
    array.set_background(FAST);
    finish(&mut array);
    assert_copies_agree(&mut array);
}

/// Power was cut while parity was written to both, and the original is gone, with the only log that
/// says so. What the replacement has is not believed.
#[test]
fn a_replacement_that_stands_in_after_a_crash_has_no_log_for_its_rows() {
    let mut array = copied_beside_logs();
    // The parity of this row is on the first member.
    let row = 92;
    let area = array.content_map().data_area(DriveId(0)).unwrap();
    let mut before = [0; 4096];
    array.world().picture()[3].read(area.start + row * 4096, &mut before).unwrap();
    let span = array.request_span(0, 4096);
    array.arena().write(array.request_memory(0), &[9; 4096]);
    assert!(ask(&mut array, Command::Write { offset: row * 8192, span }));
    let mut contents = array.world().picture();
    drop(array);
    let mut written = [0; 4096];
    contents[3].read(area.start + row * 4096, &mut written).unwrap();
    assert_ne!(written, before, "it has the parity");
    // It loses it with its power.
    contents[3].write(area.start + row * 4096, &before).unwrap();
    contents.iter_mut().for_each(|content| content.flush().unwrap());
    let mut array = opened(contents, 1..4);
    array.set_background(FAST);
    finish(&mut array);
    assert_copies_agree(&mut array);
}

/// The original fails when all is copied, and while the parity of a row is written. Only its own
/// log could tell what that parity has to be: the replacement is the member, and says that it has
/// no such log, until the row is written.
#[test]
fn a_replacement_says_that_its_original_left_a_log_behind() {
    let contents = copied_beside_logs().world().picture();
    let area = opened(contents.clone(), 0..4).content_map().data_area(DriveId(0)).unwrap();
    let mut left = 0;
    // The array is copied within 25 ms.
    for delay_us in (10_000..25_000).step_by(50) {
        let mut array = opened(contents.clone(), 0..4);
        array.set_background(FAST);
        // The parity of this row is on the first member.
        let (row, kind) = (92, MisbehaviourKind::WriteFails(Fault::Io));
        let within = area.start + row * 4096..area.start + (row + 1) * 4096;
        array.world_mut().content_mut(0).arm(Misbehaviour { kind, within, skip: 0 });
        array.run_background(Duration::from_micros(delay_us)).unwrap();
        let span = array.request_span(0, 4096);
        array.submit(Request { id: RequestId::client(0), command: Command::Write { offset: row * 8192, span } });
        let (mut answers, mut said) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            array.poll(1, Some(Duration::from_micros(50)), &mut answers).unwrap();
            let content = array.world_mut().content_mut(3);
            said.push(read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap());
        }
        let is_marked = |own: &Superblock| own.features.any_of(Features::REPLACEMENT);
        let stands_in = |own: &Superblock| own.member_use(0) == MemberUse::Faulty && is_marked(own);
        left += said.iter().filter(|own| stands_in(own)).count();
        finish(&mut array);
        array.rest().unwrap();
        assert_copies_agree(&mut array);
    }
    assert!(left > 0, "no original failed while its log was needed");
}
