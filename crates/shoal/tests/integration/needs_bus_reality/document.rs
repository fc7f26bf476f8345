//! `docs/reality.md`: its tables, and where they go.

use std::fmt::Write as _;
use std::sync::Mutex;

use crate::needs_bus_reality::figures::{Engine, Figures, Kind, cause, error_per_mille};
use crate::needs_bus_reality::shapes::Shape;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reality.md");
/// Set, the document's tables are measured and written anew.
pub(crate) const UPDATE: &str = "SHOAL_UPDATE_REALITY";
/// The document has one writer at a time.
static WRITER: Mutex<()> = Mutex::new(());
/// An error is explained from here on.
const EXPLAINED_PER_MILLE: i64 = 50;

/// An array: what was said of it, and what it did.
pub(crate) struct Row {
    pub(crate) shape: Shape,
    pub(crate) predicted: Figures,
    pub(crate) shoal: Figures,
    pub(crate) linux: Figures,
}

pub(crate) fn is_wanted() -> bool {
    std::env::var_os(UPDATE).is_some()
}

/// Puts a table into its place in the document.
pub(crate) fn put(name: &str, table: &str) {
    let _writer = WRITER.lock();
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = document.find(&start).expect("the document has a place for the table") + start.len();
    let to = document.find(&end).expect("the table has an end");
    std::fs::write(DOCUMENT, format!("{}{table}{}", &document[..from], &document[to..])).unwrap();
}

/// What one stick does alone, which is all that the predictions know.
pub(crate) fn stick(figures: &Figures) -> String {
    let [read, write, small_read, small_write] = Kind::ALL.map(|kind| shown(kind, kind.of(figures)));
    format!(
        "| sequential read | sequential write | 4 KiB read | 4 KiB write |\n| --- | --- | --- | --- |\n\
         | {read} | {write} | {small_read} | {small_write} |\n"
    )
}

/// The table of some kinds of figures, with errors and, below it, what causes those that are not
/// small.
pub(crate) fn table(rows: &[Row], kinds: &[Kind]) -> String {
    let mut table = "| array | | simulated | shoal on the sticks | error | Linux md on the sticks | error | why |\n\
                     | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut reasons = Vec::new();
    for row in rows {
        for &kind in kinds {
            table += &line(row, kind, &mut reasons);
        }
    }
    table += "\n";
    for (number, reason) in reasons.iter().enumerate() {
        writeln!(table, "{}. {reason}.", number + 1).unwrap();
    }
    table + &summary(rows, kinds)
}

fn line(row: &Row, kind: Kind, reasons: &mut Vec<&'static str>) -> String {
    let predicted = kind.of(&row.predicted);
    let mut notes = String::new();
    let mut against = |engine, figures: &Figures| {
        let measured = kind.of(figures);
        let error = error_per_mille(predicted, measured);
        if error.abs() >= EXPLAINED_PER_MILLE {
            let note = note(cause(&row.shape, engine, kind).text, reasons);
            if !notes.contains(&note) {
                notes += &note;
            }
        }
        format!("{} | {}", shown(kind, measured), percent(error))
    };
    let shoal = against(Engine::Shoal, &row.shoal);
    let linux = against(Engine::Linux, &row.linux);
    let (name, title, predicted) = (row.shape.name(), title(kind), shown(kind, predicted));
    format!("| {name} | {title} | {predicted} | {shoal} | {linux} | {notes} |\n")
}

/// `(2)`: the number of a reason, which is a new one if nobody gave it before.
fn note(reason: &'static str, reasons: &mut Vec<&'static str>) -> String {
    if reason.is_empty() {
        return String::new();
    }
    let number = reasons.iter().position(|known| *known == reason).unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    format!("({})", number + 1)
}

/// The median of the errors' sizes, and the largest.
fn summary(rows: &[Row], kinds: &[Kind]) -> String {
    let errors = |measured: fn(&Row) -> &Figures| -> String {
        let of = |row, kind: &Kind| error_per_mille(kind.of(&Row::predicted(row)), kind.of(measured(row))).abs();
        let mut errors: Vec<_> = rows.iter().flat_map(|row| kinds.iter().map(move |kind| of(row, kind))).collect();
        errors.sort_unstable();
        format!("{}, at most {}", percent(errors[errors.len() / 2]), percent(errors[errors.len() - 1]))
    };
    format!(
        "\nMedian size of the errors against shoal: {}; against Linux: {}.\n",
        errors(|row| &row.shoal),
        errors(|row| &row.linux)
    )
}

impl Row {
    fn predicted(row: &Self) -> Figures {
        row.predicted
    }
}

pub(crate) fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::SequentialRead | Kind::SmallRead => "read",
        Kind::SequentialWrite | Kind::SmallWrite => "write",
    }
}

pub(crate) fn shown(kind: Kind, figure: u64) -> String {
    match kind.is_sequential() {
        true => format!("{}.{:02} MB/s", figure / 1_000_000, figure % 1_000_000 / 10_000),
        false if figure < 1_000_000 => format!("{} us", figure / 1000),
        false => format!("{}.{:01} ms", figure / 1_000_000, figure % 1_000_000 / 100_000),
    }
}

pub(crate) fn percent(per_mille: i64) -> String {
    let sign = if per_mille < 0 { "-" } else { "" };
    format!("{sign}{}.{} %", per_mille.abs() / 10, per_mille.abs() % 10)
}
