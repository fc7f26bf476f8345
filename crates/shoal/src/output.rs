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
    if error.kind() == clap::error::ErrorKind::MissingRequiredArgument
        && let Some(hint) = std::env::args().skip(1).find_map(|argument| hint(&argument))
    {
        warn(hint);
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        failure_document(&Failure::usage(line.trim_start_matches("error: ")));
    }
    ExitCode::from(Failure::usage("").code())
}

/// What somebody may want to know who left out what a command needs.
fn hint(command: &str) -> Option<&'static str> {
    Some(match command {
        "plan" => {
            "give drives that you have, or simulated ones, as sim:stick-64g*6 (`shoal drives --catalogue` lists them), or \
             --drives 6 --size 64GB"
        }
        "create" => "`shoal plan DRIVE...` says which levels there are for these drives, and which serves for what",
        "status" | "stop" | "run" | "serve" | "read" | "write" | "scrub" | "rebuild" | "attach" | "detach"
        | "mount" | "format" | "add" | "re-add" | "remove" | "replace" | "fail" | "grow" | "speed" | "rename" => {
            "`shoal list` shows this machine's arrays; --uuid UUID, or --scan DIR, names one without its drives"
        }
        _ => return None,
    })
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
