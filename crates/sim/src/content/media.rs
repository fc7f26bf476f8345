//! The medium: pages that copies share until one of them is written.
//!
//! Each sector carries two marks beside its bytes, which travel with it through caches and power
//! cuts:
//!
//! * *unreadable*: reading it fails until it is written (a latent sector error);
//! * *damaged*: it does not hold what the host wrote there last, and the drive did not say so. The
//!   drive does not know the mark; whoever judges what an array made of a silent fault does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lie::Lie;
use super::page::{PAGE_BYTES, PageBytes};
use crate::Fake;

/// What a drive writes whole or not at all.
pub const SECTOR_BYTES: u64 = 512;

const PAGE_SECTORS: u64 = PAGE_BYTES as u64 / SECTOR_BYTES;

/// Pages side by side: so many are shared, or copied, at once.
const GROUP_PAGES: usize = 32;

/// The bytes of a drive; what was never written is zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Media {
    /// By the number of the first page, divided by [`GROUP_PAGES`].
    groups: BTreeMap<u64, Arc<[Page; GROUP_PAGES]>>,
    /// If it has fewer than it claims.
    lie: Option<Box<Lie>>,
}

/// Sectors side by side, a bit of each mark for each of them.
#[derive(Clone, Debug, Default)]
struct Page {
    /// None for zeros.
    bytes: Option<PageBytes>,
    unreadable: u8,
    damaged: u8,
}

/// A page of zeros.
static BLANK: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

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

/// The bytes of pages, to be put in their place; none if they are not whole pages.
pub(crate) fn whole_pages(offset: u64, bytes: &[u8]) -> Option<Box<[Option<PageBytes>]>> {
    let are_whole = offset.is_multiple_of(PAGE_BYTES as u64) && bytes.len().is_multiple_of(PAGE_BYTES);
    let page = |bytes: &[u8]| (*bytes != BLANK).then(|| bytes.into());
    are_whole.then(|| bytes.chunks_exact(PAGE_BYTES).map(page).collect())
}

/// What a page holds, zeros or not.
pub(crate) fn bytes_of(page: &Option<PageBytes>) -> &[u8] {
    page.as_deref().unwrap_or(&BLANK)
}

impl Page {
    /// It holds zeros, and nothing is wrong with it.
    fn is_blank(&self) -> bool {
        self.bytes.is_none() && self.unreadable | self.damaged == 0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(self.bytes.get_or_insert_with(|| BLANK[..].into()))
    }

    /// What was wrong with some sectors is over.
    fn unmark(&mut self, sectors: u8) {
        self.unreadable &= !sectors;
        self.damaged &= !sectors;
    }
}

impl Media {
    /// The medium of a drive that may have less than it claims.
    pub(crate) fn of(fake: Option<Fake>) -> Self {
        Self { lie: fake.map(|fake| Box::new(Lie::new(fake))), ..Self::default() }
    }

    /// Takes power from what makes believe that lost pages are there.
    pub(crate) fn forget_recent(&mut self) {
        if let Some(lie) = &mut self.lie {
            lie.forget();
        }
    }

    /// Lets a part of a page that was written read back for a while, wherever it went.
    fn remember(&mut self, place: &Place, bytes: &[u8]) {
        if self.lie.is_some() {
            let mut page = [0; PAGE_BYTES];
            self.read(place.page * PAGE_BYTES as u64, &mut page);
            page[place.start..place.start + place.length].copy_from_slice(bytes);
            self.lie.iter_mut().for_each(|lie| lie.remember(place.page, &page));
        }
    }

    /// Writes bytes; what was wrong with their sectors is over.
    pub(crate) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        for place in places(offset, bytes.len() as u64) {
            let (here, rest) = bytes.split_at(place.length);
            bytes = rest;
            self.remember(&place, here);
            if self.page(place.page).is_none_or(Page::is_blank) && *here == BLANK[..here.len()] {
                continue;
            }
            let Some(page) = self.page_mut(place.page) else { continue };
            page.bytes_mut()[place.start..place.start + place.length].copy_from_slice(here);
            page.unmark(place.sectors());
        }
    }

    /// Writes [whole pages](whole_pages), of which it keeps its share.
    pub(crate) fn put(&mut self, offset: u64, pages: &[Option<PageBytes>]) {
        for (number, bytes) in (offset / PAGE_BYTES as u64..).zip(pages) {
            self.lie.iter_mut().for_each(|lie| lie.remember(number, bytes_of(bytes)));
            if bytes.is_some() || !self.page(number).is_none_or(Page::is_blank) {
                let Some(page) = self.page_mut(number) else { continue };
                *page = Page { bytes: bytes.clone(), ..Page::default() };
            }
        }
    }

    /// Reads bytes, marks or not.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) {
        self.read_parts(offset, bytes.len() as u64, |done, part| bytes[done..done + part.len()].copy_from_slice(part));
    }

    /// Reads part by part, marks or not: `take` is told where in the run each part begins.
    pub(crate) fn read_parts(&self, offset: u64, length: u64, mut take: impl FnMut(usize, &[u8])) {
        let mut done = 0;
        for place in places(offset, length) {
            let recent = self.lie.as_ref().and_then(|lie| lie.recent(place.page));
            let bytes = || self.page(place.page).map_or(&BLANK[..], |page| bytes_of(&page.bytes));
            let bytes = recent.unwrap_or_else(bytes);
            take(done, &bytes[place.start..place.start + place.length]);
            done += place.length;
        }
    }

    /// Makes a run zeros, and forgets pages that lie wholly in it.
    pub(crate) fn clear(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            self.remember(&place, &BLANK[..place.length]);
            if self.page(place.page).is_none_or(Page::is_blank) {
                continue;
            }
            let Some(page) = self.page_mut(place.page) else { continue };
            page.unmark(place.sectors());
            if place.length == PAGE_BYTES {
                page.bytes = None;
            } else if page.bytes.is_some() {
                page.bytes_mut()[place.start..place.start + place.length].fill(0);
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
        let Some(page) = self.page_mut(place.page) else { return };
        page.bytes_mut()[place.start] ^= 1 << (bit % 8);
        page.damaged |= place.sectors();
    }

    pub(crate) fn mark_unreadable(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            if let Some(page) = self.page_mut(place.page) {
                page.unreadable |= place.sectors();
            }
        }
    }

    pub(crate) fn mark_damaged(&mut self, offset: u64, length: u64) {
        for place in places(offset, length) {
            if let Some(page) = self.page_mut(place.page) {
                page.damaged |= place.sectors();
            }
        }
    }

    pub(crate) fn is_readable(&self, offset: u64, length: u64) -> bool {
        let is_unreadable =
            |place: &Place| self.page(place.page).is_some_and(|page| page.unreadable & place.sectors() != 0);
        !places(offset, length).any(|place| is_unreadable(&place))
    }

    /// First bytes of the sectors with a mark, ascending.
    fn marked(&self, mark: impl Fn(&Page) -> u8) -> Vec<u64> {
        let pages = self.groups.iter().flat_map(|(group, pages)| (group * GROUP_PAGES as u64..).zip(&**pages));
        let marked = pages.map(|(number, page)| (number * PAGE_SECTORS, mark(page))).filter(|(_, bits)| *bits != 0);
        let sectors = marked.flat_map(|(first, bits)| {
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

    pub(crate) fn has_unreadable(&self) -> bool {
        self.groups.values().flat_map(|pages| pages.iter()).any(|page| page.unreadable != 0)
    }

    fn page(&self, number: u64) -> Option<&Page> {
        let (group, place) = place_of(self.home(number)?);
        self.groups.get(&group).map(|pages| &pages[place])
    }

    /// None where the medium ends, whatever it claims.
    fn page_mut(&mut self, number: u64) -> Option<&mut Page> {
        let (group, place) = place_of(self.home(number)?);
        Some(&mut Arc::make_mut(self.groups.entry(group).or_default())[place])
    }

    /// The page that a claimed page really is, if it is one.
    fn home(&self, number: u64) -> Option<u64> {
        self.lie.as_ref().map_or(Some(number), |lie| lie.home(number))
    }
}

/// The group of a page, and its place there.
fn place_of(number: u64) -> (u64, usize) {
    (number / GROUP_PAGES as u64, (number % GROUP_PAGES as u64) as usize)
}
