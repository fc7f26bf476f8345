//! What clients hear when what was answered and not flushed may be lost: when their volume has outlived
//! its drives' power, and goes on, and when it has refused a flush, which it says once.
//!
//! A flush covers all that was answered before it, on whichever connection
//! (`NBD_FLAG_CAN_MULTI_CONN`). So every connection that is there is told, and once: by the flushes
//! that are under way on it, or else by the next. A write that is under way may have been written
//! in part before: if it was to be durable it fails, and else it is answered after the flushes that
//! are under way have failed, so that the next flush fails as well, of every connection. Who connects later has been
//! told of no write, or knows by the [incarnation](crate::Exports::with_incarnation).

use std::collections::BTreeSet;
use std::sync::Arc;

use shoal_volume::RequestError;

use super::Exporter;
use super::pieces::Transaction;
use crate::export::Exports;
use crate::request::Order;

impl Exporter {
    /// The volume's drives are others than before, or have been without power: clients that come are told this word.
    pub fn reincarnate(&mut self, word: &str) {
        self.exports = Arc::new(Exports::clone(&self.exports).with_incarnation(word));
        self.door.show(Arc::clone(&self.exports));
    }

    /// The word that clients who come are told.
    pub fn incarnation(&self) -> &str {
        self.exports.incarnation()
    }

    /// What becomes of the first flush of a client that comes: one that was told of other drives may count on what it wrote
    /// to those before it came again.
    pub(super) fn first_flush(&self, told: &Exports) -> Result<(), RequestError> {
        match told.incarnation() == self.exports.incarnation() {
            true => Ok(()),
            false => Err(RequestError::Failed),
        }
    }

    /// What was answered and not flushed may be lost.
    pub fn lose_unflushed(&mut self) {
        let is_to_be_durable = |it: &Transaction| match it.order {
            Order::Write { durable } | Order::Trim { durable } | Order::WriteZeroes { durable, .. } => durable,
            order => order == Order::Flush,
        };
        let mut told = self.fail(is_to_be_durable);
        let changes =
            |it: &Transaction| matches!(it.order, Order::Write { .. } | Order::Trim { .. } | Order::WriteZeroes { .. });
        if self.transactions.iter().any(|(_, it)| changes(it) && it.error.is_none()) {
            // It is answered after those flushes, and the next one covers it, whoever asks for that.
            told.clear();
        }
        self.owe_all_but(&told);
    }

    /// The volume has refused a flush, which it says once: whoever asked for this one is told, and what others were answered
    /// may be lost as well.
    pub(super) fn flush_refused(&mut self) {
        let told = self.fail(|it| it.order == Order::Flush);
        self.owe_all_but(&told);
        self.has_refused = true;
    }

    /// Whether the volume has refused a flush since this was asked last.
    pub fn take_refusal(&mut self) -> bool {
        std::mem::take(&mut self.has_refused)
    }

    /// Has requests fail, whatever the volume says of them. Returns the connections that hear it by a flush.
    fn fail(&mut self, is_doomed: impl Fn(&Transaction) -> bool) -> BTreeSet<u64> {
        let doomed: Vec<_> = self.transactions.iter().filter(|(_, it)| is_doomed(it)).map(|(key, _)| key).collect();
        let mut told = BTreeSet::new();
        for key in doomed {
            let Some(it) = self.transactions.at_mut(key) else { continue };
            it.error = it.error.or(Some(RequestError::Failed));
            // Of one that was given up the client has heard already, before other answers came.
            if it.order == Order::Flush && !it.is_given_up {
                told.insert(it.connection.number());
            }
        }
        told
    }

    /// Has the next flush of all other connections fail.
    fn owe_all_but(&mut self, told: &BTreeSet<u64>) {
        let keys: Vec<_> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys.into_iter().filter(|key| !told.contains(&key.number())) {
            if let Some(connection) = self.connections.at_mut(key) {
                connection.next_flush = Err(RequestError::Failed);
            }
        }
    }
}
