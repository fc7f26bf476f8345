//! The write-intent bitmap of a running array: which chunks are not known to be in sync.
//!
//! What a bit stands for, and where the bits lie, is [`Bitmap`]'s; here is when they change. Two
//! promises make them worth something:
//!
//! 1. *A bit is set, and durable on all members, before a write to its chunk reaches the engine.*
//!    So after a crash the chunks with set bits are all that needs a resync.
//! 2. *A bit is cleared only while the array is whole, after all members hold what was written,
//!    durably.* So a member that leaves finds everything that it misses from then on in set bits,
//!    when it comes back. `events_cleared` says which members that holds for: those that have seen
//!    this update. It is durable before the bits are cleared.
//!
//! # What a chunk goes through
//!
//! | chunk | bit in memory | on the members | a write to it | what ends this |
//! | --- | --- | --- | --- | --- |
//! | in sync | clear | clear, or set still | sets the bit and is held | that write |
//! | unannounced | set | not known | is held | the next announcement takes it along |
//! | announcing | set | on its way | is held | the announcement has been flushed |
//! | announced | set | set | passes | two looks in a row without a write |
//! | aged | set | set | passes, and the chunk is announced again | the clearing |
//!
//! Reads and flushes pass, but for reads of what is held: a held write holds whatever comes behind
//! it and overlaps it, so that requests that overlap reach the engine in their order. What is held
//! goes through [`Tree::submit_to`](super::Tree) once more when it may go on: the array may have
//! been marked clean meanwhile.
//!
//! # How the members are written
//!
//! In *runs* ([`run`]), one at a time and never beside a [record](super::record) run: both write
//! the page that holds the header. All writes that are waiting when a run begins share it.
//!
//! | run | steps, each on all members before the next |
//! | --- | --- |
//! | announcement | write the pages with unannounced bits (all pages, if a copy is due); flush |
//! | clearing | flush the data; if `events_cleared` moves, write the header and flush; take the bits back in memory; write their pages |
//!
//! A clearing ends without a flush: a bit that is found set although it was cleared costs a resync
//! of its chunk, and nothing else. It gives up its chunks if a member fails before the bits are
//! taken back. Nothing is cleared while members are missing or being rebuilt, beyond the position
//! of a resync, or where a write has failed.
//!
//! The header's events are written by record runs, before the superblocks of the same update. A
//! bitmap that is behind its superblock was not kept by whoever wrote that, and none of its clear
//! bits is believed.
//!
//! # Copies
//!
//! Every member has a copy of its own ([`BitmapCopy`]). One that cannot be believed yet (a new
//! member's, or one that was found behind the superblocks) carries the stale mark in its header
//! until all of its pages have been written and flushed. One that is believed never does, whatever
//! it lacks after a crash: it may have bits that no other has. Spares get theirs with their role.

mod run;

use std::collections::BTreeSet;
use std::ops::Range;

use shoal_array::{Completion, Geometry, Instant, Regions, Request, RequestError, RequestId};
use shoal_md::{BITMAP_HEADER_BYTES, BITMAP_PAGE_BYTES, Bitmap, SECTOR_BYTES};

use run::Run;

/// How much a slot's copy of the bitmap is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitmapCopy {
    /// It is believed, and gets the bits that it lacks as it is.
    Whole,
    /// All of it has to be written.
    Due,
    /// The member does not take it, and is the last of its kind: it stays in service, its copy
    /// falls behind.
    GivenUp,
}

/// A write that waits for its bits, or whatever waits for one.
#[derive(Debug)]
struct Held {
    request: Request,
    /// What it may put out of sync, in sync bytes; empty for a read.
    concerns: Range<u64>,
}

/// The bits of a running array, and which of them are to be set or cleared on its members. All sets
/// are over the bitmap's chunks.
#[derive(Debug)]
pub(crate) struct Intent {
    bitmap: Bitmap,
    /// Set in memory, and to be written by the next announcement.
    unannounced: Regions,
    /// They are not to wait for a write.
    is_urgent: bool,
    /// Being written by the announcement under way.
    announcing: Regions,
    /// In the order of submission.
    held: Vec<Held>,
    /// Writes that the engine has, with what they concern.
    in_flight: Vec<(RequestId, Range<u64>)>,
    /// Written to since the last look.
    recent: Regions,
    /// Written to between the last two looks.
    earlier: Regions,
    /// Where a write failed: perhaps half done.
    suspect: Regions,
    /// Where one had failed before the repair began that is under way.
    repairing: Regions,
    /// Found aged by the last look, and not cleared yet.
    aged: Regions,
    look_due: Option<Instant>,
    run: Option<Run>,
}

impl Intent {
    /// Keeps this bitmap. What is set in it is durable on all members; if it is not said to be
    /// announced, that is due.
    pub(crate) fn new(now: Instant, bitmap: Bitmap, is_announced: bool) -> Self {
        let none = none_of(&bitmap);
        let mut intent = Self {
            unannounced: if is_announced { none.clone() } else { bitmap.regions() },
            is_urgent: !is_announced && bitmap.count() > 0,
            announcing: none.clone(),
            held: Vec::new(),
            in_flight: Vec::new(),
            recent: none.clone(),
            earlier: none.clone(),
            suspect: none.clone(),
            repairing: none.clone(),
            aged: none,
            look_due: None,
            run: None,
            bitmap,
        };
        intent.look_from(now);
        intent
    }

    /// The update since which members find all that they missed in the bits.
    pub(crate) fn events_cleared(&self) -> u64 {
        self.bitmap.header.events_cleared
    }

    /// What is not known to be in sync.
    pub(crate) fn set_regions(&self) -> Regions {
        self.bitmap.regions()
    }

    /// Nothing is being written, or waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && self.held.is_empty() && self.aged.is_empty() && !self.is_urgent
    }

    /// Writes wait for their bits.
    pub(super) fn holds_writes(&self) -> bool {
        !self.held.is_empty()
    }

    /// A run is under way.
    pub(super) fn is_writing(&self) -> bool {
        self.run.is_some()
    }

    /// When to look for aged chunks.
    pub(super) fn look_due(&self) -> Option<Instant> {
        self.look_due
    }

    /// Takes a request on its way to the engine: gives it back if it may go on.
    pub(super) fn admit(&mut self, request: Request, geometry: &Geometry) -> Option<Request> {
        let concerns = concerned_range(&request, geometry);
        for bit in self.bitmap.bits_of(&concerns) {
            if self.bitmap.set(bit) {
                self.unannounced.set(bit);
            }
        }
        self.recent.insert(concerns.clone());
        let waits = !self.is_announced(&concerns);
        let is_behind = self.held.iter().any(|earlier| earlier.request.command.overlaps(&request.command));
        if waits || is_behind {
            self.held.push(Held { request, concerns });
            return None;
        }
        if !concerns.is_empty() {
            self.in_flight.push((request.id, concerns));
        }
        Some(request)
    }

    fn is_announced(&self, concerns: &Range<u64>) -> bool {
        !self.unannounced.touches(concerns.clone()) && !self.announcing.touches(concerns.clone())
    }

    /// The engine has answered a request.
    pub(super) fn answered(&mut self, now: Instant, completion: &Completion) {
        let Some(place) = self.in_flight.iter().position(|(id, _)| *id == completion.id) else { return };
        let (_, concerns) = self.in_flight.swap_remove(place);
        if !matches!(completion.result, Ok(()) | Err(RequestError::Unsupported)) {
            self.suspect.insert(concerns.clone());
        }
        self.recent.insert(concerns);
        self.look_from(now);
    }

    /// Something has changed that bits may have waited for.
    pub(super) fn look_from(&mut self, now: Instant) {
        self.look_due.get_or_insert(now.after_ns(self.patience_ns()));
    }

    /// A scrub begins that makes everything agree: failed writes too, but not those that fail from
    /// now on.
    pub(crate) fn begin_repair(&mut self) {
        self.repairing.insert_all(&self.suspect);
        self.suspect = none_of(&self.bitmap);
    }

    /// That scrub is over.
    pub(super) fn end_repair(&mut self, now: Instant, is_complete: bool) {
        let repaired = std::mem::replace(&mut self.repairing, none_of(&self.bitmap));
        if !is_complete {
            self.suspect.insert_all(&repaired);
        }
        self.look_from(now);
    }

    fn patience_ns(&self) -> u64 {
        u64::from(self.bitmap.header.daemon_sleep_s) * 1_000_000_000
    }

    /// Looks for chunks that nobody has written to since the last look but one. `in_sync_bytes` is
    /// how far the array is in sync; none if it is not whole, so that nothing may be cleared.
    pub(super) fn look(&mut self, now: Instant, in_sync_bytes: Option<u64>) {
        self.look_due = None;
        let Some(in_sync_bytes) = in_sync_bytes else { return };
        if self.bitmap.count() == 0 {
            return;
        }
        self.aged = self.clearable(in_sync_bytes);
        self.earlier = std::mem::replace(&mut self.recent, none_of(&self.bitmap));
        self.look_due = Some(now.after_ns(self.patience_ns()));
    }

    /// Takes all chunks for aged that nobody is writing to: the array is coming to rest.
    pub(super) fn age_all(&mut self, in_sync_bytes: u64) {
        self.recent = none_of(&self.bitmap);
        self.earlier = none_of(&self.bitmap);
        self.aged = self.clearable(in_sync_bytes);
    }

    fn clearable(&self, in_sync_bytes: u64) -> Regions {
        let mut clearable = none_of(&self.bitmap);
        for bit in 0..self.bitmap.bits() {
            let busy = [&self.recent, &self.earlier, &self.suspect, &self.repairing];
            let idle = !busy.into_iter().any(|regions| regions.is_set(bit));
            if self.bitmap.is_set(bit) && idle && self.bitmap.bytes_of(bit).end <= in_sync_bytes {
                clearable.set(bit);
            }
        }
        self.spare_busy(&mut clearable);
        clearable
    }

    /// Takes out what the engine is writing to, or is about to.
    fn spare_busy(&self, regions: &mut Regions) {
        let held = self.held.iter().map(|held| &held.concerns);
        for concerns in self.in_flight.iter().map(|(_, concerns)| concerns).chain(held) {
            self.bitmap.bits_of(concerns).for_each(|bit| regions.clear(bit));
        }
    }

    /// Sets the bits that another copy has, and announces them.
    pub(crate) fn adopt(&mut self, copy: &Bitmap) {
        let is_alike = |copy: &Bitmap| {
            let (own, other) = (&self.bitmap.header, &copy.header);
            (own.array_uuid, own.chunk_bytes) == (other.array_uuid, other.chunk_bytes)
        };
        if is_alike(copy) {
            let more = copy.regions();
            for bit in set_bits(&more) {
                if self.bitmap.set(bit) {
                    self.unannounced.set(bit);
                }
            }
            self.is_urgent = !self.unannounced.is_empty();
        }
    }

    /// Whether somebody waits for an announcement.
    fn wants_announcement(&self) -> bool {
        (self.is_urgent || !self.held.is_empty()) && !self.unannounced.is_empty()
    }

    /// An announcement begins: gives the pages that it has to write.
    fn begin_announcement(&mut self) -> BTreeSet<usize> {
        std::mem::swap(&mut self.unannounced, &mut self.announcing);
        self.is_urgent = false;
        self.pages_of(&self.announcing)
    }

    /// The announcement under way is durable, or has failed. Gives the writes that it failed for.
    fn end_announcement(&mut self, good: bool) -> Vec<Request> {
        let announced = std::mem::replace(&mut self.announcing, none_of(&self.bitmap));
        if good {
            return Vec::new();
        }
        self.unannounced.insert_all(&announced);
        let waiting = std::mem::take(&mut self.held);
        let (failed, held) = waiting.into_iter().partition(|held| announced.touches(held.concerns.clone()));
        self.held = held;
        let failed: Vec<Held> = failed;
        failed.into_iter().map(|held| held.request).collect()
    }

    /// The held writes that may go on, in their order.
    fn take_ready(&mut self) -> Vec<Request> {
        let mut ready = Vec::new();
        let mut still: Vec<Held> = Vec::new();
        for held in std::mem::take(&mut self.held) {
            let is_behind = still.iter().any(|earlier| earlier.request.command.overlaps(&held.request.command));
            if self.is_announced(&held.concerns) && !is_behind {
                ready.push(held.request);
            } else {
                still.push(held);
            }
        }
        self.held = still;
        ready
    }

    /// Takes the aged bits back, but for those that were written to meanwhile; gives the pages that
    /// change.
    fn clear_aged(&mut self) -> BTreeSet<usize> {
        let mut aged = std::mem::replace(&mut self.aged, none_of(&self.bitmap));
        self.spare_busy(&mut aged);
        for bit in set_bits(&aged).filter(|bit| self.recent.is_set(*bit)).collect::<Vec<_>>() {
            aged.clear(bit);
        }
        for bit in set_bits(&aged) {
            self.bitmap.clear(bit);
        }
        self.pages_of(&aged)
    }

    fn give_up_clearing(&mut self) {
        self.aged = none_of(&self.bitmap);
    }

    fn pages_of(&self, regions: &Regions) -> BTreeSet<usize> {
        set_bits(regions).map(|bit| self.bitmap.page_of(bit)).collect()
    }

    /// Takes note of the update whose superblocks are about to be written.
    pub(super) fn set_events(&mut self, events: u64) {
        self.bitmap.header.events = events;
    }

    /// A page for a slot's copy, and its place in the bitmap on a target of these blocks.
    pub(super) fn page(
        &self,
        page: usize,
        copy: BitmapCopy,
        block_bytes: u64,
    ) -> (Range<u64>, [u8; BITMAP_PAGE_BYTES]) {
        let mut bytes = self.bitmap.encode_page(page);
        if page == 0 && copy != BitmapCopy::Whole {
            let mut header = self.bitmap.header.clone();
            header.set_stale(true);
            bytes[..BITMAP_HEADER_BYTES].copy_from_slice(&header.encode());
        }
        (self.bitmap.page_range(page, block_bytes), bytes)
    }
}

/// What a request may put out of sync, in sync bytes; empty if it writes nothing, or is to be
/// refused.
fn concerned_range(request: &Request, geometry: &Geometry) -> Range<u64> {
    let content = request.command.range();
    if !request.command.changes_content() || content.is_empty() || content.end > geometry.capacity_bytes() {
        return 0..0;
    }
    geometry.sync_range(content.start, content.end - content.start)
}

/// The empty set over a bitmap's chunks.
fn none_of(bitmap: &Bitmap) -> Regions {
    Regions::new(u64::from(bitmap.header.chunk_bytes), bitmap.header.sync_sectors * SECTOR_BYTES)
}

/// The numbers of the regions in a set.
fn set_bits(regions: &Regions) -> impl Iterator<Item = u64> + '_ {
    let mut from = 0;
    let runs = std::iter::from_fn(move || {
        let run = regions.next_set(from)?;
        from = run.end;
        Some(run)
    });
    let region_bytes = regions.region_bytes();
    runs.flat_map(move |run| run.start / region_bytes..run.end.div_ceil(region_bytes))
}

#[cfg(test)]
mod tests;
