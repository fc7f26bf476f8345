//! How many member I/Os a second of one core carries out with the real engine on top of simulated
//! drives.
//!
//! `cargo bench -p shoal-volume --bench simulated_ios_per_second -- [--seconds S]`
//!
//! RAID0 over six sticks on two buses, requests of 4 KiB, 32 in flight, contents discarded. Each
//! request is one member I/O. RAID5 beside it, whose writes take four: there parity is computed
//! too. Time is what the thread had a core for, by the kernel's account; the best of five rounds.

use std::time::Duration;

use shoal_array::{Command, Request, RequestId};
use shoal_sim::{Bus, BusKind, DriveModel, Flash, HostModel, Medium, PerDirection, Topology};
use shoal_volume::{
    ArrayLevel, ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, MinorVersion, OpenOptions,
    SimulatedWorld, Volume, World,
};

const DRIVES: usize = 6;
const DEPTH: u32 = 32;
const REQUEST_BYTES: u32 = 4096;
const ROUNDS: u32 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().skip_while(|argument| argument != "--seconds").nth(1);
    let seconds = seconds.and_then(|value| value.parse().ok()).unwrap_or(1.0);
    let duration = Duration::from_secs_f64(seconds / f64::from(ROUNDS));
    println!(
        "{:<36} {:>16} {:>16} {:>12}",
        "six sticks, 4 KiB, depth 32", "requests per s", "member I/Os", "faster than"
    );
    for (level, write, random) in
        [("0", false, true), ("0", true, true), ("0", false, false), ("5", false, true), ("5", true, true)]
    {
        let mut best = (0.0, 0.0, 0.0);
        for _ in 0..ROUNDS {
            let round = measure(level, write, random, duration)?;
            if round.1 > best.1 {
                best = round;
            }
        }
        let pattern = if random { "random" } else { "sequential" };
        let name = format!("RAID{level}, {pattern} {}", if write { "writes" } else { "reads" });
        println!("{name:<36} {:>16.0} {:>16.0} {:>10.0} x", best.0, best.1, best.2);
    }
    Ok(())
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

fn array(level: &str) -> Result<ArrayVolume<SimulatedWorld>, Box<dyn std::error::Error>> {
    let drives = (0..DRIVES).map(|drive| (stick(), drive % 2)).collect();
    let topology = Topology { buses: vec![Bus { kind: BusKind::Usb2, upstream: None }; 2], drives };
    let plan = BufferPlan::for_drives(DRIVES, DEPTH, REQUEST_BYTES);
    let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Discarded, plan, 1)?;
    let create = CreateOptions {
        level: ArrayLevel::parse(level, None, DRIVES)?,
        chunk_bytes: 64 << 10,
        spare_count: 0,
        name: "bench".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let drives = world.drives();
    Ok(ArrayVolume::create(world, plan, &drives, &create, &OpenOptions::writable())?)
}

/// Requests, member I/Os and seconds of virtual time, per second.
fn measure(
    level: &str,
    write: bool,
    random: bool,
    duration: Duration,
) -> Result<(f64, f64, f64), Box<dyn std::error::Error>> {
    let mut array = array(level)?;
    let blocks = array.size_bytes() / u64::from(REQUEST_BYTES);
    let mut place = 0_u64;
    let mut submit = |array: &mut ArrayVolume<SimulatedWorld>, buffer: u32| {
        place = if random {
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
        } else {
            place + (1 << 32)
        };
        let (offset, span) =
            ((place >> 32) % blocks * u64::from(REQUEST_BYTES), array.request_span(buffer, REQUEST_BYTES));
        let command = if write { Command::Write { offset, span } } else { Command::Read { offset, span } };
        array.submit(Request { id: RequestId::client(u64::from(buffer)), command });
    };
    let commands = |array: &ArrayVolume<SimulatedWorld>| {
        (0..DRIVES).map(|drive| array.world().simulation().drive_statistics(drive).commands).sum::<u64>()
    };
    (0..DEPTH).for_each(|buffer| submit(&mut array, buffer));
    let (mut completions, mut requests) = (Vec::new(), 0_u64);
    let (before, virtual_before, began) = (commands(&array), array.now(), core_time());
    while core_time() - began < duration {
        for _ in 0..1000 {
            array.poll(1, None, &mut completions)?;
            requests += completions.len() as u64;
            for completion in completions.drain(..) {
                completion.result.map_err(|error| format!("{error:?}"))?;
                submit(&mut array, u32::try_from(completion.id.number)?);
            }
        }
    }
    let seconds = (core_time() - began).as_secs_f64();
    let (commands, virtual_s) = (commands(&array) - before, array.now().since_ns(virtual_before) as f64 / 1e9);
    Ok((requests as f64 / seconds, commands as f64 / seconds, virtual_s / seconds))
}

/// How long this thread has had a core.
fn core_time() -> Duration {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = account.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("Linux keeps account of threads (CONFIG_SCHED_INFO)"))
}
