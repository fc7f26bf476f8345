//! What clients hear when what was answered and not flushed may be lost: when their volume has
//! outlived its drives' power, and goes on, and when it has refused a flush, which it says once.
//!
//! A flush covers all that was answered before it, on whichever connection
//! (`NBD_FLAG_CAN_MULTI_CONN`). So every connection that is there is told, and once: by the flushes
//! that are under way on it, or else by the next. A write that is under way may have been written
//! in part before: if it was to be durable it fails, and else it is answered after the flushes that
//! are under way have failed, so that the next flush fails as well, of every connection. Who
//! connects later has been told of no write, or knows by the
//! [incarnation](crate::Exports::with_incarnation).
//!
//! Of flushes that are refused one after the other, and no change of content between them, the
//! first tells everybody: by the others nothing is lost that could be counted on. Those who asked
//! for them hear it, and nobody else again.

use std::collections::BTreeSet;
use std::sync::Arc;

use shoal_volume::RequestError;

use super::Exporter;
use super::pieces::Transaction;
use crate::export::Exports;
use crate::handshakes::Arrival;
use crate::request::RequestKind;

impl Exporter {
    /// The volume's drives are others than before, or have been without power: clients that come
    /// are told this word.
    pub fn reincarnate(&mut self, word: &str) {
        self.exports = Arc::new(Exports::clone(&self.exports).with_incarnation(word));
        self.handshakes.show(Arc::clone(&self.exports));
    }

    /// From now on clients who come are not served, as it is not known yet what drives the volume
    /// has: until [`Exporter::take_arrivals`]. Those who are there are.
    pub fn hold_arrivals(&mut self) {
        self.losses.are_arrivals_held = true;
    }

    /// The word that is told now is true: who has come meanwhile and was told another one hears of
    /// it.
    pub fn take_arrivals(&mut self) {
        self.losses.are_arrivals_held = false;
    }

    /// A client that comes, and may be served.
    pub(super) fn next_arrival(&self) -> Option<Arrival> {
        if self.losses.are_arrivals_held { None } else { self.arrivals.try_recv().ok() }
    }

    /// The word that clients who come are told.
    pub fn incarnation(&self) -> &str {
        self.exports.incarnation()
    }

    /// What becomes of the first flush of a client that comes: one that was told of other drives
    /// may count on what it wrote to those before it came again.
    pub(super) fn first_flush(&self, told: &Exports) -> Result<(), RequestError> {
        match told.incarnation() == self.exports.incarnation() {
            true => Ok(()),
            false => Err(RequestError::Failed),
        }
    }

    /// What was answered and not flushed may be lost.
    ///
    /// All who are there are told, by requests that are to be durable, which fail, or by their next
    /// flush. If nothing was changed since they were told last, or owed it, there is nothing to
    /// tell but to whoever asked.
    pub fn lose_unflushed(&mut self) {
        let is_news = self.losses.is_untold;
        if is_news {
            self.fail_what_is_to_be_durable();
        }
        // Of one that was given up the client has heard already, before other answers came.
        let tells = |it: &Transaction| it.order == RequestKind::Flush && it.error.is_some() && !it.is_given_up;
        let telling = self.transactions.iter().filter(|(_, it)| tells(it));
        let mut told: BTreeSet<u64> = telling.map(|(_, it)| it.connection.number()).collect();
        let changes = |it: &Transaction| {
            matches!(it.order, RequestKind::Write { .. } | RequestKind::Trim { .. } | RequestKind::WriteZeroes { .. })
        };
        if is_news {
            self.losses.count += 1;
            self.losses.is_untold = self.transactions.iter().any(|(_, it)| changes(it) && it.error.is_none());
        }
        if self.losses.is_untold {
            // It is answered after those flushes, and the next one covers it, whoever asks for
            // that.
            told.clear();
        }
        let keys: Vec<_> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(connection) = self.connections.at_mut(key) else { continue };
            if told.contains(&key.number()) {
                connection.next_flush = Ok(());
            } else if is_news {
                connection.next_flush = Err(RequestError::Failed);
            }
        }
    }

    /// The volume has refused a flush, which it says once: whoever asked for this one is told, and
    /// what others were answered may be lost as well.
    pub(super) fn flush_refused(&mut self) {
        self.lose_unflushed();
        self.losses.has_refused = true;
    }

    /// How often something may have been lost of which not everybody was told already.
    pub fn losses(&self) -> u32 {
        self.losses.count
    }

    /// Whether the volume has refused a flush since this was asked last.
    pub fn take_refusal(&mut self) -> bool {
        std::mem::take(&mut self.losses.has_refused)
    }

    /// Has requests fail, whatever the volume says of them.
    fn fail_what_is_to_be_durable(&mut self) {
        let is_doomed = |it: &Transaction| match it.order {
            RequestKind::Write { durable }
            | RequestKind::Trim { durable }
            | RequestKind::WriteZeroes { durable, .. } => durable,
            order => order == RequestKind::Flush,
        };
        let doomed: Vec<_> = self.transactions.iter().filter(|(_, it)| is_doomed(it)).map(|(key, _)| key).collect();
        for key in doomed {
            if let Some(it) = self.transactions.at_mut(key) {
                it.error = it.error.or(Some(RequestError::Failed));
            }
        }
    }
}
