//! The simulated world: time, content, faults, and arrays that run on it.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use shoal_drive::{Finished, Io, IoKind, Memory};
use shoal_sim::{Bus, BusKind, Content, Fault, HostModel, Misbehaviour, MisbehaviourKind, Topology};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, BufferPlan, Contents, DriveId, Health, OpenOptions, SimulatedWorld, SimulatedWorldError, World,
};

use crate::support::{create_options, usb_stick};

const DRIVE_BYTES: u64 = 8 << 20;

fn topology(drives: usize) -> Topology {
    Topology {
        buses: vec![Bus { kind: BusKind::Usb2, upstream: None }],
        drives: vec![(usb_stick(DRIVE_BYTES), 0); drives],
    }
}

fn plan(drives: usize) -> BufferPlan {
    BufferPlan::for_drives(drives, 8, 64 << 10)
}

fn world(drives: usize, contents: Contents) -> SimulatedWorld {
    SimulatedWorld::new(&topology(drives), &HostModel::default(), contents, plan(drives), 7).unwrap()
}

fn create(world: SimulatedWorld, level: &str) -> ArrayVolume<SimulatedWorld> {
    let drives = world.drives();
    let create = create_options(level, None, 16 << 10);
    ArrayVolume::create(world, plan(drives.len()), &drives, &create, &OpenOptions::writable()).unwrap()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn content(array: &mut ArrayVolume<SimulatedWorld>, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    read_to(array, 0, length as u64, &mut bytes).unwrap();
    bytes
}

fn wait_for(world: &mut SimulatedWorld, at_least: usize, timeout: Option<Duration>) -> Vec<Finished> {
    let mut finished = Vec::new();
    world.wait(at_least, timeout, &mut finished).unwrap();
    finished
}

const MEMORY: Memory = Memory { offset: 0, length: 4096 };

fn io(token: u64, drive: DriveId, kind: IoKind) -> Io {
    Io { token, drive, kind, offset: 4096 }
}

#[test]
fn time_passes_only_while_somebody_waits() {
    let mut world = world(1, Contents::Kept);
    let drive = world.drives()[0];
    world.submit(io(1, drive, IoKind::Read(MEMORY)));
    assert!(wait_for(&mut world, 0, Some(Duration::from_secs(1))).is_empty());
    assert_eq!((world.now().ns, world.pending()), (0, 1));
    assert!(wait_for(&mut world, 1, Some(Duration::from_micros(100))).is_empty());
    assert_eq!(world.now().ns, 100_000);
    assert_eq!(wait_for(&mut world, 5, None).len(), 1); // no more than there are
    // Command, finding the place, a page from the medium, eight packets.
    assert_eq!(world.now().ns, 375_000 + 200_000 + 136_533 + 76_923);
    let now_ns = world.now().ns;
    assert!(wait_for(&mut world, 1, Some(Duration::from_secs(1))).is_empty());
    assert_eq!(world.now().ns, now_ns + 1_000_000_000);
    let unix_time_s = world.unix_time_s();
    world.sleep(Duration::from_secs(60));
    assert_eq!((world.now().ns, world.unix_time_s()), (now_ns + 61_000_000_000, unix_time_s + 60));
}

#[test]
fn what_is_written_is_read_and_faults_are_the_systems_errors() {
    let mut world = world(2, Contents::Kept);
    let drives = world.drives();
    world.arena().write(MEMORY, &pattern(4096));
    world.submit(io(1, drives[0], IoKind::Write(MEMORY)));
    assert!(wait_for(&mut world, 1, None)[0].result.is_ok());
    let elsewhere = Memory { offset: 8192, length: 4096 };
    world.submit(io(2, drives[0], IoKind::Read(elsewhere)));
    assert!(wait_for(&mut world, 1, None)[0].result.is_ok());
    let mut bytes = vec![0; 4096];
    world.arena().read(elsewhere, &mut bytes);
    assert_eq!(bytes, pattern(4096));

    for (offset, kind) in [
        (DRIVE_BYTES - 512, IoKind::Read(elsewhere)),
        (u64::MAX - 511, IoKind::Write(elsewhere)),
        (512, IoKind::Discard(DRIVE_BYTES)),
    ] {
        world.submit(Io { token: 3, drive: drives[0], kind, offset });
        let result = wait_for(&mut world, 1, None).pop().unwrap().result;
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    }
    for (fault, errno) in [(Fault::Io, 5), (Fault::TimedOut, 110), (Fault::NoSpace, 28)] {
        let kind = MisbehaviourKind::ReadFails(fault);
        world.content_mut(0).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
        world.submit(io(3, drives[0], IoKind::Read(elsewhere)));
        let result = wait_for(&mut world, 1, None).pop().unwrap().result;
        assert_eq!(result.unwrap_err().raw_os_error(), Some(errno));
    }
}

#[test]
fn a_pulled_drive_fails_what_it_was_at_and_comes_back_under_another_name() {
    let mut world = world(2, Contents::Kept);
    let drives = world.drives();
    let name = world.facts(drives[1]).name;
    world.arena().write(MEMORY, &pattern(4096));
    for (token, &drive) in (0..).zip(&drives) {
        world.submit(io(token, drive, IoKind::Write(MEMORY)));
    }
    assert!(wait_for(&mut world, 2, Some(Duration::from_micros(500))).is_empty());
    world.unplug(drives[1]);
    let finished = wait_for(&mut world, 1, None);
    assert_eq!((finished.len(), finished[0].token), (1, 1));
    assert_eq!(finished[0].result.as_ref().unwrap_err().raw_os_error(), Some(19));
    assert_eq!(wait_for(&mut world, 1, None)[0].token, 0);
    assert_eq!(world.drives(), [drives[0]]);

    let now_ns = world.now().ns;
    world.submit(io(2, drives[1], IoKind::Flush));
    assert_eq!(world.pending(), 1);
    assert!(wait_for(&mut world, 1, None)[0].result.is_err());
    assert_eq!(world.now().ns, now_ns);

    let again = world.replug(drives[1]);
    assert_eq!(world.drives(), [drives[0], again]);
    assert_ne!(world.facts(again).name, name);
    world.submit(io(3, again, IoKind::Write(MEMORY)));
    world.submit(io(4, drives[1], IoKind::Write(MEMORY)));
    let mut finished = wait_for(&mut world, 2, None);
    finished.sort_by_key(|finished| finished.token);
    assert!(finished[0].result.is_ok() && finished[1].result.is_err());
}

#[test]
fn an_array_survives_a_pulled_drive_and_takes_it_back() {
    let mut array = create(world(4, Contents::Kept), "5");
    let bytes = pattern(1 << 20);
    write_from(&mut array, 0, &mut &bytes[..500_000]).unwrap();
    let drive = array.world().drives()[2];
    array.world_mut().unplug(drive);
    write_from(&mut array, 500_000, &mut &bytes[500_000..]).unwrap();
    assert_eq!(array.status().health, Health::Degraded);
    assert!(content(&mut array, 1 << 20) == bytes);
    let again = array.world_mut().replug(drive);
    array.add_drive(again).unwrap();
    while array.run_background(Duration::from_secs(60)).unwrap() {}
    assert_eq!(array.status().health, Health::Optimal);

    // What the drives hold is an array, without any one of them.
    let contents = array.close().unwrap().contents();
    for missing in 0..4 {
        let world = world(4, Contents::Given(contents.clone()));
        let members: Vec<_> = world.drives().into_iter().filter(|drive| drive.0 != missing).collect();
        let mut array = ArrayVolume::open(world, plan(4), &members, &OpenOptions::read_only()).unwrap();
        assert!(content(&mut array, 1 << 20) == bytes, "without drive {missing}");
    }
}

#[test]
fn a_world_is_a_function_of_its_inputs_and_its_seed() {
    let run = |seed: u64| {
        let host = HostModel::default();
        let world = SimulatedWorld::new(&topology(3), &host, Contents::Kept, plan(3), seed).unwrap();
        let mut array = create(world, "5");
        write_from(&mut array, 0, &mut &pattern(300_000)[..]).unwrap();
        let uuid = array.status().uuid;
        let world = array.close().unwrap();
        (world.simulation().trace_hash(), world.now().ns, uuid)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).2, run(2).2);
    assert_eq!(run(1).0, run(2).0); // time does not depend on names
}

#[test]
fn discarded_contents_take_the_same_time() {
    let run = |contents: Contents| {
        let mut world = world(2, contents);
        for drive in world.drives() {
            world.submit(io(1, drive, IoKind::Write(MEMORY)));
            world.submit(io(2, drive, IoKind::Flush));
            world.submit(io(3, drive, IoKind::Read(MEMORY)));
            world.submit(io(4, drive, IoKind::Discard(4096)));
        }
        assert!(wait_for(&mut world, 8, None).iter().all(|finished| finished.result.is_ok()));
        world.simulation().trace_hash()
    };
    assert_eq!(run(Contents::Kept), run(Contents::Discarded));
}

#[test]
fn contents_have_to_fit() {
    let given = |contents| {
        let host = HostModel::default();
        SimulatedWorld::new(&topology(2), &host, Contents::Given(contents), plan(2), 1).unwrap_err()
    };
    assert!(matches!(
        given(vec![Content::new(DRIVE_BYTES)]),
        SimulatedWorldError::ContentCount { contents: 1, drives: 2 }
    ));
    let sizes = [DRIVE_BYTES, 4096].map(Content::new).into();
    assert!(matches!(given(sizes), SimulatedWorldError::ContentSize { drive: 1, content_bytes: 4096, .. }));
}

#[test]
fn a_paced_world_takes_as_long_as_its_drives_would() {
    let mut world = world(1, Contents::Kept).paced();
    let (drive, began) = (world.drives()[0], std::time::Instant::now());
    for token in 0..20 {
        world.submit(io(token, drive, IoKind::Write(MEMORY)));
        assert_eq!(wait_for(&mut world, 1, None).len(), 1);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(25), "{took:?}"); // 20 times 1.4 ms
    // Time passes outside, too, and drives go on meanwhile.
    let began = std::time::Instant::now();
    world.submit(io(20, drive, IoKind::Write(MEMORY)));
    let early = wait_for(&mut world, 0, None).len();
    assert!(early == 0 || began.elapsed() >= Duration::from_millis(1), "it took no time");
    std::thread::sleep(Duration::from_millis(10));
    assert!(world.now().ns >= 35_000_000);
    assert_eq!(early + wait_for(&mut world, 0, None).len(), 1);
    // Who watches a file is woken by it.
    let (reader, mut writer) = std::io::pipe().unwrap();
    world.watch(Arc::new(reader.into())).unwrap();
    writer.write_all(b"!").unwrap();
    let before = std::time::Instant::now();
    world.sleep_or_wake(Duration::from_secs(600));
    assert!(before.elapsed() < Duration::from_secs(300));
}
