//! Writes for a command that measures. Whatever is wrong with the lab book, the measurement goes
//! on.

use std::path::Path;

use crate::book::{LabBook, Number, Rights};
use crate::error::LabBookError;
use crate::model::{Ending, Heading, Target};

/// A run that is written down as it goes, as long as that can be done.
pub struct Recorder<'a> {
    book: Option<(LabBook, Number)>,
    tell: &'a dyn Fn(&str),
}

impl std::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("book", &self.book).finish_non_exhaustive()
    }
}

impl<'a> Recorder<'a> {
    /// Writes nothing.
    pub fn none() -> Self {
        Self { book: None, tell: &|_| () }
    }

    /// Begins a run. `tell` hears in one line what is wrong with the lab book, once at most.
    pub fn begin(path: &Path, heading: &Heading, tell: &'a dyn Fn(&str)) -> Self {
        let begun = LabBook::open(path, Rights::Write).and_then(|mut book| {
            let number = book.begin(heading)?;
            Ok((book, number))
        });
        let mut recorder = Self { book: None, tell };
        match begun {
            Ok(book) => recorder.book = Some(book),
            Err(error) => recorder.give_up(&error),
        }
        recorder
    }

    /// Writes down what was measured on a target.
    pub fn add(&mut self, target: &Target) {
        self.write(|book, number| book.add(number, target));
    }

    /// Writes down how the run ended; nothing can be added after that.
    pub fn end(&mut self, ending: &Ending) {
        self.write(|book, number| book.end(number, ending));
        self.book = None;
    }

    /// Takes the run out again if nothing was measured: what was asked for could not be done.
    pub fn discard(&mut self) {
        self.write(LabBook::discard);
        self.book = None;
    }

    fn write(&mut self, change: impl FnOnce(&mut LabBook, Number) -> Result<(), LabBookError>) {
        let Some((book, number)) = &mut self.book else { return };
        if let Err(error) = change(book, *number) {
            self.book = None;
            self.give_up(&error);
        }
    }

    fn give_up(&self, error: &LabBookError) {
        (self.tell)(&format!("this run is not kept in the lab book: {error}"));
    }
}
