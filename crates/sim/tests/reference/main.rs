//! The simulation against an independent one: a reference model in floating point, whose results
//! are written down here, and which was held against five published studies. Within 1 %.
//!
//! Figures are bytes a second unless they say otherwise.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

mod behaviour;
mod catalogue;
mod determinism;
mod drives;
mod workloads;

use shoal_sim::{BusKind, DriveModel, Operation, PerDirection};

use drives::{dealt, stick, user, with_flash, with_stalls};
use workloads::{KIB, MIB, raid0, raid5_stripes};

const TOTAL: u64 = 64 * MIB;

#[track_caller]
fn assert_near(value: u64, expected: u64, what: &str) {
    let error = value as f64 / expected as f64 - 1.0;
    assert!(error.abs() < 0.01, "{what}: {value}, not {expected}: {:+.2} %", error * 100.0);
}

/// SanDisk Cruzer Titanium: its media rates, so that one alone reads 19 and writes 8 MB/s.
fn titanium() -> DriveModel {
    stick(33_336_698, 9_414_110)
}

fn read_of(drives: usize, buses: usize, chunk_bytes: u64) -> u64 {
    let topology = dealt(&vec![titanium(); drives], BusKind::Usb2, buses);
    let window = if drives == 1 { 128 * KIB } else { (2 * drives as u64 * chunk_bytes).max(128 * KIB) };
    user(&topology).read_windows(raid0(drives as u64, chunk_bytes), TOTAL, window, 0)
}

fn write_of(drives: usize, buses: usize) -> u64 {
    let topology = dealt(&vec![titanium(); drives], BusKind::Usb2, buses);
    user(&topology).write_back(raid0(drives as u64, 64 * KIB), TOTAL)
}

#[test]
fn six_sticks_on_one_bus_meet_the_ceilings_of_polling() {
    let reads = [19_001_983, 36_642_803, 42_949_680, 43_997_410, 44_611_211, 45_007_499];
    let writes = [7_999_828, 15_821_364, 23_384_214, 30_767_226, 37_739_932, 37_347_035];
    for (drives, (read, write)) in (1..).zip(reads.into_iter().zip(writes)) {
        assert_near(read_of(drives, 1, 64 * KIB), read, &format!("reads of {drives}"));
        assert_near(write_of(drives, 1), write, &format!("writes of {drives}"));
    }
}

#[test]
fn a_second_bus_doubles_the_ceiling_and_chunks_matter_to_readers() {
    assert_near(write_of(6, 2), 46_768_277, "writes on two buses");
    let chunks = [73_916_056, 72_846_641, 78_857_093, 84_479_415, 85_933_524, 87_179_028, 88_179_471, 87_133_470];
    for (chunk_kib, expected) in [4, 8, 16, 32, 64, 128, 256, 512].into_iter().zip(chunks) {
        assert_near(read_of(6, 2, chunk_kib * KIB), expected, &format!("chunks of {chunk_kib} KiB"));
    }
}

#[test]
fn which_stick_is_on_which_of_two_buses_does_not_matter() {
    let mut topology = dealt(&vec![titanium(); 6], BusKind::Usb2, 2);
    for (number, (_, bus)) in topology.drives.iter_mut().enumerate() {
        *bus = number / 3;
    }
    let read = user(&topology).read_windows(raid0(6, 64 * KIB), TOTAL, 768 * KIB, 0);
    assert_near(read, read_of(6, 2, 64 * KIB), "the first three on one bus");
}

#[test]
fn a_deep_queue_streams_at_what_the_stick_can() {
    let rate = user(&dealt(&[titanium()], BusKind::Usb2, 1)).read_windows(raid0(1, 64 * KIB), TOTAL, 4 * MIB, 0);
    assert_near(rate, 19_653_004, "deep queue");
}

#[test]
fn a_loss_per_window_makes_read_ahead_matter() {
    // OCZ Rally2: alone, without that loss, it reads 23.38 MiB/s.
    let rally = stick(57_561_168, 19_496_185);
    let read = |drives: usize, window: u64, turn_ns: u64| {
        let topology = dealt(&vec![rally.clone(); drives], BusKind::Usb2, 1);
        user(&topology).read_windows(raid0(drives as u64, 64 * KIB), TOTAL, window, turn_ns)
    };
    assert_near(read(1, 128 * KIB, 0), 24_515_707, "one");
    assert_near(read(1, 4 * MIB, 0), 25_846_888, "one with a deep queue");
    for (sectors, expected) in [(512, 39_192_267), (1024, 42_703_959), (2048, 44_706_864)] {
        assert_near(read(2, sectors * 512, 737_000), expected, &format!("read-ahead of {sectors} sectors"));
    }
    let write = |drives: usize| {
        let topology = dealt(&vec![rally.clone(); drives], BusKind::Usb2, 1);
        user(&topology).write_back(raid0(drives as u64, 64 * KIB), TOTAL)
    };
    assert_near(write(1), 14_000_000, "one writes");
    assert_near(write(2), 27_450_735, "two write");
}

#[test]
fn a_random_read_costs_what_the_stick_takes_to_find_it() {
    let model = with_flash(stick(30_000_000, 30_000_000), |flash| {
        flash.random_ns = PerDirection { read: 6_000_000, write: 0 };
    });
    let mut user = user(&dealt(&[model], BusKind::Usb2, 1));
    let (_, latencies) = user.one_at_a_time(Operation::Read, 1, 500, |number| number * 7919 * 4096 % (1 << 32));
    assert_near(latencies.iter().sum::<u64>() / 500, 6_588_479, "mean latency in ns");
}

/// Writes of 4 KiB one at a time to all of these: the speed, and the 99.99th percentile in ns.
fn small_writes(sticks: &[&[(u32, u64, u32)]]) -> (u64, u64) {
    let models: Vec<_> = sticks.iter().map(|stalls| with_stalls(stick(30_000_000, 30_000_000), stalls)).collect();
    let mut user = user(&dealt(&models, BusKind::Usb2, 1));
    let (rate, latencies) = user.one_at_a_time(Operation::Write, models.len(), 20_000, |number| number * 4096);
    (rate, latencies[20_000 * 9999 / 10_000 - 1])
}

#[test]
fn stalls_make_the_tail_and_add_up_in_mirrors() {
    let a: &[_] = &[(44, 69_550_000, 0), (5000, 441_900_000, 2500)];
    let b: &[_] = &[(55, 70_490_000, 0)];
    let c: &[_] = &[(56, 69_200_000, 0)];
    let d: &[_] = &[(246, 70_030_000, 0), (8000, 2_599_900_000, 4000)];
    for (name, sticks, rate, tail_ns) in [
        ("A", &[a][..], 1_932_906, 442_351_923),
        ("B", &[b], 2_365_829, 70_941_923),
        ("C", &[c], 2_427_772, 69_651_923),
        ("D", &[d], 3_639_176, 2_600_351_923),
        ("mirror of A and C", &[a, c], 1_234_200, 442_351_923),
        ("mirror of all", &[a, b, c, d], 805_462, 2_600_582_692),
    ] {
        let (measured, measured_tail_ns) = small_writes(sticks);
        assert_near(measured, rate, name);
        assert_near(measured_tail_ns, tail_ns, &format!("{name}, 99.99 %"));
    }
    let (read, _) = user(&dealt(&[stick(30_000_000, 30_000_000)], BusKind::Usb2, 1)).one_at_a_time(
        Operation::Read,
        1,
        20_000,
        |number| number * 4096,
    );
    assert_near(read, 9_063_341, "reads of 4 KiB");
}

#[test]
fn what_is_slowest_sets_the_pace() {
    let free = |model: DriveModel, page_buffers| DriveModel {
        command_ns: PerDirection { read: 0, write: 0 },
        page_buffers,
        ..model
    };
    // Many fast drives: the bus. Without waiting drives it carries 13 packets a microframe.
    let fast = vec![free(stick(1_000_000_000, 1_000_000_000), 8); 4];
    let ceiling = user(&dealt(&fast, BusKind::Usb2, 1)).read_windows(raid0(4, 64 * KIB), 32 * MIB, 4 * MIB, 0);
    assert_near(ceiling, 53_248_000, "bus");
    let slow = [free(stick(20_000_000, 9_000_000), 2)];
    let medium = user(&dealt(&slow, BusKind::Usb2, 1)).read_windows(raid0(1, 64 * KIB), 8 * MIB, 8 * MIB, 0);
    assert_near(medium, 20_000_000, "medium");
}

#[test]
fn raid5_over_eight_disks_is_bound_by_pci() {
    // Disks without seek and rotation, as the reference has them.
    let disk = DriveModel {
        command_ns: PerDirection { read: 200_000, write: 200_000 },
        page_bytes: 64 << 10,
        page_buffers: 128,
        ..stick(45_000_000, 45_000_000)
    };
    let topology = dealt(&vec![disk; 8], BusKind::Pci, 1);
    let rate = user(&topology).write_back(raid5_stripes(8, 64 * KIB), 112 * MIB);
    assert_near(rate, 115_674_296, "RAID5 writes");
    assert_near(rate, 133_333_333 / 8 * 7, "seven eighths of the bus");
}
