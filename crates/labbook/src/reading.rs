//! What a lab book says of one run, and of one drive. All that is read is checked: the file may be
//! anybody's.

use std::collections::BTreeMap;

use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use shoal_bench::Validity;

use crate::book::{LabBook, Number, READ_HISTOGRAM, SERIES, WRITE_HISTOGRAM};
use crate::codec;
use crate::error::LabBookError;
use crate::limits::{MEASUREMENTS_MAX, SAMPLE_BYTES_MAX};
use crate::model::{ArrayIdentity, DriveIdentity, Ending, Heading, Measured, Origin, Run, Target};

/// A drive that something was measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveFound {
    pub(crate) id: i64,
    /// Who it is, and what it was called last.
    pub drive: DriveIdentity,
}

impl LabBook {
    /// The run that is named by its number or its UUID.
    ///
    /// # Errors
    /// There is none; or the file cannot be read, or holds what nobody wrote.
    pub fn find(&self, run: &str) -> Result<Number, LabBookError> {
        let sql = "SELECT number FROM runs WHERE uuid = ?1 OR number = ?2";
        let found = self.connection.query_row(sql, params![run, run.parse::<i64>().ok()], |row| row.get(0)).optional();
        let missing = || LabBookError::NoSuchRun { path: self.path.clone(), run: run.to_owned() };
        found.map_err(|error| self.wrong(error))?.map(Number).ok_or_else(missing)
    }

    /// All of a run.
    ///
    /// # Errors
    /// The file cannot be read, or holds what nobody wrote.
    pub fn run(&self, number: Number) -> Result<Run, LabBookError> {
        self.refuse_endless(number)?;
        let sql = "SELECT uuid, origin, command, command_line, begun_unix_ns, tool_version, kernel, host, ended_unix_ns, failure \
                   FROM runs WHERE number = ?1";
        let read = |row: &Row<'_>| Ok(self.run_of(row));
        let mut run = self.connection.query_row(sql, [number.0], read).map_err(|error| self.wrong(error))??;
        run.targets = self.targets(number)?;
        Ok(run)
    }

    /// The drive that is named: by who it is, or by what it was called.
    ///
    /// # Errors
    /// There is none, or more than one; or the file cannot be read.
    pub fn find_drive(&self, named: &str) -> Result<DriveFound, LabBookError> {
        let sql = "SELECT DISTINCT d.id, d.identity FROM drives d LEFT JOIN targets t ON t.drive = d.id \
                   LEFT JOIN members m ON m.drive = d.id \
                   WHERE d.identity = ?1 OR t.drive_name = ?1 OR t.name = ?1 OR m.name = ?1 \
                   ORDER BY d.identity = ?1 DESC, d.id LIMIT 10";
        let found: Vec<(i64, String)> = self.rows(sql, [named], |row| Ok((row.get(0)?, row.get(1)?)))?;
        match found.as_slice() {
            [] => Err(LabBookError::NoSuchDrive { path: self.path.clone(), drive: named.to_owned() }),
            [(id, identity), others @ ..] if identity == named || others.is_empty() => self.drive_found(*id, identity),
            several => Err(LabBookError::SeveralDrives {
                drive: named.to_owned(),
                identities: several.iter().map(|(_, identity)| identity.clone()).collect(),
            }),
        }
    }

    fn drive_found(&self, id: i64, identity: &str) -> Result<DriveFound, LabBookError> {
        let sql = "SELECT drive_name FROM targets WHERE drive = ?1 AND drive_name IS NOT NULL ORDER BY id DESC LIMIT 1";
        let name = self.connection.query_row(sql, [id], |row| row.get::<_, String>(0)).optional();
        let name = name.map_err(|error| self.wrong(error))?.unwrap_or_else(|| identity.to_owned());
        Ok(DriveFound { id, drive: DriveIdentity { identity: identity.to_owned(), name } })
    }

    pub(crate) fn wrong(&self, error: rusqlite::Error) -> LabBookError {
        LabBookError::of(&self.path, error)
    }

    /// All rows that a question has.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LabBookError> {
        let rows = || self.connection.prepare(sql)?.query_map(parameters, read)?.collect();
        let rows: rusqlite::Result<Vec<T>> = rows();
        rows.map_err(|error| self.wrong(error))
    }

    fn refuse_endless(&self, number: Number) -> Result<(), LabBookError> {
        let sql = "SELECT count(*) FROM measurements m JOIN targets t ON m.target = t.id WHERE t.run = ?1";
        let bytes = "SELECT coalesce(sum(length(s.content)), 0) FROM samples s JOIN measurements m ON s.measurement = m.id \
                     JOIN targets t ON m.target = t.id WHERE t.run = ?1";
        for (sql, most) in [(sql, MEASUREMENTS_MAX), (bytes, SAMPLE_BYTES_MAX)] {
            let number: i64 =
                self.connection.query_row(sql, [number.0], |row| row.get(0)).map_err(|error| self.wrong(error))?;
            if number > most {
                return Err(LabBookError::damaged(&self.path, "a run in it is larger than any that was measured"));
            }
        }
        Ok(())
    }

    /// JSON in a column.
    pub(crate) fn json<T: DeserializeOwned>(&self, text: &str) -> Result<T, LabBookError> {
        serde_json::from_str(text).map_err(|error| LabBookError::damaged(&self.path, error.to_string()))
    }

    /// An integer that is never negative.
    pub(crate) fn unsigned(&self, value: i64) -> Result<u64, LabBookError> {
        u64::try_from(value).map_err(|_| LabBookError::damaged(&self.path, format!("a figure is {value}")))
    }

    fn column<T: FromSql>(&self, row: &Row<'_>, column: usize) -> Result<T, LabBookError> {
        row.get(column).map_err(|error| self.wrong(error))
    }

    /// A run without what was measured.
    fn run_of(&self, row: &Row<'_>) -> Result<Run, LabBookError> {
        let damaged = |what: String| LabBookError::damaged(&self.path, what);
        let uuid: String = self.column(row, 0)?;
        let origin: String = self.column(row, 1)?;
        let ended: Option<i64> = self.column(row, 8)?;
        let failure: Option<String> = self.column(row, 9)?;
        let ending = |ended| Ok(Ending { ended_unix_ns: self.unsigned(ended)?, failure });
        Ok(Run {
            heading: Heading {
                uuid: uuid.parse().map_err(|error| damaged(format!("{error}")))?,
                origin: Origin::of_word(&origin).ok_or_else(|| damaged(format!("a run is from `{origin}`")))?,
                command: self.column(row, 2)?,
                command_line: self.json(&self.column::<String>(row, 3)?)?,
                begun_unix_ns: self.unsigned(self.column(row, 4)?)?,
                tool_version: self.column(row, 5)?,
                kernel: self.column(row, 6)?,
                host: self.column(row, 7)?,
            },
            ending: ended.map(ending).transpose()?,
            targets: Vec::new(),
        })
    }

    fn targets(&self, run: Number) -> Result<Vec<Target>, LabBookError> {
        let sql = "SELECT t.id, t.name, t.kind, t.size_bytes, t.simulated, d.identity, t.drive_name, a.uuid, a.name, a.level \
                   FROM targets t LEFT JOIN drives d ON t.drive = d.id LEFT JOIN arrays a ON t.\"array\" = a.id \
                   WHERE t.run = ?1 ORDER BY t.id";
        let targets =
            self.rows(sql, [run.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(3)?, target_of(row)?)))?;
        let complete = |(id, size_bytes, target): (i64, i64, Target)| {
            Ok(Target {
                size_bytes: self.unsigned(size_bytes)?,
                members: self.members(id)?,
                measurements: self.measurements(id)?,
                ..target
            })
        };
        targets.into_iter().map(complete).collect()
    }

    fn members(&self, target: i64) -> Result<Vec<DriveIdentity>, LabBookError> {
        let sql = "SELECT d.identity, m.name FROM members m JOIN drives d ON m.drive = d.id WHERE m.target = ?1 \
                   ORDER BY m.name, d.identity LIMIT 10000";
        self.rows(sql, [target], |row| Ok(DriveIdentity { identity: row.get(0)?, name: row.get(1)? }))
    }

    fn measurements(&self, target: i64) -> Result<Vec<Measured>, LabBookError> {
        let sql = "SELECT id, workload, settings, repeat, validity FROM measurements WHERE target = ?1 ORDER BY id";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        let found: Vec<(i64, String, String, u32, String)> = self.rows(sql, [target], read)?;
        found.into_iter().map(|row| self.measured(row)).collect()
    }

    fn measured(
        &self,
        (id, workload, settings, repeat, validity): (i64, String, String, u32, String),
    ) -> Result<Measured, LabBookError> {
        let validity: Validity = self.json(&validity)?;
        let settings: BTreeMap<String, String> = self.json(&settings)?;
        let sql = "SELECT name, value FROM figures WHERE measurement = ?1 LIMIT 1000";
        let figures: Vec<(String, i64)> = self.rows(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let figures = figures.into_iter().map(|(name, value)| Ok((name, self.unsigned(value)?)));
        let figures = figures.collect::<Result<_, LabBookError>>()?;
        Ok(Measured {
            workload,
            settings,
            repeat,
            figures,
            validity,
            read_histogram: self.sample(id, READ_HISTOGRAM, codec::read_histogram)?,
            write_histogram: self.sample(id, WRITE_HISTOGRAM, codec::read_histogram)?,
            series: self.sample(id, SERIES, codec::read_series)?,
        })
    }

    /// What was kept of that kind, if anything was.
    fn sample<T>(
        &self,
        measurement: i64,
        kind: &str,
        decode: impl FnOnce(&[u8]) -> Result<Vec<T>, codec::Damaged>,
    ) -> Result<Vec<T>, LabBookError> {
        let sql = "SELECT content FROM samples WHERE measurement = ?1 AND kind = ?2";
        let found: Vec<Vec<u8>> = self.rows(sql, params![measurement, kind], |row| row.get(0))?;
        let Some(content) = found.first() else { return Ok(Vec::new()) };
        decode(content).map_err(|codec::Damaged| LabBookError::damaged(&self.path, format!("a {kind} cannot be read")))
    }
}

fn target_of(row: &Row<'_>) -> rusqlite::Result<Target> {
    let identity: Option<String> = row.get(5)?;
    let drive_name: Option<String> = row.get(6)?;
    let (array_name, level): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
    let uuid = row.get(7)?;
    Ok(Target {
        name: row.get(1)?,
        kind: row.get(2)?,
        size_bytes: 0,
        drive: identity.zip(drive_name).map(|(identity, name)| DriveIdentity { identity, name }),
        array: array_name.zip(level).map(|(name, level)| ArrayIdentity { uuid, name, level }),
        members: Vec::new(),
        simulated: row.get(4)?,
        measurements: Vec::new(),
    })
}
