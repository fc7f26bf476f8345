//! The tables, version by version. A file says its version itself (`PRAGMA user_version`), and is
//! brought to the latest by the steps that it lacks, each a transaction. A step that was published
//! is never changed: another one follows it.
//!
//! Who comes upon a file of a version that it does not know leaves it alone.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// In the head of the file (`PRAGMA application_id`): "shLB". SQLite files of other programs are
/// not written to.
pub(crate) const APPLICATION: i32 = i32::from_be_bytes(*b"shLB");

/// The steps, from an empty file on. The version is how many were taken.
const STEPS: [&str; 2] = [FIRST, FOUND_AGAIN];

/// Runs, what was measured in them, and how. Tables are strict: a column holds what it is declared
/// to hold.
const FIRST: &str = "
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    command TEXT NOT NULL,
    command_line TEXT NOT NULL,
    begun_unix_ns INTEGER NOT NULL,
    ended_unix_ns INTEGER,
    failure TEXT,
    tool_version TEXT NOT NULL,
    kernel TEXT NOT NULL,
    host TEXT NOT NULL
) STRICT;
CREATE TABLE drives (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE arrays (
    id INTEGER PRIMARY KEY,
    uuid TEXT,
    name TEXT NOT NULL,
    level TEXT NOT NULL,
    UNIQUE (uuid, name, level)
) STRICT;
CREATE TABLE targets (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (number),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    drive INTEGER REFERENCES drives (id),
    drive_name TEXT,
    \"array\" INTEGER REFERENCES arrays (id),
    simulated TEXT
) STRICT;
CREATE TABLE members (
    target INTEGER NOT NULL REFERENCES targets (id),
    drive INTEGER NOT NULL REFERENCES drives (id),
    name TEXT NOT NULL,
    PRIMARY KEY (target, drive, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    target INTEGER NOT NULL REFERENCES targets (id),
    workload TEXT NOT NULL,
    settings TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    validity TEXT NOT NULL
) STRICT;
CREATE TABLE figures (
    measurement INTEGER NOT NULL REFERENCES measurements (id),
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (measurement, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE samples (
    measurement INTEGER NOT NULL REFERENCES measurements (id),
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (measurement, kind)
) STRICT, WITHOUT ROWID;
";

/// Where a run is from; and what belongs to a run, target or drive is found without looking at
/// everything.
const FOUND_AGAIN: &str = "
ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'measured';
CREATE INDEX runs_by_time ON runs (begun_unix_ns);
CREATE INDEX targets_by_run ON targets (run);
CREATE INDEX targets_by_drive ON targets (drive);
CREATE INDEX members_by_drive ON members (drive);
CREATE INDEX measurements_by_target ON measurements (target);
";

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is in it yet.
    Empty,
    /// A lab book of this version.
    Book(i64),
    /// Another program's.
    Foreign,
}

/// The version that this program writes.
pub(crate) fn latest() -> i64 {
    STEPS.len() as i64
}

/// Looks without changing anything.
pub(crate) fn standing(connection: &Connection) -> rusqlite::Result<Standing> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, objects) {
        (0, 0, 0) => Standing::Empty,
        (application, 1.., _) if application == i64::from(APPLICATION) => Standing::Book(version),
        _ => Standing::Foreign,
    })
}

/// Brings a file to the latest version. Whoever else wants the same waits, and finds it done.
pub(crate) fn bring_up_to_date(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    take_steps(&transaction, usize::try_from(taken).unwrap_or(usize::MAX), STEPS.len())?;
    transaction.commit()
}

/// Takes the steps that lead from one version to another.
fn take_steps(transaction: &Transaction<'_>, from: usize, to: usize) -> rusqlite::Result<()> {
    for (number, step) in STEPS.iter().enumerate().take(to).skip(from) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", number as i64 + 1)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)
}

/// Whether tables, and whatever else is in the file, are ours: what others put there could run with
/// each question.
pub(crate) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let mut reference = Connection::open_in_memory()?;
    bring_up_to_date(&mut reference)?;
    Ok(contents(connection)? == contents(&reference)?)
}

/// What there is, and how it is made. SQLite's own tables apart: their makers are SQLite's.
fn contents(connection: &Connection) -> rusqlite::Result<Vec<(String, String, String)>> {
    let sql = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY type, name LIMIT 1000";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// A file as the first version made it.
#[cfg(test)]
pub(crate) fn make_first_version(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    take_steps(&transaction, 0, 1)?;
    transaction.commit()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;
    use crate::{Filter, LabBook, Origin, Rights, RunState};

    #[test]
    fn a_file_of_the_first_version_is_brought_up_to_date() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("book");
        let mut old = Connection::open(&path).unwrap();
        make_first_version(&mut old).unwrap();
        let insert = "INSERT INTO runs (uuid, command, command_line, begun_unix_ns, ended_unix_ns, tool_version, kernel, host) \
                      VALUES ('1b4e28ba-2fa1-41d2-883f-0016d3cca427', 'bench', '[\"shoal\"]', 5, 6, '0.1.0', 'Linux', 'pond')";
        old.execute(insert, []).unwrap();
        assert_eq!(standing(&old).unwrap(), Standing::Book(1));
        drop(old);
        let book = LabBook::open(&path, Rights::Write).unwrap();
        assert_eq!(standing(&book.connection).unwrap(), Standing::Book(latest()));
        let [entry] = &book.list(Filter::default()).unwrap()[..] else { panic!("the run is gone") };
        assert_eq!(entry.state, RunState::Finished);
        assert_eq!(book.run(book.find("1").unwrap()).unwrap().heading.origin, Origin::Measured);
    }

    #[test]
    fn all_steps_lead_to_what_a_new_file_has() {
        let mut old = Connection::open_in_memory().unwrap();
        make_first_version(&mut old).unwrap();
        assert!(!is_ours(&old).unwrap());
        bring_up_to_date(&mut old).unwrap();
        assert!(is_ours(&old).unwrap());
        bring_up_to_date(&mut old).unwrap();
    }
}
