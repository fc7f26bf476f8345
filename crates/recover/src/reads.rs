//! Reads of a volume, as many under way as it has request buffers, answered in any order.

use std::ops::Range;

use shoal_volume::{Command, Completion, Memory, Request, RequestError, RequestId, Volume, VolumeError};

/// Reads that are under way.
pub(crate) struct Reads<'a> {
    volume: &'a mut dyn Volume,
    /// Request buffers that none of them has.
    free: Vec<u32>,
    /// By request buffer: what the read is about.
    under_way: Vec<Option<Range<u64>>>,
    completions: Vec<Completion>,
}

/// What came of a read.
pub(crate) struct Answer {
    /// What it was about.
    pub(crate) range: Range<u64>,
    /// Where its bytes are until the next read begins.
    pub(crate) result: Result<Memory, RequestError>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(volume: &'a mut dyn Volume) -> Self {
        let count = volume.request_buffers();
        let (free, under_way) = ((0..count).rev().collect(), vec![None; count as usize]);
        Self { volume, free, under_way, completions: Vec::new() }
    }

    /// The volume, to be asked.
    pub(crate) fn volume(&self) -> &dyn Volume {
        self.volume
    }

    /// Whether one more can begin.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Begins to read the first bytes of a range, in whole blocks.
    ///
    /// # Panics
    /// If there is no room for it, or the bytes are more than a request buffer: a mistake of the
    /// caller's.
    pub(crate) fn begin(&mut self, range: Range<u64>, bytes: u64) {
        let buffer = self.free.pop().expect("the caller looked for room");
        let length = u32::try_from(bytes).expect("no more than a request buffer");
        let command = Command::Read { offset: range.start, span: self.volume.request_span(buffer, length) };
        self.under_way[buffer as usize] = Some(range);
        self.volume.submit(Request { id: RequestId::client(u64::from(buffer)), command });
    }

    /// Waits for an answer; none if nothing is under way.
    pub(crate) fn next(&mut self) -> Result<Option<Answer>, VolumeError> {
        let completion = loop {
            if let Some(completion) = self.completions.pop() {
                break completion;
            }
            if self.free.len() == self.under_way.len() {
                return Ok(None);
            }
            self.volume.poll(1, None, &mut self.completions)?;
        };
        let buffer = u32::try_from(completion.id.number).expect("ids are numbers of buffers");
        let range = self.under_way[buffer as usize].take().expect("a request is answered once");
        self.free.push(buffer);
        let memory = self.volume.request_memory(buffer);
        Ok(Some(Answer { range, result: completion.result.map(|()| memory) }))
    }
}

/// Ranges in ascending order, those that touch as one.
pub(crate) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![8..12, 0..4, 4..6, 10..11, 20..21]), [0..6, 8..12, 20..21]);
        assert_eq!(merged(Vec::new()), []);
    }
}
