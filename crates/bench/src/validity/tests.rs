#![allow(clippy::unwrap_used)]

use super::{Circumstances, Conditions, UnwrittenProbe, judge, probe_unwritten, valid};
use crate::memory_volume::MemoryVolume;
use crate::{
    Blocks, Cpu, DirectionResult, Latency, Limit, Measurement, Pattern, ReasonCode, TargetDescription, TargetKind,
    Verdict, Workload,
};

/// 10 s of reads at depth 1, 100 us each: nothing speaks against it.
fn good() -> Measurement {
    let latency = Latency { min: 90_000, mean: 100_000, max: 200_000, ..Latency::default() };
    let (ios, bytes) = (100_000, 409_600_000);
    let read = DirectionResult {
        ios,
        bytes,
        bytes_per_s: bytes / 10,
        iops: ios / 10,
        errors: 0,
        latency_ns: latency.clone(),
        histogram: Vec::new(),
    };
    Measurement {
        target: target(),
        workload: workload(),
        repeat: 1,
        bytes,
        ios,
        elapsed_ns: 10_000_000_000,
        bytes_per_s: bytes / 10,
        iops: ios / 10,
        latency_ns: latency,
        cpu_ns_per_io: Some(5000),
        cpu: Some(Cpu { user_ns: 100_000_000, system_ns: 400_000_000, ..Cpu::default() }),
        flush_ns: None,
        read: Some(read),
        write: None,
        members: None,
        series: Vec::new(),
        validity: valid(),
    }
}

fn target() -> TargetDescription {
    TargetDescription {
        name: "drive".to_owned(),
        kind: TargetKind::Device,
        size_bytes: 1 << 30,
        logical_block_bytes: 512,
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: None,
        engine: None,
    }
}

fn workload() -> Workload {
    Workload {
        pattern: Pattern::Random,
        read_percent: 100,
        block_size_bytes: 4096,
        depth: 1,
        limit: Limit::DurationNs(10_000_000_000),
        warm_up_ns: 0,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed: 0,
    }
}

const USUAL: Circumstances =
    Circumstances { interrupted: false, flush_failed: false, ceiling_iops: 5_000_000, processor_ns: 500_000_000 };

fn codes(measurement: &Measurement, conditions: Conditions, run: Circumstances) -> (Verdict, Vec<ReasonCode>) {
    let validity = judge(measurement, &conditions, &run);
    for reason in &validity.reasons {
        assert!(reason.text.contains(':') && !reason.text.ends_with('.'), "{}", reason.text);
    }
    (validity.verdict, validity.reasons.iter().map(|reason| reason.code).collect())
}

#[test]
fn a_simulated_drive_is_not_held_against_this_machine() {
    let mut measurement = good();
    measurement.latency_ns.mean = 1000;
    let zeros = Conditions { unwritten: Some(UnwrittenProbe { sampled: 64, zero: 64 }), ..Conditions::default() };
    assert_eq!(judge(&measurement, &zeros, &USUAL).verdict, Verdict::Invalid);
    measurement.target.simulated = Some("cruzer-titanium@usb2".to_owned());
    assert_eq!(judge(&measurement, &zeros, &USUAL), valid());
}

#[test]
fn a_good_run_is_valid() {
    assert_eq!(codes(&good(), Conditions::default(), USUAL), (Verdict::Valid, vec![]));
}

#[test]
fn each_doubt_has_its_reason() {
    use ReasonCode::*;
    use Verdict::*;
    let of_run = |change: fn(&mut Measurement)| {
        let mut measurement = good();
        change(&mut measurement);
        codes(&measurement, Conditions::default(), USUAL)
    };
    let of_circumstances = |run| codes(&good(), Conditions::default(), run);
    assert_eq!(of_run(|it| it.ios = 29), (Suspect, vec![TooFewSamples]));
    assert_eq!(of_run(|it| it.elapsed_ns = 99_999_999).1.first(), Some(&TooShort));
    assert_eq!(of_run(|it| it.iops = 2_000_000), (Suspect, vec![GeneratorBound]));
    assert_eq!(of_circumstances(Circumstances { processor_ns: 9_500_000_000, ..USUAL }), (Suspect, vec![CpuBound]));
    assert_eq!(of_run(|it| it.bytes_per_s = 40_000_000_000), (Invalid, vec![Cached]));
    assert_eq!(of_run(|it| it.latency_ns.mean = 3000), (Invalid, vec![Cached]));
    assert_eq!(of_run(|it| it.read.as_mut().unwrap().errors = 1), (Invalid, vec![Errors]));
    assert_eq!(of_run(|it| it.ios = 0), (Invalid, vec![NothingDone]));
    assert_eq!(of_circumstances(Circumstances { interrupted: true, ..USUAL }), (Suspect, vec![Interrupted]));
    assert_eq!(of_circumstances(Circumstances { flush_failed: true, ..USUAL }), (Invalid, vec![Errors]));
    assert_eq!(of_circumstances(Circumstances { ceiling_iops: 20_000, ..USUAL }), (Suspect, vec![GeneratorBound]));
    let of_conditions = |conditions| codes(&good(), conditions, USUAL);
    let base = Conditions::default();
    assert_eq!(of_conditions(Conditions { buffered: true, ..base }), (Invalid, vec![Buffered]));
    assert_eq!(of_conditions(Conditions { degraded: true, ..base }), (Suspect, vec![Degraded]));
    assert_eq!(of_conditions(Conditions { resyncing: true, ..base }), (Suspect, vec![Resyncing]));
    let zeros = |zero| Conditions { unwritten: Some(UnwrittenProbe { sampled: 64, zero }), ..base };
    assert_eq!(of_conditions(zeros(3)), (Valid, vec![]));
    assert_eq!(of_conditions(zeros(20)), (Suspect, vec![Unwritten]));
    assert_eq!(of_conditions(zeros(64)), (Invalid, vec![Unwritten]));
}

#[test]
fn writes_are_not_blamed_for_what_only_reads_suffer_from() {
    let mut measurement = good();
    measurement.write = measurement.read.take();
    let zeros = Some(UnwrittenProbe { sampled: 64, zero: 64 });
    let conditions = Conditions { buffered: true, unwritten: zeros, ..Conditions::default() };
    assert_eq!(codes(&measurement, conditions, USUAL), (Verdict::Suspect, vec![ReasonCode::Buffered]));
}

#[test]
fn unwritten_ranges_are_seen() {
    let mut volume = MemoryVolume::new(1 << 20, 4, 65_536);
    let blocks = Blocks::of_range(0, 0, 65_536, 1 << 20, 512).unwrap();
    assert_eq!(probe_unwritten(&mut volume, blocks, 1).unwrap(), UnwrittenProbe { sampled: 64, zero: 64 });
    volume.content[..1 << 19].fill(1);
    let half = probe_unwritten(&mut volume, blocks, 1).unwrap();
    assert!((20..44).contains(&half.zero), "{half:?}");
    volume.content.fill(1);
    assert_eq!(probe_unwritten(&mut volume, blocks, 1).unwrap().zero, 0);
}
