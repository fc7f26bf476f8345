//! Manual pages, completions and JSON schemas, all from the definitions that the program itself uses.

use std::path::Path;
use std::{fs, io};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::documents::{self, CompletionsDocument, FilesDocument};
use crate::exit::Failure;
use crate::output;

/// `shoal man`: one page for the program and one for each command.
pub(crate) fn man_pages(cli: &Cli, directory: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Failed(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(at)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(at)?;
    let mut command = Cli::command();
    command.build();
    let pages = pages_of(&command, "shoal");
    files(cli, pages.iter().map(|page| directory.join(page).display().to_string()).collect())
}

/// The pages of a command's commands, at any depth, and its own. Commands that are not shown have none.
fn pages_of(command: &clap::Command, name: &str) -> Vec<String> {
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set());
    let mut pages: Vec<_> = inner.flat_map(|inner| pages_of(inner, &format!("{name}-{}", inner.get_name()))).collect();
    pages.push(format!("{name}.1"));
    pages
}

/// `shoal completions`: to standard output.
pub(crate) fn completions(cli: &Cli, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shoal", &mut script);
    let script = String::from_utf8(script).map_err(Failure::failed)?;
    let document = CompletionsDocument { shell: shell.to_string(), script };
    output::document(cli, &document, |document| document.script.clone())
}

/// `shoal schemas`: a file for each kind of document.
pub(crate) fn schemas(cli: &Cli, directory: &Path) -> Result<(), Failure> {
    let at = |path: &Path, error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| at(directory, error))?;
    let mut written = Vec::new();
    for (name, schema) in documents::schemas() {
        let path = directory.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)? + "\n";
        fs::write(&path, text).map_err(|error| at(&path, error))?;
        written.push(path.display().to_string());
    }
    files(cli, written)
}

fn files(cli: &Cli, files: Vec<String>) -> Result<(), Failure> {
    output::document(cli, &FilesDocument { files }, |document| document.files.join("\n") + "\n")
}
