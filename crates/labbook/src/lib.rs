//! The lab book: everything that was measured, in one file of SQLite, so that it can be found
//! again, compared, and followed over time.
//!
//! * [`LabBook`] is the file. A run is [begun](LabBook::begin), gets what was measured
//!   [added](LabBook::add) as it goes, and is [ended](LabBook::end); each is one durable
//!   transaction, so whoever is killed leaves a run that is listed as unfinished, and nothing else.
//!   Several processes may write at once.
//! * [`Recorder`] writes for a command that measures, and never spoils the measurement: what goes
//!   wrong with the book is told in one line, once.
//! * [`Run`] is all that is kept of a run, and what goes into an [export](export_json) and comes
//!   out of one.
//! * [`compare()`] and [`trend()`] say what two runs, or a drive's runs over time, tell, and how
//!   sure that is.
//!
//! A lab book may come from anybody: nothing that a file or an import holds makes this panic, and
//! what it says is text from outside. Simulated and real runs lie side by side, and say which they
//! are.

#![forbid(unsafe_code)]

mod book;
mod codec;
mod compare;
mod error;
mod exchange;
mod figure;
mod limits;
mod listing;
mod measured;
mod model;
mod reading;
mod recorder;
mod run_uuid;
mod schema;
mod statistics;
mod trend;

pub use book::{LabBook, Number, Rights};
pub use compare::{Compared, Comparison, Difference, compare};
pub use error::LabBookError;
pub use exchange::{Export, Imported, export_csv, export_json, import_json};
pub use figure::{Better, Unit};
pub use listing::{Entry, Filter, Headline};
pub use measured::workload_name;
pub use model::{ArrayIdentity, DriveIdentity, Ending, Heading, Measured, Origin, Run, RunState, Target};
pub use reading::DriveFound;
pub use recorder::Recorder;
pub use run_uuid::{RunUuid, RunUuidError};
pub use statistics::{Interval, median};
pub use trend::{Course, Point, Tendency, Trend, trend};
