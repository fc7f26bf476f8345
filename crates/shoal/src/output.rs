//! What goes to standard output and standard error.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use shoal_documents::FailureDocument;
use shoal_text::Outside;

use crate::args::Cli;
use crate::exit::Failure;

/// Prints a document: as JSON if that is asked for, else as `text` writes it.
pub(crate) fn document<D: Serialize>(cli: &Cli, document: &D, text: impl FnOnce(&D) -> String) -> Result<(), Failure> {
    let printed = if cli.json { json(document)? } else { shoal_text::lines(&text(document)) };
    match io::stdout().lock().write_all(printed.as_bytes()) {
        // Whoever reads has had enough, as `head` does: not our failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::Failed(format!("standard output: {error}"))),
    }
}

fn json<D: Serialize>(document: &D) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(document).map_err(Failure::failed)? + "\n")
}

/// Tells of a failure: one line on standard error, and with `--json` a document on standard output,
/// unless something is there already.
pub(crate) fn failure(cli: &Cli, failure: &Failure) {
    if matches!(failure, Failure::Verdict(_)) {
        return;
    }
    warn(&failure.to_string());
    if cli.json && !matches!(failure, Failure::Shown(_)) {
        failure_document(failure);
    }
}

/// Tells why the arguments make no command, or gives the help that they ask for.
pub(crate) fn not_understood(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done if even this cannot be printed.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        failure_document(&Failure::usage(line.trim_start_matches("error: ")));
    }
    ExitCode::from(Failure::usage("").code())
}

fn failure_document(failure: &Failure) {
    if let Ok(printed) = json(&FailureDocument { error: failure.document() }) {
        // Nothing is left to be done if even this cannot be printed.
        let _ = io::stdout().lock().write_all(printed.as_bytes());
    }
}

/// Tells something on the side, on standard error: one line, whatever the names in it hold.
pub(crate) fn warn(message: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(io::stderr().lock(), "shoal: {}", Outside(message));
}
