//! The medium: pages that copies share until one of them is written.
//!
//! Each sector carries two marks beside its bytes, which travel with it through caches and power cuts:
//!
//! * *unreadable*: reading it fails until it is written (a latent sector error);
//! * *damaged*: it does not hold what the host wrote there last, and the drive did not say so. The drive does not know
//!   the mark; whoever judges what an array made of a silent fault does.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a drive writes whole or not at all.
pub const SECTOR_BYTES: u64 = 512;

const PAGE_BYTES: usize = 4096;
const PAGE_SECTORS: u64 = PAGE_BYTES as u64 / SECTOR_BYTES;

/// The bytes of a drive; what was never written is zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Media {
    pages: BTreeMap<u64, Arc<Page>>,
}

/// Sectors side by side, a bit of each mark for each of them.
#[derive(Clone, Debug)]
struct Page {
    bytes: [u8; PAGE_BYTES],
    unreadable: u8,
    damaged: u8,
}

static BLANK: Page = Page { bytes: [0; PAGE_BYTES], unreadable: 0, damaged: 0 };

/// A run within one page.
struct Place {
    page: u64,
    start: usize,
    length: usize,
}

impl Place {
    /// The first part of a run that lies in one page.
    fn first_of(offset: u64, length: usize) -> Self {
        let start = (offset % PAGE_BYTES as u64) as usize;
        Self { page: offset / PAGE_BYTES as u64, start, length: length.min(PAGE_BYTES - start) }
    }

    /// The bits of the sectors that it touches.
    fn sectors(&self) -> u8 {
        let sector = SECTOR_BYTES as usize;
        let (first, end) = (self.start / sector, (self.start + self.length).div_ceil(sector));
        ((1_u16 << end) - (1_u16 << first)) as u8
    }
}

/// The parts of a run, page by page.
fn places(mut offset: u64, length: u64) -> impl Iterator<Item = Place> {
    let mut left = length;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let place = Place::first_of(offset, usize::try_from(left).unwrap_or(usize::MAX));
        offset += place.length as u64;
        left -= place.length as u64;
        Some(place)
    })
}

impl Media {
    /// Writes bytes; what was wrong with their sectors is over.
    pub(crate) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        for place in places(offset, bytes.len() as u64) {
            let (here, rest) = bytes.split_at(place.length);
            bytes = rest;
            // What is not there is zeros without a mark.
            if !self.pages.contains_key(&place.page) && *here == BLANK.bytes[..here.len()] {
                continue;
            }
            let page = self.page_mut(place.page);
            page.bytes[place.start..place.start + place.length].copy_from_slice(here);
            page.unreadable &= !place.sectors();
            page.damaged &= !place.sectors();
        }
    }

    /// Reads bytes, marks or not.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) {
        let mut done = 0;
        for place in places(offset, bytes.len() as u64) {
            let here = &mut bytes[done..done + place.length];
            match self.pages.get(&place.page) {
                Some(page) => here.copy_from_slice(&page.bytes[place.start..place.start + place.length]),
                None => here.fill(0),
            }
            done += place.length;
        }
    }

    /// Makes a run zeros, and forgets pages that lie wholly in it.
    pub(crate) fn clear(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            if place.length == PAGE_BYTES {
                self.pages.remove(&place.page);
            } else if self.pages.contains_key(&place.page) {
                let page = self.page_mut(place.page);
                page.bytes[place.start..place.start + place.length].fill(0);
                page.unreadable &= !place.sectors();
                page.damaged &= !place.sectors();
            }
        }
    }

    /// Whether a sector holds the same bytes as on another medium.
    pub(crate) fn holds_as(&self, other: &Self, offset: u64) -> bool {
        let sector = |media: &Self| {
            let mut bytes = [0; SECTOR_BYTES as usize];
            media.read(offset, &mut bytes);
            bytes
        };
        sector(self) == sector(other)
    }

    pub(crate) fn flip_bit(&mut self, offset: u64, bit: u32) {
        let place = Place::first_of(offset, 1);
        let page = self.page_mut(place.page);
        page.bytes[place.start] ^= 1 << (bit % 8);
        page.damaged |= place.sectors();
    }

    pub(crate) fn mark_unreadable(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            self.page_mut(place.page).unreadable |= place.sectors();
        }
    }

    pub(crate) fn mark_damaged(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            self.page_mut(place.page).damaged |= place.sectors();
        }
    }

    pub(crate) fn is_readable(&self, offset: u64, length: u64) -> bool {
        let is_unreadable =
            |place: &Place| self.pages.get(&place.page).is_some_and(|page| page.unreadable & place.sectors() != 0);
        !places(offset, length).any(|place| is_unreadable(&place))
    }

    /// First bytes of the sectors with a mark, ascending.
    fn marked(&self, mark: impl Fn(&Page) -> u8) -> Vec<u64> {
        let pages = self.pages.iter().map(|(number, page)| (number * PAGE_SECTORS, mark(page)));
        let sectors = pages.filter(|(_, bits)| *bits != 0).flat_map(|(first, bits)| {
            (0..PAGE_SECTORS).filter(move |sector| bits & 1 << sector != 0).map(move |sector| first + sector)
        });
        sectors.map(|sector| sector * SECTOR_BYTES).collect()
    }

    pub(crate) fn damaged_sectors(&self) -> Vec<u64> {
        self.marked(|page| page.damaged)
    }

    pub(crate) fn unreadable_sectors(&self) -> Vec<u64> {
        self.marked(|page| page.unreadable)
    }

    fn page_mut(&mut self, number: u64) -> &mut Page {
        Arc::make_mut(self.pages.entry(number).or_insert_with(|| Arc::new(BLANK.clone())))
    }
}
