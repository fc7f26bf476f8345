//! How many member I/Os the simulation carries out in a second of one core, without an engine on
//! top.
//!
//! `cargo bench -p shoal-sim --bench ios_per_second -- [--seconds S]`
//!
//! Six sticks on two buses, or disks on buses of their own, a number of I/Os kept in flight on each
//! drive. Time is what the thread had a core for, by the kernel's account; the best of five rounds.

use std::time::Duration;

use shoal_sim::{Bus, BusKind, Command, Disk, DriveModel, Flash, HostModel, Medium, Operation, PerDirection};
use shoal_sim::{Simulation, Topology, Zone};

struct Point {
    name: &'static str,
    model: fn() -> DriveModel,
    kind: BusKind,
    buses: usize,
    operation: Operation,
    length: u32,
    random: bool,
    depth: usize,
}

const DRIVES: usize = 6;
const ROUNDS: u32 = 5;

fn points() -> [Point; 6] {
    let sticks = |name, operation, length, random, depth| Point {
        name,
        model: stick,
        kind: BusKind::Usb2,
        buses: 2,
        operation,
        length,
        random,
        depth,
    };
    [
        sticks("sticks, 4 KiB sequential read, depth 4", Operation::Read, 4 << 10, false, 4),
        sticks("sticks, 4 KiB random read, depth 4", Operation::Read, 4 << 10, true, 4),
        sticks("sticks, 4 KiB random write, depth 4", Operation::Write, 4 << 10, true, 4),
        sticks("sticks, 4 KiB random write, depth 1", Operation::Write, 4 << 10, true, 1),
        sticks("sticks, 120 KiB sequential read, depth 2", Operation::Read, 120 << 10, false, 2),
        Point {
            name: "disks, 4 KiB random read, depth 4",
            model: disk,
            kind: BusKind::Sata3,
            buses: DRIVES,
            operation: Operation::Read,
            length: 4 << 10,
            random: true,
            depth: 4,
        },
    ]
}

fn stick() -> DriveModel {
    let bytes_per_s = PerDirection { read: 33_000_000, write: 9_400_000 };
    let random_ns = PerDirection { read: 300_000, write: 2_000_000 };
    DriveModel {
        name: "stick".to_owned(),
        title: "a stick".to_owned(),
        size_bytes: 4 << 30,
        logical_block_bytes: 512,
        bus: BusKind::Usb2,
        command_ns: PerDirection { read: 375_000, write: 375_000 },
        page_bytes: 4096,
        page_buffers: 1,
        write_through: false,
        queued_commands: 1,
        fake: None,
        medium: Medium::Flash(Flash { bytes_per_s, random_ns, ..Flash::default() }),
    }
}

fn disk() -> DriveModel {
    let zones =
        vec![Zone { start_byte: 0, bytes_per_s: 60_000_000 }, Zone { start_byte: 2 << 30, bytes_per_s: 40_000_000 }];
    let (track_seek_ns, average_seek_ns, full_seek_ns) = (1_000_000, 8_900_000, 18_000_000);
    let disk = Disk { zones, track_seek_ns, average_seek_ns, full_seek_ns, rotation_ns: 8_333_333 };
    DriveModel { page_bytes: 64 << 10, page_buffers: 128, queued_commands: 32, medium: Medium::Disk(disk), ..stick() }
}

fn main() {
    let seconds = std::env::args().skip_while(|argument| argument != "--seconds").nth(1);
    let seconds = seconds.and_then(|value| value.parse().ok()).unwrap_or(1.0);
    println!("{:<42} {:>14} {:>14} {:>12}", "six drives", "I/Os per s", "events per s", "faster than");
    for point in points() {
        let rounds = (0..ROUNDS).map(|_| measure(&point, Duration::from_secs_f64(seconds / f64::from(ROUNDS))));
        let (ios, events, real_time) = rounds.fold((0.0, 0.0, 0.0), |best, it| if it.0 > best.0 { it } else { best });
        println!("{:<42} {ios:>14.0} {events:>14.0} {real_time:>10.0} x", point.name);
    }
}

/// I/Os, events, and seconds of virtual time, per second.
fn measure(point: &Point, duration: Duration) -> (f64, f64, f64) {
    let drives = (0..DRIVES).map(|drive| ((point.model)(), drive % point.buses)).collect();
    let buses = vec![Bus { kind: point.kind, upstream: None }; point.buses];
    let mut simulation = Simulation::new(&Topology { buses, drives }, &HostModel::default())
        .unwrap_or_else(|error| panic!("the bench's own drives: {error}"));
    let mut places = [0_u64; DRIVES];
    let mut submit = |simulation: &mut Simulation, drive: usize| {
        let place = &mut places[drive];
        *place = if point.random {
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
        } else {
            *place + u64::from(point.length)
        };
        let blocks = (4_u64 << 30) / 4096 - 64;
        let offset = if point.random { (*place >> 32) % blocks * 4096 } else { *place % (blocks * 4096) };
        let (operation, length) = (point.operation, point.length);
        simulation.submit(Command { token: drive as u64, drive, operation, offset, length });
    };
    for number in 0..DRIVES * point.depth {
        submit(&mut simulation, number % DRIVES);
        simulation.start();
    }
    let (mut finished, mut ios) = (Vec::new(), 0_u64);
    let began = core_time();
    while core_time() - began < duration {
        for _ in 0..1000 {
            simulation.run_until(1, None, &mut finished);
            ios += finished.len() as u64;
            for drive in finished.drain(..) {
                submit(&mut simulation, drive as usize);
            }
        }
    }
    let seconds = (core_time() - began).as_secs_f64();
    (ios as f64 / seconds, simulation.events() as f64 / seconds, simulation.now_ns() as f64 / 1e9 / seconds)
}

/// How long this thread has had a core.
fn core_time() -> Duration {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = account.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux keeps account of threads (CONFIG_SCHED_INFO)"))
}
