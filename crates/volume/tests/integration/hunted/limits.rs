//! What cannot be done is refused, and leaves nothing behind.

use super::*;

/// A drive that does not take its log is no spare, and leaves nothing behind in the superblocks of
/// the others.
#[test]
fn a_drive_whose_log_cannot_be_made_empty_is_not_in_the_array() {
    let options = CreateOptions { consistency: ConsistencyPolicy::Ppl, ..create_options("5", None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(4));
    let mut array = ArrayVolume::create(world, plan, &ids(0..3), &options, &OpenOptions::writable()).unwrap();
    let kind = MisbehaviourKind::WriteFails(Fault::Io);
    array.world_mut().content_mut(3).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    array.add_drive(DriveId(3)).unwrap_err();
    array.add_drive(DriveId(3)).unwrap();
    let content = array.world_mut().content_mut(3);
    let own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
    assert_eq!(own.dev_number, 3, "the first try has taken a number");
}

/// What is in the way of a drive that is to come is found out by an array that is only read, too;
/// it changes nothing.
#[test]
fn an_array_that_is_only_read_takes_no_drive() {
    let contents = create("5", 3, blank(4)).close().unwrap().contents();
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents.clone());
    let mut array = ArrayVolume::open(world, plan, &ids(0..3), &OpenOptions::read_only()).unwrap();
    let is_last = |refused: ManageError| matches!(refused, ManageError::Refused { why: CommandError::ReadOnly, .. });
    assert!(is_last(array.add_drive(DriveId(3)).unwrap_err()));
    assert!(is_last(array.replace_drive(DriveId(0), DriveId(3)).unwrap_err()));
    assert!(matches!(array.add_drive(DriveId(1)), Err(ManageError::InUse { .. })));
    assert!(matches!(array.replace_drive(DriveId(0), DriveId(1)), Err(ManageError::InUse { .. })));
    let mut drive = vec![0; 65_536];
    array.world_mut().content_mut(3).look(0, &mut drive).unwrap();
    assert!(drive.iter().all(|byte| *byte == 0), "nothing was written to it");
}

/// Nobody can count beyond the largest number: what is written then could not be told from what was
/// there.
#[test]
fn an_array_whose_updates_cannot_be_counted_any_more_is_only_read() {
    for events in [u64::MAX, u64::MAX - 1, u64::MAX - 2] {
        let mut array = create("1", 2, blank(2));
        write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
        let mut contents = array.close().unwrap().contents();
        for content in &mut contents {
            let mut own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
            own.events = events;
            content.write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
            content.flush().unwrap();
        }
        let open = |options: &OpenOptions| {
            let (world, plan) = world_of_sticks(DRIVE_BYTES, contents.clone());
            ArrayVolume::open(world, plan, &ids(0..2), options)
        };
        assert!(matches!(open(&OpenOptions::writable()).err(), Some(OpenError::ReadOnly { .. })), "update {events}");
        let mut content = Vec::new();
        read_to(&mut open(&OpenOptions::read_only()).unwrap(), 0, 4096, &mut content).unwrap();
        assert!(content.iter().all(|byte| *byte == 7), "update {events}");
    }
}
