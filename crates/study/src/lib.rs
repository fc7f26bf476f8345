//! Studies: drives measured alone, all at once, and as arrays over level, chunk and members; what
//! follows from the measurements; and the page that shows them.
//!
//! * [`plan`] says what a study does, in which order, and what that will take.
//! * [`run`] carries a plan out on the drives of a [`bay`].
//! * [`model`] is the document that a study leaves behind.
//! * [`analysis`] concludes: summaries, expectations, rankings, a recommendation.
//! * [`report`] turns the document into a self-contained HTML page.
//!
//! What a study of three sticks would take, before anything is touched:
//!
//! ```
//! use shoal_bench::TargetKind;
//! use shoal_study::model::DriveDescription;
//! use shoal_study::plan::{Cost, Factors, StudyPlan};
//! use shoal_volume::ArrayLevel;
//!
//! let stick = |name: &str| DriveDescription {
//!     name: name.to_owned(),
//!     path: format!("/dev/{name}"),
//!     kind: TargetKind::Device,
//!     size_bytes: 8 << 30,
//!     logical_block_bytes: 512,
//!     model: None,
//!     bus: None,
//! };
//! let drives = [stick("sda"), stick("sdb"), stick("sdc")];
//! let factors = Factors {
//!     levels: vec![ArrayLevel::parse("5", None, 2)?],
//!     chunk_bytes: vec![64 << 10, 512 << 10],
//!     member_counts: vec![3],
//!     workloads: Factors::standard_workloads(5_000_000_000, 500_000_000),
//!     repeats: 3,
//!     drive_bytes_limit: 1 << 30,
//!     verify_bytes: 64 << 20,
//!     seed: 1,
//! };
//! let plan = StudyPlan::new(factors, &drives)?;
//! assert_eq!(plan.arrays.len(), 2);
//! assert_eq!(plan.steps.len(), 3 + 3 + 2 * 3); // each drive alone; all at once, and each array, three times
//! let cost = Cost::estimate(&plan, drives.len(), 30_000_000); // if they do 30 MB/s
//! assert!(cost.duration_ns > 60_000_000_000 && cost.written_bytes[0] > 1 << 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analysis;
pub mod bay;
mod error;
pub mod model;
pub mod plan;
pub mod report;
pub mod run;
pub mod running;
