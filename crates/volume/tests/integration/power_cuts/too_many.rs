//! More members vanish than the level survives, as on a hub that is unplugged, and come back.

use shoal_drive::DriveId;
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{ArrayVolume, BufferPlan, Health, OpenOptions};

use crate::support::create_options;

use crate::power_cuts::media::Media;
use crate::power_cuts::trace::Trace;
use crate::power_cuts::world::TracedWorld;

const DRIVE_BYTES: u64 = 2 << 20;
const BYTES: usize = 200_000;
/// Behind the rows of these.
const FAR: u64 = 512 << 10;
const CHUNK_BYTES: u32 = 16 << 10;

fn world(media: Vec<Media>) -> (TracedWorld, BufferPlan) {
    let plan = BufferPlan::for_drives(media.len(), 8, 32 << 10);
    let arena = plan.arena().unwrap();
    (TracedWorld::new(media, DRIVE_BYTES, arena, 5, Trace::default()), plan)
}

fn all(members: usize) -> Vec<DriveId> {
    (0..).map(DriveId).take(members).collect()
}

/// Members vanish one after the other while the array is written to, `redundancy` of them and one
/// more. What was flushed is there once all are back: the last ones that were in sync are still
/// members. Rows that were being written at the end are another matter.
fn vanish_and_return(level: &str, members: usize, redundancy: usize, order: &[usize]) {
    let (world, plan) = world(vec![Media::default(); members]);
    let create = create_options(level, None, CHUNK_BYTES);
    let mut array = ArrayVolume::create(world, plan, &all(members), &create, &OpenOptions::writable()).unwrap();
    let dead = array.world_mut().dead();
    let mut version = 1;
    write_from(&mut array, 0, &mut &vec![version; BYTES][..]).unwrap();
    for &drive in &order[..redundancy] {
        dead.borrow_mut().insert(drive);
        version += 1;
        write_from(&mut array, 0, &mut &vec![version; BYTES][..]).unwrap();
    }
    dead.borrow_mut().insert(order[redundancy]);
    write_from(&mut array, FAR, &mut &vec![99; 4 * CHUNK_BYTES as usize][..]).unwrap_err();
    let media = array.world_mut().media().to_vec();
    drop(array);
    let (world, plan) = self::world(media);
    let forced = OpenOptions { force: true, ..OpenOptions::writable() };
    let mut array = ArrayVolume::open(world, plan, &all(members), &forced).unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(array.status().health, Health::Failed, "RAID{level}, {order:?}");
    let mut found = Vec::new();
    read_to(&mut array, 0, BYTES as u64, &mut found).unwrap();
    assert!(found.iter().all(|byte| *byte == version), "RAID{level}, {order:?}");
}

#[test]
fn members_of_an_array_that_has_lost_too_many_are_still_members_when_they_return() {
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        vanish_and_return("5", 3, 1, &order);
        vanish_and_return("1", 3, 2, &order);
        vanish_and_return("6", 4, 2, &order);
    }
    vanish_and_return("10", 4, 1, &[0, 1]);
    vanish_and_return("10", 4, 1, &[3, 2]);
}
