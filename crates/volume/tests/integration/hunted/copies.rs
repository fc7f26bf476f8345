//! What a member's copy gets while it is made.

use shoal_volume::MemberOn;

use super::replacements::{FAST, SLOW, numbered, opened};
use super::*;

/// The new drive is a copy of an ailing member whose superblock cannot be read any more: that one
/// is copied as long as it can be, and is not let fail for the copy's sake.
#[test]
fn a_member_is_replaced_by_a_copy_of_it() {
    let mut array = create("5", 3, blank(4));
    write_from(&mut array, 0, &mut vec![7; 64 << 10].as_slice()).unwrap();
    array.rest().unwrap();
    let copy = array.world_mut().content_mut(1).clone();
    *array.world_mut().content_mut(3) = copy;
    array.world_mut().content_mut(1).spoil(4096, 4096);
    array.replace_drive(DriveId(1), DriveId(3)).unwrap();
    assert_eq!(array.status().health, Health::Optimal, "redundancy is never given up");
    finish(&mut array);
    assert!(matches!(&array.status().members[1].on, Some(MemberOn::Drive(drive)) if drive.contains("#3")));
    let mut content = Vec::new();
    read_to(&mut array, 0, 64 << 10, &mut content).unwrap();
    assert!(content.iter().all(|byte| *byte == 7));
}

/// While superblocks are being written a flush finds that the replacement does not take it. That
/// one fails, and nobody else: the original has everything, and what was waiting for the
/// superblocks goes on.
#[test]
fn a_replacement_that_refuses_a_flush_is_no_fault_of_its_original() {
    let mut array = create("5", 3, blank(4));
    write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
    array.set_background(SLOW);
    array.replace_drive(DriveId(1), DriveId(3)).unwrap();
    array.run_background(Duration::from_millis(100)).unwrap();
    array.rest().unwrap();
    let contents = array.world().picture();
    for skip in 0..4 {
        for delay_us in (0..2000).step_by(50) {
            let told = format!("flush {skip}, after {delay_us} us");
            let mut array = opened(contents.clone(), 0..4);
            let kind = MisbehaviourKind::FlushFails(Fault::Io);
            array.world_mut().content_mut(3).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip });
            let span = array.request_span(0, 4096);
            // The superblocks have to say active first.
            array.submit(Request { id: RequestId::client(0), command: Command::Write { offset: 0, span } });
            let mut answers = Vec::new();
            array.poll(1, Some(Duration::from_micros(delay_us)), &mut answers).unwrap();
            array.submit(Request { id: RequestId::client(1), command: Command::Flush });
            while answers.len() < 2 {
                array.poll(1, None, &mut answers).unwrap();
            }
            assert!(answers.iter().all(|answer| answer.result.is_ok()), "{told}: {answers:?}");
            assert_eq!(array.status().health, Health::Optimal, "{told}");
        }
    }
}

/// The last copy refuses a flush while it is copied, so all that it holds is written to it again.
/// Then the drive that it is copied to fails: what is written from then on is not undone by what
/// was read before.
#[test]
fn a_last_copy_that_is_renewed_takes_writes_in_their_order_when_its_replacement_fails() {
    let mut bytes = numbered(2 << 20);
    let mut array = create("1", 2, blank(3));
    write_from(&mut array, 0, &mut &*bytes).unwrap();
    array.set_background(SLOW);
    array.replace_drive(DriveId(0), DriveId(2)).unwrap();
    array.run_background(Duration::from_millis(50)).unwrap();
    array.fail_drive(DriveId(1)).unwrap();
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 0, span }));
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    array.world_mut().content_mut(0).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    assert!(!ask(&mut array, Command::Flush), "nobody else has what it was to make durable");
    array.fail_drive(DriveId(2)).unwrap();
    array.set_background(FAST);
    for round in 1..=4 {
        for at in (0..bytes.len()).step_by(4096) {
            bytes[at..at + 4096].fill(round);
            array.arena().write(array.request_memory(0), &[round; 4096]);
            assert!(ask(&mut array, Command::Write { offset: at as u64, span }));
        }
    }
    finish(&mut array);
    let mut read = Vec::new();
    read_to(&mut array, 0, bytes.len() as u64, &mut read).unwrap();
    assert!(read == bytes);
}

/// The first columns are made to agree while the member that has their parity is being copied: the
/// copy gets that parity, and not what was there before.
#[test]
fn a_replacement_gets_the_parity_that_is_made_anew_while_it_is_copied() {
    let options = CreateOptions { consistency: ConsistencyPolicy::Ppl, ..create_options("5", None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(4));
    let mut array = ArrayVolume::create(world, plan, &ids(0..3), &options, &OpenOptions::writable()).unwrap();
    write_from(&mut array, 0, &mut &*numbered(1 << 20)).unwrap();
    array.set_background(SLOW);
    array.replace_drive(DriveId(2), DriveId(3)).unwrap();
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 1 << 19, span }), "and the array is marked active");
    let area = array.content_map().data_area(DriveId(2)).unwrap();
    let mut contents = array.world().picture();
    drop(array);
    // A log that is no log, and parity that is none.
    let own = read_superblock(DRIVE_BYTES, |at, bytes| contents[0].look(at, bytes)).unwrap();
    contents[0].spoil(own.ppl_area().unwrap().offset_bytes, 4096);
    contents[2].write(area.start, &[0xff; 4096]).unwrap();
    contents.iter_mut().for_each(|content| content.flush().unwrap());
    let mut array = opened(contents, 0..4);
    array.set_background(FAST);
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    assert_copies_agree(&mut array);
}

/// A replacement may miss a write at any moment, also while superblocks are written that make it
/// the member: it is none then, whatever they say.
#[test]
fn a_replacement_that_misses_a_write_while_it_becomes_the_member_is_not_taken_for_one_in_sync() {
    for skip in (40..90).step_by(2) {
        let mut array = create("5", 3, blank(4));
        array.set_background(FAST);
        let within = array.content_map().data_area(DriveId(1)).unwrap();
        let kind = MisbehaviourKind::WriteFails(Fault::Io);
        array.world_mut().content_mut(3).arm(Misbehaviour { kind, within, skip });
        array.replace_drive(DriveId(1), DriveId(3)).unwrap();
        let span = array.request_span(0, 4096);
        for round in 0..100_u8 {
            array.arena().write(array.request_memory(0), &[round; 4096]);
            // On member 1, as its data or its parity.
            assert!(ask(&mut array, Command::Write { offset: u64::from(round % 16) * 4096, span }), "write {skip}");
        }
        finish(&mut array);
        if array.status().health == Health::Degraded {
            array.add_drive(DriveId(1)).unwrap();
            finish(&mut array);
        }
        assert_copies_agree(&mut array);
    }
}
