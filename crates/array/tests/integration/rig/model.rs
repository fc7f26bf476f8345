//! What the array should hold: a flat run of blocks, each with the history of what was written to
//! it.
//!
//! Requests that overlap take effect in the order of their submission, so a block's history is the
//! list of writes in that order. A write that is answered well ends all doubt about what was before
//! it; one that fails leaves each of its blocks old or new.

use super::random::mix;

/// The logical block size of every rig.
pub(crate) const BLOCK: u64 = 512;

/// How a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Done,
    Failed,
}

/// One write to a block. Numbers of requests ascend in the order of submission; the first entry is
/// number 0.
#[derive(Clone, Copy, Debug)]
struct Entry {
    request: u64,
    state: State,
    /// A discard leaves anything.
    discard: bool,
}

/// The flat model.
#[derive(Debug)]
pub(crate) struct Model {
    blocks: Vec<Vec<Entry>>,
}

impl Model {
    /// An array of zeros.
    pub(crate) fn new(capacity_bytes: u64) -> Self {
        let zeros = Entry { request: 0, state: State::Done, discard: false };
        Self { blocks: vec![vec![zeros]; (capacity_bytes / BLOCK) as usize] }
    }

    /// Fills a buffer with what request `request` writes at `offset`.
    pub(crate) fn fill(offset: u64, request: u64, bytes: &mut [u8]) {
        for (block, bytes) in (offset / BLOCK..).zip(bytes.chunks_exact_mut(BLOCK as usize)) {
            for (word, value) in bytes.chunks_exact_mut(8).zip(words(block, request)) {
                word.copy_from_slice(&value.to_le_bytes());
            }
        }
    }

    /// A write or a discard is submitted.
    pub(crate) fn submit(&mut self, request: u64, offset: u64, length: u64, discard: bool) {
        for history in self.range(offset, length) {
            history.push(Entry { request, state: State::Pending, discard });
        }
    }

    /// A write or a discard is answered well: what was before it is over.
    pub(crate) fn complete(&mut self, request: u64, offset: u64, length: u64) {
        for history in self.range(offset, length) {
            let index = place_in(history, request);
            let earlier_pending = history[..index].iter().find(|entry| entry.state == State::Pending);
            assert!(earlier_pending.is_none(), "write {request} overtook {earlier_pending:?}");
            history[index].state = State::Done;
            history.drain(..index);
        }
    }

    /// A write or a discard failed: each block is old or new. It may have been refused before its
    /// turn.
    pub(crate) fn fail(&mut self, request: u64, offset: u64, length: u64) {
        for history in self.range(offset, length) {
            let index = place_in(history, request);
            history[index].state = State::Failed;
        }
    }

    /// A discard cannot be done: nothing has changed.
    pub(crate) fn withdraw(&mut self, request: u64, offset: u64, length: u64) {
        for history in self.range(offset, length) {
            let index = place_in(history, request);
            history.remove(index);
        }
    }

    /// Compares what read `request` brought. Where a block could be old or new, it is from now on
    /// what was read.
    pub(crate) fn check(&mut self, request: u64, offset: u64, bytes: &[u8]) {
        for (block, bytes) in (offset / BLOCK..).zip(bytes.chunks_exact(BLOCK as usize)) {
            let allowed = self.allowed(block, request);
            let found = allowed.iter().find(|entry| entry.discard || holds(bytes, block, entry.request));
            let found = found.unwrap_or_else(|| {
                panic!("read {request}, block {block}: {}, not {allowed:?}", describe(bytes, block, request))
            });
            if allowed.len() > 1 && !found.discard {
                let history = &mut self.blocks[block as usize];
                history.retain(|entry| entry.request == found.request || entry.request > request);
                history[0].state = State::Done;
            }
        }
    }

    /// What a block may hold once all is quiet.
    pub(crate) fn check_settled(&self, block: u64, bytes: &[u8]) -> Result<(), String> {
        let allowed = self.allowed(block, u64::MAX);
        let is_allowed = allowed.iter().any(|entry| entry.discard || holds(bytes, block, entry.request));
        if is_allowed { Ok(()) } else { Err(format!("{}, not {allowed:?}", describe(bytes, block, u64::MAX >> 1))) }
    }

    /// What a block may hold after a cut: what was answered last, or anything written since.
    pub(crate) fn check_cut(&self, block: u64, bytes: &[u8]) -> Result<(), String> {
        let allowed = &self.blocks[block as usize];
        let is_allowed = allowed.iter().any(|entry| entry.discard || holds(bytes, block, entry.request));
        if is_allowed { Ok(()) } else { Err(format!("{}, not {allowed:?}", describe(bytes, block, u64::MAX >> 1))) }
    }

    /// Whether a block may hold anything, because it was discarded.
    pub(crate) fn is_discarded(&self, block: u64) -> bool {
        self.allowed(block, u64::MAX).iter().any(|entry| entry.discard)
    }

    /// The writes before `request` whose data a block may hold.
    fn allowed(&self, block: u64, request: u64) -> Vec<Entry> {
        let history = &self.blocks[block as usize];
        let mut allowed = Vec::new();
        for entry in history.iter().rev().filter(|entry| entry.request < request) {
            assert_ne!(entry.state, State::Pending, "read {request}, block {block} overtook write {}", entry.request);
            allowed.push(*entry);
            if entry.state == State::Done {
                break;
            }
        }
        assert!(!allowed.is_empty(), "read {request}, block {block} is answered after a later write");
        allowed
    }

    fn range(&mut self, offset: u64, length: u64) -> impl Iterator<Item = &mut Vec<Entry>> {
        self.blocks[(offset / BLOCK) as usize..((offset + length) / BLOCK) as usize].iter_mut()
    }
}

/// Where a write is in a block's history.
fn place_in(history: &[Entry], request: u64) -> usize {
    let place = history.iter().position(|entry| entry.request == request);
    place.unwrap_or_else(|| panic!("write {request} is answered after a later write to the same place"))
}

/// The words of a block as a request wrote it. Request 0 wrote zeros.
fn words(block: u64, request: u64) -> impl Iterator<Item = u64> {
    let mut word = if request == 0 { 0 } else { mix(request ^ mix(block + 1)) | 1 };
    (0..BLOCK / 8).map(move |_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005);
        word
    })
}

fn holds(bytes: &[u8], block: u64, request: u64) -> bool {
    bytes.chunks_exact(8).zip(words(block, request)).all(|(bytes, word)| *bytes == word.to_le_bytes())
}

/// Whose data this is, for messages: the request and block, if it is any.
fn describe(bytes: &[u8], block: u64, latest: u64) -> String {
    let near = latest.saturating_sub(20_000)..=latest.min(1 << 20);
    let here = (0..=20_000).chain(near).find(|&request| holds(bytes, block, request));
    match here {
        Some(request) => format!("it holds request {request}'s data"),
        None => "it holds what nobody wrote there".into(),
    }
}
