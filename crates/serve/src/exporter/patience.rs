//! What time does to clients and to their requests.
//!
//! A client that keeps others' buffers and moves no byte is sent away. And a request is answered in
//! time, whatever becomes of the drives: one of which nothing has moved for [`DEADLINE`] (no part
//! of it was begun, none has ended, nothing of it was received) is *given up*. Its client is told
//! that it failed, and may go on. What the volume has of it, it keeps until its drives answer: the
//! buffers are used for nothing else before. Until then the rule that they belong to the client
//! holds as well, so whoever asks a dead drive for more than its share is told at once that there
//! is no buffer for it, and everybody else has what is theirs.
//!
//! What was given up may still come to pass, as may any write that failed; but nothing of it is
//! handed to the volume afterwards, or it could undo what its client has written since.

use std::time::Duration;

use shoal_volume::Volume;

use super::Exporter;
use super::pieces::{InFlight, Transaction};
use crate::connection::{Connection, Reading};
use crate::output::Reply;
use crate::protocol::Errno;
use crate::slab::Key;

/// How long nothing of a request may move until it is answered with an error, unless told
/// otherwise. A drive is given up by the kernel after 30 s (`/sys/block/*/device/timeout`), and its
/// command is tried again; this leaves room for that.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// A client that has begun a request, or is to take an answer, and has moved no byte for so long is
/// sent away.
const PATIENCE: Duration = Duration::from_secs(60);
/// With nothing to do, the owner may sleep for so long.
const LONG: Duration = Duration::from_secs(3600);
/// How often clients and requests are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// What a client is told of a request that was given up.
const NO_ANSWER: &str = "the drives have not answered in time";

impl Exporter {
    /// Sends away who keeps others' buffers, gives up what is overdue, and says how long the owner
    /// may wait.
    pub(super) fn patience(&mut self, volume: &mut dyn Volume) -> Duration {
        let owes = |it: &Connection| {
            let is_late = !it.input.is_empty() || matches!(it.reading, Reading::Payload { .. } | Reading::Refused(_));
            !it.output.is_empty() || (is_late && !it.is_in_line && !it.is_paused)
        };
        let debtors: Vec<Key> = self.connections.iter().filter(|(_, it)| owes(it)).map(|(key, _)| key).collect();
        if debtors.is_empty() && self.transactions.len() == 0 {
            return LONG;
        }
        // Often enough for a short deadline.
        let look = LOOK.min(self.deadline / 4);
        if self.since(self.looked_at) >= look {
            self.looked_at = self.now;
            for key in debtors {
                let is_overdue = |it: &Connection| self.since(it.moved_at) > PATIENCE;
                if !self.is_ending && self.connections.get(key).is_some_and(is_overdue) {
                    self.drop_connection(volume, key);
                }
            }
            self.give_up_overdue(volume);
            self.settle(volume);
        }
        look
    }

    fn give_up_overdue(&mut self, volume: &mut dyn Volume) {
        let is_overdue = |it: &Transaction| !it.is_given_up && self.since(it.moved_at) > self.deadline;
        let overdue: Vec<Key> = self.transactions.iter().filter(|(_, it)| is_overdue(it)).map(|(key, _)| key).collect();
        for key in overdue {
            // How long a client may take is another question.
            if !self.waits_for_client(key) {
                self.give_up(volume, key);
            }
        }
    }

    /// Whether all that a transaction waits for is its client: for more of what it brings, or for
    /// it to take what it has asked for before.
    fn waits_for_client(&self, transaction: Key) -> bool {
        let Some(it) = self.transactions.get(transaction) else { return false };
        let Some(connection) = self.connections.get(it.connection) else { return false };
        connection.reading.transaction() == Some(transaction)
            && match connection.reading {
                Reading::Payload { .. } => it.unfinished == 1,
                Reading::Begin(_) => it.unfinished == 0 && !connection.output.is_empty(),
                Reading::Request | Reading::Refused(_) => false,
            }
    }

    /// Answers a request with an error, whatever the volume still has of it; nothing more of it is
    /// begun.
    pub(super) fn give_up(&mut self, volume: &mut dyn Volume, transaction: Key) {
        let Some(it) = self.transactions.at_mut(transaction) else { return };
        let (key, cookie, is_structured) = (it.connection, it.cookie, it.structured);
        let is_half_told = it.has_sent && !is_structured;
        let to_come = if it.order.brings_payload() { (it.end - it.next) as u32 } else { 0 };
        it.end = it.next;
        self.drop_waiting(volume, &[transaction]);
        self.read_past(key, transaction, to_come);
        if let Some(it) = self.transactions.at_mut(transaction) {
            it.is_given_up = true;
        }
        let is_of_it = |piece: &&InFlight| piece.transaction == transaction && piece.buffer.is_some();
        let kept = self.pieces.iter().map(|(_, piece)| piece).chain(self.ragged.being_read()).filter(is_of_it).count();
        if let Some(connection) = self.connections.at_mut(key) {
            connection.under_way -= 1;
            connection.overdue += kept;
            if is_half_told {
                // There is no way to say that the rest will not come.
                self.drop_connection(volume, key);
            } else {
                let simple = Reply::simple(cookie, Some(Errno::Io), None);
                self.reply(key, if is_structured { Reply::error(cookie, Errno::Io, None, NO_ANSWER) } else { simple });
                self.resume(key);
            }
        }
        if self.transactions.get(transaction).is_some_and(|it| it.unfinished == 0) {
            self.transactions.remove(transaction);
        }
    }

    /// What a client still brings for a request is passed over: what it has brought of the present
    /// part, and of which `to_come` bytes follow.
    fn read_past(&mut self, key: Key, transaction: Key, to_come: u32) {
        let Some(connection) = self.connections.at_mut(key) else { return };
        if connection.reading.transaction() != Some(transaction) {
            return;
        }
        let (mut left, mut buffer_there) = (to_come, None);
        if let Reading::Payload { part, buffer, filled, .. } = connection.reading {
            left += part.payload - filled;
            buffer_there = Some(buffer);
        }
        connection.reading = if left == 0 { Reading::Request } else { Reading::Refused(left) };
        self.line_up(key);
        if let Some(buffer) = buffer_there {
            self.part_lost(transaction, Some(buffer));
        }
    }

    /// A part was begun, and will never reach the volume.
    pub(super) fn part_lost(&mut self, transaction: Key, buffer: Option<u32>) {
        if let Some(it) = self.transactions.at_mut(transaction) {
            it.unfinished -= 1;
        }
        if let Some(buffer) = buffer {
            self.release(transaction, buffer);
        }
    }
}
