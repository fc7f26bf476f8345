//! One flush at a time for each drive, one for all who ask meanwhile, and none for a drive that has
//! nothing new.
//!
//! A drive that refuses a flush may have forgotten what it held then. Of two flushes that it has at
//! once nobody knows which it did first: it refuses the one and forgets, then has nothing left to
//! flush and takes the other. Linux does the same with two at once on one open file: the one that
//! asks first gets the error. If the good answer comes first, whoever waits for it believes that
//! his content is durable, and it is gone. So a drive has one flush at a time, which its answer is
//! about, and about what was answered before it began.
//!
//! ```text
//!                                     the drive has no flush        the drive has a flush
//!  something new since the last one   given to the drive            waits, and is answered by the next one, with all that wait
//!  nothing new                        answered at once              answered by that one
//! ```
//!
//! Nobody waits for more than the flush that the drive has and the next one; and a drive that many
//! flush at once does the work of few, as Linux's block layer has it too.
//!
//! # Nothing new
//!
//! A flush promises what was answered before it was asked for. So a drive has *nothing new* if it
//! has answered no write and no discard, well or not, since the last flush that it took well, or
//! has now, was given to it. What it was given and has not answered is nobody's to rely on; it is
//! new when it is answered, also if nobody waits for it any more. All that goes to drives comes by
//! here: data, parity, superblocks, bitmaps, logs, what fills a member. A drive that is not known
//! has something new: nobody knows what it was given before, or by whom. So has one that refused a
//! flush, until it takes one; and a file that was cut short or deleted, which takes none.

use shoal_drive::{DriveId, Io};

/// The flushes of one drive.
#[derive(Debug, Default)]
struct OnDrive {
    /// Tokens of those that the flush which the drive has answers.
    under_way: Vec<u64>,
    /// Those that the next one answers.
    waiting: Vec<Io>,
    /// It has nothing new: what it has answered is covered by the last flush that it took, or by
    /// the one that it has.
    is_covered: bool,
}

/// The flushes of all drives, by their numbers.
#[derive(Debug, Default)]
pub(in crate::tree) struct Flushes(Vec<OnDrive>);

impl Flushes {
    fn of(&mut self, drive: DriveId) -> &mut OnDrive {
        let index = drive.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, OnDrive::default);
        }
        &mut self.0[index]
    }

    /// Whether the drive has nothing new, and no flush that may yet be refused: whoever asks for
    /// one is answered at once.
    pub(in crate::tree) fn are_needless(&self, drive: DriveId) -> bool {
        self.0.get(drive.0 as usize).is_some_and(|it| it.is_covered && it.under_way.is_empty())
    }

    /// Somebody asks for a flush that is [not needless](Self::are_needless).
    pub(in crate::tree) fn submit(&mut self, io: Io) {
        let it = self.of(io.drive);
        match it.is_covered {
            true => it.under_way.push(io.token),
            false => it.waiting.push(io),
        }
    }

    /// What the drive is to be given now: nothing while it has a flush, or nobody asks for one.
    pub(in crate::tree) fn begin(&mut self, drive: DriveId) -> Option<Io> {
        let it = self.of(drive);
        if !it.under_way.is_empty() {
            return None;
        }
        let first = it.waiting.first().copied()?;
        it.under_way = it.waiting.drain(..).map(|io| io.token).collect();
        it.is_covered = true;
        Some(first)
    }

    /// The drive has answered the flush that it had: all that this answers.
    pub(in crate::tree) fn ended(&mut self, drive: DriveId, is_good: bool) -> Vec<u64> {
        let it = self.of(drive);
        it.is_covered &= is_good;
        std::mem::take(&mut it.under_way)
    }

    /// The drive has answered a write or discard, well or not.
    pub(in crate::tree) fn changed(&mut self, drive: DriveId) {
        self.of(drive).is_covered = false;
    }

    /// All drives are flushed when they are asked to next: others may have written to them
    /// meanwhile, or it is to be found out whether they are there.
    pub(in crate::tree) fn forget(&mut self) {
        self.0.iter_mut().for_each(|it| it.is_covered = false);
    }

    /// Whether a drive has not been given this flush yet.
    pub(in crate::tree) fn holds(&self, drive: DriveId, token: u64) -> bool {
        self.0.get(drive.0 as usize).is_some_and(|it| it.waiting.iter().any(|io| io.token == token))
    }

    /// Whether any drive has not been given everything yet.
    pub(in crate::tree) fn are_waiting(&self) -> bool {
        self.0.iter().any(|it| !it.waiting.is_empty())
    }

    /// Takes back a flush that a drive has not been given yet. Says whether it has not.
    pub(in crate::tree) fn take_back_one(&mut self, drive: DriveId, token: u64) -> bool {
        let holds = self.holds(drive, token);
        self.of(drive).waiting.retain(|io| io.token != token);
        holds
    }

    /// Takes back what a drive has not been given yet.
    pub(in crate::tree) fn take_back(&mut self, drive: DriveId) -> Vec<u64> {
        self.of(drive).waiting.drain(..).map(|io| io.token).collect()
    }

    /// Takes back what drives have not been given yet.
    pub(in crate::tree) fn take_back_all(&mut self) -> Vec<u64> {
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
        flushes.changed(DRIVE);
        [2, 3, 4].into_iter().for_each(|token| flushes.submit(flush(token)));
        assert!(flushes.begin(DRIVE).is_none() && flushes.are_waiting());
        assert!(flushes.take_back_one(DRIVE, 3) && !flushes.take_back_one(DRIVE, 1));
        assert_eq!(flushes.ended(DRIVE, true), [1]);
        assert_eq!(flushes.begin(DRIVE).map(|io| io.token), Some(2));
        assert!(!flushes.are_waiting() && !flushes.holds(DRIVE, 4));
        assert_eq!(flushes.ended(DRIVE, true), [2, 4]);
        assert!(flushes.begin(DRIVE).is_none());
    }

    /// One that has ended, well or not.
    fn flushed(is_good: bool) -> Flushes {
        let mut flushes = Flushes::default();
        flushes.submit(flush(1));
        assert_eq!(flushes.begin(DRIVE).map(|io| io.token), Some(1));
        flushes.ended(DRIVE, is_good);
        flushes
    }

    #[test]
    fn a_drive_without_anything_new_is_not_flushed() {
        assert!(!Flushes::default().are_needless(DRIVE), "nobody knows what it was given before");
        let mut flushes = flushed(true);
        assert!(flushes.are_needless(DRIVE) && !flushes.are_needless(DriveId(0)));
        flushes.changed(DRIVE);
        assert!(!flushes.are_needless(DRIVE));
        assert!(!flushed(false).are_needless(DRIVE), "it refused the flush");
        let mut flushes = flushed(true);
        flushes.forget();
        assert!(!flushes.are_needless(DRIVE), "others may have written to it");
    }

    #[test]
    fn what_is_answered_while_the_drive_flushes_is_new() {
        let mut flushes = Flushes::default();
        flushes.submit(flush(1));
        assert!(flushes.begin(DRIVE).is_some());
        flushes.changed(DRIVE);
        assert_eq!(flushes.ended(DRIVE, true), [1]);
        assert!(!flushes.are_needless(DRIVE));
    }

    #[test]
    fn who_asks_while_the_drive_flushes_and_has_nothing_new_is_answered_by_that_flush() {
        let mut flushes = Flushes::default();
        flushes.submit(flush(1));
        assert!(flushes.begin(DRIVE).is_some() && !flushes.are_needless(DRIVE), "it may be refused yet");
        flushes.submit(flush(2));
        assert!(!flushes.are_waiting());
        assert_eq!(flushes.ended(DRIVE, false), [1, 2]);
        assert!(!flushes.are_needless(DRIVE));
    }
}
