//! What goes to standard output and standard error.

use std::io::{self, Write};

use serde::Serialize;

use crate::args::Cli;
use crate::documents::{ErrorDocument, FailureDocument};
use crate::exit::Failure;

/// Prints a document: as JSON if that is asked for, else as `text` writes it.
pub(crate) fn document<D: Serialize>(cli: &Cli, document: &D, text: impl FnOnce(&D) -> String) -> Result<(), Failure> {
    let printed =
        if cli.json { serde_json::to_string_pretty(document).map_err(Failure::failed)? + "\n" } else { text(document) };
    match io::stdout().lock().write_all(printed.as_bytes()) {
        // Whoever reads has had enough, as `head` does: not our failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::Failed(format!("standard output: {error}"))),
    }
}

/// Tells of a failure: one line on standard error, and with `--json` a document on standard output.
pub(crate) fn failure(cli: &Cli, failure: &Failure) {
    eprintln!("shoal: {failure}");
    if cli.json {
        let error = FailureDocument {
            error: ErrorDocument {
                kind: failure.kind().to_owned(),
                exit_status: failure.code(),
                message: failure.to_string(),
            },
        };
        // Nothing is left to be done if even this cannot be printed.
        let _ = document(cli, &error, |_| String::new());
    }
}

/// Tells something on the side, on standard error.
pub(crate) fn warn(message: &str) {
    eprintln!("shoal: {message}");
}
