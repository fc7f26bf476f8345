//! What the reference does not have, against closed forms and first principles: hubs, hops,
//! networks, disks, queues, fast areas, drives that are pulled.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_sim::{
    Bus, BusKind, Command, Disk, DriveModel, FastArea, HostModel, Medium, Operation, PerDirection, Scheduler,
    Simulation, Topology, TopologyError, Zone,
};

use crate::assert_near;
use crate::drives::{dealt, old_kernel, stick, user, with_flash};
use crate::workloads::{KIB, MIB, User, raid0, raid5_stripes, rate};

fn bus(kind: BusKind, upstream: Option<usize>) -> Bus {
    Bus { kind, upstream }
}

/// A desktop disk: 45 MB/s everywhere, 8 MiB of cache.
fn disk(bus: BusKind) -> DriveModel {
    let (track_seek_ns, average_seek_ns, full_seek_ns) = (1_000_000, 8_900_000, 18_000_000);
    let zones = vec![Zone { start_byte: 0, bytes_per_s: 45_000_000 }];
    DriveModel {
        name: "disk".to_owned(),
        size_bytes: 120_000_000_000,
        bus,
        command_ns: PerDirection { read: 200_000, write: 200_000 },
        page_bytes: 64 << 10,
        page_buffers: 128,
        medium: Medium::Disk(Disk { zones, track_seek_ns, average_seek_ns, full_seek_ns, rotation_ns: 8_333_333 }),
        ..stick(1, 1)
    }
}

/// One drive, through one bus after the other; the last is its own.
fn chain(model: DriveModel, kinds: &[BusKind]) -> Topology {
    let buses = kinds.iter().enumerate().map(|(number, &kind)| bus(kind, number.checked_sub(1))).collect();
    Topology { buses, drives: vec![(model, kinds.len() - 1)] }
}

fn command(token: u64, drive: usize, operation: Operation, offset: u64, length: u32) -> Command {
    Command { token, drive, operation, offset, length }
}

/// Carries out commands one after the other, and returns when each ended.
fn ends(simulation: &mut Simulation, commands: &[Command]) -> Vec<u64> {
    let mut end = |&command: &Command| {
        simulation.submit(command);
        simulation.run_until(1, None, &mut Vec::new());
        simulation.now_ns()
    };
    commands.iter().map(&mut end).collect()
}

#[test]
fn behind_hubs_everything_is_on_the_bus_of_the_root() {
    let models = vec![stick(33_000_000, 9_000_000); 6];
    let flat = dealt(&models, BusKind::Usb2, 1);
    let usb = BusKind::Usb2;
    let buses = vec![bus(usb, None), bus(usb, Some(0)), bus(usb, Some(1))];
    let hubs = Topology { buses, drives: models.into_iter().zip([0, 1, 1, 2, 2, 2]).collect() };
    let run = |topology: &Topology| {
        let mut user = user(topology);
        user.read_windows(raid0(6, 64 * KIB), 8 * MIB, 768 * KIB, 0);
        (user.simulation.now_ns(), user.simulation.trace_hash(), user.simulation.bus_busy_ns(0))
    };
    assert_eq!(run(&flat), run(&hubs));
}

#[test]
fn quanta_on_one_hop_and_the_next_overlap() {
    // Two hops of 133 MB/s: stored and forwarded one by one they would be half as fast. As it is,
    // the last of the 30 pages of a request is on the second hop alone.
    let fast =
        DriveModel { command_ns: PerDirection { read: 0, write: 0 }, page_buffers: 8, ..stick(1 << 30, 1 << 30) };
    let topology = chain(fast, &[BusKind::Pci, BusKind::Ata133]);
    assert_near(user(&topology).read_windows(raid0(1, MIB), 32 * MIB, 4 * MIB, 0), 133_333_333 / 31 * 30, "reads");
    assert_near(user(&topology).write_back(raid0(1, MIB), 32 * MIB), 133_333_333 / 31 * 30, "writes");
    // Eight disks, two to a channel: the channels carry it, PCI does not.
    let mut buses = vec![bus(BusKind::Pci, None)];
    buses.extend(vec![bus(BusKind::Ata133, Some(0)); 4]);
    let drives = (0..8).map(|number| (disk(BusKind::Ata133), 1 + number / 2)).collect();
    let map = raid5_stripes(8, 64 * KIB);
    let in_order = |offset, length| {
        let mut pieces = map(offset, length);
        pieces.sort_by_key(|piece| piece.1); // no way back for parity: disks would lose a turn
        pieces
    };
    let written = user(&Topology { buses, drives }).write_back(in_order, 112 * MIB);
    assert_near(written, 133_333_333 / 8 * 7, "seven eighths of PCI");
}

#[test]
fn a_network_stores_requests_and_forwards_them() {
    let local = chain(disk(BusKind::Direct), &[BusKind::Direct]);
    let remote = chain(disk(BusKind::Direct), &[BusKind::GigabitNetwork, BusKind::Direct]);
    let network = 125_000_000.0 * 1448.0 / 1538.0;
    let read = |topology: &Topology| {
        let host = HostModel { piece_bytes: 128 << 10, ..HostModel::default() };
        let mut user = User::new(Simulation::new(topology, &host).unwrap());
        user.one_at_a_time(Operation::Write, 1, 2000, |number| number * 4096).0 as f64
    };
    // One request at a time: 1/x = 1/local + 1/network, unless the medium is waited for.
    let expected = 1.0 / (1.0 / read(&local) + 1.0 / network);
    assert_near(read(&remote) as u64, expected as u64, "writes over the network");
    let mut user = user(&remote);
    let deep = user.read_windows(raid0(1, MIB), 64 * MIB, 16 * MIB, 0);
    assert_near(deep, 44_300_000, "many at a time: the slower of the two");
}

#[test]
fn the_processor_works_on_one_request_at_a_time() {
    let host = HostModel { request_ns: 1_000_000, ..old_kernel() };
    let topology = dealt(&vec![stick(30_000_000, 30_000_000); 4], BusKind::Usb2, 4);
    let mut user = User::new(Simulation::new(&topology, &host).unwrap());
    let (speed, _) = user.one_at_a_time(Operation::Read, 4, 500, |number| number * 8192);
    // Four drives at once: 4 ms for the processor, then the last of them.
    assert_near(speed, 4096 * 1_000_000_000 / (4_000_000 + 588_456), "four at a time");
}

#[test]
fn a_disk_with_a_queue_goes_shorter_ways() {
    let run = |queued_commands: u32| {
        let topology = chain(DriveModel { queued_commands, ..disk(BusKind::Sata3) }, &[BusKind::Sata3]);
        let host = HostModel { scheduler: Scheduler::None, ..HostModel::default() };
        let mut simulation = Simulation::new(&topology, &host).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut finished = Vec::new();
        for token in 0..2000 {
            let offset = random.next_u64() % (119 << 30 >> 12) % 29_000_000 * 4096;
            simulation.submit(command(token, 0, Operation::Read, offset, 4096));
            let at_least = usize::from(simulation.pending() >= 32);
            simulation.run_until(at_least, None, &mut finished);
        }
        simulation.now_ns() / finished.len() as u64
    };
    let (alone_ns, chosen_ns) = (run(1), run(32));
    // Seek and half a turn; of 32 seeks the shortest is very short.
    assert!(alone_ns.abs_diff(8_900_000 + 4_166_667 + 400_000) < 400_000, "{alone_ns}");
    assert!(chosen_ns < alone_ns * 2 / 3, "{chosen_ns}");
}

#[test]
fn two_readers_pay_a_seek_and_half_a_turn_whenever_they_take_turns() {
    let mut simulation = Simulation::new(&chain(disk(BusKind::Direct), &[BusKind::Direct]), &old_kernel()).unwrap();
    let (batch, turns) = (2 * MIB, 400);
    let third = 120_000_000_000 / 3 / 4096 * 4096;
    for turn in 0..turns {
        let offset = turn / 2 * batch + turn % 2 * third;
        simulation.submit(command(turn, 0, Operation::Read, offset, batch as u32));
        simulation.run_until(1, None, &mut Vec::new());
    }
    let speed = rate(turns * batch, simulation.now_ns()) as f64;
    let third_seek_s = (135.0 * 8.9e-3 - 27.0 * 1e-3 - 20.0 * 18e-3) / 88.0;
    let expected = 2_097_152.0 / (2_097_152.0 / 45e6 + third_seek_s + 8.333e-3 / 2.0);
    assert!((speed / expected - 1.0).abs() < 0.04, "{speed} {expected}");
}

#[test]
fn a_disk_reads_on_over_gaps_and_turns_back_for_what_it_has_passed() {
    let read = |next: &dyn Fn(u64) -> u64| {
        let mut simulation = Simulation::new(&chain(disk(BusKind::Direct), &[BusKind::Direct]), &old_kernel()).unwrap();
        let commands: Vec<_> = (0..500).map(|it| command(it, 0, Operation::Read, next(it), 65_536)).collect();
        rate(500 * 65_536, *ends(&mut simulation, &commands).last().unwrap())
    };
    // Every other chunk: the disk passes over both.
    assert_near(read(&|number| number * 131_072), 22_500_000, "every other chunk");
    let whole = read(&|number| number * 65_536);
    assert!((43_000_000..45_000_000).contains(&whole), "{whole}");
    // Backwards: a turn for each, less the way back.
    let backwards = read(&|number| (600 - number) * 65_536);
    assert!((7_000_000..11_000_000).contains(&backwards), "{backwards}");
}

#[test]
fn a_disk_that_writes_through_loses_a_turn_with_every_small_write() {
    let model = DriveModel { write_through: true, ..disk(BusKind::Direct) };
    let mut through = user(&chain(model, &[BusKind::Direct]));
    let (speed, _) = through.one_at_a_time(Operation::Write, 1, 500, |number| number * 4096);
    // The next place is 4 KiB further on.
    assert_near(speed, 4096 * 1_000_000_000 / (8_333_333 + 91_022), "written through");
    let (cached, _) =
        user(&chain(disk(BusKind::Direct), &[BusKind::Direct]))
            .one_at_a_time(Operation::Write, 1, 500, |number| number * 4096);
    assert!(cached > 20 * speed, "{cached}");
}

#[test]
fn a_fast_area_is_a_cliff_and_recovers_at_rest() {
    let area = FastArea { size_bytes: 8 * MIB, write_bytes_per_s: 20_000_000, drain_bytes_per_s: 4_000_000 };
    let model = with_flash(stick(30_000_000, 5_000_000), |flash| flash.fast_area = Some(area));
    let mut simulation = Simulation::new(&dealt(&[model], BusKind::Usb2, 1), &old_kernel()).unwrap();
    let mut write = |idle_ns: u64, start: u64, length: u64| {
        simulation.advance(idle_ns);
        let began_ns = simulation.now_ns();
        let offsets = (start..start + length).step_by(120 << 10);
        let piece = |offset: u64| (start + length - offset).min(120 << 10) as u32;
        let writes: Vec<_> = offsets.map(|offset| command(0, 0, Operation::Write, offset, piece(offset))).collect();
        ends(&mut simulation, &writes);
        rate(length, simulation.now_ns() - began_ns)
    };
    let (fast, slow) = (write(0, 0, 7 * MIB), write(0, 16 * MIB, 8 * MIB));
    assert!(fast > 13_000_000 && slow < 6_500_000, "{fast} {slow}");
    // At rest long enough for half of it.
    let (again, then) = (write(1_100_000_000, 48 * MIB, 4 * MIB), write(0, 64 * MIB, 4 * MIB));
    assert!(again > 13_000_000 && then < 5_100_000, "{again} {then}");
}

#[test]
fn a_flush_waits_for_the_medium_and_what_continues_does_not() {
    let topology = dealt(&[stick(30_000_000, 1_000_000)], BusKind::Usb2, 1);
    let mut simulation = Simulation::new(&topology, &old_kernel()).unwrap();
    let commands = [
        command(0, 0, Operation::Write, 0, 4096),
        command(1, 0, Operation::Flush, 0, 0),
        command(2, 0, Operation::Flush, 0, 0),
        command(3, 0, Operation::Discard, 0, 0),
    ];
    let (bus_ns, page_ns) = (76_923, 4_096_000);
    let written = 375_000 + bus_ns;
    let on_medium = 250_000 + bus_ns + page_ns;
    let expected = [written, on_medium + 375_000, on_medium + 750_000, on_medium + 1_125_000];
    assert_eq!(ends(&mut simulation, &commands), expected);
}

#[test]
fn a_pulled_drive_lets_go_of_the_bus_and_others_go_on() {
    let models = vec![stick(33_000_000, 9_000_000); 3];
    let mut simulation = Simulation::new(&dealt(&models, BusKind::Usb2, 1), &old_kernel()).unwrap();
    for token in 0..30 {
        simulation.submit(command(token, token as usize % 3, Operation::Read, token / 3 * 65_536, 65_536));
    }
    let mut finished = Vec::new();
    simulation.run_until(0, None, &mut finished);
    simulation.advance(2_345_678); // in the middle of things
    simulation.unplug(1);
    simulation.run_until(0, None, &mut finished);
    assert_eq!(finished.iter().filter(|&&token| token % 3 == 1).count(), 10);
    simulation.submit(command(30, 1, Operation::Read, 0, 4096));
    simulation.run_until(21, None, &mut finished);
    finished.sort_unstable();
    assert_eq!(finished, (0..31).collect::<Vec<_>>());
    // What is left of it does not wait on the bus: a drive alone is as fast as ever.
    simulation.plug(1);
    let began_ns = simulation.now_ns();
    let alone = ends(&mut simulation, &[command(0, 1, Operation::Read, 0, 4096)])[0] - began_ns;
    let fresh = ends(
        &mut Simulation::new(&dealt(&models, BusKind::Usb2, 1), &old_kernel()).unwrap(),
        &[command(0, 1, Operation::Read, 0, 4096)],
    );
    assert_eq!(alone, fresh[0]);
}

#[test]
fn a_stalled_drive_answers_nothing_until_it_is_over() {
    let topology = dealt(&[stick(30_000_000, 30_000_000)], BusKind::Usb2, 1);
    let mut simulation = Simulation::new(&topology, &old_kernel()).unwrap();
    simulation.stall(0, 5_000_000);
    let first = ends(&mut simulation, &[command(0, 0, Operation::Read, 0, 4096)])[0];
    assert_eq!(first, 5_000_000 + 375_000 + 76_923 + 136_533);
    simulation.submit(command(1, 0, Operation::Read, 4096, 4096));
    simulation.start();
    simulation.advance(100_000);
    simulation.stall(0, 9_000_000);
    simulation.run_until(1, None, &mut Vec::new());
    assert_eq!(simulation.now_ns(), first + 100_000 + 9_000_000);
}

/// A world of anything: buses upon buses, sticks and disks.
fn any_topology(random: &mut Xoshiro256PlusPlus) -> Topology {
    let mut below = |end: u64| random.next_u64() % end;
    let kinds = [
        BusKind::Usb2,
        BusKind::Usb2,
        BusKind::Usb3,
        BusKind::Pci,
        BusKind::Ata133,
        BusKind::Sata6,
        BusKind::GigabitNetwork,
        BusKind::FastNetwork,
        BusKind::Direct,
    ];
    let mut buses = Vec::new();
    for number in 0..1 + below(6) {
        let upstream = (number > 0 && below(2) == 0).then(|| below(number) as usize);
        buses.push(bus(kinds[below(9) as usize], upstream));
    }
    let mut drives = Vec::new();
    for _ in 0..1 + below(6) {
        let model = if below(3) == 0 { disk(BusKind::Direct) } else { stick(1_000_000 + below(90_000_000), 1 << 22) };
        let (page_buffers, queued_commands) = (1 + below(4) as u32, 1 + below(3) as u32);
        let model = DriveModel { page_buffers, queued_commands, write_through: below(2) == 0, ..model };
        drives.push((model, below(buses.len() as u64) as usize));
    }
    Topology { buses, drives }
}

fn any_operation(random: &mut Xoshiro256PlusPlus) -> Operation {
    match random.next_u64() % 8 {
        0 => Operation::Flush,
        1 => Operation::Discard,
        2..=4 => Operation::Read,
        _ => Operation::Write,
    }
}

#[test]
fn every_command_ends_once_and_no_byte_is_lost_whatever_the_world() {
    for seed in 0..300 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let topology = any_topology(&mut random);
        let host = HostModel { request_ns: random.next_u64() % 2 * 20_000, ..old_kernel() };
        let mut simulation = Simulation::new(&topology, &host).unwrap();
        let drives = topology.drives.len();
        let (mut finished, mut bytes) = (Vec::new(), vec![[0; 2]; drives]);
        for token in 0..200 {
            let drive = random.next_u64() as usize % drives;
            let (offset, length) = (random.next_u64() % 64 * 16_384, 512 * (1 + random.next_u64() as u32 % 600));
            let operation = any_operation(&mut random);
            match operation {
                Operation::Read => bytes[drive][0] += u64::from(length),
                Operation::Write => bytes[drive][1] += u64::from(length),
                Operation::Flush | Operation::Discard => {}
            }
            let length = if matches!(operation, Operation::Read | Operation::Write) { length } else { 0 };
            simulation.submit(command(token, drive, operation, offset, length));
            if random.next_u64() % 4 == 0 {
                simulation.run_until(random.next_u64() as usize % 3, None, &mut finished);
            }
            if random.next_u64() % 16 == 0 {
                simulation.advance(random.next_u64() % 10_000_000);
            }
        }
        simulation.run_until(usize::MAX, None, &mut finished);
        finished.sort_unstable();
        assert_eq!(finished, (0..200).collect::<Vec<_>>(), "seed {seed}");
        for (drive, &[read, written]) in bytes.iter().enumerate() {
            let statistics = simulation.drive_statistics(drive);
            assert_eq!([statistics.read_bytes, statistics.written_bytes], [read, written], "seed {seed}");
        }
        assert_eq!(simulation.pending(), 0);
    }
}

#[test]
fn every_command_ends_once_whatever_is_pulled_plugged_in_and_stalled() {
    for seed in 0..300 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1000 + seed);
        let topology = any_topology(&mut random);
        let host = HostModel { request_ns: random.next_u64() % 2 * 20_000, ..old_kernel() };
        let mut simulation = Simulation::new(&topology, &host).unwrap();
        let drives = topology.drives.len();
        let mut finished = Vec::new();
        for token in 0..200 {
            let drive = random.next_u64() as usize % drives;
            let (offset, length) = (random.next_u64() % 64 * 16_384, 512 * (1 + random.next_u64() as u32 % 600));
            simulation.submit(command(token, drive, any_operation(&mut random), offset, length));
            match random.next_u64() % 16 {
                0 => simulation.unplug(drive),
                1 => (0..drives).for_each(|drive| simulation.plug(drive)),
                2 => simulation.stall(drive, random.next_u64() % 50_000_000),
                3..=6 => simulation.advance(random.next_u64() % 10_000_000),
                7..=9 => simulation.run_until(random.next_u64() as usize % 3, None, &mut finished),
                _ => {}
            }
        }
        simulation.run_until(usize::MAX, None, &mut finished);
        finished.sort_unstable();
        assert_eq!(finished, (0..200).collect::<Vec<_>>(), "seed {seed}");
        // The buses are free again: what a stick does alone takes as long as ever.
        (0..drives).for_each(|drive| simulation.unplug(drive));
        (0..drives).for_each(|drive| simulation.plug(drive));
        simulation.advance(60_000_000_000);
        let Some(stick) = topology.drives.iter().position(|(model, _)| matches!(model.medium, Medium::Flash(_))) else {
            continue;
        };
        let (now_ns, read) = (simulation.now_ns(), [command(0, stick, Operation::Read, 0, 65_536)]);
        let alone = ends(&mut simulation, &read)[0] - now_ns;
        let fresh = ends(&mut Simulation::new(&topology, &host).unwrap(), &read)[0];
        assert_eq!(alone, fresh, "seed {seed}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_mend() {
    let error = |topology: &Topology| Simulation::new(topology, &HostModel::default()).unwrap_err();
    let one = |model: DriveModel| chain(model, &[BusKind::Usb2]);
    let message = |model: DriveModel| error(&one(model)).to_string();
    let elsewhere = Topology { drives: vec![(stick(1 << 20, 1 << 20), 1)], ..one(stick(1, 1)) };
    assert_eq!(error(&elsewhere), TopologyError::NoSuchBus { drive: 0, bus: 1, buses: 1 });
    let circle = Topology { buses: vec![bus(BusKind::Pci, Some(0))], drives: Vec::new() };
    assert_eq!(error(&circle), TopologyError::Upstream { bus: 0, upstream: 0 });
    assert!(message(stick(0, 1 << 20)).ends_with("give bytes_per_s"));
    assert!(message(DriveModel { page_bytes: 0, ..stick(1 << 20, 1 << 20) }).contains("page_bytes"));
    assert!(message(DriveModel { page_buffers: 0, ..stick(1 << 20, 1 << 20) }).contains("page_buffers"));
    let no_zone = Medium::Disk(Disk::default());
    assert!(message(DriveModel { medium: no_zone, ..disk(BusKind::Direct) }).contains("first zone"));
    let host = HostModel { piece_bytes: 0, ..HostModel::default() };
    assert!(Simulation::new(&one(stick(1 << 20, 1 << 20)), &host).is_err());
}
