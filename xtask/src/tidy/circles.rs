//! Modules of a crate point one way: no two files use each other, directly or around a corner.
//!
//! A file uses another if one of its paths leads to something that is defined there; a re-export on
//! the way is looked through, and is no use by itself. What cannot be seen in paths (a method of a
//! type, what a macro makes) does not count, and neither does test code. Circles that the tree
//! still has are recorded, each with its files: one may lose files and never gains any.

use super::code::Code;
use super::finding::Finding;
use super::paths::{Module, Modules};
use super::sources::Source;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// Where circles are recorded that the tree still has.
pub(super) const CIRCLES: &str = "xtask/circles.txt";

const HEADER: &str = "\
# Files of one crate that use each other, a circle a line: what `cargo xtask tidy` lets stand.
# A circle may lose files and never gains any. After taking one apart: `cargo xtask tidy --update`.
";

/// Files that all lead to each other.
pub(super) type Circle = BTreeSet<String>;

/// The recorded circles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Records(Vec<Circle>);

impl Records {
    /// Reads records: the files of a circle on a line; `#` begins a comment.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut circles: Vec<Circle> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let circle: Circle = line.split(' ').map(str::to_owned).collect();
            if circle.len() < 2 || circles.iter().any(|other| !other.is_disjoint(&circle)) {
                bail!("line {}: no circle of its own: `{line}`", index + 1);
            }
            circles.push(circle);
        }
        Ok(Self(circles))
    }

    /// The records as they are kept in the file.
    pub(super) fn print(&self) -> String {
        let line = |circle: &Circle| circle.iter().map(String::as_str).collect::<Vec<_>>().join(" ") + "\n";
        HEADER.to_owned() + &self.0.iter().map(line).collect::<String>()
    }

    /// Whether a circle lies within a recorded one.
    fn allow(&self, circle: &Circle) -> bool {
        self.0.iter().any(|recorded| circle.is_subset(recorded))
    }

    /// Lowers records to what is found; never adds to one.
    pub(super) fn tighten(&mut self, found: &[Circle]) {
        let within = found.iter().filter(|circle| self.allow(circle)).cloned();
        self.0 = within.collect();
        self.0.sort();
    }

    /// Circles beyond the records, and records beyond the circles.
    pub(super) fn check(&self, found: &[Circle]) -> Vec<Finding> {
        let new = found.iter().filter(|circle| !self.allow(circle)).map(|circle| {
            finding(
                circle.first().map_or("", String::as_str),
                format!("files that use each other: {}", circle.iter().cloned().collect::<Vec<_>>().join(", ")),
                "whoever reads one of them has to know all of them",
                "move what both need below them, or what needs both above them",
            )
        });
        let loose = self.0.iter().filter(|recorded| !found.contains(recorded)).map(|recorded| {
            finding(
                CIRCLES,
                format!("the circle of {} has become smaller", recorded.first().map_or("", String::as_str)),
                "a record that is too generous lets the circle grow again",
                "`cargo xtask tidy --update`",
            )
        });
        new.chain(loose).collect()
    }
}

fn finding(path: &str, what: String, why: &str, mend: &str) -> Finding {
    Finding { path: path.to_owned(), line: 0, what, why: why.to_owned(), mend: mend.to_owned() }
}

/// All circles of all crates, in the order of their first files.
pub(super) fn find<'a>(files: impl Iterator<Item = (&'a Source, &'a Code)>) -> Vec<Circle> {
    let mut crates: BTreeMap<String, Vec<Module>> = BTreeMap::new();
    for (file, code) in files {
        let Some((root, inner)) = file.path.split_once("src/").filter(|_| !file.is_test()) else { continue };
        crates.entry(root.to_owned()).or_default().push(Module::of(&file.path, inner, code));
    }
    let mut circles: Vec<Circle> = crates.into_values().flat_map(|modules| of_crate(Modules::new(modules))).collect();
    circles.sort();
    circles
}

fn of_crate(modules: Modules) -> Vec<Circle> {
    let arrows = modules.arrows();
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in arrows.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![file.as_str()]);
        while let Some(from) = next.pop() {
            let fresh = arrows.get(from).into_iter().flatten().filter(|to| seen.insert(to.as_str()));
            next.extend(fresh.map(String::as_str).collect::<Vec<_>>());
        }
        reached.insert(file, seen);
    }
    let mut circles = BTreeSet::new();
    for (file, to) in &reached {
        let back = to.iter().filter(|other| reached.get(*other).is_some_and(|from| from.contains(file)));
        let circle: Circle = back.map(|other| (*other).to_owned()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::code::parse;
    use super::super::sources::sample;
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| sample(&format!("crates/a/src/{path}"), text)).collect();
        let codes: Vec<Code> =
            sources.iter().map(|source| parse(source).unwrap_or_else(|finding| panic!("{finding}"))).collect();
        let short = |file: String| file.trim_start_matches("crates/a/src/").to_owned();
        find(sources.iter().zip(&codes)).into_iter().map(|circle| circle.into_iter().map(short).collect()).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod b; mod c;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "pub struct C(super::b::B);"),
        ];
        assert_eq!(circles(&files), [["b.rs", "c.rs"]]);
    }

    #[test]
    fn a_circle_may_go_around_corners_and_through_functions_and_macros_arguments() {
        let files = [
            ("lib.rs", "mod b; mod c; mod d;"),
            ("b.rs", "use crate::c; fn f() { c::g(); }"),
            ("c.rs", "pub fn g() { assert!(crate::d::h()); }"),
            ("d.rs", "pub fn h() -> bool { crate::b::f(); true }"),
        ];
        assert_eq!(circles(&files), [["b.rs", "c.rs", "d.rs"]]);
    }

    #[test]
    fn a_re_export_is_looked_through_and_is_no_use_by_itself() {
        let files = [
            ("lib.rs", "mod b; mod c; pub use b::B; pub use c::{C as See};"),
            ("b.rs", "pub struct B;"),
            ("c.rs", "use crate::B; pub struct C(B);"),
        ];
        assert!(circles(&files).is_empty());
        let both = [files[0], ("b.rs", "use crate::See; pub struct B(See);"), files[2]];
        assert_eq!(circles(&both), [["b.rs", "c.rs"]]);
    }

    #[test]
    fn a_parent_that_uses_its_child_and_has_what_the_child_uses_is_a_circle() {
        let child = ("b/c.rs", "use super::Shared; pub struct C(Shared);");
        let uses = ("b/mod.rs", "mod c; pub use c::C; pub struct Shared; fn f(_: C) {}");
        assert_eq!(circles(&[("lib.rs", "mod b;"), uses, child]), [["b/c.rs", "b/mod.rs"]]);
        let shows = ("b/mod.rs", "mod c; pub use c::C; pub struct Shared;");
        assert!(circles(&[("lib.rs", "mod b;"), shows, child]).is_empty());
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let files = [
            ("lib.rs", "mod b; mod c;"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::c::C; }"),
            ("c.rs", "pub struct C(crate::b::B);"),
            ("b/tests.rs", "use crate::c::C;"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn a_circle_may_lose_files_and_gain_none() {
        let circle = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Circle>();
        let mut records = Records::parse("# c\na b c\n").unwrap();
        assert!(records.check(&[circle(&["a", "b", "c"])]).is_empty());
        let found = |records: &Records, files: &[&str]| {
            records.check(&[circle(files)]).into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        assert_eq!(found(&records, &["a", "b"]), ["the circle of a has become smaller"]);
        assert_eq!(found(&records, &["a", "d"])[0], "files that use each other: a, d");
        records.tighten(&[circle(&["a", "b"]), circle(&["d", "e"])]);
        assert_eq!(records, Records::parse("a b\n").unwrap());
        assert_eq!(Records::parse(&records.print()).unwrap(), records);
        for text in ["a\n", "a b\nb c\n"] {
            assert!(Records::parse(text).is_err(), "{text}");
        }
    }
}
