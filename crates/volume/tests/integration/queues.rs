//! Sticks behind a queue that keeps no order, as Linux has them on virtio and nbd: what the
//! elevator is for.

use shoal_array::{Command, Request, RequestId};
use shoal_sim::{Bus, BusKind, HostModel, Scheduler, Topology};
use shoal_volume::{ArrayVolume, BufferPlan, Contents, MemberTraffic, OpenOptions, SimulatedWorld, Volume, World};

use crate::support::create_options;

const MIB: u64 = 1 << 20;
const WINDOW_BYTES: u32 = 32 << 20;

/// What a sequence of writes was to the members, and what they copied inside for it.
#[derive(Debug)]
struct Written {
    traffic: MemberTraffic,
    kb_per_s: u64,
}

/// An array of six sticks of the catalogue, written in sequence behind a queue of this kind.
fn sequence(scheduler: Scheduler, (level, window_bytes): (&str, u32), block_bytes: u32, depth: u32) -> Written {
    let model = shoal_sim::find("stick-64g").unwrap().model.clone();
    let topology = Topology {
        buses: vec![Bus { kind: BusKind::Direct, upstream: None }; 6],
        drives: (0..6).map(|bus| (model.clone(), bus)).collect(),
    };
    let host = HostModel { scheduler, ..HostModel::default() };
    let plan = BufferPlan::for_drives(6, depth, block_bytes).with_write_back(window_bytes);
    let world = SimulatedWorld::new(&topology, &host, Contents::Discarded, plan, 1).unwrap();
    let ids = world.drives();
    let create = create_options(level, None, 64 << 10);
    let mut array = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap();
    let (before, start) = (array.member_traffic().unwrap(), array.now());
    let total = 128 * MIB / u64::from(block_bytes);
    let (mut next, mut completions) = (0_u64, Vec::new());
    let mut free: Vec<u32> = (0..depth).collect();
    while next < total || free.len() < depth as usize {
        while next < total
            && let Some(buffer) = free.pop()
        {
            let span = array.request_span(buffer, block_bytes);
            let command = Command::Write { offset: next * u64::from(block_bytes), span };
            array.submit(Request { id: RequestId::client(u64::from(buffer)), command });
            next += 1;
        }
        array.poll(1, None, &mut completions).unwrap();
        free.extend(completions.drain(..).map(|completion| {
            assert_eq!(completion.result, Ok(()));
            completion.id.number as u32
        }));
    }
    array.submit(Request { id: RequestId::client(0), command: Command::Flush });
    array.poll(1, None, &mut completions).unwrap();
    let kb_per_s = 128 * MIB * 1_000_000 / array.now().since_ns(start);
    Written { traffic: array.member_traffic().unwrap().since(before), kb_per_s }
}

#[test]
fn a_queue_that_keeps_no_order_makes_no_member_step_back() {
    for (level, depth, block_bytes) in [("5", 1, 64 << 10), ("5", 4, 1 << 20), ("6", 1, 64 << 10), ("0", 8, 256 << 10)]
    {
        let sorted = sequence(Scheduler::Deadline, (level, WINDOW_BYTES), block_bytes, depth);
        let unsorted = sequence(Scheduler::LastFirst, (level, WINDOW_BYTES), block_bytes, depth);
        println!("RAID{level} {block_bytes} depth {depth}: sorted {sorted:?}; unsorted {unsorted:?}");
        let steps = unsorted.traffic.out_of_sequence;
        assert!(steps <= 6 * 2, "RAID{level}, {depth} in flight: {steps} steps back");
        assert!(unsorted.traffic.writes <= sorted.traffic.writes, "neighbours are put together: {unsorted:?}");
        assert!(unsorted.kb_per_s * 10 >= sorted.kb_per_s * 9, "{} of {} kB/s", unsorted.kb_per_s, sorted.kb_per_s);
    }
}
