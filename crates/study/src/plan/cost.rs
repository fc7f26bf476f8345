//! What a study will take, told before it starts.

use shoal_bench::{Limit, Workload};
use shoal_volume::{ArrayLevel, Level};

use super::{PlannedArray, Step, StudyPlan};

/// Building, opening and closing an array, or opening a drive.
const STEP_OVERHEAD_NS: u64 = 200_000_000;

/// An estimate of what a study takes, made before it starts from an assumed speed of the drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// How long it takes.
    pub duration_ns: u64,
    /// Bytes written to each drive, in the order of the drives.
    pub written_bytes: Vec<u64>,
    /// How long each step takes, in the order of the steps.
    pub step_ns: Vec<u64>,
}

impl Cost {
    /// Estimates, for drives that read and write so many bytes a second each.
    pub fn estimate(plan: &StudyPlan, drive_count: usize, bytes_per_s: u64) -> Self {
        let rate = bytes_per_s.max(1);
        let mut cost = Self { duration_ns: 0, written_bytes: vec![0; drive_count], step_ns: Vec::new() };
        for step in &plan.steps {
            let (writing_ns, reading_ns) = load_ns(&plan.factors.workloads, rate);
            let mut step_ns = writing_ns.saturating_add(reading_ns);
            match step.step {
                Step::Alone { drive } => {
                    let repeats = u64::from(plan.factors.repeats);
                    step_ns = step_ns.saturating_mul(repeats);
                    cost.writes(drive, bytes_in(writing_ns.saturating_mul(repeats), rate));
                }
                Step::Together { .. } => {
                    (0..).take(drive_count).for_each(|drive| cost.writes(drive, bytes_in(writing_ns, rate)));
                }
                Step::Array { array, .. } => {
                    let array = &plan.arrays[array as usize];
                    let share = verified_bytes_per_member(plan, array);
                    step_ns = step_ns.saturating_add(time_for(share, rate).saturating_mul(2));
                    for &drive in &array.members {
                        cost.writes(drive, bytes_in(writing_ns, rate).saturating_add(share));
                    }
                }
            }
            cost.step_ns.push(step_ns.saturating_add(STEP_OVERHEAD_NS));
        }
        cost.duration_ns = cost.step_ns.iter().fold(0, |sum: u64, step_ns| sum.saturating_add(*step_ns));
        cost
    }

    /// Adds a member's failure and rebuild over so much of each drive: written once and, on the
    /// drive that takes the member's place, once more at the most; read back, scrubbed, and read
    /// for the rebuild.
    #[must_use]
    pub fn with_fault_story(mut self, drive_bytes: u64, bytes_per_s: u64) -> Self {
        for written in &mut self.written_bytes {
            *written = written.saturating_add(drive_bytes.saturating_mul(2));
        }
        self.duration_ns = self.duration_ns.saturating_add(time_for(drive_bytes, bytes_per_s).saturating_mul(4));
        self
    }

    fn writes(&mut self, drive: u32, bytes: u64) {
        if let Some(written) = self.written_bytes.get_mut(drive as usize) {
            *written = written.saturating_add(bytes);
        }
    }
}

/// Time that one round of the workloads spends on writing and on reading.
fn load_ns(workloads: &[Workload], bytes_per_s: u64) -> (u64, u64) {
    let (mut writing_ns, mut reading_ns) = (0_u64, 0_u64);
    for workload in workloads {
        let limit_ns = match workload.limit {
            Limit::DurationNs(duration_ns) => duration_ns,
            Limit::Bytes(bytes) => time_for(bytes, bytes_per_s),
        };
        let all_ns = workload.warm_up_ns.saturating_add(limit_ns);
        let read_ns = all_ns / 100 * u64::from(workload.read_percent.min(100));
        reading_ns = reading_ns.saturating_add(read_ns);
        writing_ns = writing_ns.saturating_add(all_ns - read_ns);
    }
    (writing_ns, reading_ns)
}

/// Bytes that verifying an array writes to each member: all of its share if the array is smaller
/// than what is verified.
fn verified_bytes_per_member(plan: &StudyPlan, array: &PlannedArray) -> u64 {
    let members = array.members.len() as u64;
    let copies = match array.level {
        ArrayLevel::Plain(Level::Raid1) => members,
        ArrayLevel::Plain(Level::Raid10(_)) | ArrayLevel::Nested { .. } => 2,
        ArrayLevel::Plain(_) => 1,
    };
    let written = plan.factors.verify_bytes.saturating_mul(copies);
    (written / members.max(1)).min(plan.factors.drive_bytes_limit)
}

fn bytes_in(ns: u64, bytes_per_s: u64) -> u64 {
    let bytes = u128::from(ns) * u128::from(bytes_per_s) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn time_for(bytes: u64, bytes_per_s: u64) -> u64 {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
