//! Lengths above the aim are recorded in a file and may only shrink.
//!
//! A record is raised by hand, in a diff that a reviewer sees; `--update` lowers records and
//! removes those that are no longer needed. Nothing above the limit can be recorded.

use super::RATCHET;
use super::finding::Finding;
use super::sizes::{Kind, Size, Subject};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

const HEADER: &str = "\
# Files longer than 400 lines and functions longer than 40, with their length: what `cargo xtask tidy` lets stand.
# A length may shrink and never grow. After shortening: `cargo xtask tidy --update`.
";

/// The recorded lengths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ratchet {
    records: BTreeMap<Subject, usize>,
}

impl Ratchet {
    /// Reads records, one a line: `file PATH LINES` or `function PATH NAME LINES`; `#` begins a
    /// comment.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut records = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (subject, lines) = parse_record(line).with_context(|| format!("line {}: `{line}`", index + 1))?;
            if records.insert(subject, lines).is_some() {
                bail!("line {}: a second record of the same: `{line}`", index + 1);
            }
        }
        Ok(Self { records })
    }

    /// The records as they are kept in the file.
    pub(super) fn print(&self) -> String {
        let records = self.records.iter().map(|(subject, lines)| format!("{subject} {lines}\n"));
        HEADER.to_owned() + &records.collect::<String>()
    }

    /// Lowers records to the sizes given and drops those that are met; never adds or raises one.
    pub(super) fn tighten(&mut self, sizes: &[Size]) {
        let longest = longest(sizes);
        self.records.retain(|subject, recorded| {
            let actual = longest.get(subject).map_or(0, |size| size.lines);
            *recorded = actual.min(*recorded);
            actual > subject.kind.aim_lines()
        });
    }

    /// Whatever is longer, or shorter, than the records say.
    pub(super) fn check(&self, sizes: &[Size]) -> Vec<Finding> {
        let longest = longest(sizes);
        let mut findings: Vec<Finding> =
            longest.values().filter_map(|size| judge(size, self.records.get(&size.subject).copied())).collect();
        let gone = self.records.iter().filter(|(subject, _)| !longest.contains_key(subject));
        findings.extend(gone.map(|(subject, _)| slack(RATCHET, 0, &format!("`{subject}` is no longer there"))));
        findings
    }
}

fn parse_record(line: &str) -> Result<(Subject, usize)> {
    let words: Vec<&str> = line.split(' ').collect();
    let (kind, path, name, lines) = match words.as_slice() {
        ["file", path, lines] => (Kind::File, *path, "", *lines),
        ["function", path, name, lines] => (Kind::Function, *path, *name, *lines),
        _ => bail!("neither `file PATH LINES` nor `function PATH NAME LINES`"),
    };
    let lines = lines.parse().context("the number of lines is no number")?;
    Ok((Subject { kind, path: path.to_owned(), name: name.to_owned() }, lines))
}

fn longest(sizes: &[Size]) -> BTreeMap<&Subject, &Size> {
    let mut longest: BTreeMap<&Subject, &Size> = BTreeMap::new();
    for size in sizes {
        let kept = longest.entry(&size.subject).or_insert(size);
        if kept.lines < size.lines {
            *kept = size;
        }
    }
    longest
}

fn judge(size: &Size, recorded: Option<usize>) -> Option<Finding> {
    let Size { subject, line, lines } = size;
    let kind = subject.kind;
    let allowed = recorded.unwrap_or(kind.aim_lines());
    let (aim, limit) = (kind.aim_lines(), kind.limit_lines());
    let finding = |what: String, mend: String| {
        let why = format!("what fits on a screen can be reviewed: aim {aim} lines, limit {limit}");
        Finding { path: subject.path.clone(), line: *line, what, why, mend }
    };
    if *lines > limit {
        return Some(finding(format!("{subject} has {lines} lines"), "split it by idea".to_owned()));
    }
    if *lines > allowed {
        let mend = format!("split it by idea; if that would be worse, record in {RATCHET}: {subject} {lines}");
        return Some(finding(format!("{subject} has {lines} lines, {allowed} are allowed"), mend));
    }
    let is_loose = recorded.is_some_and(|recorded| *lines < recorded);
    is_loose.then(|| slack(&subject.path, *line, &format!("{subject} has come down to {lines} lines")))
}

fn slack(path: &str, line: usize, what: &str) -> Finding {
    Finding {
        path: path.to_owned(),
        line,
        what: what.to_owned(),
        why: "what is gained must not be lost again".to_owned(),
        mend: "cargo xtask tidy --update".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn file(lines: usize) -> Size {
        let subject = Subject { kind: Kind::File, path: "a.rs".to_owned(), name: String::new() };
        Size { subject, line: 1, lines }
    }

    fn function(lines: usize) -> Size {
        let subject = Subject { kind: Kind::Function, path: "a.rs".to_owned(), name: "A::f".to_owned() };
        Size { subject, line: 7, lines }
    }

    fn ratchet(text: &str) -> Ratchet {
        Ratchet::parse(text).unwrap()
    }

    #[test]
    fn a_new_excess_is_found_and_the_mend_is_a_record_that_admits_it() {
        let findings = ratchet("").check(&[file(401), function(41)]);
        assert_eq!(findings.len(), 2);
        for finding in findings {
            let record = finding.mend.split(&format!("{RATCHET}: ")).nth(1).unwrap();
            assert_eq!(ratchet(record).records.len(), 1);
        }
        assert!(ratchet("file a.rs 401\nfunction a.rs A::f 41\n").check(&[file(401), function(41)]).is_empty());
        assert!(ratchet("").check(&[file(400), function(40)]).is_empty());
    }

    #[test]
    fn growth_is_found_and_shrinking_asks_for_an_update() {
        let ratchet = ratchet("file a.rs 500\n");
        assert!(ratchet.check(&[file(501)])[0].what.contains("500 are allowed"));
        assert_eq!(ratchet.check(&[file(499)])[0].mend, "cargo xtask tidy --update");
        assert_eq!(ratchet.check(&[])[0].mend, "cargo xtask tidy --update");
    }

    #[test]
    fn the_limit_holds_whatever_is_recorded() {
        assert_eq!(ratchet("file a.rs 900\n").check(&[file(900)]).len(), 1);
        assert_eq!(ratchet("function a.rs A::f 71\n").check(&[function(71)]).len(), 1);
    }

    #[test]
    fn update_lowers_and_drops_but_never_raises() {
        let mut records = ratchet("file a.rs 500\nfunction a.rs A::f 50\n");
        records.tighten(&[file(600), function(45)]);
        assert_eq!(records, ratchet("file a.rs 500\nfunction a.rs A::f 45\n"));
        records.tighten(&[file(400)]);
        assert_eq!(records, ratchet(""));
    }

    #[test]
    fn of_two_functions_of_one_name_the_longer_counts() {
        assert_eq!(ratchet("").check(&[function(41), function(45), function(2)]).len(), 1);
    }

    #[test]
    fn records_survive_printing_and_bad_ones_are_refused_by_line() {
        let records = ratchet("file a.rs 500\nfunction a.rs A::f 50\n");
        assert_eq!(ratchet(&records.print()), records);
        for bad in ["file a.rs", "file a.rs many", "thing a.rs 5", "file a.rs 5\nfile a.rs 6"] {
            assert!(Ratchet::parse(bad).is_err(), "{bad}");
        }
    }
}
