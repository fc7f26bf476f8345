//! What is kept of a run, as data: what `show` prints, and what exports consist of.
//!
//! Everything is an integer or a text; figures are in bytes, nanoseconds and counts, and their
//! names say which.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_bench::{Bucket, Interval, Validity, Verdict};

use crate::RunUuid;

/// One run of a command that measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What it was begun with.
    #[serde(flatten)]
    pub heading: Heading,
    /// How it ended; left out if it has not, as it is under way or was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// What was measured.
    pub targets: Vec<Target>,
}

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heading {
    /// The run, in whatever lab book.
    pub uuid: RunUuid,
    /// Where the run is from.
    pub origin: Origin,
    /// The command, as "bench".
    pub command: String,
    /// The command line as it was given, program and arguments.
    pub command_line: Vec<String>,
    /// When it began, in nanoseconds since 1970 UTC.
    pub begun_unix_ns: u64,
    /// Version of the program that measured.
    pub tool_version: String,
    /// Kernel name and release; empty where it is not known.
    pub kernel: String,
    /// The machine's name; empty where it is not known.
    pub host: String,
}

/// Where a run is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Written by the command that measured.
    Measured,
    /// Read from an export of another lab book.
    Imported,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// When, in nanoseconds since 1970 UTC.
    pub ended_unix_ns: u64,
    /// Why it failed; left out if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It came to its end.
    Finished,
    /// It ended with an error.
    Failed,
    /// It is under way, or was killed.
    Unfinished,
}

/// Something that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// A path, or a name for the array.
    pub name: String,
    /// "file", "device", "array", "directory" or "simulated"; of others' measurements, what they
    /// say.
    pub kind: String,
    /// Capacity; 0 where it is not known.
    pub size_bytes: u64,
    /// The drive, where it is one that can be known again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveIdentity>,
    /// The array, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayIdentity>,
    /// The drives that an array was made of, as far as they can be known again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DriveIdentity>,
    /// Simulated drives: the models and buses that all figures were computed from. Left out where
    /// drives are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// The measurements, in the order in which they were added.
    pub measurements: Vec<Measured>,
}

/// By what a drive is known again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct DriveIdentity {
    /// Maker, model and serial number, or a file's number and age: the same wherever the drive is
    /// plugged in. Cheap sticks may share theirs.
    pub identity: String,
    /// What it was called when it was measured, as a path.
    pub name: String,
}

/// By what an array is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayIdentity {
    /// As md prints it; left out of arrays that are gone with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Its name.
    pub name: String,
    /// The level, in md's words.
    pub level: String,
}

/// One workload on one target, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// What was done, in words: measurements of one workload can be compared.
    pub workload: String,
    /// The settings behind those words, and those that only name the run, as the seed.
    pub settings: BTreeMap<String, String>,
    /// Which repetition this is, from 1.
    pub repeat: u32,
    /// The results by name. Names end in their unit: `read_bytes_per_s`, `read_latency_p99_ns`.
    pub figures: BTreeMap<String, u64>,
    /// How far the figures can be trusted.
    pub validity: Validity,
    /// The distribution of reads' latencies, where it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_histogram: Vec<Bucket>,
    /// The same of writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_histogram: Vec<Bucket>,
    /// Throughput over time, where it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Interval>,
}

impl RunState {
    pub(crate) fn of(ending: Option<&Ending>) -> Self {
        match ending {
            None => Self::Unfinished,
            Some(Ending { failure: None, .. }) => Self::Finished,
            Some(Ending { failure: Some(_), .. }) => Self::Failed,
        }
    }
}

impl Run {
    /// How it stands.
    pub fn state(&self) -> RunState {
        RunState::of(self.ending.as_ref())
    }

    /// The command line that does the same again: as it was given, with the seed that it found for
    /// itself.
    pub fn reproduced_by(&self) -> Vec<String> {
        let mut line = self.heading.command_line.clone();
        let is_seeded = line.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
        let mut seeds = self.measurements().filter_map(|measured| measured.settings.get("seed"));
        if let Some(seed) = seeds.next().filter(|_| !is_seeded && !line.is_empty()) {
            line.extend(["--seed".to_owned(), seed.clone()]);
        }
        line
    }

    fn measurements(&self) -> impl Iterator<Item = &Measured> {
        self.targets.iter().flat_map(|target| &target.measurements)
    }
}

impl Measured {
    /// Its verdict, as documents write it.
    pub(crate) fn verdict_word(&self) -> &'static str {
        match self.validity.verdict {
            Verdict::Valid => "valid",
            Verdict::Suspect => "suspect",
            Verdict::Invalid => "invalid",
        }
    }
}

impl Target {
    /// Its measurements by their workload, in the order of the first of each: those of one workload
    /// are repeats.
    pub fn by_workload(&self) -> Vec<(&str, Vec<&Measured>)> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut groups: Vec<(&str, Vec<&Measured>)> = Vec::new();
        for measured in &self.measurements {
            let workload = measured.workload.as_str();
            let place = *places.entry(workload).or_insert(groups.len());
            if place == groups.len() {
                groups.push((workload, Vec::new()));
            }
            groups[place].1.push(measured);
        }
        groups
    }

    /// Whether both are one thing, as far as can be told.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let identity = |target: &Self| target.drive.as_ref().map(|drive| drive.identity.clone());
        let uuid = |target: &Self| target.array.as_ref().and_then(|array| array.uuid.clone());
        match (identity(self), identity(other), uuid(self), uuid(other)) {
            (Some(one), Some(two), ..) | (_, _, Some(one), Some(two)) => one == two,
            _ => self.name == other.name,
        }
    }
}
