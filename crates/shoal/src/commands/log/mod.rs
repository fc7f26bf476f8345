//! `shoal log`

mod document;

use std::path::Path;

use shoal_labbook::{Entry, Filter, Headline, Imported, Rights, RunState, export_csv, export_json, import_json};
use shoal_text::{Outside, format_count, format_minute};

use crate::args::{Cli, LogArgs};
use crate::documents::FilesDocument;
use crate::exit::Failure;
use crate::figure::{figure, indented, plain_table};
use crate::labbook::{failure, find_drive, open};
use crate::output;

pub(crate) use document::LogDocument;

const NS_PER_S: u64 = 1_000_000_000;

/// Lists runs, or has them leave the lab book or come to it.
pub(crate) fn run(cli: &Cli, args: &LogArgs) -> Result<(), Failure> {
    if let Some(path) = &args.import {
        let mut book = open(&args.book, Rights::Write)?;
        let imported = import_json(&mut book, path).map_err(failure)?;
        return output::document(cli, &imported, imported_text);
    }
    let book = open(&args.book, Rights::Read)?;
    if let Some(path) = &args.export {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => export_json(&book, path).map_err(failure)?,
            Some("csv") => export_csv(&book, path).map_err(failure)?,
            _ => return Err(not_named(path)),
        }
        let document = FilesDocument { files: vec![path.display().to_string()] };
        return output::document(cli, &document, |document| document.files.join("\n") + "\n");
    }
    let drive = args.drive.as_deref().map(|drive| find_drive(&book, drive)).transpose()?;
    let filter = Filter { drive: drive.as_ref(), last: args.last };
    let document = LogDocument { runs: book.list(filter).map_err(failure)? };
    output::document(cli, &document, text)
}

fn not_named(path: &Path) -> Failure {
    Failure::Usage(format!("{}: name it FILE.json for everything, or FILE.csv for a table of figures", path.display()))
}

fn imported_text(imported: &Imported) -> String {
    let Imported { imported_count, known_count } = imported;
    format!("{imported_count} imported, {known_count} there already\n")
}

fn text(document: &LogDocument) -> String {
    if document.runs.is_empty() {
        return "nothing was measured yet\n".to_owned();
    }
    let mut table = plain_table();
    table.set_header(["run", "begun (UTC)", "command", "of", "figure", "state"]);
    for entry in &document.runs {
        table.add_row(row(entry));
    }
    indented(&table, 0)
}

fn row(entry: &Entry) -> [String; 6] {
    let outside = |text: &str| Outside(text).to_string();
    let more = match entry.target_count {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let simulated = if entry.is_simulated { " (simulated)" } else { "" };
    let first = entry.targets.first().map_or("", String::as_str);
    let headline = entry.headline.as_ref().map(headline_text);
    [
        entry.number.to_string(),
        format_minute(entry.begun_unix_ns / NS_PER_S),
        outside(&entry.command),
        format!("{}{more}{simulated}", outside(first)),
        headline.unwrap_or_default(),
        state(entry),
    ]
}

/// Of reads and writes together it is said which of them it is.
fn headline_text(Headline { workload, figure: name, median }: &Headline) -> String {
    let direction = name.split('_').next().filter(|_| workload.contains(" % read")).unwrap_or_default();
    let direction = if direction.is_empty() { String::new() } else { format!("{direction}s ") };
    format!("{}: {}{}", Outside(workload), Outside(&direction), figure(name, *median))
}

fn state(entry: &Entry) -> String {
    let doubtful = match entry.doubtful_count {
        0 => String::new(),
        count => format!(", {count} of {} in doubt", format_count(entry.measurement_count as usize, "measurement")),
    };
    match entry.state {
        RunState::Finished => format!("finished{doubtful}"),
        RunState::Failed => format!("failed: {}", Outside(entry.failure.as_deref().unwrap_or_default())),
        RunState::Unfinished => format!("unfinished{doubtful}"),
    }
}
