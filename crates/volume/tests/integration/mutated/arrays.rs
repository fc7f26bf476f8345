//! Arrays of all kinds on simulated drives, left in the middle of something.

use std::time::Duration;

use shoal_sim::Content;
use shoal_volume::{
    ArrayVolume, Background, BufferPlan, Command, ConsistencyPolicy, CreateOptions, DriveId, MinorVersion, OpenOptions,
    Request, RequestId, SimulatedWorld, Volume,
};

use crate::support::{create_options, world_of_sticks};

pub(crate) const DRIVE_BYTES: u64 = 4 << 20;

/// Drives that make an array, and one more.
#[derive(Clone)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) contents: Vec<Content>,
    /// The first ones are members.
    pub(crate) members: u32,
}

/// How an array was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Clean,
    Active,
    /// A member failed.
    Degraded,
    /// The last drive is being filled in the place of one that failed.
    Rebuilt,
    /// The last drive is to replace a member.
    Replaced,
}

impl Set {
    pub(crate) fn world(&self) -> (SimulatedWorld, BufferPlan) {
        world_of_sticks(DRIVE_BYTES, self.contents.clone())
    }

    /// Arrays to begin with.
    pub(crate) fn bases() -> Vec<Self> {
        let bitmap = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16 << 10) };
        let (resync, ppl) = (ConsistencyPolicy::Resync, ConsistencyPolicy::Ppl);
        let start = MinorVersion::Start4K;
        vec![
            make("RAID5", "5", 3, 1, (resync, start), Left::Clean),
            make("RAID5 with PPL, active", "5", 3, 0, (ppl, start), Left::Active),
            make("RAID5 with PPL, degraded", "5", 3, 0, (ppl, start), Left::Degraded),
            make("RAID5 with a bitmap, active", "5", 3, 0, (bitmap, start), Left::Active),
            make("RAID1 with a bitmap", "1", 2, 1, (bitmap, start), Left::Active),
            make("RAID1, version 1.0, degraded", "1", 3, 0, (resync, MinorVersion::End), Left::Degraded),
            make("RAID1, replaced", "1", 2, 0, (resync, start), Left::Replaced),
            make("RAID6, rebuilt", "6", 4, 0, (resync, start), Left::Rebuilt),
            make("RAID10 with a bitmap", "10", 4, 1, (bitmap, start), Left::Active),
            make("RAID10, version 1.1", "10", 3, 0, (resync, MinorVersion::Start), Left::Clean),
            make("RAID0", "0", 3, 0, (resync, start), Left::Clean),
            make("mirror over RAID5", "51", 6, 0, (resync, start), Left::Active),
        ]
    }
}

fn make(
    name: &'static str,
    level: &str,
    members: u32,
    spares: u32,
    (consistency, metadata): (ConsistencyPolicy, MinorVersion),
    left: Left,
) -> Set {
    let drives = members + spares;
    let contents = (0..=drives).map(|_| Content::new(DRIVE_BYTES)).collect();
    let set = Set { name, contents, members: drives };
    let options =
        CreateOptions { spare_count: spares as usize, metadata, consistency, ..create_options(level, None, 4096) };
    let array = written(&set, &options);
    leave(set, array, left)
}

/// An array of the members, with writes at two places.
fn written(set: &Set, options: &CreateOptions) -> ArrayVolume<SimulatedWorld> {
    let (world, plan) = set.world();
    let ids: Vec<_> = (0..set.members).map(DriveId).collect();
    let slow = Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 };
    let open = OpenOptions { background: slow, ..OpenOptions::writable() };
    let mut array = ArrayVolume::create(world, plan, &ids, options, &open).unwrap();
    let span = array.request_span(0, 64 << 10);
    for offset in [0, 100 << 10] {
        array.submit(Request { id: RequestId::client(1), command: Command::Write { offset, span } });
        array.poll(1, None, &mut Vec::new()).unwrap();
    }
    array
}

/// What the drives hold when the array is left so.
fn leave(mut set: Set, mut array: ArrayVolume<SimulatedWorld>, left: Left) -> Set {
    let last = DriveId(set.members);
    match left {
        Left::Clean => {
            let mut world = array.close().unwrap();
            return keep(set, &mut world);
        }
        Left::Active => {}
        Left::Degraded => array.fail_drive(DriveId(1)).unwrap(),
        Left::Rebuilt => {
            array.fail_drive(DriveId(1)).unwrap();
            array.add_drive(last).unwrap();
            array.run_background(Duration::from_millis(800)).unwrap();
        }
        Left::Replaced => {
            array.replace_drive(DriveId(1), last).unwrap();
            array.run_background(Duration::from_millis(800)).unwrap();
        }
    }
    set.members += u32::from(matches!(left, Left::Rebuilt | Left::Replaced));
    keep(set, array.world_mut())
}

/// What the drives hold, all of it durable.
fn keep(set: Set, world: &mut SimulatedWorld) -> Set {
    let drives = set.contents.len();
    let contents = (0..drives).map(|drive| world.content_mut(drive).clone()).collect::<Vec<_>>();
    let mut set = Set { contents, ..set };
    set.contents.iter_mut().for_each(|content| content.flush().unwrap());
    set
}
