//! `shoal compare`

use comfy_table::Table;
use schemars::JsonSchema;
use serde::Serialize;
use shoal_labbook::{Compared, Comparison, Difference, Number, Rights, compare, median};
use shoal_text::{Outside, format_count};

use crate::args::{Cli, CompareArgs};
use crate::exit::Failure;
use crate::figure::{bounds, difference, figure as told, indented, percent, plain_table, words};
use crate::labbook::{failure, open};
use crate::output;

/// `compare`: how two runs differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompareDocument {
    /// The number of the run before.
    pub(crate) before: i64,
    /// The number of the run after.
    pub(crate) after: i64,
    /// What they say of each other.
    #[serde(flatten)]
    pub(crate) comparison: Comparison,
}

/// Compares two runs.
pub(crate) fn run(cli: &Cli, args: &CompareArgs) -> Result<(), Failure> {
    let book = open(&args.book, Rights::Read)?;
    let [Number(before), Number(after)] =
        [book.find(&args.before).map_err(failure)?, book.find(&args.after).map_err(failure)?];
    let [first, second] = [book.run(Number(before)).map_err(failure)?, book.run(Number(after)).map_err(failure)?];
    let comparison = compare(&first, &second);
    if comparison.figures.is_empty() && comparison.invalid_count > 0 {
        return Err(Failure::Failed(format!(
            "all repeats that runs {before} and {after} could be compared by are invalid: `shoal show {before}` says why"
        )));
    }
    if let Some((number, _)) = [(before, &first), (after, &second)].into_iter().find(|(_, run)| run.targets.is_empty())
    {
        return Err(Failure::Failed(format!(
            "run {number} has measured nothing: `shoal show {number}` says how it ended"
        )));
    }
    if comparison.figures.is_empty() {
        return Err(Failure::Failed(format!(
            "runs {before} and {after} have no workload in common: `shoal show` tells what each has"
        )));
    }
    output::document(cli, &CompareDocument { before, after, comparison }, text)
}

fn text(document: &CompareDocument) -> String {
    let CompareDocument { before, after, comparison } = document;
    let mut text = format!("run {after} beside run {before}\n");
    let mut told = ("", "");
    let mut table = headed(*before, *after);
    for figure in &comparison.figures {
        if told != (figure.target.as_str(), figure.workload.as_str()) {
            text += &rows(&table);
            table = headed(*before, *after);
            told = (&figure.target, &figure.workload);
            let other = figure.other_target.as_ref();
            let other = other.map_or(String::new(), |other| format!(" (run {after}: {})", Outside(other)));
            text += &format!("\n{}{other}: {}\n", Outside(&figure.target), Outside(&figure.workload));
        }
        table.add_row(row(figure));
    }
    text += &rows(&table);
    text += "\nThe columns of runs have medians; a difference is the median of those between all repeats of both.\n";
    text += &conclusion(comparison);
    for left_out in &comparison.left_out {
        text += &format!("not compared: {}\n", Outside(left_out));
    }
    if comparison.invalid_count > 0 {
        let count = format_count(comparison.invalid_count as usize, "repeat");
        text += &format!("left out: {count} that did not measure what it seems to\n");
    }
    text
}

/// The rows of a table, if it has any, below what its columns are.
fn rows(table: &Table) -> String {
    if table.is_empty() { String::new() } else { indented(table, 1) }
}

/// What the columns are. Of repeats there is the median.
fn headed(before: i64, after: i64) -> Table {
    let mut table = plain_table();
    table.set_header([
        String::new(),
        format!("run {before}"),
        format!("run {after}"),
        "difference".to_owned(),
        String::new(),
        "lies in".to_owned(),
    ]);
    table
}

fn row(figure: &Difference) -> [String; 7] {
    let name = figure.figure.as_str();
    let verdict = match figure.verdict {
        Compared::Better => "better",
        Compared::Worse => "worse",
        Compared::Noise => "noise",
        Compared::TooFew => "too few repeats to say",
    };
    let middle = |repeats: &[u64]| median(repeats.to_vec()).map(|value| told(name, value)).unwrap_or_default();
    [
        Outside(&words(name)).to_string(),
        middle(&figure.before),
        middle(&figure.after),
        difference(name, figure.difference),
        figure.difference_per_mille.map(percent).unwrap_or_default(),
        figure.interval.map(|interval| bounds(name, interval)).unwrap_or_default(),
        verdict.to_owned(),
    ]
}

fn conclusion(comparison: &Comparison) -> String {
    let count = |verdict| comparison.figures.iter().filter(|figure| figure.verdict == verdict).count();
    let [better, worse, noise, few] = [Compared::Better, Compared::Worse, Compared::Noise, Compared::TooFew].map(count);
    let all = format_count(comparison.figures.len(), "figure");
    let few = if few > 0 {
        format!("; for {few} there are too few repeats to say: three on both sides are needed")
    } else {
        String::new()
    };
    format!("Of {all}, {better} are better, {worse} worse, and {noise} differ by no more than noise{few}.\n")
}
