//! What the figures of one drive do over time. How sure that is, and by which statistic, is in
//! [`crate::statistics`].
//!
//! A run is one point: the median of its repeats, which are too much alike to stand for several.
//! What is invalid is left out.

use std::collections::BTreeMap;

use rusqlite::Row;
use schemars::JsonSchema;
use serde::Serialize;

use crate::book::LabBook;
use crate::compare::per_mille;
use crate::error::LabBookError;
use crate::figure::Better;
use crate::limits::POINTS_MAX;
use crate::model::DriveIdentity;
use crate::reading::DriveFound;
use crate::statistics::{Estimate, Interval, change, median};

/// A drive's figures over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trend {
    /// The drive.
    pub drive: DriveIdentity,
    /// By workload and figure.
    pub courses: Vec<Course>,
}

/// A figure of one workload over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Course {
    /// The workload.
    pub workload: String,
    /// The figure's name.
    pub figure: String,
    /// Which way it is better.
    pub better: Better,
    /// The runs, in the order of time.
    pub points: Vec<Point>,
    /// From the first point to the last.
    pub span_ns: u64,
    /// By how much it changed in that time, by the median of the slopes between all points (Theil
    /// and Sen); left out with one point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<i64>,
    /// The same in thousandths of where it begins: at the first point, of the line with that slope
    /// which leaves as many points above as below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_per_mille: Option<i64>,
    /// Where that change lies (Sen's interval, of Kendall's statistic); left out if there are too
    /// few points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// What that comes to.
    pub tendency: Tendency,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// The run's number in this lab book.
    pub run: i64,
    /// When it began, in nanoseconds since 1970 UTC.
    pub begun_unix_ns: u64,
    /// The median of its repeats.
    pub median: u64,
}

/// What a figure does over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tendency {
    /// The drive gets slower.
    Slower,
    /// It gets faster.
    Faster,
    /// The interval holds 0: nothing is seen.
    Steady,
    /// Too few runs to say.
    TooFew,
}

/// The repeats of one figure, by their run: when it began, and its number.
type Runs = BTreeMap<(u64, i64), Vec<u64>>;

/// The figures of a drive, workload by workload, in all finished and unfinished runs.
///
/// # Errors
/// The file cannot be read, or holds what nobody wrote.
pub fn trend(book: &LabBook, found: &DriveFound) -> Result<Trend, LabBookError> {
    // The newest come first, so that what is left out is old.
    let sql = "SELECT m.workload, f.name, r.begun_unix_ns, r.number, f.value FROM targets t \
               JOIN measurements m ON m.target = t.id JOIN figures f ON f.measurement = m.id JOIN runs r ON r.number = t.run \
               WHERE t.drive = ?1 AND m.verdict <> 'invalid' ORDER BY r.begun_unix_ns DESC, r.number DESC LIMIT 10000000";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    let rows: Vec<(String, String, i64, i64, i64)> = book.rows(sql, [found.id], read)?;
    let mut repeats: BTreeMap<(String, String), Runs> = BTreeMap::new();
    for (workload, figure, begun, run, value) in rows {
        if Better::of(&figure).is_none() {
            continue;
        }
        let runs = repeats.entry((workload, figure)).or_default();
        let (begun_unix_ns, value) = (book.unsigned(begun)?, book.unsigned(value)?);
        if runs.len() < POINTS_MAX || runs.contains_key(&(begun_unix_ns, run)) {
            runs.entry((begun_unix_ns, run)).or_default().push(value);
        }
    }
    let courses = repeats.into_iter().filter_map(|((workload, figure), runs)| Course::of(workload, figure, runs));
    Ok(Trend { drive: found.drive.clone(), courses: courses.collect() })
}

impl Course {
    fn of(workload: String, figure: String, runs: Runs) -> Option<Self> {
        let better = Better::of(&figure)?;
        let point = |((begun_unix_ns, run), repeats)| Some(Point { run, begun_unix_ns, median: median(repeats)? });
        let points: Vec<Point> = runs.into_iter().filter_map(point).collect();
        let span_ns = points.last()?.begun_unix_ns - points.first()?.begun_unix_ns;
        let pairs: Vec<(u64, u64)> = points.iter().map(|point| (point.begun_unix_ns, point.median)).collect();
        let estimate = change(&pairs, span_ns);
        let first = |estimate: Estimate| line_begins(&pairs, estimate.value, span_ns);
        let interval = estimate.and_then(|estimate| estimate.interval);
        Some(Self {
            workload,
            figure,
            better,
            span_ns,
            change: estimate.map(|estimate| estimate.value),
            change_per_mille: estimate.and_then(|estimate| per_mille(estimate.value, first(estimate)?)),
            interval,
            tendency: Tendency::of(interval, better),
            points,
        })
    }
}

/// Where the line begins that changes by `change` from the first of these points to the last, and
/// has as many of them above it as below: the median of what each of them says of it.
fn line_begins(points: &[(u64, u64)], change: i64, span_ns: u64) -> Option<u64> {
    let (begun, _) = points.first()?;
    let begins = |&(at, value): &(u64, u64)| {
        let since = i128::from(at - begun);
        let risen = (i128::from(change) * since).checked_div(i128::from(span_ns)).unwrap_or(0);
        u64::try_from((i128::from(value) - risen).max(0)).unwrap_or(u64::MAX)
    };
    median(points.iter().map(begins).collect())
}

impl Tendency {
    fn of(interval: Option<Interval>, better: Better) -> Self {
        match (interval, better) {
            (None, _) => Self::TooFew,
            (Some(Interval { low: 1.., .. }), Better::More) | (Some(Interval { high: ..=-1, .. }), Better::Less) => {
                Self::Faster
            }
            (Some(Interval { low: 1.., .. }), Better::Less) | (Some(Interval { high: ..=-1, .. }), Better::More) => {
                Self::Slower
            }
            (Some(_), _) => Self::Steady,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_in_parts_of_where_it_begins() {
        let told = |medians: &[u64]| {
            let runs = medians.iter().zip(0..).map(|(median, number)| ((number * 1000, number as i64), vec![*median]));
            Course::of("reads".to_owned(), "read_bytes_per_s".to_owned(), runs.collect())
                .and_then(|it| it.change_per_mille)
        };
        assert_eq!(told(&[100, 90, 80, 70, 60, 50]), Some(-500));
        assert_eq!(
            told(&[100_000, 40_000, 30_000, 20_000]),
            Some(-776),
            "of 70 833: the first one is far off the line"
        );
        assert_eq!(told(&[50, 100]), Some(1000));
        assert_eq!(told(&[7]), None);
    }
}
