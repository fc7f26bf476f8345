//! What lies on a simulated drive, and what becomes of it.
//!
//! A drive acknowledges writes into a volatile cache. A flush makes durable what was acknowledged
//! before the flush was *started*: a write that is acknowledged while a flush is under way is not
//! covered by it. When power is cut, each write that no finished flush covers, acknowledged or not,
//! is kept, lost or torn: sectors are whole, anything else is not, and a later write may be kept
//! where an earlier one is lost. Only the sequence at one place holds: a drive never puts older
//! content over newer content.
//!
//! A cache is bounded ([`CACHE_BYTES`]): beyond that the oldest acknowledged writes become durable
//! by themselves.
//!
//! Commands have a start, when the host hands them over, and an end, when the drive answers. Writes
//! and flushes are told both ([`Content::start_write`], [`Content::start_flush`],
//! [`Content::finish`]); reads and discards act when they end. [`Content::write`] and
//! [`Content::flush`] are both at once, for who has no time in between.
//!
//! A flush can be a lie ([`MisbehaviourKind::FlushLost`]): it is acknowledged, and what it was to
//! cover stays in the cache. What a power cut takes of that is *damaged*.
//!
//! Not modelled: sectors that are torn within themselves.

mod cache;
mod lie;
mod media;
mod page;

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::DriveModel;
use crate::faults::{Fault, Misbehaviour, MisbehaviourKind};
use cache::Cache;
use media::Media;

pub use media::SECTOR_BYTES;

/// What a drive's cache holds at most.
pub const CACHE_BYTES: u64 = 32 << 20;

/// A write or flush that was started and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// The bytes of one drive. Clones share what they have in common, so a clone is a cheap picture of
/// a moment.
#[derive(Clone, Debug)]
pub struct Content {
    size_bytes: u64,
    /// None if nothing is kept.
    kept: Option<Kept>,
    is_gone: bool,
    /// Of which each strikes once.
    armed: Vec<Misbehaviour>,
    /// Those that struck.
    struck: Vec<Struck>,
}

/// What the drive would have after a power cut, and what it answers now.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// What reads see: all that was acknowledged.
    current: Media,
    cache: Cache,
}

/// A misbehaviour that came to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// How.
    pub kind: MisbehaviourKind,
    /// The bytes that the command was for; none for flushes.
    pub range: Range<u64>,
    /// The bytes that silently do not hold what they should since then.
    pub damaged: Vec<Range<u64>>,
}

impl Content {
    /// A drive that holds zeros.
    pub fn new(size_bytes: u64) -> Self {
        Self { size_bytes, kept: Some(Kept::default()), is_gone: false, armed: Vec::new(), struck: Vec::new() }
    }

    /// A drive of that model that holds zeros; one that lies about its capacity if the model does.
    pub fn of(model: &DriveModel) -> Self {
        let media = Media::of(model.fake);
        let kept = Kept { cache: Cache::over(media.clone()), current: media };
        Self { kept: Some(kept), ..Self::new(model.size_bytes) }
    }

    /// A drive that keeps nothing and reads zeros, for measuring time.
    pub fn discarded(size_bytes: u64) -> Self {
        Self { kept: None, ..Self::new(size_bytes) }
    }

    /// Capacity.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether bytes are kept. If not, who writes may pass bytes of no meaning.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Reads what was acknowledged last.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let length = bytes.len() as u64;
        self.read_parts(offset, length, |done, part| bytes[done..done + part.len()].copy_from_slice(part))
    }

    /// [`Content::read`] without memory of its own: `take` is given one part after the other, and
    /// where in the run it begins; nothing, if the read fails.
    pub fn read_parts(&mut self, offset: u64, length: u64, take: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
        let range = self.checked(offset, length)?;
        let struck = self.strike(&range, is_of_reads);
        if let Some(Misbehaviour { kind: MisbehaviourKind::ReadFails(fault), .. }) = struck {
            return Err(fault);
        }
        self.look_parts(offset, length, take)
    }

    /// Reads without any armed misbehaviour striking.
    pub fn look(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let length = bytes.len() as u64;
        self.look_parts(offset, length, |done, part| bytes[done..done + part.len()].copy_from_slice(part))
    }

    /// Reads what is there for good: what a power cut now would leave at least of what was written.
    pub fn look_durable(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let length = bytes.len() as u64;
        self.checked(offset, length)?;
        let take = |done: usize, part: &[u8]| bytes[done..done + part.len()].copy_from_slice(part);
        match self.kept.as_ref().map(|kept| kept.cache.durable()) {
            Some(durable) if !durable.is_readable(offset, length) => return Err(Fault::Io),
            Some(durable) => durable.read_parts(offset, length, take),
            None => Media::default().read_parts(offset, length, take),
        }
        Ok(())
    }

    fn look_parts(&self, offset: u64, length: u64, take: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
        self.checked(offset, length)?;
        match &self.kept {
            Some(kept) if !kept.current.is_readable(offset, length) => return Err(Fault::Io),
            Some(kept) => kept.current.read_parts(offset, length, take),
            None => Media::default().read_parts(offset, length, take),
        }
        Ok(())
    }

    /// A write, from start to end.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let ticket = self.start_write(offset, bytes)?;
        self.finish(ticket)
    }

    /// A flush, from start to end.
    pub fn flush(&mut self) -> Result<(), Fault> {
        let ticket = self.start_flush()?;
        self.finish(ticket)
    }

    /// The drive is handed a write. From now on a power cut may leave it, or parts of it, behind.
    /// An error is its end.
    pub fn start_write(&mut self, offset: u64, bytes: &[u8]) -> Result<Ticket, Fault> {
        let range = self.checked(offset, bytes.len() as u64)?;
        let spoilt = self.strike(&range, is_of_writes);
        Ok(Ticket(self.kept.as_mut().map_or(0, |kept| kept.cache.start_write(offset, bytes, spoilt))))
    }

    /// The drive is handed a flush, for everything that it has acknowledged by now. An error is its
    /// end.
    pub fn start_flush(&mut self) -> Result<Ticket, Fault> {
        self.checked(0, 0)?;
        let struck = self.strike(&(0..0), is_of_flushes);
        if let Some(Misbehaviour { kind: MisbehaviourKind::FlushFails(fault), .. }) = struck {
            if let Some(kept) = &mut self.kept {
                kept.cache.give_up();
            }
            return Err(fault);
        }
        let is_lie = struck.is_some();
        Ok(Ticket(self.kept.as_mut().map_or(0, |kept| kept.cache.start_flush(is_lie))))
    }

    /// The drive answers a write or flush that was started.
    pub fn finish(&mut self, ticket: Ticket) -> Result<(), Fault> {
        self.checked(0, 0)?;
        match &mut self.kept {
            Some(kept) => kept.cache.finish(ticket.0, &mut kept.current),
            None => Ok(()),
        }
    }

    /// Discards a run: it reads zeros then. Durable like a write.
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), Fault> {
        self.checked(offset, length)?;
        if let Some(kept) = &mut self.kept {
            let ticket = kept.cache.start_discard(offset, length);
            kept.cache.finish(ticket, &mut kept.current)?;
        }
        Ok(())
    }

    /// The drive loses power and gets it back. What is under way is forgotten: its tickets are
    /// void.
    pub fn cut_power(&mut self, random: &mut Xoshiro256PlusPlus) {
        let Some(kept) = &mut self.kept else { return };
        let before = std::mem::take(&mut kept.current);
        let owed = kept.cache.owed();
        kept.current = kept.cache.cut_power(random);
        kept.current.forget_recent();
        let is_lost = |sector: &u64| !kept.current.holds_as(&before, *sector);
        let lost: Vec<_> = owed.into_iter().filter(is_lost).map(|at| at..at + SECTOR_BYTES).collect();
        if !lost.is_empty() {
            self.alter(|media| lost.iter().for_each(|range| media.mark_damaged(range.start, SECTOR_BYTES)));
            self.struck.push(Struck { kind: MisbehaviourKind::FlushLost, range: 0..0, damaged: lost });
        }
    }

    /// Whoever gave the drive what is under way has gone, and the drive goes on: each write of it
    /// is done now, or never. Their tickets are void.
    pub fn leave_started_to_chance(&mut self, random: &mut Xoshiro256PlusPlus) {
        if let Some(kept) = &mut self.kept {
            kept.cache.leave_started_to_chance(&mut kept.current, random);
        }
    }

    /// Whether a power cut could take something that a flush was acknowledged for, or the next
    /// flush is a lie.
    pub fn owes_a_flush(&self) -> bool {
        let will_lie = self.armed.iter().any(|armed| armed.kind == MisbehaviourKind::FlushLost);
        will_lie || self.kept.as_ref().is_some_and(|kept| kept.cache.is_owing())
    }

    /// The drive is pulled, or plugged in again. While it is gone every command fails, and what is
    /// under way is void.
    pub fn set_gone(&mut self, is_gone: bool) {
        self.is_gone = is_gone;
        if let Some(kept) = &mut self.kept {
            kept.cache.forget_unfinished();
        }
    }

    /// Whether it is gone.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Lets sectors become unreadable until they are written.
    pub fn spoil(&mut self, offset: u64, length: u64) {
        self.alter(|media| media.mark_unreadable(offset, length));
    }

    /// Changes a bit.
    pub fn flip_bit(&mut self, offset: u64, bit: u32) {
        self.alter(|media| media.flip_bit(offset, bit));
    }

    /// Whether a misbehaviour is armed that the host will notice.
    pub fn is_armed(&self) -> bool {
        self.armed.iter().any(|armed| !armed.kind.is_silent())
    }

    /// Arms a misbehaviour. Of several, the one armed first strikes first.
    pub fn arm(&mut self, misbehaviour: Misbehaviour) {
        self.armed.push(misbehaviour);
    }

    /// Forgets misbehaviours that have not struck.
    pub fn disarm(&mut self) {
        self.armed.clear();
    }

    /// The misbehaviours that struck since the last call.
    pub fn take_struck(&mut self) -> Vec<Struck> {
        std::mem::take(&mut self.struck)
    }

    /// First bytes of the sectors that silently do not hold what was written there last, ascending.
    pub fn damaged_sectors(&self) -> Vec<u64> {
        self.kept.as_ref().map_or(Vec::new(), |kept| kept.current.damaged_sectors())
    }

    /// First bytes of the sectors that cannot be read, ascending.
    pub fn unreadable_sectors(&self) -> Vec<u64> {
        self.kept.as_ref().map_or(Vec::new(), |kept| kept.current.unreadable_sectors())
    }

    /// Whether some sector cannot be read, or could not be after a power cut, which may take the
    /// write that mended it.
    pub fn may_be_unreadable(&self) -> bool {
        let is_marked = |media: &Media| media.has_unreadable();
        self.kept.as_ref().is_some_and(|kept| is_marked(&kept.current) || is_marked(kept.cache.durable()))
    }

    /// Changes what is there, whoever looks: now or after a power cut.
    fn alter(&mut self, change: impl Fn(&mut Media)) {
        if let Some(kept) = &mut self.kept {
            change(&mut kept.current);
            kept.cache.alter(change);
        }
    }

    /// The bytes of a command, if the drive is there and has them.
    fn checked(&self, offset: u64, length: u64) -> Result<Range<u64>, Fault> {
        if self.is_gone {
            return Err(Fault::Gone);
        }
        match offset.checked_add(length) {
            Some(end) if end <= self.size_bytes => Ok(offset..end),
            _ => Err(Fault::NoSpace),
        }
    }

    /// The misbehaviour that a command meets, if any.
    fn strike(&mut self, range: &Range<u64>, concerns: impl Fn(MisbehaviourKind) -> bool) -> Option<Misbehaviour> {
        let lies_within = |within: &Range<u64>| within.start <= range.start && range.end <= within.end;
        let mut due = None;
        for (place, armed) in self.armed.iter_mut().enumerate() {
            if !concerns(armed.kind) || !(is_of_flushes(armed.kind) || lies_within(&armed.within)) {
                continue;
            }
            if armed.skip == 0 && due.is_none() {
                due = Some(place);
            }
            armed.skip = armed.skip.saturating_sub(1);
        }
        let struck = self.armed.remove(due?);
        let damaged = struck.damaged_by(range);
        self.struck.push(Struck { kind: struck.kind, range: range.clone(), damaged });
        Some(struck)
    }
}

fn is_of_reads(kind: MisbehaviourKind) -> bool {
    matches!(kind, MisbehaviourKind::ReadFails(_))
}

fn is_of_flushes(kind: MisbehaviourKind) -> bool {
    matches!(kind, MisbehaviourKind::FlushFails(_) | MisbehaviourKind::FlushLost)
}

fn is_of_writes(kind: MisbehaviourKind) -> bool {
    !is_of_reads(kind) && !is_of_flushes(kind)
}

#[cfg(test)]
mod tests;
