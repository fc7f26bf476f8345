//! A write that is held until the superblocks or the bitmap say that it comes is overtaken by no
//! read of what it writes: the window reads what is around small writes, and writes it anew.

use shoal_array::{Command, Request, RequestId};
use shoal_sim::{Bus, BusKind, Content, HostModel, Topology};
use shoal_volume::{
    ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, OpenOptions, SimulatedWorld, Stretches,
    Volume, World,
};

use crate::support::{create_options, pattern, usb_stick};

const DRIVE_BYTES: u64 = 8 << 20;
const CHUNK_BYTES: u32 = 4096;
const BITMAP: ConsistencyPolicy = ConsistencyPolicy::Bitmap { chunk_bytes: Some(1 << 20) };

/// An array whose small writes all go as stretches.
fn array(level: &str, members: usize, consistency: ConsistencyPolicy) -> ArrayVolume<SimulatedWorld> {
    let buses = vec![Bus { kind: BusKind::Direct, upstream: None }];
    let topology = Topology { buses, drives: vec![(usb_stick(DRIVE_BYTES), 0); members] };
    let plan = BufferPlan::for_drives(members, 4, 64 << 10).with_write_back(1 << 20);
    let plan = plan.with_stretches(Stretches::Always);
    let contents = Contents::Given((0..members).map(|_| Content::new(DRIVE_BYTES)).collect());
    let world = SimulatedWorld::new(&topology, &HostModel::default(), contents, plan, 1).unwrap();
    let ids = world.drives();
    let create = CreateOptions { consistency, ..create_options(level, None, CHUNK_BYTES) };
    ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap()
}

fn submit(array: &mut ArrayVolume<SimulatedWorld>, id: u64, command: Command) {
    array.submit(Request { id: RequestId::client(id), command });
}

fn wait_for(array: &mut ArrayVolume<SimulatedWorld>, count: usize) {
    let mut completions = Vec::new();
    while completions.len() < count {
        array.poll(1, None, &mut completions).unwrap();
    }
    assert!(completions.iter().all(|completion| completion.result == Ok(())), "{completions:?}");
}

/// A row, and a small write beside it that is flushed, while the row is held.
fn row_beside_a_small_write(array: &mut ArrayVolume<SimulatedWorld>, row_bytes: u32, first_byte: u64) {
    let row = pattern(row_bytes as usize, first_byte + 1);
    let span = array.request_span(0, row_bytes);
    array.arena().write(array.request_memory(0), &row);
    submit(array, 0, Command::Write { offset: first_byte, span });
    let small = array.request_span(1, 512);
    submit(array, 1, Command::Write { offset: first_byte + u64::from(row_bytes), span: small });
    submit(array, 2, Command::Flush);
    wait_for(array, 3);
    let span = array.request_span(3, row_bytes);
    submit(array, 3, Command::Read { offset: first_byte, span });
    wait_for(array, 1);
    let mut read = vec![0; row.len()];
    array.arena().read(array.request_memory(3), &mut read);
    assert!(read == row, "the row is there that was written and answered");
}

#[test]
fn a_held_write_is_overtaken_by_no_read_of_it() {
    for consistency in [ConsistencyPolicy::Resync, BITMAP] {
        for (level, members, data) in [("5", 3, 2), ("6", 4, 2), ("6", 6, 4)] {
            let mut array = array(level, members, consistency);
            // The array is active from the first one on; the second one waits for its bit only.
            row_beside_a_small_write(&mut array, data * CHUNK_BYTES, 0);
            row_beside_a_small_write(&mut array, data * CHUNK_BYTES, 4 << 20);
        }
    }
}
