//! A made-up study of six cheap sticks, as a plan would leave it behind: one stick is slow, the hub
//! is a bottleneck. Every number is a function of the constants here, so that tests and pictures
//! are the same everywhere.
//!
//! It is a model of the document only, not of drives; nothing may be concluded from its numbers.

pub(crate) mod measure;

use measure::{Shape, measurement};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use shoal_bench::{Measurement, TargetDescription, TargetKind};
use shoal_study::model::{
    Analysis, ArrayResult, Configuration, DriveDescription, DriveMeasurement, DriveMeasurements, FORMAT,
    FORMAT_VERSION, FaultPhase, FaultRecord, FaultState, Machine, Metric, StudyReport, TogetherRun, Verification,
};

const METRICS: [Metric; 4] = [Metric::SequentialRead, Metric::SequentialWrite, Metric::RandomRead, Metric::RandomWrite];
const REPEATS: u32 = 3;
const STICK_BYTES: u64 = 16_008_609_792;
/// Which stick is slow, and its share of the others' speed.
const SLOW: (u32, f64) = (3, 0.62);

/// Bytes per second of one good stick.
fn stick(metric: Metric) -> f64 {
    match metric {
        Metric::SequentialRead => 33.1e6,
        Metric::SequentialWrite => 17.4e6,
        Metric::RandomRead => 1410.0 * 4096.0,
        Metric::RandomWrite => 96.0 * 4096.0,
        Metric::Mixed => 120.0 * 4096.0,
    }
}

/// What the hub lets through.
const HUB_BYTES_PER_S: f64 = 148e6;

fn drive_speed(drive: u32, metric: Metric) -> f64 {
    let slow = if drive == SLOW.0 { SLOW.1 } else { 1.0 };
    stick(metric) * slow * (1.0 + 0.02 * f64::from(drive % 3))
}

/// The whole study, analysed.
pub(crate) fn study() -> StudyReport {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut report = StudyReport {
        format: FORMAT.to_owned(),
        format_version: FORMAT_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: ["shoal", "study", "--levels", "0,5,6,10", "--chunks", "64K,256K,512K", "--members", "2..6"]
            .into_iter()
            .map(str::to_owned)
            .chain((1..=6).map(|number| format!("stick-{number}.img")))
            .collect(),
        started_unix_ns: Some(1_750_000_000_000_000_000),
        elapsed_ns: 2_712_000_000_000,
        complete: true,
        seed: 4_242_424_242,
        simulated: None,
        engine: None,
        host: host(),
        drives: (0..6).map(description).collect(),
        alone: (0..6).map(|drive| alone(drive, &mut random)).collect(),
        together: METRICS
            .into_iter()
            .flat_map(|metric| (1..=REPEATS).map(move |repeat| (metric, repeat)))
            .map(|(metric, repeat)| together(metric, repeat, &mut random))
            .collect(),
        arrays: configurations().into_iter().map(|configuration| array(configuration, &mut random)).collect(),
        fault: None,
        analysis: Analysis::default(),
        warnings: vec!["The drives are image files: this is a tour of the program, not a test of drives.".to_owned()],
    };
    report.fault = Some(fault(&report.arrays, &mut random));
    report.analysis = shoal_study::analysis::analyse(&report);
    report
}

fn host() -> Machine {
    Machine {
        os: "Debian GNU/Linux 13 (trixie)".to_owned(),
        kernel: "Linux 6.12.30".to_owned(),
        cpu_model: "ARM Cortex-A76".to_owned(),
        cores: 4,
        memory_bytes: 8_192_000_000,
        io_engine: "io_uring".to_owned(),
    }
}

fn description(drive: u32) -> DriveDescription {
    DriveDescription {
        name: format!("stick-{}", drive + 1),
        path: format!("stick-{}.img", drive + 1),
        kind: TargetKind::File,
        size_bytes: STICK_BYTES,
        logical_block_bytes: 512,
        model: Some("Example Flash 16 GB".to_owned()),
        bus: Some(format!("usb 1-1.{}", drive + 1)),
    }
}

fn drive_target(drive: u32) -> TargetDescription {
    TargetDescription {
        name: format!("stick-{}", drive + 1),
        kind: TargetKind::File,
        size_bytes: STICK_BYTES,
        logical_block_bytes: 512,
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
        engine: None,
    }
}

fn alone(drive: u32, random: &mut Xoshiro256PlusPlus) -> DriveMeasurements {
    let runs = METRICS.into_iter().flat_map(|metric| (1..=REPEATS).map(move |repeat| (metric, repeat)));
    let measurements = runs
        .map(|(metric, repeat)| {
            let shape = Shape { metric, repeat, bytes_per_s: drive_speed(drive, metric), spread: 0.03 };
            measurement(drive_target(drive), shape, random)
        })
        .collect();
    DriveMeasurements { drive, measurements }
}

fn together(metric: Metric, repeat: u32, random: &mut Xoshiro256PlusPlus) -> TogetherRun {
    let sum: f64 = (0..6).map(|drive| drive_speed(drive, metric)).sum();
    let squeeze = (HUB_BYTES_PER_S / sum).min(1.0);
    let drives: Vec<DriveMeasurement> = (0..6)
        .map(|drive| {
            let shape = Shape { metric, repeat, bytes_per_s: drive_speed(drive, metric) * squeeze, spread: 0.04 };
            DriveMeasurement { drive, measurement: measurement(drive_target(drive), shape, random) }
        })
        .collect();
    let total = |of: fn(&Measurement) -> u64| drives.iter().map(|drive| of(&drive.measurement)).sum();
    TogetherRun {
        total_bytes_per_s: total(|measurement| measurement.bytes_per_s),
        total_iops: total(|measurement| measurement.iops),
        drives,
    }
}

/// A configuration over the first `members` sticks.
pub(crate) fn configuration(level: &str, members: u32, chunk_bytes: u64) -> Configuration {
    let (layout, redundancy, data_halves) = match level {
        "0" => (None, 0, members * 2),
        "5" => (Some("left-symmetric"), 1, (members - 1) * 2),
        "6" => (Some("left-symmetric"), 2, (members - 2) * 2),
        "10" => (Some("near=2"), 1, members),
        other => panic!("no sample of level {other}"),
    };
    Configuration {
        level: level.to_owned(),
        layout: layout.map(str::to_owned),
        chunk_bytes: Some(chunk_bytes),
        members: (0..members).collect(),
        capacity_bytes: STICK_BYTES * u64::from(data_halves) / 2,
        redundancy,
    }
}

fn configurations() -> Vec<Configuration> {
    let mut all = Vec::new();
    for (level, least) in [("0", 2), ("5", 3), ("6", 4), ("10", 2)] {
        for chunk_kib in [64, 256, 512] {
            all.push(configuration(level, 6, chunk_kib << 10));
        }
        all.extend((least..6).map(|members| configuration(level, members, 512 << 10)));
    }
    all
}

pub(crate) fn array_target(configuration: &Configuration) -> TargetDescription {
    TargetDescription {
        name: shoal_study::analysis::array_name(configuration),
        kind: TargetKind::Array,
        size_bytes: configuration.capacity_bytes,
        logical_block_bytes: 512,
        level: Some(configuration.level.clone()),
        layout: configuration.layout.clone(),
        chunk_bytes: configuration.chunk_bytes,
        member_count: u32::try_from(configuration.members.len()).ok(),
        simulated: None,
        engine: None,
    }
}

fn array_speed(configuration: &Configuration, metric: Metric) -> f64 {
    let slowest = configuration.members.iter().map(|&drive| drive_speed(drive, metric)).fold(f64::MAX, f64::min);
    let count = f64::from(u32::try_from(configuration.members.len()).expect("the sample has six drives"));
    let share = |level: &str| match (level, metric) {
        ("0", _) | (_, Metric::RandomRead) => count,
        ("5", Metric::RandomWrite) => count / 4.2,
        ("6", Metric::RandomWrite) => count / 6.4,
        ("10", Metric::RandomWrite | Metric::SequentialWrite) => count / 2.0,
        ("10", _) => count * 0.8,
        ("5", _) => count - 1.0,
        (_, _) => count - 2.0,
    };
    let chunk_kib = configuration.chunk_bytes.unwrap_or(512 << 10) >> 10;
    let chunk = match metric {
        Metric::SequentialRead => 0.80 + 0.02 * f64::from(chunk_kib.ilog2()),
        Metric::SequentialWrite => 1.06 - 0.02 * f64::from(chunk_kib.ilog2()),
        _ => 0.95,
    };
    (slowest * share(&configuration.level)).min(HUB_BYTES_PER_S) * chunk
}

fn array(configuration: Configuration, random: &mut Xoshiro256PlusPlus) -> ArrayResult {
    let runs = METRICS.into_iter().flat_map(|metric| (1..=REPEATS).map(move |repeat| (metric, repeat)));
    let measurements = runs
        .map(|(metric, repeat)| {
            let bytes_per_s = array_speed(&configuration, metric);
            measurement(array_target(&configuration), Shape { metric, repeat, bytes_per_s, spread: 0.04 }, random)
        })
        .collect();
    let verification = Some(Verification { bytes: configuration.capacity_bytes, wrong_blocks: 0 });
    ArrayResult { configuration, measurements, verification }
}

fn fault(arrays: &[ArrayResult], random: &mut Xoshiro256PlusPlus) -> FaultRecord {
    let subject = arrays.iter().find(|array| array.configuration.level == "5").expect("the sample has a RAID5");
    let configuration = subject.configuration.clone();
    let healthy = array_speed(&configuration, Metric::SequentialWrite);
    let states = [
        (FaultState::Healthy, 1.0),
        (FaultState::Failing, 0.8),
        (FaultState::Degraded, 0.7),
        (FaultState::Rebuilding, 0.35),
        (FaultState::Rebuilt, 1.0),
    ];
    let mut start_ns = 0;
    let mut phases = Vec::new();
    for (state, share) in states {
        let shape = Shape { metric: Metric::SequentialWrite, repeat: 1, bytes_per_s: healthy * share, spread: 0.02 };
        let measurement = measurement(array_target(&configuration), shape, random);
        let elapsed_ns = measurement.elapsed_ns;
        phases.push(FaultPhase { state, start_ns, measurement });
        start_ns += elapsed_ns;
    }
    let rebuild_started_ns = phases[3].start_ns;
    let rebuild_ns = phases[3].measurement.elapsed_ns;
    let rebuild_bytes = STICK_BYTES / 128;
    FaultRecord {
        failed_drive: 2,
        replacement_drive: 5,
        failed_at_ns: phases[1].start_ns + phases[1].measurement.elapsed_ns / 2,
        rebuild_started_ns,
        rebuild_ns,
        rebuild_bytes,
        rebuild_bytes_per_s: rebuild_bytes * 1_000_000_000 / rebuild_ns,
        written_while_degraded_bytes: phases[2].measurement.bytes + phases[3].measurement.bytes,
        verification: Verification { bytes: configuration.capacity_bytes, wrong_blocks: 0 },
        scrub_mismatched_bytes: 0,
        configuration,
        phases,
    }
}
