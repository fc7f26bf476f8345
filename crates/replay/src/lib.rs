//! The published studies, played on simulated drives through the engine that ships.
//!
//! Five studies of inexpensive drives printed some 400 figures. [`replay`] plays them: each is an
//! input, or it is foretold by a run of [`shoal_volume::ArrayVolume`] over
//! [`shoal_volume::SimulatedWorld`], measured by the method that the study used, or it says why it
//! is not.
//!
//! ```text
//!  figures.rs      the table, as published          ─┐
//!  studies/*/claims.rs  what each figure is to us    ─┼─► replay.rs ─► text.rs, markdown.rs, charts/
//!  studies/*/mod.rs     experiments ─► outcomes      ─┘
//!        │
//!        ├─ methods/   hdparm, seeker, dd, fio, HD Tune, ATTO, writers that share, copies over a network
//!        ├─ host/      the page cache: read-ahead, write-back, sync mounts
//!        └─ rig.rs     drives of the catalogue on their buses, as volumes
//! ```
//!
//! What may be fitted is little: two figures of arrays fix what polling costs a USB 2.0 bus and
//! what Linux loses between two read-ahead windows. Rates and pauses of single drives are inputs.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod calibrate;
pub mod charts;
mod claim;
mod cost;
mod experiment;
mod figures;
mod host;
pub mod markdown;
mod methods;
mod outcomes;
mod replay;
mod rig;
mod studies;

pub use claim::{Basis, Kind};
pub use figures::{Figure, Study, Value, figures};
pub use outcomes::{Missing, Outcomes};
pub use replay::{Replay, ReplayError, Replayed, Summary, replay};
