//! `shoal show`

use std::collections::BTreeSet;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_bench::Verdict;
use shoal_labbook::{Measured, Number, Rights, Run, RunState, Target};
use shoal_text::{Outside, format_minute, format_ns, format_size, shell_word};

use crate::args::{Cli, ShowArgs};
use crate::exit::Failure;
use crate::figure::{figure, indented, plain_table, words};
use crate::labbook::{failure, open};
use crate::output;

/// `show`: all of one run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShowDocument {
    /// Its number in this lab book.
    pub(crate) number: i64,
    /// The command line that does the same again, word by word.
    pub(crate) reproduced_by: Vec<String>,
    /// The run.
    #[serde(flatten)]
    pub(crate) run: Run,
}

const NS_PER_S: u64 = 1_000_000_000;

/// Shows a run.
pub(crate) fn run(cli: &Cli, args: &ShowArgs) -> Result<(), Failure> {
    let book = open(&args.book, Rights::Read)?;
    let number = book.find(&args.run).map_err(failure)?;
    let run = book.run(number).map_err(failure)?;
    let Number(number) = number;
    output::document(cli, &ShowDocument { number, reproduced_by: run.reproduced_by(), run }, text)
}

fn text(document: &ShowDocument) -> String {
    let mut text = String::new();
    write_all(&mut text, document).expect("strings take everything");
    text
}

fn write_all(text: &mut String, document: &ShowDocument) -> std::fmt::Result {
    let ShowDocument { number, reproduced_by, run } = document;
    let heading = &run.heading;
    writeln!(text, "run {number}, {}", heading.uuid)?;
    let begun = format_minute(heading.begun_unix_ns / NS_PER_S);
    writeln!(text, "begun {begun} UTC, {}", ended(run))?;
    let mut by = format!("{}, version {}", heading.command, heading.tool_version);
    for (word, told) in [(", ", &heading.kernel), (", on ", &heading.host)] {
        by += &if told.is_empty() { String::new() } else { format!("{word}{told}") };
    }
    writeln!(text, "{}", Outside(&by))?;
    let line: Vec<_> = reproduced_by.iter().map(|word| shell_word(word)).collect();
    writeln!(text, "again: {}", Outside(&line.join(" ")))?;
    run.targets.iter().try_for_each(|target| write_target(text, target))
}

fn ended(run: &Run) -> String {
    let took = run.ending.as_ref().map(|ending| ending.ended_unix_ns.saturating_sub(run.heading.begun_unix_ns));
    let took = took.map(format_ns).unwrap_or_default();
    match (run.state(), run.ending.as_ref().and_then(|ending| ending.failure.as_deref())) {
        (RunState::Unfinished, _) => "unfinished: it is under way, or was killed".to_owned(),
        (_, Some(failure)) => format!("failed after {took}: {}", Outside(failure)),
        (_, None) => format!("finished after {took}"),
    }
}

fn write_target(text: &mut String, target: &Target) -> std::fmt::Result {
    writeln!(text, "\n{} ({}, {})", Outside(&target.name), Outside(&target.kind), format_size(target.size_bytes))?;
    if let Some(fleet) = &target.simulated {
        writeln!(text, "  SIMULATED: computed from the models of {}; nothing was measured", Outside(fleet))?;
    } else if let Some(drive) = &target.drive {
        writeln!(text, "  who it is: {}", Outside(&drive.identity))?;
    }
    if let Some(array) = &target.array {
        let uuid = array.uuid.as_deref().map(|uuid| format!(", UUID {uuid}")).unwrap_or_default();
        writeln!(text, "  array {}, level {}{}", Outside(&array.name), Outside(&array.level), Outside(&uuid))?;
    }
    for member in &target.members {
        writeln!(text, "  member {}: {}", Outside(&member.name), Outside(&member.identity))?;
    }
    for (workload, repeats) in target.by_workload() {
        writeln!(text, "  {}", Outside(workload))?;
        write_figures(text, &repeats)?;
    }
    Ok(())
}

/// A line a figure, a column a repeat.
fn write_figures(text: &mut String, repeats: &[&Measured]) -> std::fmt::Result {
    let names: BTreeSet<&String> = repeats.iter().flat_map(|measured| measured.figures.keys()).collect();
    let mut table = plain_table();
    for name in names {
        let cell =
            |measured: &&Measured| measured.figures.get(name).map_or("-".to_owned(), |&value| figure(name, value));
        table.add_row([Outside(&words(name)).to_string()].into_iter().chain(repeats.iter().map(cell)));
    }
    text.push_str(&indented(&table, 3));
    for measured in repeats.iter().filter(|measured| measured.validity.verdict != Verdict::Valid) {
        let verdict = if measured.validity.verdict == Verdict::Invalid { "invalid" } else { "suspect" };
        let reasons: Vec<_> = measured.validity.reasons.iter().map(|reason| reason.text.as_str()).collect();
        writeln!(text, "    repeat {} is {verdict}: {}", measured.repeat, Outside(&reasons.join("; ")))?;
    }
    Ok(())
}
