//! A medium that claims more pages than it has.

use std::collections::{BTreeMap, VecDeque};

use super::page::{PAGE_BYTES, PageBytes};
use crate::Fake;

/// Which pages are there, and which only seem to be.
#[derive(Clone, Debug)]
pub(super) struct Lie {
    fake: Fake,
    /// What was written last, by claimed page, with the number of that write.
    recent: BTreeMap<u64, (u64, PageBytes)>,
    /// The same from the oldest on: claimed page, and number of the write.
    order: VecDeque<(u64, u64)>,
    writes: u64,
}

impl Lie {
    pub(super) fn new(fake: Fake) -> Self {
        Self { fake, recent: BTreeMap::new(), order: VecDeque::new(), writes: 0 }
    }

    /// The page that a claimed page is; none if it is lost.
    pub(super) fn home(&self, page: u64) -> Option<u64> {
        let pages = |bytes: u64| bytes / PAGE_BYTES as u64;
        let page = self.fake.repeat_bytes.map_or(page, |bytes| page % pages(bytes).max(1));
        (page < pages(self.fake.real_bytes)).then_some(page)
    }

    /// What was written to a claimed page, if that is remembered.
    pub(super) fn recent(&self, page: u64) -> Option<&[u8]> {
        self.recent.get(&page).map(|(_, bytes)| &**bytes)
    }

    /// Remembers what was written to a claimed page, and forgets the oldest beyond the limit.
    pub(super) fn remember(&mut self, page: u64, bytes: &[u8]) {
        if self.fake.cache_bytes < PAGE_BYTES as u64 {
            return;
        }
        self.writes += 1;
        self.recent.insert(page, (self.writes, bytes.into()));
        self.order.push_back((page, self.writes));
        while self.recent.len() as u64 > self.fake.cache_bytes / PAGE_BYTES as u64 {
            let Some((page, write)) = self.order.pop_front() else { return };
            // It may have been written again since.
            if self.recent.get(&page).is_some_and(|(last, _)| *last == write) {
                self.recent.remove(&page);
            }
        }
    }

    pub(super) fn forget(&mut self) {
        self.recent.clear();
        self.order.clear();
    }
}
