//! The cache between the host and the medium: what a power cut may take away.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::CACHE_BYTES;
use super::media::{Media, SECTOR_BYTES, bytes_of, whole_pages};
use super::page::{PAGE_BYTES, PageBytes};
use crate::faults::{Fault, Misbehaviour, MisbehaviourKind, half};

/// Writes that no finished flush covers, over a medium with all the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    durable: Media,
    /// In the order in which they were acknowledged.
    acknowledged: VecDeque<Write>,
    /// What a failed flush was to cover and no other will: the newest of each sector, by its first
    /// byte, as long as nothing newer is durable there.
    given_up: BTreeMap<u64, Box<[u8]>>,
    /// Handed over and not answered, by ticket.
    started: BTreeMap<u64, Command>,
    next_ticket: u64,
    /// Acknowledged writes that have become durable.
    retired: u64,
    /// Bytes of the acknowledged ones.
    bytes: u64,
    /// So many acknowledged writes, counted from the beginning, were said to be durable.
    claimed: u64,
    /// First bytes of given up sectors that were said to be durable.
    given_up_claimed: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
enum Command {
    Write(Write),
    /// Covers so many acknowledged writes, counted from the beginning.
    Flush(u64),
    /// Says that it does.
    Lie(u64),
}

/// A write, and what the drive makes of it.
#[derive(Clone, Debug)]
struct Write {
    offset: u64,
    what: What,
    /// How it went wrong, if it did.
    spoilt: Option<Misbehaviour>,
}

#[derive(Clone, Debug)]
enum What {
    Bytes(Box<[u8]>),
    /// Whole pages, which the media that they are written to share.
    Pages(Box<[Option<PageBytes>]>),
    /// So many zeros.
    Discard(u64),
}

/// What becomes of the writes in one drive's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// All are lost.
    Lost,
    /// All are kept.
    Kept,
    /// Each is kept or lost.
    Some,
    /// Each sector is kept or lost.
    Torn,
}

const FATES: [Fate; 4] = [Fate::Lost, Fate::Kept, Fate::Some, Fate::Torn];

impl Write {
    fn length(&self) -> u64 {
        match &self.what {
            What::Bytes(bytes) => bytes.len() as u64,
            What::Pages(pages) => (pages.len() * PAGE_BYTES) as u64,
            What::Discard(length) => *length,
        }
    }

    /// What it writes, sector by sector, by their first bytes.
    fn sectors(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let parts: Vec<&[u8]> = match &self.what {
            What::Bytes(bytes) => vec![bytes],
            What::Pages(pages) => pages.iter().map(bytes_of).collect(),
            What::Discard(_) => Vec::new(),
        };
        let sectors = parts.into_iter().flat_map(|bytes| bytes.chunks(SECTOR_BYTES as usize));
        (self.offset..).step_by(SECTOR_BYTES as usize).zip(sectors)
    }

    /// Carries it out, right or wrong.
    fn apply(&self, media: &mut Media) {
        let bytes = match &self.what {
            What::Bytes(bytes) => bytes,
            What::Pages(pages) => return media.put(self.offset, pages),
            What::Discard(length) => return media.clear(self.offset, *length),
        };
        let (offset, length) = (self.offset, bytes.len() as u64);
        let Some(spoilt) = &self.spoilt else { return media.write(offset, bytes) };
        match spoilt.kind {
            MisbehaviourKind::WriteLost => {}
            MisbehaviourKind::WriteMisdirected { .. } => media.write(spoilt.lands_at(offset, length), bytes),
            _ => media.write(offset, &bytes[..half(length) as usize]),
        }
        for range in spoilt.damaged_by(&(offset..offset + length)) {
            media.mark_damaged(range.start, range.end - range.start);
        }
    }

    /// Carries out those of its sectors that chance keeps.
    fn apply_torn(&self, media: &mut Media, random: &mut Xoshiro256PlusPlus) {
        match &self.what {
            What::Bytes(_) | What::Pages(_) if self.spoilt.is_none() => {
                for (offset, bytes) in self.sectors() {
                    if coin(random) {
                        media.write(offset, bytes);
                    }
                }
            }
            _ if coin(random) => self.apply(media),
            _ => {}
        }
    }
}

fn coin(random: &mut Xoshiro256PlusPlus) -> bool {
    random.next_u64() >> 63 == 1
}

impl Cache {
    /// An empty one before a medium.
    pub(super) fn over(durable: Media) -> Self {
        Self { durable, ..Self::default() }
    }

    /// A write begins, that may be spoilt.
    pub(super) fn start_write(&mut self, offset: u64, bytes: &[u8], spoilt: Option<Misbehaviour>) -> u64 {
        let pages = whole_pages(offset, bytes).filter(|_| spoilt.is_none());
        let what = pages.map_or_else(|| What::Bytes(bytes.into()), What::Pages);
        self.start(Command::Write(Write { offset, what, spoilt }))
    }

    pub(super) fn start_discard(&mut self, offset: u64, length: u64) -> u64 {
        self.start(Command::Write(Write { offset, what: What::Discard(length), spoilt: None }))
    }

    pub(super) fn start_flush(&mut self, is_lie: bool) -> u64 {
        let covered = self.retired + self.acknowledged.len() as u64;
        self.start(if is_lie { Command::Lie(covered) } else { Command::Flush(covered) })
    }

    fn start(&mut self, command: Command) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.started.insert(ticket, command);
        ticket
    }

    /// A command ends. One that the drive has forgotten meanwhile fails.
    pub(super) fn finish(&mut self, ticket: u64, current: &mut Media) -> Result<(), Fault> {
        match self.started.remove(&ticket).ok_or(Fault::Gone)? {
            Command::Write(write) => {
                write.apply(current);
                let result = match write.spoilt.as_ref().map(|spoilt| spoilt.kind) {
                    Some(MisbehaviourKind::WriteFails(fault)) => Err(fault),
                    _ => Ok(()),
                };
                self.bytes += write.length();
                self.acknowledged.push_back(write);
                while self.bytes > CACHE_BYTES {
                    self.retire();
                }
                result
            }
            Command::Flush(covered) => {
                while self.retired < covered && !self.acknowledged.is_empty() {
                    self.retire();
                }
                Ok(())
            }
            Command::Lie(covered) => {
                self.claimed = self.claimed.max(covered);
                Ok(())
            }
        }
    }

    /// Whether something was said to be durable, and is not.
    pub(super) fn is_owing(&self) -> bool {
        let is_cached = self.retired < self.claimed && !self.acknowledged.is_empty();
        is_cached || self.given_up_claimed.iter().any(|sector| self.given_up.contains_key(sector))
    }

    /// First bytes of the sectors that were said to be durable, and are not.
    pub(super) fn owed(&self) -> BTreeSet<u64> {
        let count = usize::try_from(self.claimed.saturating_sub(self.retired)).unwrap_or(usize::MAX);
        let sectors = |write: &Write| (write.offset..write.offset + write.length()).step_by(SECTOR_BYTES as usize);
        let given_up = self.given_up_claimed.iter().copied().filter(|sector| self.given_up.contains_key(sector));
        self.acknowledged.iter().take(count).flat_map(sectors).chain(given_up).collect()
    }

    /// A flush fails: what it was to cover will never be durable by a flush, but for what another
    /// flush covers that is under way. What comes later may be.
    pub(super) fn give_up(&mut self) {
        self.given_up_claimed = self.owed();
        let under_way = self.started.values().filter_map(|command| match command {
            Command::Flush(covered) => Some(covered.saturating_sub(self.retired)),
            Command::Write(_) | Command::Lie(_) => None,
        });
        let kept = usize::try_from(under_way.max().unwrap_or(0)).unwrap_or(usize::MAX);
        let given_up = self.acknowledged.split_off(kept.min(self.acknowledged.len()));
        self.claimed = self.claimed.min(self.retired + self.acknowledged.len() as u64);
        for write in given_up {
            self.bytes -= write.length();
            // A discard, or a write that went wrong, is simply never done.
            if write.spoilt.is_none() {
                self.given_up.extend(write.sectors().map(|(offset, bytes)| (offset, bytes.into())));
            }
        }
    }

    /// The oldest acknowledged write becomes durable.
    fn retire(&mut self) {
        if let Some(write) = self.acknowledged.pop_front() {
            write.apply(&mut self.durable);
            let over = write.offset..write.offset + write.length();
            self.given_up.retain(|offset, _| !over.contains(offset));
            self.bytes -= write.length();
            self.retired += 1;
        }
    }

    /// Power is cut: what is left is durable, and returned.
    pub(super) fn cut_power(&mut self, random: &mut Xoshiro256PlusPlus) -> Media {
        let fate = FATES[(random.next_u64() >> 62) as usize];
        self.retired += self.acknowledged.len() as u64;
        let acknowledged = std::mem::take(&mut self.acknowledged);
        for (offset, bytes) in std::mem::take(&mut self.given_up) {
            if fate == Fate::Kept || fate != Fate::Lost && coin(random) {
                self.durable.write(offset, &bytes);
            }
        }
        let started = std::mem::take(&mut self.started).into_values();
        let started = started.filter_map(|command| match command {
            Command::Write(write) => Some(write),
            Command::Flush(_) | Command::Lie(_) => None,
        });
        for write in acknowledged.into_iter().chain(started) {
            match fate {
                Fate::Lost => {}
                Fate::Kept => write.apply(&mut self.durable),
                Fate::Some if coin(random) => write.apply(&mut self.durable),
                Fate::Some => {}
                Fate::Torn => write.apply_torn(&mut self.durable, random),
            }
        }
        self.bytes = 0;
        self.given_up_claimed.clear();
        self.durable.clone()
    }

    /// Nobody waits for the writes that are under way any more: each is done, as if it had been
    /// answered, or never.
    pub(super) fn leave_started_to_chance(&mut self, current: &mut Media, random: &mut Xoshiro256PlusPlus) {
        for command in std::mem::take(&mut self.started).into_values() {
            if let Command::Write(write) = command
                && coin(random)
            {
                write.apply(current);
                self.bytes += write.length();
                self.acknowledged.push_back(write);
            }
        }
    }

    pub(super) fn forget_unfinished(&mut self) {
        self.started.clear();
    }

    /// What is there without what is in the cache.
    pub(super) fn durable(&self) -> &Media {
        &self.durable
    }

    /// Changes what is durable by itself.
    pub(super) fn alter(&mut self, change: impl Fn(&mut Media)) {
        change(&mut self.durable);
    }
}
