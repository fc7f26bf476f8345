//! What is remembered of flushes: which update all members have flushed, and which members refused
//! one.

use std::time::Duration;

use shoal_array::{Instant, Role};
use shoal_md::{Assembly, Superblock, Uuid};
use shoal_memory::{Book, Refusal};

use super::HostMemory;
use crate::tree::{NodeId, Target, Tree};
use crate::world::World;

/// After so long without another update it is remembered that the last one is flushed. Until then
/// the next update's book takes it along: an array that is written to now and then keeps no more
/// books for it.
const FLUSHED_TOLD_AFTER: Duration = Duration::from_secs(1);

/// An update that all members have flushed.
pub(super) struct Flushed {
    pub(super) events: u64,
    /// When its book is written, unless another update takes it along.
    pub(super) told_at: Option<Instant>,
}

impl HostMemory {
    /// The book with what is known to be flushed, which need not be told by itself any more.
    pub(super) fn with_flushed(&mut self, book: Book) -> Book {
        let Some(flushed) = self.flushed.get_mut(&book.array()) else { return book };
        flushed.told_at = None;
        book.with_flushed(flushed.events)
    }

    /// Remembers those updates as flushed for which it is time.
    pub(super) fn tell_flushed(&mut self, is_time: impl Fn(Instant) -> bool) {
        let is_due = |flushed: &Flushed| flushed.told_at.is_some_and(&is_time);
        let due: Vec<_> = self.flushed.iter().filter(|(_, it)| is_due(it)).map(|(array, _)| *array).collect();
        for array in due {
            if let Some(book) = self.keeper.recall(array) {
                let book = self.with_flushed(book);
                self.keeper.keep(book);
            }
        }
    }

    /// Whether a member refused a flush, and is to be renewed. One that lost content is not in the
    /// array, or somebody has said that it holds what it should.
    fn is_to_be_renewed(&mut self, superblock: &Superblock) -> bool {
        let book = self.keeper.recall(superblock.array_uuid);
        book.is_some_and(|book| book.refusal(superblock.device_uuid) == Some(Refusal::Drive))
    }
}

impl<W: World> Tree<W> {
    /// All members of an array have flushed its last update.
    pub(crate) fn update_flushed(&mut self, now: Instant, node: NodeId) {
        let (array, events) = (self.nodes[node.0].facts.array_uuid, self.nodes[node.0].events());
        let told_after_ns = u64::try_from(FLUSHED_TOLD_AFTER.as_nanos()).unwrap_or(u64::MAX);
        let Some(memory) = &mut self.memory else { return };
        memory.flushed.insert(array, Flushed { events, told_at: Some(now.after_ns(told_after_ns)) });
    }

    /// Remembers what has been flushed for long enough.
    pub(crate) fn tell_flushed(&mut self, now: Instant) {
        if let Some(memory) = &mut self.memory {
            memory.tell_flushed(|told_at| told_at <= now);
        }
    }

    /// Remembers what has been flushed, at the end.
    pub(crate) fn tell_all_flushed(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.tell_flushed(|_| true);
        }
    }

    /// The drive of a slot has refused a flush. Whatever becomes of the update that is announced,
    /// this stays so.
    pub(crate) fn remember_refusal(&mut self, node: NodeId, slot: usize) {
        let why = if self.has_lost_content(node, slot) { Refusal::LostContent } else { Refusal::Drive };
        self.remember_of_drive(node, slot, |book, device| book.with_refused_flush(device, why));
    }

    /// Whether the drive of a slot is a file that was found cut short or deleted: it takes no
    /// flush any more.
    pub(crate) fn has_lost_content(&self, node: NodeId, slot: usize) -> bool {
        match self.nodes[node.0].slots[slot].place.target {
            Target::Drive(drive) => self.world.has_lost_content(drive),
            Target::Node(_) => false,
        }
    }

    /// A drive that refused a flush has been written to again, all of it, and has flushed that.
    pub(crate) fn remember_renewal(&mut self, node: NodeId, slot: usize) {
        self.remember_of_drive(node, slot, Book::with_renewed);
    }

    fn remember_of_drive(&mut self, node: NodeId, slot: usize, with: impl Fn(Book, Uuid) -> Book) {
        let it = &self.nodes[node.0];
        let array = it.facts.array_uuid;
        let device = it.membership.superblock(it.slots[slot].number.get()).ok().map(|own| own.device_uuid);
        let (Some(memory), Some(device)) = (&mut self.memory, device) else { return };
        if let Some(before) = memory.before.get_mut(&array) {
            *before = with(before.clone(), device);
        }
        if let Some(book) = memory.keeper.recall(array) {
            let book = memory.with_flushed(book);
            memory.keeper.keep(with(book, device));
        }
    }

    /// Roles whose members refused a flush, as far as this host knows.
    pub(crate) fn refused_flush(&mut self, members: &[(Target, Superblock)], assembly: &Assembly) -> Vec<Role> {
        let Some(memory) = &mut self.memory else { return Vec::new() };
        let seated = (0..).map(Role).zip(&assembly.slots).filter_map(|(role, slot)| Some((role, slot.candidate?)));
        let is_to_be_renewed = |memory: &mut HostMemory, index: usize| memory.is_to_be_renewed(&members[index].1);
        seated.filter(|(_, index)| is_to_be_renewed(memory, *index)).map(|(role, _)| role).collect()
    }
}
