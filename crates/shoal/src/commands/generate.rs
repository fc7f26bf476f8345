//! Manual pages, completions and JSON schemas, all from the definitions that the program itself uses.

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::documents;
use crate::exit::Failure;

/// `shoal man`: one page for the program and one for each command.
pub(crate) fn man_pages(directory: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Failed(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(at)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(at)
}

/// `shoal completions`: to standard output.
pub(crate) fn completions(shell: Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "shoal", &mut io::stdout());
}

/// `shoal schemas`: a file for each kind of document.
pub(crate) fn schemas(directory: &Path) -> Result<(), Failure> {
    let at = |path: &Path, error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| at(directory, error))?;
    for (name, schema) in documents::schemas() {
        let path = directory.join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)? + "\n";
        fs::write(&path, text).map_err(|error| at(&path, error))?;
    }
    Ok(())
}
