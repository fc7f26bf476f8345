//! The text alone: what was written, group by group, and back.

use std::fmt;

use super::NotationError;
use crate::BusKind;
use crate::limits::{FLEET_MAX, TEXT_BYTES_MAX};

/// Drives of one model in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// A name of the catalogue, or a path.
    pub(super) drive: String,
    /// Parameters and their values.
    pub(super) changes: Vec<(String, String)>,
    /// How many.
    pub(super) count: u32,
    /// From the computer outward; nothing if it was not said.
    pub(super) place: Vec<Segment>,
}

/// One step of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) kind: BusKind,
    pub(super) which: Which,
}

/// Which of the buses of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The first so many.
    UpTo(u32),
    /// That one.
    Number(u32),
}

impl Group {
    /// Whether the drive is described in a file.
    pub(super) fn is_path(&self) -> bool {
        self.drive.contains('/') || self.drive.ends_with(".toml")
    }
}

/// Reads all groups.
pub(super) fn groups(text: &str) -> Result<Vec<Group>, NotationError> {
    let mut reader = Reader { text, at: 0 };
    if text.len() > TEXT_BYTES_MAX {
        return Err(reader.error("it is too long: take fewer groups"));
    }
    let mut groups = vec![reader.group()?];
    while reader.take(',') {
        groups.push(reader.group()?);
    }
    match reader.next() {
        None => Ok(groups),
        Some(letter) => {
            Err(reader.error(&format!("`{letter}` is not expected here: write a comma and the next drive")))
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn group(&mut self) -> Result<Group, NotationError> {
        let drive = self.word("a drive: write a name, as cruzer-titanium, or the path of a description")?.to_owned();
        let mut changes = Vec::new();
        while self.take(':') {
            changes.push(self.change()?);
        }
        let count = if self.take('*') { self.number("how many drives: write a number, as *6")? } else { 1 };
        let mut place = Vec::new();
        if self.take('@') {
            place.push(self.segment()?);
            while self.take('/') {
                place.push(self.segment()?);
            }
        }
        Ok(Group { drive, changes, count, place })
    }

    fn change(&mut self) -> Result<(String, String), NotationError> {
        let start = self.at;
        let change = self.word("a change: write it as size=64M")?;
        match change.split_once('=') {
            Some((parameter, value)) if !parameter.is_empty() && !value.is_empty() => {
                Ok((parameter.to_owned(), value.to_owned()))
            }
            _ => {
                self.at = start;
                Err(self.error(&format!("`{change}` changes nothing: write it as size=64M")))
            }
        }
    }

    fn segment(&mut self) -> Result<Segment, NotationError> {
        let start = self.at;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let word = self.take_while(is_part);
        let Some(kind) = BusKind::from_word(word) else {
            self.at = start;
            return Err(self.error(&format!("`{word}` is no bus: write one of {}", BusKind::words())));
        };
        let which = if self.take('*') {
            Which::UpTo(self.number("how many buses: write a number, as usb2*2")?)
        } else if self.take('#') {
            Which::Number(self.number("which bus: write its number, from 1, as usb2#2")?)
        } else {
            Which::UpTo(1)
        };
        Ok(Segment { kind, which })
    }

    /// Everything up to what has a meaning of its own.
    fn word(&mut self, wanted: &str) -> Result<&'a str, NotationError> {
        let word = self.take_while(|letter| !",:*@".contains(letter) && !letter.is_whitespace());
        if word.is_empty() { Err(self.error(&format!("here should be {wanted}"))) } else { Ok(word) }
    }

    fn number(&mut self, wanted: &str) -> Result<u32, NotationError> {
        let start = self.at;
        let digits = self.take_while(|letter| letter.is_ascii_digit());
        match digits.parse() {
            Ok(number) if (1..=FLEET_MAX).contains(&number) => Ok(number),
            _ => {
                self.at = start;
                Err(self.error(&format!("here should be {wanted}, from 1 to {FLEET_MAX}")))
            }
        }
    }

    fn next(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.next() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn error(&self, what: &str) -> NotationError {
        let text = self.text.chars().take(120).collect();
        NotationError::Syntax { at: self.text[..self.at].chars().count() + 1, text, what: what.to_owned() }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.drive)?;
        for (parameter, value) in &self.changes {
            write!(formatter, ":{parameter}={value}")?;
        }
        if self.count != 1 {
            write!(formatter, "*{}", self.count)?;
        }
        for (depth, segment) in self.place.iter().enumerate() {
            write!(formatter, "{}{segment}", if depth == 0 { '@' } else { '/' })?;
        }
        Ok(())
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.kind.word())?;
        match self.which {
            Which::UpTo(1) => Ok(()),
            Which::UpTo(count) => write!(formatter, "*{count}"),
            Which::Number(number) => write!(formatter, "#{number}"),
        }
    }
}
