#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal_volume::{Command, RequestError, Volume};

use super::{Bench, BenchError, Watch, check_fit, workload_fill};
use crate::memory_volume::MemoryVolume;
use crate::{
    Conditions, Event, Limit, Measurement, Observer, Pattern, ReasonCode, TargetDescription, TargetKind, Verdict,
    Workload, WorkloadError,
};

const MIB: usize = 1 << 20;

fn workload(pattern: Pattern, read_percent: u8, limit: Limit) -> Workload {
    Workload {
        pattern,
        read_percent,
        block_size_bytes: 65_536,
        depth: 4,
        limit,
        warm_up_ns: 0,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed: 42,
    }
}

fn bench(workload: Workload, repeats: u32) -> Bench {
    let target = TargetDescription {
        name: "memory".to_owned(),
        kind: TargetKind::File,
        size_bytes: 8 * MIB as u64,
        logical_block_bytes: 512,
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
        engine: None,
    };
    Bench { target, workload, repeats, conditions: Conditions::default() }
}

fn run(bench: &Bench, volume: &mut MemoryVolume, observer: &mut dyn Observer) -> Result<Vec<Measurement>, BenchError> {
    let interrupt = AtomicBool::new(false);
    bench.run(volume, &mut Watch { interrupt: &interrupt, progress: &mut |_| {}, observer })
}

#[test]
fn bytes_are_bytes_and_time_is_time() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let mut events: Vec<Event> = Vec::new();
    let limit = Limit::Bytes(4 * MIB as u64 - 1);
    let measurements = run(&bench(workload(Pattern::Sequential, 100, limit), 1), &mut volume, &mut events).unwrap();
    let [measurement] = measurements.as_slice() else { panic!("{}", measurements.len()) };
    // 64 requests one after the other, 100 us each.
    assert_eq!((measurement.ios, measurement.bytes), (64, 4 * MIB as u64));
    assert_eq!(measurement.elapsed_ns, 6_400_000);
    assert_eq!((measurement.bytes_per_s, measurement.iops), (655_360_000, 10_000));
    assert_eq!((measurement.latency_ns.min, measurement.latency_ns.max), (100_000, 400_000));
    assert_eq!(volume.most_in_flight, 4);
    assert_eq!(events.len(), 64);
    assert!(events.iter().enumerate().all(|(index, event)| event.offset == index as u64 * 65_536));
    assert!(measurement.write.is_none() && measurement.flush_ns.is_none());
    assert!(volume.requests.iter().all(|request| matches!(request.command, Command::Read { .. })));
}

#[test]
fn writes_end_with_a_flush_that_is_part_of_the_time() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let limit = Limit::Bytes(MIB as u64);
    let measurements = run(&bench(workload(Pattern::Random, 0, limit), 1), &mut volume, &mut ()).unwrap();
    assert_eq!(measurements[0].elapsed_ns, 16 * 200_000 + 5_000_000);
    assert_eq!(measurements[0].flush_ns, Some(5_000_000));
    assert!(matches!(volume.requests.last().unwrap().command, Command::Flush));
    assert!(measurements[0].read.is_none());
}

#[test]
fn a_member_that_fails_on_the_way_is_told_with_the_numbers() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    volume.degraded_from = 100;
    let reads = workload(Pattern::Sequential, 100, Limit::Bytes(4 * MIB as u64));
    let measurements = run(&bench(reads, 2), &mut volume, &mut ()).unwrap();
    let is_degraded = |measurement: &Measurement| {
        measurement.validity.reasons.iter().any(|reason| reason.code == ReasonCode::Degraded)
    };
    assert_eq!(measurements.iter().map(is_degraded).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn what_is_written_can_be_checked() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let bench = bench(Workload { visit_once: true, ..workload(Pattern::Random, 30, Limit::Bytes(40 * MIB as u64)) }, 2);
    let mut events: Vec<Event> = Vec::new();
    run(&bench, &mut volume, &mut events).unwrap();
    let blocks = check_fit(&volume, &bench.workload).unwrap();
    let fill = workload_fill(&bench.workload, blocks);
    let written: HashSet<u64> =
        events.iter().filter(|event| event.direction == crate::Direction::Write).map(|event| event.offset).collect();
    assert!(written.len() > 100);
    for offset in written {
        let start = usize::try_from(offset).unwrap();
        let content = &volume.content[start..start + 65_536];
        fill.check_stamped(offset, content, &mut |wrong| panic!("{wrong:?}"));
    }
}

#[test]
fn time_ends_a_run_and_the_warm_up_counts_nowhere() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let limit = Limit::DurationNs(1_000_000_000);
    let workload = Workload { warm_up_ns: 500_000_000, ..workload(Pattern::Random, 0, limit) };
    let measurements = run(&bench(workload, 1), &mut volume, &mut ()).unwrap();
    // 5000 in a second, and those in flight at its end; the warm-up has as many of its own, and its
    // own flush.
    assert_eq!(measurements[0].ios, 5003);
    let flushes = volume.requests.iter().filter(|request| request.command == Command::Flush).count();
    assert_eq!((flushes, volume.requests.len()), (2, 5003 + 2503 + 2));
    assert_eq!(measurements[0].series.len(), 11);
    assert_eq!(measurements[0].series.iter().map(|interval| interval.ios).sum::<u64>(), 5003);
}

#[test]
fn a_repeat_goes_on_where_the_last_one_stopped() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let mut events: Vec<Event> = Vec::new();
    let measurements =
        run(&bench(workload(Pattern::Sequential, 100, Limit::Bytes(MIB as u64)), 3), &mut volume, &mut events).unwrap();
    assert_eq!(measurements.iter().map(|measurement| measurement.repeat).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(events.iter().enumerate().all(|(index, event)| event.offset == index as u64 * 65_536));
}

#[test]
fn errors_are_counted_and_make_it_invalid() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    volume.faults.push((65_536, RequestError::Unreadable { offset: 65_536 }));
    let measurements =
        run(&bench(workload(Pattern::Sequential, 100, Limit::Bytes(4 * MIB as u64)), 1), &mut volume, &mut ()).unwrap();
    assert_eq!(measurements[0].read.as_ref().unwrap().errors, 1);
    assert_eq!(measurements[0].ios, 63);
    assert_eq!(measurements[0].validity.verdict, Verdict::Invalid);
    assert_eq!(measurements[0].validity.reasons[0].code, ReasonCode::Errors);
}

#[test]
fn a_target_that_is_gone_is_given_up() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    volume.faults = (0..128).map(|block| (block * 65_536, RequestError::Failed)).collect();
    let limit = Limit::DurationNs(3_600_000_000_000);
    let measurements = run(&bench(workload(Pattern::Random, 100, limit), 1), &mut volume, &mut ()).unwrap();
    assert_eq!(measurements[0].ios, 0);
    assert!(volume.requests.len() < 300, "{} requests to a dead target", volume.requests.len());
    let codes: Vec<_> = measurements[0].validity.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [ReasonCode::Errors, ReasonCode::NothingDone]);
}

#[test]
fn an_interrupt_keeps_what_is_done() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let interrupt = AtomicBool::new(false);
    let mut told = 0;
    let mut progress = |progress: super::BenchProgress| {
        told += 1;
        assert!(progress.done_per_mille <= 1000);
        interrupt.store(progress.repeat == 2, Ordering::Relaxed);
    };
    let bench = bench(workload(Pattern::Random, 100, Limit::DurationNs(1_000_000_000)), 5);
    let mut watch = Watch { interrupt: &interrupt, progress: &mut progress, observer: &mut () };
    let measurements = bench.run(&mut volume, &mut watch).unwrap();
    assert_eq!(measurements.len(), 2);
    assert!((9..=11).contains(&(told - 1)), "told {told} times in 1.1 s");
    assert!(measurements[1].elapsed_ns < 200_000_000);
    assert!(measurements[1].validity.reasons.iter().any(|reason| reason.code == ReasonCode::Interrupted));
    assert!(measurements[0].validity.reasons.iter().all(|reason| reason.code != ReasonCode::Interrupted));
}

#[test]
fn a_workload_that_does_not_fit_is_refused_before_anything_is_done() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let base = workload(Pattern::Random, 100, Limit::Bytes(1));
    for wrong in [
        Workload { depth: 0, ..base.clone() },
        Workload { depth: 5, ..base.clone() },
        Workload { block_size_bytes: 131_072, ..base.clone() },
        Workload { block_size_bytes: 1000, ..base.clone() },
        Workload { read_percent: 101, ..base.clone() },
        Workload { range_offset: volume.size_bytes(), ..base },
    ] {
        let error = run(&bench(wrong, 1), &mut volume, &mut ()).unwrap_err();
        assert!(matches!(error, BenchError::Workload(_)), "{error}");
    }
    assert!(volume.requests.is_empty());
    let error = WorkloadError::Mix(101).to_string();
    assert_eq!(error, "101 % reads: must be 0 to 100");
}

#[test]
fn a_measurement_survives_json_with_the_fields_that_others_rely_on() {
    let mut volume = MemoryVolume::new(8 * MIB, 4, 65_536);
    let measurements =
        run(&bench(workload(Pattern::Random, 70, Limit::Bytes(64 * MIB as u64)), 1), &mut volume, &mut ()).unwrap();
    let json = serde_json::to_value(&measurements[0]).unwrap();
    for field in ["bytes_per_s", "iops", "cpu_ns_per_io"] {
        assert!(json[field].is_u64(), "{field}");
    }
    for field in ["min", "mean", "max"] {
        assert!(json["latency_ns"][field].is_u64(), "{field}");
    }
    assert!(json["latency_ns"]["percentiles"]["99"].is_u64());
    assert_eq!(json["workload"]["limit"]["bytes"], 64 * MIB);
    assert!(!contains_float(&json), "integers only");
    assert_eq!(serde_json::from_value::<Measurement>(json).unwrap(), measurements[0]);
}

fn contains_float(json: &serde_json::Value) -> bool {
    match json {
        serde_json::Value::Number(number) => number.is_f64(),
        serde_json::Value::Array(values) => values.iter().any(contains_float),
        serde_json::Value::Object(fields) => fields.values().any(contains_float),
        _ => false,
    }
}
