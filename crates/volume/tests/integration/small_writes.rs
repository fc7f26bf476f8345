//! Small writes at random on arrays of sticks with parity: what the window's stretches are for.

use shoal_array::{Command, Request, RequestId};
use shoal_sim::{Bus, BusKind, HostModel, Topology};
use shoal_volume::{ArrayVolume, BufferPlan, Contents, MemberTraffic, OpenOptions, SimulatedWorld, Volume, World};

use crate::support::create_options;

const MIB: u64 = 1 << 20;
const BLOCK_BYTES: u32 = 4096;
const DEPTH: u32 = 32;

/// What so many random writes within a range were to the members, the flush at their end included.
#[derive(Debug)]
struct Written {
    traffic: MemberTraffic,
    per_1000_s: u64,
}

fn at_random(level: &str, window_bytes: u32, (range_bytes, count): (u64, u64)) -> Written {
    let model = shoal_sim::find("stick-64g").unwrap().model.clone();
    let topology = Topology {
        buses: vec![Bus { kind: BusKind::Direct, upstream: None }; 6],
        drives: (0..6).map(|bus| (model.clone(), bus)).collect(),
    };
    let plan = BufferPlan::for_drives(6, DEPTH, BLOCK_BYTES).with_write_back(window_bytes);
    let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Discarded, plan, 1).unwrap();
    let ids = world.drives();
    let create = create_options(level, None, 64 << 10);
    let mut array = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap();
    let (before, start) = (array.member_traffic().unwrap(), array.now());
    let (mut next, mut completions, mut random) = (0_u64, Vec::new(), 1_u64);
    let mut free: Vec<u32> = (0..DEPTH).collect();
    while next < count || free.len() < DEPTH as usize {
        while next < count
            && let Some(buffer) = free.pop()
        {
            // A generator of Lehmer's kind: the same blocks on every machine.
            random = random * 48_271 % 0x7fff_ffff;
            let offset = random * u64::from(BLOCK_BYTES) % range_bytes;
            let span = array.request_span(buffer, BLOCK_BYTES);
            array
                .submit(Request { id: RequestId::client(u64::from(buffer)), command: Command::Write { offset, span } });
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
    let per_1000_s = count * 1_000_000_000_000 / array.now().since_ns(start);
    Written { traffic: array.member_traffic().unwrap().since(before), per_1000_s }
}

#[test]
fn small_writes_that_lie_close_are_ten_times_as_fast_through_a_window() {
    for level in ["5", "6"] {
        let without = at_random(level, 0, (512 * MIB, 400));
        let with = at_random(level, 32 << 20, (512 * MIB, 20_000));
        println!("RAID{level}: without a window {without:?}, with one {with:?}");
        assert!(with.per_1000_s > 10 * without.per_1000_s, "RAID{level}");
        let [steps_without, steps_with] =
            [(&without, 400), (&with, 20_000)].map(|(written, count)| written.traffic.out_of_sequence * 1000 / count);
        assert!(steps_with * 10 < steps_without, "of 1000 blocks {steps_with}, {steps_without} without a window");
    }
}

/// Where each block has an erase unit to itself nothing can be saved, and nothing more is written.
#[test]
fn small_writes_that_lie_far_apart_go_alone() {
    let with = at_random("5", 4 << 20, (256 << 30, 1000));
    println!("{with:?}");
    let most = 1000 * u64::from(BLOCK_BYTES) * 2 * 11 / 10 + 6 * MIB;
    assert!(with.traffic.written_bytes < most, "{} bytes are written", with.traffic.written_bytes);
}
