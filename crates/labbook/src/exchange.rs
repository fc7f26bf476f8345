//! Runs that leave a lab book, and come to one.

mod fio;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::book::LabBook;
use crate::codec;
use crate::error::LabBookError;
use crate::limits::{COUNT_MAX, IMPORT_BYTES_MAX, TEXT_BYTES_MAX};
use crate::model::{Measured, Run, RunState, Target};

/// The value of `format`.
const FORMAT: &str = "shoal-lab-book";
/// The value of `format_version`.
const FORMAT_VERSION: u32 = 1;

/// Runs of a lab book, as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Always "shoal-lab-book".
    pub format: String,
    /// Version of this document's format, 1.
    pub format_version: u32,
    /// The runs, oldest first.
    pub runs: Vec<Run>,
}

/// What became of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Imported {
    /// Runs that are new in the lab book.
    pub imported_count: u64,
    /// Runs that were there already.
    pub known_count: u64,
}

/// Writes all runs to a file that is not there yet, as one JSON document ([`Export`]).
///
/// # Errors
/// The lab book cannot be read, or the file not be written.
pub fn export_json(book: &LabBook, path: &Path) -> Result<(), LabBookError> {
    let mut file = new_file(path)?;
    let mut before = format!("{{\"format\":\"{FORMAT}\",\"format_version\":{FORMAT_VERSION},\"runs\":[\n");
    each_run(book, |run| {
        let text = serde_json::to_string(run).map_err(|error| io_error(path, &error.into()))?;
        let written = file.write_all(before.as_bytes()).and_then(|()| file.write_all(text.as_bytes()));
        before = ",\n".to_owned();
        written.map_err(|error| io_error(path, &error))
    })?;
    let opening = if before.starts_with(',') { "" } else { before.as_str() };
    let end = write!(file, "{opening}\n]}}\n").and_then(|()| file.flush());
    end.map_err(|error| io_error(path, &error))
}

/// The columns of a table.
const COLUMNS: [&str; 18] = [
    "run",
    "command",
    "begun_unix_ns",
    "ended_unix_ns",
    "state",
    "tool_version",
    "kernel",
    "host",
    "target",
    "kind",
    "drive",
    "array",
    "simulated",
    "workload",
    "repeat",
    "verdict",
    "figure",
    "value",
];

/// Writes all figures to a file that is not there yet, as a table with a line for each.
///
/// # Errors
/// The lab book cannot be read, or the file not be written.
pub fn export_csv(book: &LabBook, path: &Path) -> Result<(), LabBookError> {
    let mut table = csv::Writer::from_writer(new_file(path)?);
    let wrong = |error: csv::Error| io_error(path, &error.into());
    table.write_record(COLUMNS).map_err(wrong)?;
    each_run(book, |run| {
        for target in &run.targets {
            for measured in &target.measurements {
                for (figure, value) in &measured.figures {
                    table.write_record(record(run, target, measured, (figure, *value))).map_err(wrong)?;
                }
            }
        }
        Ok(())
    })?;
    table.flush().map_err(|error| io_error(path, &error))
}

fn record(run: &Run, target: &Target, measured: &Measured, (figure, value): (&str, u64)) -> [String; 18] {
    let heading = &run.heading;
    let state = match run.state() {
        RunState::Finished => "finished",
        RunState::Failed => "failed",
        RunState::Unfinished => "unfinished",
    };
    [
        heading.uuid.to_string(),
        heading.command.clone(),
        heading.begun_unix_ns.to_string(),
        run.ending.as_ref().map_or_else(String::new, |ending| ending.ended_unix_ns.to_string()),
        state.to_owned(),
        heading.tool_version.clone(),
        heading.kernel.clone(),
        heading.host.clone(),
        target.name.clone(),
        target.kind.clone(),
        target.drive.as_ref().map_or_else(String::new, |drive| drive.identity.clone()),
        target.array.as_ref().and_then(|array| array.uuid.clone()).unwrap_or_default(),
        target.simulated.clone().unwrap_or_default(),
        measured.workload.clone(),
        measured.repeat.to_string(),
        measured.verdict_word().to_owned(),
        figure.to_owned(),
        value.to_string(),
    ]
}

/// Takes in the runs of a file that the lab book does not have: of an export, or of a report of
/// fio's.
///
/// # Errors
/// The file cannot be read or is neither; or the lab book cannot be written. Runs that were taken
/// in by then stay.
pub fn import_json(book: &mut LabBook, path: &Path) -> Result<Imported, LabBookError> {
    let runs = read_runs(path)?;
    runs.iter().try_for_each(|run| check(run).map_err(|what| no_export(path, what)))?;
    let mut imported = Imported::default();
    for run in &runs {
        match book.take_in(run)? {
            true => imported.imported_count += 1,
            false => imported.known_count += 1,
        }
    }
    Ok(imported)
}

fn read_runs(path: &Path) -> Result<Vec<Run>, LabBookError> {
    let system = |error: io::Error| io_error(path, &error);
    let metadata = std::fs::metadata(path).map_err(system)?;
    if !metadata.is_file() || metadata.len() > IMPORT_BYTES_MAX {
        let what = format!("this is no file, or larger than {} MiB, which is no export", IMPORT_BYTES_MAX >> 20);
        return Err(no_export(path, what));
    }
    let mut text = Vec::new();
    File::open(path).map_err(system)?.take(IMPORT_BYTES_MAX).read_to_end(&mut text).map_err(system)?;
    // fio says what it has to say above its document.
    let begin = text.iter().position(|&byte| byte == b'{').unwrap_or(0);
    if fio::is_fios(&text[begin..]) {
        return fio::run_of(&text[begin..]).map(|run| vec![run]).map_err(|what| no_export(path, what));
    }
    let wrong = |error: serde_json::Error| {
        no_export(path, format!("this is no export of a lab book, nor a report of fio: {error}"))
    };
    let export: Export = serde_json::from_slice(&text).map_err(wrong)?;
    match (export.format.as_str(), export.format_version) {
        (FORMAT, FORMAT_VERSION) => Ok(export.runs),
        (FORMAT, version) => {
            Err(no_export(path, format!("an export of version {version}, where this shoal knows {FORMAT_VERSION}")))
        }
        _ => Err(no_export(path, format!("this is no export of a lab book: its format is not \"{FORMAT}\""))),
    }
}

/// Whether a run is one that could have been measured: what is not would make the lab book
/// unreadable.
fn check(run: &Run) -> Result<(), String> {
    let heading = &run.heading;
    let uuid = heading.uuid;
    let measurements = || run.targets.iter().flat_map(|target| &target.measurements);
    if measurements().count() > COUNT_MAX {
        return Err(format!("run {uuid} has more than {COUNT_MAX} measurements"));
    }
    let of_heading = [&heading.command, &heading.tool_version, &heading.kernel, &heading.host];
    let of_targets = run.targets.iter().flat_map(|target| [&target.name, &target.kind]);
    let of_measured = measurements().flat_map(|measured| {
        let settings = measured.settings.iter().flat_map(|(name, value)| [name, value]);
        settings.chain(measured.figures.keys()).chain([&measured.workload])
    });
    let mut texts = of_heading.into_iter().chain(&heading.command_line).chain(of_targets).chain(of_measured);
    if texts.any(|text| text.len() > TEXT_BYTES_MAX) {
        return Err(format!("run {uuid} has a text of more than {} KiB", TEXT_BYTES_MAX >> 10));
    }
    for measured in measurements() {
        let Measured { read_histogram, write_histogram, series, figures, settings, .. } = measured;
        let counts = [read_histogram.len(), write_histogram.len(), series.len(), figures.len(), settings.len()];
        let ascend = [read_histogram, write_histogram].map(|bars| codec::ascend(bars.iter().map(|bar| bar.up_to_ns)));
        let in_order = codec::ascend(series.iter().map(|interval| interval.start_ns));
        if counts.into_iter().any(|count| count > COUNT_MAX) || ascend.contains(&false) || !in_order {
            return Err(format!("run {uuid} has a histogram, a series or figures that nobody measured"));
        }
    }
    Ok(())
}

/// Hands out all runs as they are at one moment, oldest first, one after the other in memory.
fn each_run(book: &LabBook, mut take: impl FnMut(&Run) -> Result<(), LabBookError>) -> Result<(), LabBookError> {
    let snapshot = book.connection.unchecked_transaction().map_err(|error| book.wrong(error))?;
    for number in book.numbers()? {
        take(&book.run(number)?)?;
    }
    snapshot.finish().map_err(|error| book.wrong(error))
}

fn new_file(path: &Path) -> Result<BufWriter<File>, LabBookError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => Ok(BufWriter::new(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let what = "is there already: give another name".to_owned();
            Err(LabBookError::System { path: path.to_owned(), what })
        }
        Err(error) => Err(io_error(path, &error)),
    }
}

fn io_error(path: &Path, error: &io::Error) -> LabBookError {
    LabBookError::system(path, error)
}

fn no_export(path: &Path, what: String) -> LabBookError {
    LabBookError::NoExport { path: path.to_owned(), what }
}
