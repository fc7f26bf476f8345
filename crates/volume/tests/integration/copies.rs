//! Mirrors on simulated sticks: what their copies read together.

use shoal_array::{Command, Request, RequestId};
use shoal_sim::{Bus, BusKind, HostModel, Topology};
use shoal_volume::{ArrayVolume, BufferPlan, Contents, OpenOptions, SimulatedWorld, Volume, World};

use crate::support::{create_options, usb_stick};

const MIB: u32 = 1 << 20;

/// Reads a sequence of so many sticks, each on a bus of its own, for two virtual seconds. Returns
/// kB/s.
fn sequence(drives: usize, level: &str, layout: Option<&str>, depth: u32) -> u64 {
    let bus = Bus { kind: BusKind::Usb2, upstream: None };
    let sticks = (0..drives).map(|drive| (usb_stick(1 << 30), drive)).collect();
    let topology = Topology { buses: vec![bus; drives], drives: sticks };
    let plan = BufferPlan::for_drives(drives, depth, MIB);
    let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Discarded, plan, 1).unwrap();
    let ids = world.drives();
    let create = create_options(level, layout, 64 << 10);
    let mut array = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap();
    let (mut next, mut read_bytes, mut completions) = (0_u64, 0, Vec::new());
    let mut free: Vec<u32> = (0..depth).collect();
    let start = array.now();
    while array.now().since_ns(start) < 2_000_000_000 {
        while let Some(buffer) = free.pop() {
            let span = array.request_span(buffer, MIB);
            let command = Command::Read { offset: next * u64::from(MIB), span };
            array.submit(Request { id: RequestId::client(u64::from(buffer)), command });
            next += 1;
        }
        array.poll(1, None, &mut completions).unwrap();
        for completion in completions.drain(..) {
            assert_eq!(completion.result, Ok(()));
            free.push(completion.id.number as u32);
            read_bytes += u64::from(MIB);
        }
    }
    read_bytes * 1_000_000 / array.now().since_ns(start)
}

#[test]
fn a_sequence_is_read_from_all_copies() {
    let (stripe_of_2, stripe_of_4) = (sequence(2, "0", None, 4), sequence(4, "0", None, 4));
    for depth in [1, 4, 16] {
        let mirror = sequence(2, "1", None, depth);
        assert!(mirror * 100 >= stripe_of_2 * 90, "RAID1, {depth} in flight: {mirror} of {stripe_of_2} kB/s");
        for (layout, percent) in [("near=2", 85), ("far=2", 90), ("offset=2", 75)] {
            let mirrors = sequence(4, "10", Some(layout), depth);
            let least = if depth == 1 && layout == "offset=2" { 50 } else { percent };
            assert!(
                mirrors * 100 >= stripe_of_4 * least,
                "{layout}, {depth} in flight: {mirrors} of {stripe_of_4} kB/s"
            );
        }
    }
}
