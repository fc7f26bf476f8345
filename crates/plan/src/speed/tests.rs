use super::*;
use crate::arrays::sensible_arrangements;
use crate::purpose::throughput;
use crate::sample::{disk, inventory, six_sticks};
use crate::units::GB;

fn scene(inventory: &Inventory) -> Scene<'_> {
    Scene { inventory, host: HostModel::default(), seed: 1 }
}

fn predicted(inventory: &Inventory, title: &str) -> Prediction {
    let arrays = sensible_arrangements(inventory);
    let array = arrays.iter().find(|array| array.title() == title).unwrap();
    scene(inventory).array(array, &throughput).unwrap()
}

#[test]
fn a_stick_alone_does_what_its_medium_does() {
    let speeds = scene(&six_sticks(1)).drive(0).unwrap();
    let megabytes = |rate: u64| rate as f64 / 1e6;
    assert!((13.0..20.1).contains(&megabytes(speeds.sequential_read_bytes_per_s)), "{speeds:?}");
    assert!((6.5..8.1).contains(&megabytes(speeds.sequential_write_bytes_per_s)), "{speeds:?}");
    assert!(speeds.random_write_iops < speeds.random_read_iops, "{speeds:?}");
}

#[test]
fn stripes_are_faster_on_two_buses_than_on_one() {
    let [one, two] = [1, 2].map(|buses| predicted(&six_sticks(buses), "RAID0 x 6").healthy);
    assert!(two.sequential_read_bytes_per_s > one.sequential_read_bytes_per_s * 3 / 2, "{one:?} {two:?}");
    assert!(one.sequential_read_bytes_per_s < 53_300_000, "no more than a USB 2.0 bus carries: {one:?}");
}

#[test]
fn parity_costs_small_writes_and_outlives_a_drive() {
    let sticks = six_sticks(2);
    let stripes = predicted(&sticks, "RAID0 x 6");
    let parity = predicted(&sticks, "RAID5 x 6");
    assert!(stripes.degraded.is_none() && stripes.rebuild.is_none());
    assert!(parity.healthy.random_write_iops < stripes.healthy.random_write_iops / 2, "{parity:?} {stripes:?}");
    let degraded = parity.degraded.unwrap();
    assert!(degraded.random_read_iops < parity.healthy.random_read_iops, "{parity:?}");
    assert!(degraded.sequential_read_bytes_per_s > 0 && parity.rebuilding.unwrap().random_write_iops > 0);
}

#[test]
fn a_rebuild_takes_at_least_as_long_as_writing_the_drive() {
    let rebuild = predicted(&six_sticks(2), "RAID5 x 6").rebuild.unwrap();
    let least_ns = 64 * GB / 8_000_000 * 1_000_000_000;
    assert!(rebuild.alone_ns as f64 > 0.98 * least_ns as f64, "{rebuild:?}");
    assert!(rebuild.alone_ns < 3 * least_ns, "{rebuild:?}");
    assert!(rebuild.under_load_ns >= rebuild.alone_ns, "{rebuild:?}");
}

#[test]
fn the_rebuild_of_a_disk_slows_down_towards_its_end() {
    let disks = inventory((0..3).map(|_| disk(1_000 * GB)).collect(), 3);
    let rebuild = predicted(&disks, "RAID5 x 3").rebuild.unwrap();
    // Half of it at 100 MB/s, half at 50: 15,000 s.
    let hours = rebuild.alone_ns as f64 / 3.6e12;
    assert!((4.1..6.5).contains(&hours), "{hours} h");
}

#[test]
fn a_prediction_follows_from_its_seed() {
    let sticks = six_sticks(2);
    assert_eq!(predicted(&sticks, "RAID10 x 6"), predicted(&sticks, "RAID10 x 6"));
}

#[test]
fn a_drive_does_what_was_said_of_it() {
    let mut sticks = six_sticks(1);
    let said = shoal_sim::PerDirection { read: Some(20_000_000), write: Some(9_000_000) };
    solve_rates(&mut sticks, said, &HostModel::default(), 1).unwrap();
    let speeds = scene(&sticks).drive(0).unwrap();
    let off = |found: u64, said: u64| (found as f64 / said as f64 - 1.0).abs();
    assert!(off(speeds.sequential_read_bytes_per_s, 20_000_000) < 0.02, "{speeds:?}");
    assert!(off(speeds.sequential_write_bytes_per_s, 9_000_000) < 0.02, "{speeds:?}");
}

#[test]
fn a_drive_that_was_said_to_outrun_its_bus_does_not() {
    let mut sticks = six_sticks(1);
    let said = shoal_sim::PerDirection { read: Some(400_000_000), write: None };
    solve_rates(&mut sticks, said, &HostModel::default(), 1).unwrap();
    assert!(scene(&sticks).drive(0).unwrap().sequential_read_bytes_per_s < 53_300_000);
}
