//! Files that are something else, damaged, or made up.

use std::path::Path;

use rusqlite::Connection;
use shoal_labbook::{Filter, LabBook, LabBookError, Rights, trend};

use crate::support::{keep, open, simulated_target};

/// Reads all that a lab book says.
fn read_all(path: &Path) -> Result<(), LabBookError> {
    let book = LabBook::open(path, Rights::Read)?;
    for entry in book.list(Filter::default())? {
        book.run(book.find(&entry.number.to_string())?)?;
    }
    trend(&book, &book.find_drive("sim:cruzer-titanium#0")?).map(drop)
}

/// Reading fails, in one line that names the file.
#[track_caller]
fn is_told(path: &Path, words: &[&str]) {
    let line = read_all(path).unwrap_err().to_string();
    assert!(line.starts_with(&path.display().to_string()) && !line.contains('\n'), "{line}");
    words.iter().for_each(|word| assert!(line.contains(word), "no `{word}` in: {line}"));
}

/// A lab book with a run in it, all in one file, changed by statements.
fn changed(path: &Path, statements: &str) {
    keep(&mut open(path), 1, &[simulated_target(1, 1)]);
    let connection = Connection::open(path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    connection.execute_batch(statements).unwrap();
}

#[test]
fn what_is_no_lab_book_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    is_told(&place.path().join("nothing"), &["there is no lab book", "--book"]);
    is_told(place.path(), &["no lab book"]);
    let text = place.path().join("text");
    std::fs::write(
        &text,
        "a letter, of more bytes than the head of a file of SQLite has, which is a hundred of them, all of text",
    )
    .unwrap();
    is_told(&text, &["no lab book"]);
    assert!(matches!(LabBook::open(&text, Rights::Write), Err(LabBookError::Foreign { .. })));
    let empty = place.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    is_told(&empty, &["there is no lab book"]);
    let other = place.path().join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE letters (text)").unwrap();
    let before = std::fs::read(&other).unwrap();
    assert!(matches!(LabBook::open(&other, Rights::Write), Err(LabBookError::Foreign { .. })));
    assert!(std::fs::read(&other).unwrap() == before);
}

#[test]
fn a_newer_version_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("book");
    changed(&path, "PRAGMA user_version = 1000");
    is_told(&path, &["newer shoal", "version 1000", "update shoal"]);
    assert!(matches!(LabBook::open(&path, Rights::Write), Err(LabBookError::Newer { found: 1000, .. })));
}

#[test]
fn columns_that_hold_something_else_are_told() {
    let place = tempfile::tempdir().unwrap();
    for (number, statement) in [
        "UPDATE runs SET uuid = 'none'",
        "UPDATE runs SET command_line = '{'",
        "UPDATE runs SET origin = 'elsewhere'",
        "UPDATE runs SET begun_unix_ns = -1",
        "UPDATE targets SET size_bytes = -1",
        "UPDATE measurements SET repeat = 5000000000",
        "UPDATE measurements SET validity = '[]'",
        "UPDATE measurements SET settings = '[[['",
        "UPDATE figures SET value = -5",
        "UPDATE samples SET content = x'01ff'",
        "UPDATE samples SET content = x''",
        "UPDATE samples SET content = zeroblob(20000000)",
        "UPDATE runs SET command = CAST(x'ff' AS TEXT)",
    ]
    .into_iter()
    .enumerate()
    {
        let path = place.path().join(number.to_string());
        changed(&path, statement);
        is_told(&path, &["damaged"]);
    }
}

#[test]
fn what_others_put_into_the_file_is_not_run() {
    let place = tempfile::tempdir().unwrap();
    for (number, statements) in [
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM figures; END",
        "DROP TABLE figures; CREATE VIEW figures AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
         SELECT i AS measurement, 'x' AS name, i AS value FROM n",
        "DROP TABLE samples",
        "ALTER TABLE runs ADD COLUMN more TEXT",
        "CREATE TABLE more (text TEXT)",
    ]
    .into_iter()
    .enumerate()
    {
        let path = place.path().join(number.to_string());
        changed(&path, statements);
        is_told(&path, &["damaged", "tables"]);
        assert!(matches!(LabBook::open(&path, Rights::Write), Err(LabBookError::Damaged { .. })));
    }
}

#[test]
fn bytes_that_changed_make_no_panic() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("book");
    changed(&path, "");
    let good = std::fs::read(&path).unwrap();
    let mut state = 1_u64;
    let mut told = 0;
    for round in 0..150 {
        let mut bytes = good.clone();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 20) as usize % bytes.len();
            bytes[place] = (state >> 12) as u8;
        }
        if round % 3 == 0 {
            bytes.truncate((state >> 33) as usize % good.len());
        }
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = read_all(&path) {
            told += 1;
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    assert!(told > 20, "{told} of 150 were told");
}
