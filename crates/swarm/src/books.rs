//! What the simulated host remembers of its arrays ([`shoal_memory`]): it outlives the arrays, and
//! power cuts as far as it was durable by then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shoal_md::Uuid;
use shoal_memory::{Book, Found, Keeper, Sight};
use shoal_volume::{HostMemory, Trust};

#[derive(Clone, Debug, Default)]
struct Shelf {
    durable: BTreeMap<Uuid, Book>,
    /// Not durable before somebody has asked whether they are.
    begun: BTreeMap<Uuid, Book>,
}

/// The books of one host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books(Arc<Mutex<Shelf>>);

impl Books {
    /// For an array that is put together on this host, whose owner believes so much beyond it.
    pub(crate) fn memory(&self, trust: Trust) -> HostMemory {
        HostMemory::new(Box::new(self.clone()), trust)
    }

    /// The same books on another shelf.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.shelf().clone())))
    }

    /// The array is remembered as its drives say that it is: somebody else has run it, or made it
    /// another.
    pub(crate) fn see(&self, found: &[Found]) {
        let Some(sight) = Sight::of_found(found) else { return };
        let mut books = self.clone();
        let known = books.recall(sight.array);
        books.keep(known.map_or_else(|| Book::of(sight.clone()), |known| known.after(sight.clone())));
        self.settle();
    }

    /// All that was begun is durable.
    pub(crate) fn settle(&self) {
        let shelf = &mut *self.shelf();
        shelf.durable.append(&mut shelf.begun);
    }

    /// The host has lost its power.
    pub(crate) fn power_cut(&self) {
        self.shelf().begun.clear();
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // Nothing is left half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for Books {
    fn recall(&mut self, array: Uuid) -> Option<Book> {
        let shelf = self.shelf();
        shelf.begun.get(&array).or_else(|| shelf.durable.get(&array)).cloned()
    }

    fn keep(&mut self, book: Book) {
        self.shelf().begun.insert(book.array(), book);
    }

    fn is_settled(&mut self) -> bool {
        self.settle();
        true
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
}
