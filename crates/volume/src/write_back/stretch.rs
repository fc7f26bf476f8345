//! What a [stretch](super::stretches) is while it is read, and how it was decided that there is
//! one.

use std::ops::Range;

use shoal_array::{Instant, Span};

use super::prices::Way;

/// Rows that are read, to be written anew.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) range: Range<u64>,
    /// Where each part of it is.
    pub(super) parts: Vec<(u64, Span)>,
    /// Parts that are being read.
    pub(super) outstanding: usize,
    /// It is not to be written.
    pub(super) is_dropped: bool,
    pub(super) begun: Instant,
}

/// How a group goes from bottom to top, which is decided when the first row of it goes.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) group: u64,
    /// Rows before this one have gone.
    pub(super) next_row: u64,
    pub(super) way: Way,
}

/// What is to go next.
#[derive(Debug)]
pub(super) enum Next {
    /// The row by itself.
    Row,
    /// All of this, to be written anew.
    Stretch(Range<u64>),
    /// Nothing, until what is under way has ended.
    Later,
}
