//! Manual pages, completions and JSON schemas, all from the definitions that the program itself
//! uses.

use std::path::Path;
use std::{fs, io};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, GROUPS, examples_of};
use crate::documents::{self, CompletionsDocument, FilesDocument};
use crate::exit::Failure;
use crate::output;

/// `shoal man`: one page for the program and one for each command.
pub(crate) fn man_pages(cli: &Cli, directory: &Path) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Failed(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(at)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut files_written = Vec::new();
    for (name, page) in pages_of(&command, "shoal").map_err(at)? {
        let path = directory.join(name);
        fs::write(&path, page).map_err(at)?;
        files_written.push(path.display().to_string());
    }
    files(cli, files_written)
}

/// The pages of a command's commands, at any depth, and its own, by the names of their files.
/// Commands that are not shown have none.
fn pages_of(command: &clap::Command, name: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages.extend(pages_of(inner, &format!("{name}-{}", inner.get_name()))?);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    page.extend(more(name).into_bytes());
    pages.push((format!("{name}.1"), page));
    Ok(pages)
}

/// What ends a page: examples, and the commands that are wanted for the same purpose.
fn more(name: &str) -> String {
    let command = name.strip_prefix("shoal-").unwrap_or_default();
    let mut text = String::new();
    let examples = examples_of(command);
    if !examples.is_empty() {
        text += ".SH EXAMPLES\n.nf\n";
        text.extend(examples.iter().map(|example| format!("{}\n", example.replace('-', "\\-"))));
        text += ".fi\n";
    }
    let group = GROUPS.iter().find(|group| group.commands.contains(&command));
    let others = group.into_iter().flat_map(|group| group.commands).filter(|other| !["help", command].contains(*other));
    let mut pages: Vec<_> = others.map(|other| format!("shoal\\-{}(1)", other.replace('-', "\\-"))).collect();
    pages.insert(0, if command.is_empty() { "mdadm(8), md(4)" } else { "shoal(1)" }.to_owned());
    text + &format!(".SH \"SEE ALSO\"\n{}\n", pages.join(", "))
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
