//! What fio measured: the document of `fio --output-format=json`, version 3, as a run.
//!
//! fio's completion latency (`clat`) is what is called latency here: from submission to completion.
//! It keeps no histogram and judges nothing; what went through the page cache is called suspect.
//! The run's UUID follows from the document, so that it is the same run however often it is
//! imported.

use std::collections::BTreeMap;

use serde::Deserialize;
use shoal_bench::{Reason, ReasonCode, Validity, Verdict};

use crate::RunUuid;
use crate::model::{Ending, Heading, Measured, Origin, Run, Target};

/// The beginning of the versions whose documents are understood: before it latencies were in other
/// units.
const UNDERSTOOD: &str = "fio-3";
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// fio's percentiles, and what they are called here.
const PERCENTILES: [(&str, &str); 6] = [
    ("50.000000", "p50"),
    ("90.000000", "p90"),
    ("95.000000", "p95"),
    ("99.000000", "p99"),
    ("99.900000", "p99_9"),
    ("99.990000", "p99_99"),
];

/// fio's document.
#[derive(Deserialize)]
struct Report {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default)]
    timestamp: u64,
    timestamp_ms: Option<u64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, String>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    error: i64,
    #[serde(default)]
    elapsed: u64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, String>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    bw_bytes: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    clat_ns: Latencies,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Latencies {
    min: u64,
    max: u64,
    mean: f64,
    percentile: BTreeMap<String, u64>,
}

/// Whether a document says that it is fio's.
pub(super) fn is_fios(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(rename = "fio version")]
        _version: String,
    }
    serde_json::from_slice::<Marked>(text).is_ok()
}

/// The run that a document tells of.
pub(super) fn run_of(text: &[u8]) -> Result<Run, String> {
    let report: Report = serde_json::from_slice(text).map_err(|error| format!("this is no report of fio: {error}"))?;
    if !report.version.starts_with(UNDERSTOOD) {
        return Err(format!("a report of {}, where this shoal understands those of fio 3", report.version));
    }
    let elapsed_ns = report.jobs.iter().map(|job| job.elapsed).max().unwrap_or(0).saturating_mul(NS_PER_S);
    let from_seconds = report.timestamp.saturating_mul(NS_PER_S);
    let ended_unix_ns = report.timestamp_ms.map_or(from_seconds, |ms| ms.saturating_mul(NS_PER_MS));
    let mut run = Run {
        heading: Heading {
            uuid: RunUuid::from_random(fingerprint(text).to_be_bytes()),
            origin: Origin::Imported,
            command: "fio".to_owned(),
            command_line: command_line(&report),
            begun_unix_ns: ended_unix_ns.saturating_sub(elapsed_ns),
            tool_version: report.version.clone(),
            kernel: String::new(),
            host: String::new(),
        },
        ending: Some(Ending { ended_unix_ns, failure: None }),
        targets: Vec::new(),
    };
    for job in &report.jobs {
        let options: BTreeMap<_, _> =
            report.global.iter().chain(&job.options).map(|(name, value)| (name.clone(), value.clone())).collect();
        take(&mut run.targets, job, options);
    }
    Ok(run)
}

/// The options of all jobs, as fio takes them.
fn command_line(report: &Report) -> Vec<String> {
    let word = |(name, value): (&String, &String)| {
        if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") }
    };
    let mut line = vec!["fio".to_owned()];
    line.extend(report.global.iter().map(word));
    for job in &report.jobs {
        line.push(format!("--name={}", job.jobname));
        line.extend(job.options.iter().filter(|(name, _)| *name != "name").map(word));
    }
    line
}

/// Adds a job to the target that it worked on.
fn take(targets: &mut Vec<Target>, job: &Job, options: BTreeMap<String, String>) {
    let option = |name: &str| options.get(name).cloned();
    let name = option("filename").or_else(|| option("directory")).unwrap_or_else(|| job.jobname.clone());
    let place = targets.iter().position(|target| target.name == name).unwrap_or_else(|| {
        targets.push(Target {
            name,
            kind: "fio".to_owned(),
            size_bytes: 0,
            drive: None,
            array: None,
            members: Vec::new(),
            simulated: None,
            measurements: Vec::new(),
        });
        targets.len() - 1
    });
    let known = |name: &str, usual: &str| option(name).unwrap_or_else(|| usual.to_owned());
    let workload =
        format!("fio {}, {}, depth {}: {}", known("rw", "read"), known("bs", "4k"), known("iodepth", "1"), job.jobname);
    let measurements = &mut targets[place].measurements;
    let before = measurements.iter().filter(|measured| measured.workload == workload).count();
    let validity = validity(job, option("direct").as_deref());
    measurements.push(Measured {
        workload,
        repeat: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
        figures: figures(job),
        validity,
        settings: options,
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    });
}

fn figures(job: &Job) -> BTreeMap<String, u64> {
    let mut figures = BTreeMap::new();
    for (name, direction) in [("read", &job.read), ("write", &job.write)] {
        let Direction { io_bytes, bw_bytes, iops, total_ios, clat_ns, .. } = direction;
        if *total_ios == 0 {
            continue;
        }
        let named = [
            ("bytes_per_s", *bw_bytes),
            // A float that is no such number becomes the nearest one that is.
            ("iops", *iops as u64),
            ("bytes", *io_bytes),
            ("ios", *total_ios),
            ("latency_min_ns", clat_ns.min),
            ("latency_mean_ns", clat_ns.mean as u64),
            ("latency_max_ns", clat_ns.max),
        ];
        figures.extend(named.map(|(figure, value)| (format!("{name}_{figure}"), value)));
        let percentiles =
            PERCENTILES.into_iter().filter_map(|(theirs, ours)| Some((ours, *clat_ns.percentile.get(theirs)?)));
        figures.extend(percentiles.map(|(percentile, value)| (format!("{name}_latency_{percentile}_ns"), value)));
    }
    let runtime_ms = job.read.runtime.max(job.write.runtime);
    figures.insert("elapsed_ns".to_owned(), runtime_ms.saturating_mul(NS_PER_MS));
    figures
}

fn validity(job: &Job, direct: Option<&str>) -> Validity {
    let reason = |code, verdict, text: &str| Reason { code, verdict, text: text.to_owned() };
    let mut reasons = Vec::new();
    if job.error != 0 {
        let text = format!("fio ended with error {}: check the drive and its cable", job.error);
        reasons.push(reason(ReasonCode::Errors, Verdict::Invalid, &text));
    }
    if direct.is_none_or(|direct| direct == "0") {
        let text = "fio went through the page cache: measure with --direct=1";
        reasons.push(reason(ReasonCode::Buffered, Verdict::Suspect, text));
    }
    let verdict = reasons.iter().map(|reason| reason.verdict).max().unwrap_or(Verdict::Valid);
    Validity { verdict, reasons }
}

/// 128 bits of a text (FNV-1a), the same on every machine and for ever.
fn fingerprint(text: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.iter().fold(OFFSET, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"fio version": "fio-3.33", "timestamp": 1795798138, "timestamp_ms": 1795798138671,
        "global options": {"direct": "1"}, "jobs": [
        {"jobname": "small", "error": 0, "elapsed": 1, "job options": {"name": "small", "filename": "f", "rw": "randread", "bs": "4k", "iodepth": "8"},
         "read": {"io_bytes": 2031616, "bw_bytes": 21612936, "iops": 5276.595745, "runtime": 94, "total_ios": 496,
                  "clat_ns": {"min": 35586, "max": 4663380, "mean": 628944.116935, "percentile": {"50.000000": 440320, "99.000000": 4423680}}},
         "write": {"io_bytes": 0, "total_ios": 0}}]}"#;

    #[test]
    fn a_report_becomes_a_run() {
        assert!(is_fios(REPORT.as_bytes()) && !is_fios(b"{}") && !is_fios(b"[]"));
        let run = run_of(REPORT.as_bytes()).unwrap();
        assert_eq!(run.heading.uuid, run_of(REPORT.as_bytes()).unwrap().heading.uuid);
        assert_eq!(run.heading.begun_unix_ns, 1_795_798_137_671_000_000);
        assert_eq!(
            run.reproduced_by().join(" "),
            "fio --direct=1 --name=small --bs=4k --filename=f --iodepth=8 --rw=randread"
        );
        let [target] = &run.targets[..] else { panic!("{run:?}") };
        let measured = &target.measurements[0];
        assert_eq!((target.name.as_str(), measured.workload.as_str()), ("f", "fio randread, 4k, depth 8: small"));
        assert_eq!(measured.validity.verdict, Verdict::Valid);
        for (figure, value) in [
            ("read_iops", 5276),
            ("read_bytes_per_s", 21_612_936),
            ("read_latency_mean_ns", 628_944),
            ("read_latency_p99_ns", 4_423_680),
            ("elapsed_ns", 94_000_000),
        ] {
            assert_eq!(measured.figures.get(figure), Some(&value), "{figure}");
        }
        assert!(!measured.figures.contains_key("write_iops"));
    }

    #[test]
    fn what_is_in_doubt_says_so() {
        let buffered = REPORT.replace("\"direct\": \"1\"", "\"direct\": \"0\"");
        assert_eq!(run_of(buffered.as_bytes()).unwrap().targets[0].measurements[0].validity.verdict, Verdict::Suspect);
        let failed = REPORT.replace("\"error\": 0", "\"error\": 5");
        assert_eq!(run_of(failed.as_bytes()).unwrap().targets[0].measurements[0].validity.verdict, Verdict::Invalid);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (text, word) in [
            (REPORT.replace("fio-3.33", "fio-2.1"), "fio-2.1"),
            (REPORT.replace("\"jobs\"", "\"job\""), "jobs"),
            (REPORT.replace("2031616", "-1"), "no report of fio"),
        ] {
            assert!(run_of(text.as_bytes()).unwrap_err().contains(word), "{word}");
        }
        let strange = REPORT.replace("5276.595745", "1e300").replace("1795798138671", "18446744073709551615");
        assert!(run_of(strange.as_bytes()).is_ok());
    }
}
