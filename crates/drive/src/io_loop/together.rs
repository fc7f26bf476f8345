//! Writes that lie side by side on a drive, done as one.
//!
//! A loop has them in its queue and its engine as a single I/O, with the token of the first; each
//! is answered by itself. What one of them meets is not for the others: if the whole fails, each is
//! done anew alone, and told what comes of that.

use std::collections::HashMap;

use super::request::{Io, IoKind};
use crate::Memory;

/// The writes that are done as one, by the token of the first.
#[derive(Debug, Default)]
pub(super) struct Together(HashMap<u64, Vec<Io>>);

/// Where a write's bytes are.
pub(super) fn memory_of(io: &Io) -> Memory {
    match io.kind {
        IoKind::Write(memory) => memory,
        IoKind::Read(_) | IoKind::Flush | IoKind::Discard(_) => unreachable!("only writes are put together"),
    }
}

impl Together {
    /// I/Os that are hidden behind others.
    pub(super) fn hidden(&self) -> usize {
        self.0.values().map(|ios| ios.len() - 1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These are done as one, with the token of the first.
    pub(super) fn put(&mut self, ios: &[Io]) {
        self.0.insert(ios[0].token, ios.to_vec());
    }

    /// The I/Os that were done as one with this token.
    pub(super) fn take(&mut self, token: u64) -> Option<Vec<Io>> {
        self.0.remove(&token)
    }

    /// The memory of an I/O's parts; none if it has none.
    pub(super) fn parts(&self, io: &Io) -> Vec<Memory> {
        self.0.get(&io.token).map(|ios| ios.iter().map(memory_of).collect()).unwrap_or_default()
    }
}
