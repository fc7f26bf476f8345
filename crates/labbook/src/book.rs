//! The file: opened, begun, written. Reading is beside ([`crate::reading`], [`crate::listing`]).
//!
//! It is in SQLite's write-ahead mode with full synchronisation: when a call returns, what it wrote
//! is durable, and whoever reads meanwhile sees what there was before. Whoever finds another writer
//! at work waits for a moment.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::codec;
use crate::error::LabBookError;
use crate::limits::VALUE_BYTES_MAX;
use crate::model::{ArrayIdentity, DriveIdentity, Ending, Heading, Measured, Origin, Run, Target};
use crate::schema::{self, Standing};

/// How long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The names of samples.
pub(crate) const READ_HISTOGRAM: &str = "read_histogram";
pub(crate) const WRITE_HISTOGRAM: &str = "write_histogram";
pub(crate) const SERIES: &str = "series";

/// A lab book that is open.
#[derive(Debug)]
pub struct LabBook {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// What a lab book is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It has to be there.
    Read,
    /// It is begun if it is not there.
    Write,
}

/// A run's number in its lab book: short enough to be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub i64);

impl LabBook {
    /// Opens a file. One of an older shoal is brought up to date, unless it cannot be written.
    ///
    /// # Errors
    /// It is not there, no lab book, of a newer shoal, or damaged; or the system says no.
    pub fn open(path: &Path, rights: Rights) -> Result<Self, LabBookError> {
        prepare_file(path, rights)?;
        // Two measurements that write one after the other do not share a connection.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let wrong = |error| LabBookError::of(path, error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(wrong)?;
        harden(&connection).map_err(wrong)?;
        let known = schema::latest();
        match schema::standing(&connection).map_err(wrong)? {
            Standing::Empty if rights == Rights::Read => return Err(LabBookError::Missing { path: path.to_owned() }),
            Standing::Book(found) if found > known => {
                return Err(LabBookError::Newer { path: path.to_owned(), found, known });
            }
            Standing::Book(found) if found == known => {}
            Standing::Empty | Standing::Book(_) => schema::bring_up_to_date(&mut connection).map_err(wrong)?,
            Standing::Foreign => return Err(LabBookError::Foreign { path: path.to_owned() }),
        }
        if !schema::is_ours(&connection).map_err(wrong)? {
            return Err(LabBookError::damaged(path, "its tables are not those of a lab book"));
        }
        if rights == Rights::Write {
            write_ahead(&connection).map_err(wrong)?;
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that a run begins.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&mut self, heading: &Heading) -> Result<Number, LabBookError> {
        self.write(|transaction| insert_run(transaction, heading, None))
    }

    /// Writes down what was measured on a target. The same target may be given again, with more
    /// measurements.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, run: Number, target: &Target) -> Result<(), LabBookError> {
        self.write(|transaction| insert_target(transaction, run, target))
    }

    /// Writes down how a run ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&mut self, run: Number, ending: &Ending) -> Result<(), LabBookError> {
        let Ending { ended_unix_ns, failure } = ending;
        self.write(|transaction| {
            let sql = "UPDATE runs SET ended_unix_ns = ?2, failure = ?3 WHERE number = ?1";
            transaction.execute(sql, params![run.0, integer(*ended_unix_ns), failure]).map(drop)
        })
    }

    /// Takes a run out again in which nothing was measured. One that has measurements stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn discard(&mut self, run: Number) -> Result<(), LabBookError> {
        self.write(|transaction| {
            let sql = "SELECT EXISTS (SELECT 1 FROM measurements m JOIN targets t ON m.target = t.id WHERE t.run = ?1)";
            if transaction.query_row(sql, [run.0], |row| row.get(0))? {
                return Ok(());
            }
            transaction
                .execute("DELETE FROM members WHERE target IN (SELECT id FROM targets WHERE run = ?1)", [run.0])?;
            transaction.execute("DELETE FROM targets WHERE run = ?1", [run.0])?;
            transaction.execute("DELETE FROM runs WHERE number = ?1", [run.0]).map(drop)
        })
    }

    /// Writes down a whole run, unless it is there already. Says whether it was new.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn take_in(&mut self, run: &Run) -> Result<bool, LabBookError> {
        self.write(|transaction| {
            let sql = "SELECT number FROM runs WHERE uuid = ?1";
            let there = transaction.query_row(sql, [run.heading.uuid.to_string()], |row| row.get::<_, i64>(0));
            if there.optional()?.is_some() {
                return Ok(false);
            }
            let heading = Heading { origin: Origin::Imported, ..run.heading.clone() };
            let number = insert_run(transaction, &heading, run.ending.as_ref())?;
            run.targets.iter().try_for_each(|target| insert_target(transaction, number, target))?;
            Ok(true)
        })
    }

    /// One transaction, that is there as a whole or not at all.
    fn write<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, LabBookError> {
        let path = &self.path;
        let wrong = |error| LabBookError::of(path, error);
        // It begins as a writer: one that has read before it writes would be refused if another
        // wrote in between.
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(wrong)?;
        let changed = change(&transaction).map_err(wrong)?;
        transaction.commit().map_err(wrong)?;
        Ok(changed)
    }
}

/// Makes the file if it is to be written, for this user alone, and refuses what is no file.
fn prepare_file(path: &Path, rights: Rights) -> Result<(), LabBookError> {
    let system = |error: &std::io::Error| LabBookError::system(path, error);
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(LabBookError::Foreign { path: path.to_owned() }),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(system(&error)),
        Err(_) if rights == Rights::Read => Err(LabBookError::Missing { path: path.to_owned() }),
        // Another process may make it at the same time.
        Err(_) => {
            let made = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            made.map(drop).map_err(|error| system(&error))
        }
    }
}

/// How the file is dealt with. It may be anybody's: nothing in it is run, and nothing in it is
/// taken that is larger than what is written.
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is answered is there after a power cut, too.
    connection.pragma_update(None, "synchronous", "FULL")
}

/// The write-ahead mode is the file's, once it is chosen. While another process has the file it
/// cannot be, and is another time: all holds without it too, but that readers and writers wait for
/// each other.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
        Err(rusqlite::Error::SqliteFailure(failure, _)) if failure.code == ErrorCode::DatabaseBusy => Ok(()),
        result => result,
    }
}

/// SQLite's integers have a sign: what is beyond them is no figure that anything was measured to
/// be.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// As JSON; a list of texts and a map of texts can always be written as that.
fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn insert_run(transaction: &Transaction<'_>, heading: &Heading, ending: Option<&Ending>) -> rusqlite::Result<Number> {
    let sql = "INSERT INTO runs (uuid, origin, command, command_line, begun_unix_ns, ended_unix_ns, failure, tool_version, \
               kernel, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let Heading { uuid, origin, command, command_line, begun_unix_ns, tool_version, kernel, host } = heading;
    transaction.execute(
        sql,
        params![
            uuid.to_string(),
            origin.word(),
            command,
            json(command_line)?,
            integer(*begun_unix_ns),
            ending.map(|ending| integer(ending.ended_unix_ns)),
            ending.and_then(|ending| ending.failure.clone()),
            tool_version,
            kernel,
            host
        ],
    )?;
    Ok(Number(transaction.last_insert_rowid()))
}

fn insert_target(transaction: &Transaction<'_>, run: Number, target: &Target) -> rusqlite::Result<()> {
    let drive = target.drive.as_ref().map(|drive| drive_id(transaction, drive)).transpose()?;
    let array = target.array.as_ref().map(|array| array_id(transaction, array)).transpose()?;
    let sql = "SELECT id FROM targets WHERE run = ?1 AND name = ?2 AND kind = ?3 AND drive IS ?4 AND \"array\" IS ?5";
    let found = transaction
        .query_row(sql, params![run.0, target.name, target.kind, drive, array], |row| row.get::<_, i64>(0))
        .optional()?;
    let id = match found {
        Some(id) => id,
        None => {
            let sql = "INSERT INTO targets (run, name, kind, size_bytes, drive, drive_name, \"array\", simulated) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let Target { name, kind, size_bytes, simulated, .. } = target;
            let drive_name = target.drive.as_ref().map(|drive| &drive.name);
            let values = params![run.0, name, kind, integer(*size_bytes), drive, drive_name, array, simulated];
            transaction.execute(sql, values)?;
            transaction.last_insert_rowid()
        }
    };
    for member in &target.members {
        let drive = drive_id(transaction, member)?;
        let sql = "INSERT OR IGNORE INTO members (target, drive, name) VALUES (?1, ?2, ?3)";
        transaction.execute(sql, params![id, drive, member.name])?;
    }
    target.measurements.iter().try_for_each(|measured| insert_measured(transaction, id, measured))
}

fn drive_id(transaction: &Transaction<'_>, drive: &DriveIdentity) -> rusqlite::Result<i64> {
    transaction.execute("INSERT OR IGNORE INTO drives (identity) VALUES (?1)", [&drive.identity])?;
    transaction.query_row("SELECT id FROM drives WHERE identity = ?1", [&drive.identity], |row| row.get(0))
}

fn array_id(transaction: &Transaction<'_>, array: &ArrayIdentity) -> rusqlite::Result<i64> {
    let ArrayIdentity { uuid, name, level } = array;
    let sql = "SELECT id FROM arrays WHERE uuid IS ?1 AND name = ?2 AND level = ?3";
    let found = transaction.query_row(sql, params![uuid, name, level], |row| row.get(0)).optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    transaction.execute("INSERT INTO arrays (uuid, name, level) VALUES (?1, ?2, ?3)", params![uuid, name, level])?;
    Ok(transaction.last_insert_rowid())
}

fn insert_measured(transaction: &Transaction<'_>, target: i64, measured: &Measured) -> rusqlite::Result<()> {
    let sql = "INSERT INTO measurements (target, workload, settings, repeat, verdict, validity) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let verdict = measured.verdict_word();
    let (settings, validity) = (json(&measured.settings)?, json(&measured.validity)?);
    let values = params![target, measured.workload, settings, measured.repeat, verdict, validity];
    transaction.prepare(sql)?.execute(values)?;
    let id = transaction.last_insert_rowid();
    let mut statement = transaction.prepare("INSERT INTO figures (measurement, name, value) VALUES (?1, ?2, ?3)")?;
    for (name, value) in &measured.figures {
        statement.execute(params![id, name, integer(*value)])?;
    }
    let mut statement = transaction.prepare("INSERT INTO samples (measurement, kind, content) VALUES (?1, ?2, ?3)")?;
    let samples = [
        (READ_HISTOGRAM, !measured.read_histogram.is_empty(), codec::write_histogram(&measured.read_histogram)),
        (WRITE_HISTOGRAM, !measured.write_histogram.is_empty(), codec::write_histogram(&measured.write_histogram)),
        (SERIES, !measured.series.is_empty(), codec::write_series(&measured.series)),
    ];
    for (kind, _, content) in samples.into_iter().filter(|(_, is_kept, _)| *is_kept) {
        statement.execute(params![id, kind, Value::Blob(content)])?;
    }
    Ok(())
}

impl Origin {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Imported => "imported",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Measured, Self::Imported].into_iter().find(|origin| origin.word() == word)
    }
}
