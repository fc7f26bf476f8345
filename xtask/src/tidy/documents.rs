//! The rules that ARCHITECTURE.md states: its tables of crates and dependencies are the rules, not
//! a copy of them.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// What one crate may use of this workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Crates that its code may use.
    pub code: BTreeSet<String>,
    /// Crates that only its tests may use.
    pub tests: BTreeSet<String>,
}

/// What the document says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Per crate, by its short name.
    pub crates: BTreeMap<String, Allowance>,
    /// Per external dependency, the crates that may use it.
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
}

/// Reads the tables under the headings `## Crates` and `## Dependencies`.
pub(super) fn parse(text: &str) -> Result<Rules> {
    let mut crates = BTreeMap::new();
    for row in table(text, "## Crates")? {
        let [name, _, code, tests] = row.as_slice() else {
            bail!("a row of the table of crates has not four cells: {}", row.join(" | "));
        };
        let name = only_name(name)?;
        crates.insert(name, Allowance { code: names(code), tests: names(tests) });
    }
    let mut dependencies = BTreeMap::new();
    for row in table(text, "## Dependencies")? {
        let [name, users, reason] = row.as_slice() else {
            bail!("a row of the table of dependencies has not three cells: {}", row.join(" | "));
        };
        if reason.split_whitespace().count() < 3 {
            bail!("dependency {name} has no reason");
        }
        dependencies.insert(only_name(name)?, names(users));
    }
    Ok(Rules { crates, dependencies })
}

/// The cells of the first table below a heading, without its head.
fn table(text: &str, heading: &str) -> Result<Vec<Vec<String>>> {
    let mut lines = text.lines().skip_while(|line| *line != heading);
    lines.next().with_context(|| format!("no heading `{heading}`"))?;
    let rows = lines
        .take_while(|line| !line.starts_with("## "))
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        bail!("no table below `{heading}`");
    }
    Ok(rows)
}

/// The words of a cell that stand in backticks.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn only_name(cell: &str) -> Result<String> {
    let mut names = names(cell).into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        _ => bail!("a row must begin with one name in backticks: {cell}"),
    }
}

#[cfg(test)]
pub(super) const SAMPLE: &str = "\
# Architecture

## Crates

| crate | what lives there | may use | its tests also use |
| --- | --- | --- | --- |
| `pure` | thinking | nothing | nothing |
| `real` | doing | `pure` | `fake` |
| `fake` | pretending | `pure` | nothing |

## Dependencies

| dependency | used by | why |
| --- | --- | --- |
| `clap` | `real`, `fake` | parses the command line |
";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn both_tables_are_read() {
        let rules = parse(SAMPLE).unwrap();
        assert_eq!(rules.crates["pure"], Allowance::default());
        assert_eq!(rules.crates["real"], Allowance { code: set(&["pure"]), tests: set(&["fake"]) });
        assert_eq!(rules.dependencies["clap"], set(&["fake", "real"]));
    }

    #[test]
    fn a_missing_table_or_reason_is_an_error() {
        assert!(parse("# nothing").is_err());
        assert!(parse(&SAMPLE.replace("## Dependencies", "## Others")).is_err());
        let error = parse(&SAMPLE.replace("parses the command line", "")).unwrap_err();
        assert!(error.to_string().contains("no reason"), "{error}");
    }
}
