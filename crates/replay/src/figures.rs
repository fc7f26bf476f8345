//! The table of published figures: every number that the five studies print, with the words it was
//! printed in.

use schemars::JsonSchema;
use serde::Serialize;

/// `study,experiment,configuration,metric,unit,value,as_printed`, one figure a line.
const TABLE: &str = include_str!("../data/published-figures.csv");

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Which study printed it.
    pub study: Study,
    /// The part of the study.
    pub experiment: String,
    /// What was measured or described.
    pub configuration: String,
    /// Which of its properties.
    pub metric: String,
    /// The unit of `value`.
    pub unit: String,
    /// The figure.
    pub value: Value,
    /// As the study has it.
    pub as_printed: String,
}

/// A figure as it stands in the table: most are numbers, a version or a size in rack units is not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Anything else.
    Text(String),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// The studies, by the names of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// Six sticks in RAID0 on one and two USB 2.0 buses.
    Cruzer,
    /// Two sticks in RAID0; read-ahead, sync mount.
    Rally2,
    /// Three sticks, three operating systems, three file systems.
    SticksOsFs,
    /// Disks in software and hardware RAID5, local and over gigabit.
    Eide,
    /// Four sticks on a hub of a very small computer.
    PiZero,
}

impl Study {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Cruzer, Self::Rally2, Self::SticksOsFs, Self::Eide, Self::PiZero];

    /// Its name in the table and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cruzer => "cruzer",
            Self::Rally2 => "rally2",
            Self::SticksOsFs => "sticks-os-fs",
            Self::Eide => "eide",
            Self::PiZero => "pi-zero",
        }
    }

    /// What it is about, for a heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cruzer => "Six Cruzer Titanium sticks in RAID0 on one and two USB 2.0 buses",
            Self::Rally2 => "Two Rally2 sticks in RAID0",
            Self::SticksOsFs => "Three sticks, three operating systems, three file systems",
            Self::Eide => "Eight and twelve EIDE disks in RAID5, local and over gigabit",
            Self::PiZero => "Four sticks on the hub of a Raspberry Pi Zero",
        }
    }

    /// The study of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|study| study.name() == name)
    }
}

/// All figures, in the order of the table.
pub fn figures() -> Vec<Figure> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    let records = reader.records().map(|record| record.expect("the table is part of the program, and a test reads it"));
    records.map(|record| figure(&record)).collect()
}

fn figure(record: &csv::StringRecord) -> Figure {
    let column = |index: usize| record.get(index).expect("every record has all columns").to_owned();
    let value = column(5);
    Figure {
        study: Study::parse(&column(0)).expect("every record is of a known study"),
        experiment: column(1),
        configuration: column(2),
        metric: column(3),
        unit: column(4),
        value: value.parse().map_or(Value::Text(value), Value::Number),
        as_printed: column(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_read() {
        let figures = figures();
        // One line is the header; no quoted field holds a line break.
        assert_eq!(figures.len(), TABLE.lines().count() - 1);
        for study in Study::ALL {
            assert!(figures.iter().any(|figure| figure.study == study), "{study:?}");
        }
    }

    #[test]
    fn quotes_and_commas_are_the_formats_and_not_the_figures() {
        let figures = figures();
        let found = figures.iter().find(|figure| figure.configuration == "RAID0, two USB buses");
        assert_eq!(found, None); // that is an experiment
        let read = figures.iter().find(|figure| figure.configuration == "6 drives, 3 per bus").expect("it is there");
        assert_eq!((read.experiment.as_str(), read.value.number()), ("RAID0, two USB buses", Some(80.0)));
    }
}
