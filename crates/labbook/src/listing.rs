//! The runs of a lab book, an entry each.

use rusqlite::{Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::book::{LabBook, Number};
use crate::error::LabBookError;
use crate::model::{Ending, RunState};
use crate::reading::DriveFound;
use crate::statistics::median;

/// Which runs are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Those in which this drive was measured, alone or as a member of an array.
    pub drive: Option<&'a DriveFound>,
    /// No more than so many, the newest.
    pub last: Option<u32>,
}

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its number in this lab book.
    pub number: i64,
    /// Its UUID in every lab book.
    pub uuid: String,
    /// The command, as "bench".
    pub command: String,
    /// When it began, in nanoseconds since 1970 UTC.
    pub begun_unix_ns: u64,
    /// When it ended; left out if it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_unix_ns: Option<u64>,
    /// How it stands.
    pub state: RunState,
    /// Why it failed; left out if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What was measured, by name; the first ten.
    pub targets: Vec<String>,
    /// How many targets there are.
    pub target_count: u64,
    /// Whether drives were simulated.
    pub is_simulated: bool,
    /// How many measurements there are.
    pub measurement_count: u64,
    /// How many of them are suspect or invalid.
    pub doubtful_count: u64,
    /// A figure that stands for the run; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
}

/// A figure of the first workload of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Headline {
    /// The workload.
    pub workload: String,
    /// The figure's name.
    pub figure: String,
    /// The median of its repeats.
    pub median: u64,
}

/// Names that an entry tells.
const TARGETS_TOLD: usize = 10;
/// Which figure stands for a run: the first of these that it has. Of random loads the requests are
/// counted, of others the bytes.
const RANDOM: [&str; 3] = ["read_iops", "write_iops", "bytes_per_s"];
const OTHERS: [&str; 6] =
    ["read_bytes_per_s", "write_bytes_per_s", "bytes_per_s", "durable_bytes_per_s", "measured_bytes_per_s", "mean_ns"];

impl LabBook {
    /// The runs, newest first.
    ///
    /// # Errors
    /// The file cannot be read, or holds what nobody wrote.
    pub fn list(&self, filter: Filter<'_>) -> Result<Vec<Entry>, LabBookError> {
        let sql = "SELECT number, uuid, command, begun_unix_ns, ended_unix_ns, failure FROM runs r \
                   WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM targets t WHERE t.run = r.number AND t.drive = ?1) \
                   OR EXISTS (SELECT 1 FROM targets t JOIN members m ON m.target = t.id WHERE t.run = r.number AND m.drive = ?1) \
                   ORDER BY begun_unix_ns DESC, number DESC LIMIT ?2";
        let limit = filter.last.map_or(-1, i64::from);
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?));
        let rows: Vec<Begun> = self.rows(sql, params![filter.drive.map(|drive| drive.id), limit], read)?;
        rows.into_iter().map(|row| self.entry(row)).collect()
    }

    /// The numbers of all runs, oldest first.
    pub(crate) fn numbers(&self) -> Result<Vec<Number>, LabBookError> {
        self.rows("SELECT number FROM runs ORDER BY begun_unix_ns, number", [], |row| row.get(0).map(Number))
    }

    fn entry(&self, (number, uuid, command, begun, ended, failure): Begun) -> Result<Entry, LabBookError> {
        let ended_unix_ns = ended.map(|ended| self.unsigned(ended)).transpose()?;
        let ending = ended_unix_ns.map(|ended_unix_ns| Ending { ended_unix_ns, failure: failure.clone() });
        let sql = "SELECT count(*), count(simulated) FROM targets WHERE run = ?1";
        let (target_count, simulated_count) = self.counts(sql, number)?;
        let sql = "SELECT count(*), coalesce(sum(m.verdict <> 'valid'), 0) FROM measurements m JOIN targets t ON m.target = t.id \
                   WHERE t.run = ?1";
        let (measurement_count, doubtful_count) = self.counts(sql, number)?;
        let sql = "SELECT name FROM targets WHERE run = ?1 ORDER BY id LIMIT ?2";
        Ok(Entry {
            number,
            uuid,
            command,
            begun_unix_ns: self.unsigned(begun)?,
            ended_unix_ns,
            state: RunState::of(ending.as_ref()),
            failure,
            targets: self.rows(sql, params![number, TARGETS_TOLD as i64], |row| row.get(0))?,
            target_count,
            is_simulated: simulated_count > 0,
            measurement_count,
            doubtful_count,
            headline: self.headline(number)?,
        })
    }

    /// Two counts.
    fn counts(&self, sql: &str, number: i64) -> Result<(u64, u64), LabBookError> {
        let found: Vec<(i64, i64)> = self.rows(sql, [number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (one, two) = found.first().copied().unwrap_or_default();
        Ok((self.unsigned(one)?, self.unsigned(two)?))
    }

    fn headline(&self, number: i64) -> Result<Option<Headline>, LabBookError> {
        let sql = "SELECT m.target, m.workload FROM measurements m JOIN targets t ON m.target = t.id WHERE t.run = ?1 \
                   ORDER BY m.id LIMIT 1";
        let first: Vec<(i64, String)> = self.rows(sql, [number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((target, workload)) = first.into_iter().next() else { return Ok(None) };
        let names: &[&str] = if workload.contains("random") { &RANDOM } else { &OTHERS };
        let sql = "SELECT f.value FROM figures f JOIN measurements m ON f.measurement = m.id \
                   WHERE m.target = ?1 AND m.workload = ?2 AND f.name = ?3 LIMIT 1000";
        for figure in names {
            let values: Vec<i64> = self.rows(sql, params![target, workload, figure], |row| row.get(0))?;
            let values = values.into_iter().map(|value| self.unsigned(value)).collect::<Result<Vec<_>, _>>()?;
            if let Some(median) = median(values) {
                return Ok(Some(Headline { workload, figure: (*figure).to_owned(), median }));
            }
        }
        Ok(None)
    }
}

/// A row of `runs`: number, UUID, command, begin, end, failure.
type Begun = (i64, String, String, i64, Option<i64>, Option<String>);
