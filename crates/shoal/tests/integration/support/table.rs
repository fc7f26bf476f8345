//! The tables of `docs/compatibility.md`, which the tests give and are held against.

use std::path::Path;
use std::sync::Mutex;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compatibility.md");
/// Set, it puts the tables into the document instead of comparing.
const UPDATE: &str = "SHOAL_UPDATE_COMPATIBILITY";
/// The document has one writer at a time.
static WRITER: Mutex<()> = Mutex::new(());

/// Holds the document's table of this name against what was found. A cell that is `None` was not
/// tried: there the document stands as it is.
pub(crate) fn hold(name: &str, head: &[&str], rows: Vec<Vec<Option<String>>>) {
    let _writer = WRITER.lock();
    let path = Path::new(DOCUMENT);
    let document = std::fs::read_to_string(path).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = document.find(&start).expect("the document has a place for the table") + start.len();
    let to = document.find(&end).expect("the document's table has an end");
    let table = rendered(head, &with_untried(&document[from..to], rows));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, format!("{}{table}{}", &document[..from], &document[to..])).unwrap();
    } else {
        assert_eq!(document[from..to], table, "docs/compatibility.md is not what came out; {UPDATE}=1 writes it anew");
    }
}

/// The rows, with the document's words in the cells that were not tried. Tables begin with two
/// lines of head.
fn with_untried(table: &str, rows: Vec<Vec<Option<String>>>) -> Vec<Vec<String>> {
    let line = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let written: Vec<Vec<String>> = table.lines().skip(2).map(line).collect();
    let cell =
        |row: usize, column: usize| written.get(row).and_then(|row| row.get(column)).cloned().unwrap_or_default();
    let whole = |(row, cells): (usize, Vec<Option<String>>)| {
        let cells = cells.into_iter().enumerate();
        cells.map(|(column, found)| found.unwrap_or_else(|| cell(row, column))).collect()
    };
    rows.into_iter().enumerate().map(whole).collect()
}

fn rendered(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(head) + &line(&vec!["---"; head.len()]);
    for row in rows {
        assert_eq!(row.len(), head.len(), "a cell for each column");
        table += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    table
}
