//! What the window holds: pages of content, by their place in the array.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Bytes of what a page may hold or lack: no drive has smaller blocks.
const BLOCK_BYTES: u64 = 512;

/// One page.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Where its bytes are.
    slot: u32,
    /// Which of its blocks it holds, a bit each.
    held: u8,
    /// Somebody wrote to it since a copy of it was last taken.
    is_dirty: bool,
    /// A copy of it is on its way to the members.
    is_leaving: bool,
}

impl Page {
    fn held_bytes(&self) -> u32 {
        self.held.count_ones() * BLOCK_BYTES as u32
    }
}

/// A run of content, and whether the window holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) range: Range<u64>,
    pub(super) is_held: bool,
}

/// Pages and their memory. A page that is held is the newest version of its blocks, until it is let
/// go.
#[derive(Debug)]
pub(super) struct Pages {
    memory: Vec<u8>,
    free: Vec<u32>,
    pages: BTreeMap<u64, Page>,
}

impl Pages {
    /// Room for so many pages. The memory is taken as it is used.
    pub(super) fn new(count: u32) -> Self {
        let memory = vec![0; count as usize * PAGE_BYTES as usize];
        Self { memory, free: (0..count).rev().collect(), pages: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Pages that there is room for.
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(super) fn total_count(&self) -> usize {
        self.pages.len() + self.free.len()
    }

    /// How many pages a write to the range would have to take.
    pub(super) fn missing(&self, range: &Range<u64>) -> usize {
        let numbers = numbers(range);
        (numbers.end - numbers.start) as usize - self.pages.range(numbers).count()
    }

    /// The first byte from `range.start` on whose page is held.
    pub(super) fn first_held(&self, range: &Range<u64>) -> Option<u64> {
        let (number, _) = self.pages.range(numbers(range)).next()?;
        Some((number * PAGE_BYTES).max(range.start))
    }

    /// Has `source` write the range, part by part: it is given each part's distance from the start
    /// and its bytes. Returns how many bytes are dirty now that were not.
    ///
    /// # Panics
    /// If there is no room for it: see [`Self::missing`].
    pub(super) fn write(&mut self, range: &Range<u64>, mut source: impl FnMut(u64, &mut [u8])) -> u64 {
        let mut newly_dirty = 0;
        for number in numbers(range) {
            let part = part_of(number, range);
            let page = self.pages.entry(number).or_insert_with(|| {
                let slot = self.free.pop().expect("whoever writes has looked for room");
                Page { slot, held: 0, is_dirty: true, is_leaving: false }
            });
            let before = if page.is_dirty { page.held } else { 0 };
            page.is_dirty = true;
            page.held |= bits(number, &part);
            newly_dirty += u64::from(page.held.count_ones() - before.count_ones()) * BLOCK_BYTES;
            let at = place(page.slot, number, &part);
            source(part.start - range.start, &mut self.memory[at]);
        }
        newly_dirty
    }

    /// Has `source` write anew what is held of the range, as [`Self::write`] does; nothing more is
    /// held then.
    pub(super) fn write_held(&mut self, range: &Range<u64>, mut source: impl FnMut(u64, &mut [u8])) -> u64 {
        let held: Vec<_> = self.runs(range).into_iter().filter(|run| run.is_held).collect();
        let write = |run: Run| {
            let skipped = run.range.start - range.start;
            self.write(&run.range, |at, bytes| source(skipped + at, bytes))
        };
        held.into_iter().map(write).sum()
    }

    /// The range in runs that are held, or not, in turn.
    pub(super) fn runs(&self, range: &Range<u64>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut put = |range: Range<u64>, is_held| match runs.last_mut() {
            Some(last) if last.is_held == is_held => last.range.end = range.end,
            _ => runs.push(Run { range, is_held }),
        };
        let mut at = range.start;
        for (&number, page) in self.pages.range(numbers(range)) {
            let part = part_of(number, range);
            if at < part.start {
                put(at..part.start, false);
            }
            for start in part.clone().step_by(BLOCK_BYTES as usize) {
                let block = start..(start + BLOCK_BYTES).min(part.end);
                let is_held = page.held & bits(number, &block) != 0;
                put(block, is_held);
            }
            at = part.end;
        }
        if at < range.end {
            put(at..range.end, false);
        }
        runs
    }

    /// Gives `sink` a range that is held, part by part, each with its distance from the start.
    pub(super) fn read(&self, range: &Range<u64>, mut sink: impl FnMut(u64, &[u8])) {
        for number in numbers(range) {
            let part = part_of(number, range);
            let page = &self.pages[&number];
            sink(part.start - range.start, &self.memory[place(page.slot, number, &part)]);
        }
    }

    /// The dirty pages of a range of whole pages: the first byte of each, and how many bytes it
    /// holds.
    pub(super) fn dirty(&self, range: &Range<u64>) -> Vec<(u64, u32)> {
        let pages = self.pages.range(numbers(range)).filter(|(_, page)| page.is_dirty);
        pages.map(|(number, page)| (number * PAGE_BYTES, page.held_bytes())).collect()
    }

    /// A copy of a dirty page is taken, to be written to the members: the runs of it that are held.
    pub(super) fn leave(&mut self, first_byte: u64) -> Vec<Range<u64>> {
        let page = self.pages.get_mut(&(first_byte / PAGE_BYTES)).expect("dirty pages are held");
        (page.is_dirty, page.is_leaving) = (false, true);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for block in (0..PAGE_BYTES / BLOCK_BYTES).filter(|block| page.held & 1 << block != 0) {
            let start = first_byte + block * BLOCK_BYTES;
            match runs.last_mut() {
                Some(last) if last.end == start => last.end += BLOCK_BYTES,
                _ => runs.push(start..start + BLOCK_BYTES),
            }
        }
        runs
    }

    /// The copy of a page that was taken is written: it is let go, unless somebody wrote to it
    /// meanwhile.
    pub(super) fn landed(&mut self, first_byte: u64) {
        let number = first_byte / PAGE_BYTES;
        let Some(page) = self.pages.get_mut(&number).filter(|page| page.is_leaving) else { return };
        page.is_leaving = false;
        if !page.is_dirty {
            self.free.push(page.slot);
            self.pages.remove(&number);
        }
    }

    /// The copy of a page that was taken is not written: the page is dirty again. Returns how many
    /// bytes are dirty now that were not.
    pub(super) fn refused(&mut self, first_byte: u64) -> u64 {
        let page = self.pages.get_mut(&(first_byte / PAGE_BYTES)).filter(|page| page.is_leaving);
        page.map_or(0, |page| {
            page.is_leaving = false;
            if std::mem::replace(&mut page.is_dirty, true) { 0 } else { page.held_bytes().into() }
        })
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        let held = std::mem::take(&mut self.pages);
        self.free.extend(held.into_values().map(|page| page.slot));
    }
}

/// The pages that a range touches.
fn numbers(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() {
        return 0..0;
    }
    range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES)
}

/// What of a range lies in a page.
fn part_of(number: u64, range: &Range<u64>) -> Range<u64> {
    (number * PAGE_BYTES).max(range.start)..((number + 1) * PAGE_BYTES).min(range.end)
}

/// The blocks of a part of a page.
fn bits(number: u64, part: &Range<u64>) -> u8 {
    let [first, end] = [part.start, part.end].map(|byte| (byte - number * PAGE_BYTES).div_ceil(BLOCK_BYTES));
    (first..end).fold(0, |bits, block| bits | 1 << block)
}

/// Where a part of a page is in memory.
fn place(slot: u32, number: u64, part: &Range<u64>) -> Range<usize> {
    let base = slot as usize * PAGE_BYTES as usize;
    let [start, end] = [part.start, part.end].map(|byte| base + (byte - number * PAGE_BYTES) as usize);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pages: &mut Pages, range: Range<u64>, value: u8) -> u64 {
        pages.write(&range, |_, bytes| bytes.fill(value))
    }

    #[test]
    fn runs_say_what_is_held_to_the_block() {
        let mut pages = Pages::new(4);
        assert_eq!(write(&mut pages, 4096 + 512..8192 + 1024, 1), 4096 - 512 + 1024);
        let run = |range, is_held| Run { range, is_held };
        let expected = [run(0..4608, false), run(4608..9216, true), run(9216..16384, false)];
        assert_eq!(pages.runs(&(0..16384)), expected);
        assert_eq!(pages.missing(&(0..16384)), 2);
        assert_eq!(pages.dirty(&(0..16384)), [(4096, 3584), (8192, 1024)]);
        assert_eq!(pages.first_held(&(0..16384)), Some(4096));
        assert_eq!(pages.first_held(&(16384..32768)), None);
    }

    #[test]
    fn a_page_that_is_written_while_a_copy_leaves_stays() {
        let mut pages = Pages::new(2);
        write(&mut pages, 0..8192, 1);
        assert_eq!([pages.leave(0), pages.leave(4096)].concat(), [0..4096, 4096..8192]);
        assert_eq!(write(&mut pages, 0..512, 2), 4096, "all of the page is to be written anew");
        pages.landed(0);
        pages.landed(4096);
        assert_eq!((pages.pages.len(), pages.free_count()), (1, 1));
        let mut content = vec![0; 1024];
        pages.read(&(0..1024), |at, bytes| content[at as usize..at as usize + bytes.len()].copy_from_slice(bytes));
        assert_eq!((content[0], content[1023]), (2, 1));
        assert_eq!(pages.dirty(&(0..8192)), [(0, 4096)]);
    }

    #[test]
    fn what_is_held_is_written_anew_to_the_block() {
        let mut pages = Pages::new(2);
        write(&mut pages, 512..1024, 1);
        assert_eq!(pages.write_held(&(0..8192), |at, bytes| bytes.fill(2 + at as u8)), 0, "it was dirty before");
        assert_eq!(pages.dirty(&(0..8192)), [(0, 512)]);
        pages.leave(0);
        assert_eq!(pages.write_held(&(0..8192), |_, bytes| bytes.fill(3)), 512);
        let mut content = [0; 512];
        pages.read(&(512..1024), |_, bytes| content.copy_from_slice(bytes));
        assert_eq!(content, [3; 512]);
    }
}
