//! The same inputs give the same run, on every machine.

use shoal_sim::{BusKind, Operation};

use crate::drives::{dealt, stick, user, with_stalls};
use crate::workloads::{KIB, MIB, raid0};

/// A run with everything in it: reads, writes, stalls, two buses.
fn run() -> (u64, u64, u64, Vec<u64>) {
    let model = with_stalls(stick(30_000_000, 9_000_000), &[(7, 20_000_000, 3)]);
    let mut user = user(&dealt(&vec![model; 5], BusKind::Usb2, 2));
    user.write_back(raid0(5, 64 * KIB), 8 * MIB);
    user.read_windows(raid0(5, 16 * KIB), 8 * MIB, 256 * KIB, 1000);
    user.one_at_a_time(Operation::Write, 5, 100, |number| number * 12_345 / 4096 * 4096);
    let simulation = &user.simulation;
    let moved = (0..5).map(|drive| simulation.drive_statistics(drive)).map(|it| it.read_bytes + it.written_bytes);
    (simulation.trace_hash(), simulation.now_ns(), simulation.events(), moved.collect())
}

#[test]
fn equal_inputs_give_equal_runs_on_every_machine_and_no_byte_is_lost() {
    let (hash, now_ns, events, moved) = run();
    assert_eq!((hash, now_ns, events, moved.clone()), run());
    assert_eq!(moved.iter().sum::<u64>(), 16 * MIB + 5 * 100 * 4096);
    // Written down: a change here is a change of the model, and has to be meant.
    assert_eq!((hash, now_ns, events), (5_464_268_254_530_708_238, 752_279_233, 10_224));
}
