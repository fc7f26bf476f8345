//! The drives that shoal knows: one text each in `drives/`, part of the program.

use std::sync::OnceLock;

use thiserror::Error;

use crate::{Description, parse_description};

/// In the order of their names, so that a name can be found by halving.
const TEXTS: &[(&str, &str)] = &[
    ("apacer-4g", include_str!("../drives/apacer-4g.toml")),
    ("barracuda-sata-200", include_str!("../drives/barracuda-sata-200.toml")),
    ("cruzer-titanium", include_str!("../drives/cruzer-titanium.toml")),
    ("deskstar-7k400", include_str!("../drives/deskstar-7k400.toml")),
    ("disk-7200", include_str!("../drives/disk-7200.toml")),
    ("laptop-7200", include_str!("../drives/laptop-7200.toml")),
    ("lexar-firefly-8g", include_str!("../drives/lexar-firefly-8g.toml")),
    ("maxline-ii", include_str!("../drives/maxline-ii.toml")),
    ("maxline-plus-ii", include_str!("../drives/maxline-plus-ii.toml")),
    ("maxline-plus-iii", include_str!("../drives/maxline-plus-iii.toml")),
    ("pi-zero-a", include_str!("../drives/pi-zero-a.toml")),
    ("pi-zero-b", include_str!("../drives/pi-zero-b.toml")),
    ("pi-zero-c", include_str!("../drives/pi-zero-c.toml")),
    ("pi-zero-d", include_str!("../drives/pi-zero-d.toml")),
    ("rally2", include_str!("../drives/rally2.toml")),
    ("rundisk-1g", include_str!("../drives/rundisk-1g.toml")),
    ("sd-card-32g", include_str!("../drives/sd-card-32g.toml")),
    ("ssd-sata-500g", include_str!("../drives/ssd-sata-500g.toml")),
    ("stick-64g", include_str!("../drives/stick-64g.toml")),
    ("wd2500jb", include_str!("../drives/wd2500jb.toml")),
];

/// How many names are told that are near one that is not there.
const NEAREST: usize = 3;

/// A name that no drive of the catalogue has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "no drive is called `{name}`; near names are {}: write one of them, or the path of a description",
    quoted(.nearest)
)]
pub struct UnknownDrive {
    /// What was asked for.
    pub name: String,
    /// Those that differ least from it, the nearest first.
    pub nearest: Vec<String>,
}

/// All of them, by name.
pub fn catalogue() -> &'static [Description] {
    static DESCRIPTIONS: OnceLock<Vec<Description>> = OnceLock::new();
    DESCRIPTIONS.get_or_init(|| {
        let read = |&(name, text): &(&str, &str)| match parse_description(text) {
            Ok(description) => description,
            Err(error) => unreachable!("{name}.toml is part of the program, and a test reads it: {error}"),
        };
        TEXTS.iter().map(read).collect()
    })
}

/// The one with this name.
pub fn find(name: &str) -> Result<&'static Description, UnknownDrive> {
    let found = catalogue().iter().find(|description| description.model.name == name);
    found.ok_or_else(|| {
        let mut names: Vec<_> = catalogue().iter().map(|description| &description.model.name).collect();
        // A part of a name is near to it, however long the name is.
        if names.iter().any(|other| other.contains(name)) {
            names.retain(|other| other.contains(name));
        }
        names.sort_by_key(|other| distance(name, other));
        let nearest = names.into_iter().take(NEAREST).cloned().collect();
        // No more of it than a message should have.
        UnknownDrive { name: name.chars().take(80).collect(), nearest }
    })
}

/// `one`, `two` and `three`
fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// How many letters have to be put in, taken out or changed to make one name of the other
/// (Levenshtein). Longer names than any drive has are cut.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().take(80).collect();
    let mut row: Vec<usize> = (0..=left.len()).collect();
    for (above, letter) in right.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for place in 0..left.len() {
            let change = diagonal + usize::from(left[place] != letter);
            diagonal = row[place + 1];
            row[place + 1] = change.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[left.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_describes_the_drive_that_it_is_named_for() {
        for &(name, text) in TEXTS {
            let description = parse_description(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(description.model.name, name);
        }
        assert!(TEXTS.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn every_text_in_the_directory_is_in_the_catalogue() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/drives");
        let files = std::fs::read_dir(directory).expect("the directory is there");
        let mut names: Vec<String> = files
            .map(|file| file.expect("it can be listed").file_name().to_string_lossy().replace(".toml", ""))
            .collect();
        names.sort();
        assert_eq!(names, TEXTS.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for description in catalogue() {
            let text = description.to_text();
            assert_eq!(parse_description(&text).as_ref(), Ok(description), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_mistyped_is_told_with_the_right_one() {
        let mistyped = find("cruzer-titanum").expect_err("mistyped");
        assert_eq!((mistyped.nearest.len(), mistyped.nearest[0].as_str()), (NEAREST, "cruzer-titanium"));
        let text = mistyped.to_string();
        assert!(mistyped.nearest.iter().all(|name| text.contains(&format!("`{name}`"))), "{text}");
        assert_eq!(find("cruzer-titanium").map(|description| description.model.size_bytes), Ok(4_001_422 * 512));
    }
}
