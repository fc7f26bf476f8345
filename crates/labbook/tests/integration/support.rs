//! Runs to be kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use shoal_bench::{
    Bench, Conditions, Limit, Measurement, Pattern, TargetDescription, TargetKind, Validity, Verdict, Watch, Workload,
};
use shoal_labbook::{DriveIdentity, Ending, Heading, LabBook, Measured, Number, Origin, Rights, RunUuid, Target};
use shoal_sim::{HostModel, parse_fleet};
use shoal_volume::{BufferPlan, Contents, DriveVolume, SimulatedWorld, Volume, World};

const DAY_NS: u64 = 86_400_000_000_000;
/// The beginning of 2026.
const EPOCH_NS: u64 = 1_767_225_600_000_000_000;

/// A day later for each run, up to the ten thousandth.
fn begun_unix_ns(number: u64) -> u64 {
    EPOCH_NS + number % 10_000 * DAY_NS
}

pub(crate) fn heading(number: u64) -> Heading {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Heading {
        uuid: RunUuid::from_random(bytes),
        origin: Origin::Measured,
        command: "bench".to_owned(),
        command_line: ["shoal", "bench", "/dev/sdb"].map(str::to_owned).to_vec(),
        begun_unix_ns: begun_unix_ns(number),
        tool_version: "0.1.0".to_owned(),
        kernel: "Linux 6.1".to_owned(),
        host: "pond".to_owned(),
    }
}

pub(crate) fn ending(number: u64) -> Ending {
    Ending { ended_unix_ns: begun_unix_ns(number) + 60_000_000_000, failure: None }
}

pub(crate) fn stick(name: &str) -> DriveIdentity {
    DriveIdentity { identity: format!("maker model {name}"), name: format!("/dev/{name}") }
}

/// A drive with nothing measured on it yet.
pub(crate) fn target(drive: &DriveIdentity) -> Target {
    Target {
        name: drive.name.clone(),
        kind: "device".to_owned(),
        size_bytes: 8 << 30,
        drive: Some(drive.clone()),
        array: None,
        members: Vec::new(),
        simulated: None,
        measurements: Vec::new(),
    }
}

/// Repeats with this figure.
pub(crate) fn repeats(figure: &str, values: &[u64]) -> Vec<Measured> {
    let measured = |(index, &value): (usize, &u64)| Measured {
        workload: "sequential read, 1 MiB, depth 4, 10.00 s".to_owned(),
        settings: BTreeMap::from([("seed".to_owned(), "7".to_owned())]),
        repeat: index as u32 + 1,
        figures: BTreeMap::from([(figure.to_owned(), value), ("elapsed_ns".to_owned(), 10_000_000_000)]),
        validity: Validity { verdict: Verdict::Valid, reasons: Vec::new() },
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    };
    values.iter().enumerate().map(measured).collect()
}

/// A real measurement of a simulated stick, of a few hundred requests.
pub(crate) fn measurements(seed: u64, repeats: u32) -> Vec<Measurement> {
    let fleet = parse_fleet("cruzer-titanium").unwrap();
    let plan = BufferPlan::for_drives(1, 8, 4096);
    let world = SimulatedWorld::new(&fleet.topology, &HostModel::default(), Contents::Discarded, plan, seed).unwrap();
    let drive = world.drives()[0];
    let mut volume = DriveVolume::new(world, drive, plan);
    let target = TargetDescription {
        name: "sim:cruzer-titanium#0".to_owned(),
        kind: TargetKind::Simulated,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: Some("sim:cruzer-titanium".to_owned()),
        engine: None,
    };
    let workload = Workload {
        pattern: Pattern::Random,
        read_percent: 70,
        block_size_bytes: 4096,
        depth: 8,
        limit: Limit::Bytes(1 << 20),
        warm_up_ns: 0,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed,
    };
    let bench = Bench { target, workload, repeats, conditions: Conditions::default() };
    let interrupt = AtomicBool::new(false);
    let mut watch = Watch { interrupt: &interrupt, progress: &mut |_| (), observer: &mut () };
    bench.run(&mut volume, &mut watch).unwrap()
}

/// The same, as it is kept.
pub(crate) fn simulated_target(seed: u64, repeats: u32) -> Target {
    let mut target = Target::of(&measurements(seed, repeats), "").unwrap();
    let name = target.name.clone();
    target.drive = Some(DriveIdentity { identity: name.clone(), name });
    target
}

/// Writes a run from its beginning to its end.
pub(crate) fn keep(book: &mut LabBook, number: u64, targets: &[Target]) -> Number {
    let run = book.begin(&heading(number)).unwrap();
    targets.iter().for_each(|target| book.add(run, target).unwrap());
    book.end(run, &ending(number)).unwrap();
    run
}

pub(crate) fn open(path: &Path) -> LabBook {
    LabBook::open(path, Rights::Write).unwrap()
}
