//! One flush at a time for each drive, and one for all who ask meanwhile.
//!
//! A drive that refuses a flush may have forgotten what it held then. Of two flushes that it has at
//! once nobody knows which it did first: it refuses the one and forgets, then has nothing left to
//! flush and takes the other. Linux does the same with two at once on one open file: the one that
//! asks first gets the error. If the good answer comes first, whoever waits for it believes that
//! his content is durable, and it is gone. So a drive has one flush at a time, which its answer is
//! about, and about what was answered before it began.
//!
//! ```text
//!  asked while the drive has none ──► given to the drive
//!  asked while it has one         ──► waits, and is answered by the next one, with all that wait
//! ```
//!
//! Nobody waits for more than the flush that the drive has and the next one; and a drive that many
//! flush at once does the work of few, as Linux's block layer has it too.

use shoal_drive::{DriveId, Io};

/// The flushes of one drive.
#[derive(Debug, Default)]
struct OnDrive {
    /// Tokens of those that the flush which the drive has answers.
    under_way: Vec<u64>,
    /// Those that the next one answers.
    waiting: Vec<Io>,
}

/// The flushes of all drives, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Flushes(Vec<OnDrive>);

impl Flushes {
    fn of(&mut self, drive: DriveId) -> &mut OnDrive {
        let index = drive.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, OnDrive::default);
        }
        &mut self.0[index]
    }

    /// Somebody asks for a flush.
    pub(super) fn submit(&mut self, io: Io) {
        self.of(io.drive).waiting.push(io);
    }

    /// What the drive is to be given now: nothing while it has a flush, or nobody asks for one.
    pub(super) fn begin(&mut self, drive: DriveId) -> Option<Io> {
        let it = self.of(drive);
        if !it.under_way.is_empty() {
            return None;
        }
        let first = it.waiting.first().copied()?;
        it.under_way = it.waiting.drain(..).map(|io| io.token).collect();
        Some(first)
    }

    /// The drive has answered the flush that it had: all that this answers.
    pub(super) fn ended(&mut self, drive: DriveId) -> Vec<u64> {
        std::mem::take(&mut self.of(drive).under_way)
    }

    /// Whether a drive has not been given this flush yet.
    pub(super) fn holds(&self, drive: DriveId, token: u64) -> bool {
        self.0.get(drive.0 as usize).is_some_and(|it| it.waiting.iter().any(|io| io.token == token))
    }

    /// Whether any drive has not been given everything yet.
    pub(super) fn are_waiting(&self) -> bool {
        self.0.iter().any(|it| !it.waiting.is_empty())
    }

    /// Takes back a flush that a drive has not been given yet. Says whether it has not.
    pub(super) fn take_back_one(&mut self, drive: DriveId, token: u64) -> bool {
        let holds = self.holds(drive, token);
        self.of(drive).waiting.retain(|io| io.token != token);
        holds
    }

    /// Takes back what a drive has not been given yet.
    pub(super) fn take_back(&mut self, drive: DriveId) -> Vec<u64> {
        self.of(drive).waiting.drain(..).map(|io| io.token).collect()
    }

    /// Takes back what drives have not been given yet.
    pub(super) fn take_back_all(&mut self) -> Vec<u64> {
        self.0.iter_mut().flat_map(|it| it.waiting.drain(..)).map(|io| io.token).collect()
    }
}

#[cfg(test)]
mod tests {
    use shoal_drive::IoKind;

    use super::*;

    const DRIVE: DriveId = DriveId(1);

    fn flush(token: u64) -> Io {
        Io { token, drive: DRIVE, kind: IoKind::Flush, offset: 0 }
    }

    #[test]
    fn who_asks_while_the_drive_flushes_is_answered_by_the_next_flush() {
        let mut flushes = Flushes::default();
        flushes.submit(flush(1));
        assert_eq!(flushes.begin(DRIVE).map(|io| io.token), Some(1));
        [2, 3, 4].into_iter().for_each(|token| flushes.submit(flush(token)));
        assert!(flushes.begin(DRIVE).is_none() && flushes.are_waiting());
        assert!(flushes.take_back_one(DRIVE, 3) && !flushes.take_back_one(DRIVE, 1));
        assert_eq!(flushes.ended(DRIVE), [1]);
        assert_eq!(flushes.begin(DRIVE).map(|io| io.token), Some(2));
        assert!(!flushes.are_waiting() && !flushes.holds(DRIVE, 4));
        assert_eq!(flushes.ended(DRIVE), [2, 4]);
        assert!(flushes.begin(DRIVE).is_none());
    }
}
