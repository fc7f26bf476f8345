//! What the fault hunter found in arrays, each find as the shortest story that shows it.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use shoal_sim::{Bus, BusKind, Content, DriveModel, Fault, Flash, HostModel, Medium, Misbehaviour, MisbehaviourKind};
use shoal_sim::{PerDirection, Topology};
use shoal_volume::transfer::write_from;
use shoal_volume::{
    ArrayLevel, ArrayVolume, Background, BufferPlan, Command, ConsistencyPolicy, Contents, CreateOptions, DriveId,
    Event, Health, MemberState, MinorVersion, OpenOptions, Request, RequestId, ScrubMode, SimulatedWorld, Volume,
};

const DRIVE_BYTES: u64 = 4 << 20;

fn world(contents: Vec<Content>) -> (SimulatedWorld, BufferPlan) {
    let both = |value| PerDirection { read: value, write: value };
    let flash = Flash { bytes_per_s: both(100_000_000), ..Flash::default() };
    let model = DriveModel {
        name: "stick".to_owned(),
        title: "stick".to_owned(),
        size_bytes: DRIVE_BYTES,
        logical_block_bytes: 512,
        bus: BusKind::Direct,
        command_ns: both(100_000),
        page_bytes: 4096,
        page_buffers: 1,
        queued_commands: 1,
        write_through: false,
        medium: Medium::Flash(flash),
    };
    let buses = vec![Bus { kind: BusKind::Direct, upstream: None }];
    let topology = Topology { buses, drives: vec![(model, 0); contents.len()] };
    let plan = BufferPlan::for_drives(contents.len(), 4, 64 << 10).with_room_for(4);
    let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Given(contents), plan, 1).unwrap();
    (world, plan)
}

fn blank(drives: usize) -> Vec<Content> {
    (0..drives).map(|_| Content::new(DRIVE_BYTES)).collect()
}

fn ids(drives: std::ops::Range<u32>) -> Vec<DriveId> {
    drives.map(DriveId).collect()
}

fn create(level: &str, members: u32, contents: Vec<Content>) -> ArrayVolume<SimulatedWorld> {
    let options = CreateOptions {
        level: ArrayLevel::parse(level, None, 2).unwrap(),
        chunk_bytes: 4096,
        spare_count: 0,
        name: "hunted".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let (world, plan) = world(contents);
    ArrayVolume::create(world, plan, &ids(0..members), &options, &OpenOptions::writable()).unwrap()
}

fn finish(array: &mut ArrayVolume<SimulatedWorld>) {
    assert!(!array.run_background(Duration::from_secs(3600)).unwrap(), "it has an hour");
}

#[test]
fn a_drive_with_an_unreadable_sector_where_superblocks_may_be_can_be_added() {
    let mut contents = blank(3);
    contents[2].spoil(4096, 4096);
    let mut array = create("1", 2, contents);
    array.fail_drive(DriveId(0)).unwrap();
    array.add_drive(DriveId(2)).unwrap();
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
}

#[test]
fn a_member_may_fail_while_the_drive_that_is_to_replace_it_is_made_a_spare() {
    let mut array = create("5", 3, blank(4));
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    let flush_fails = Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 };
    array.world_mut().content_mut(1).arm(flush_fails);
    let error = array.replace_drive(DriveId(1), DriveId(3)).unwrap_err();
    assert!(error.to_string().contains("stick#1"), "{error}");
    // The new drive is needed more urgently now.
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
}

/// Below the position of a rebuild all members have their data. If power was cut there, parity may not agree with it, and
/// the rebuild does not come by again.
#[test]
fn a_forced_array_has_no_stripe_out_of_sync_once_it_is_rebuilt() {
    let mut array = create("5", 3, blank(4));
    write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(3)).unwrap();
    array.run_background(Duration::from_millis(800)).unwrap();
    // From now on the superblocks say that writes are under way.
    let span = array.request_span(0, 4096);
    array.submit(Request { id: RequestId(1), command: Command::Write { offset: 0, span } });
    array.poll(1, None, &mut Vec::new()).unwrap();
    let data = array.content_map().places(8 << 10)[0];
    let mut contents: Vec<_> = (0..4).map(|drive| array.world_mut().content_mut(drive).clone()).collect();
    drop(array);
    // A write to the second stripe has got to its data and not to its parity.
    let content = &mut contents[data.0.0 as usize];
    content.write(data.1, &[9; 4096]).unwrap();
    contents.iter_mut().for_each(|content| content.flush().unwrap());

    let (world, plan) = world(contents);
    let forced = OpenOptions { force: true, ..OpenOptions::writable() };
    let mut array = ArrayVolume::open(world, plan, &ids(1..4), &forced).unwrap();
    let state = array.status().members[0].state;
    assert!(matches!(state, MemberState::Rebuilding { position } if position > 4096), "{state:?}");
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    array.scrub(ScrubMode::Check).unwrap();
    finish(&mut array);
    let is_clean = |event: &Event| matches!(event, Event::ScrubFinished { mismatched_bytes: 0, completed: true });
    let news = array.take_news();
    assert!(news.iter().any(|news| is_clean(&news.event)), "{news:?}");
}
