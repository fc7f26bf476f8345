//! A member's drive, in memory: with ranges that cannot be read, and ways to fail.

use shoal_array::{Fault, MemberIo, Outcome};

use super::memory::Memory;
use super::model::BLOCK;
use super::random::Random;

/// What a drive says to a discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscardSupport {
    /// The range reads as zeros afterwards.
    Zeroes,
    /// It cannot.
    None,
}

/// A drive.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) content: Vec<u8>,
    /// By block: cannot be read until it is written anew.
    unreadable: Vec<bool>,
    /// By block: the step in which it was written last.
    pub(crate) written_at: Vec<u64>,
    /// Answers nothing any more.
    pub(crate) is_gone: bool,
    /// I/Os left until it is gone.
    pub(crate) fails_after: Option<u64>,
    pub(crate) discard_support: DiscardSupport,
    /// Tells drives apart that take the same place one after the other.
    pub(crate) generation: u64,
    pub(crate) counts: Counts,
}

/// How much I/O a drive has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) flushes: u64,
    pub(crate) discards: u64,
}

impl Disk {
    /// A drive of zeros.
    pub(crate) fn new(bytes: u64) -> Self {
        let blocks = (bytes / BLOCK) as usize;
        Self {
            content: vec![0; bytes as usize],
            unreadable: vec![false; blocks],
            written_at: vec![0; blocks],
            is_gone: false,
            fails_after: None,
            discard_support: DiscardSupport::Zeroes,
            generation: 0,
            counts: Counts::default(),
        }
    }

    /// Another drive takes its place, full of something else.
    pub(crate) fn replace(&mut self, random: &mut Random) {
        let generation = self.generation + 1;
        let discard_support = self.discard_support;
        *self = Self { generation, discard_support, ..Self::new(self.content.len() as u64) };
        let garbage = random.next() as u8 | 1;
        self.content.fill(garbage);
    }

    pub(crate) fn make_unreadable(&mut self, block: u64) {
        self.unreadable[block as usize] = true;
    }

    pub(crate) fn is_unreadable(&self, block: u64) -> bool {
        self.unreadable[block as usize]
    }

    pub(crate) fn has_unreadable(&self) -> bool {
        self.unreadable.contains(&true)
    }

    /// Whether anything is wrong with it, now or soon.
    pub(crate) fn is_perfect(&self) -> bool {
        !self.is_gone && self.fails_after.is_none() && !self.has_unreadable()
    }

    /// Does one I/O.
    pub(crate) fn perform(&mut self, io: MemberIo, memory: &mut Memory, step: u64, random: &mut Random) -> Outcome {
        self.check_range(io);
        match self.fails_after.as_mut() {
            Some(0) => self.fail(io, memory, random),
            Some(left) => *left -= 1,
            None => {}
        }
        if self.is_gone {
            return Outcome::Failed(Fault::Gone);
        }
        match io {
            MemberIo::Read { offset, span } => {
                self.counts.reads += 1;
                self.counts.read_bytes += u64::from(span.length);
                let range = offset as usize..offset as usize + span.length as usize;
                if self.unreadable[range.start / BLOCK as usize..range.end / BLOCK as usize].contains(&true) {
                    memory.bytes_mut(span).fill(0xee);
                    return Outcome::Failed(Fault::Unreadable);
                }
                memory.bytes_mut(span).copy_from_slice(&self.content[range]);
            }
            MemberIo::Write { offset, span } => {
                self.counts.writes += 1;
                self.counts.written_bytes += u64::from(span.length);
                self.write(offset, memory.bytes(span), step);
            }
            MemberIo::Flush => self.counts.flushes += 1,
            MemberIo::Discard { .. } if self.discard_support == DiscardSupport::None => {
                return Outcome::Failed(Fault::Unsupported);
            }
            MemberIo::Discard { offset, length } => {
                self.counts.discards += 1;
                self.write(offset, &vec![0; length as usize], step);
            }
        }
        Outcome::Done
    }

    /// First bytes of the blocks that this I/O will change.
    pub(crate) fn changes(&self, io: MemberIo, memory: &Memory) -> Vec<u64> {
        let (offset, length) = range_of(io);
        let blocks = (offset..offset + length).step_by(BLOCK as usize);
        match io {
            MemberIo::Read { .. } | MemberIo::Flush => vec![],
            MemberIo::Discard { .. } => blocks.collect(),
            MemberIo::Write { span, .. } => {
                let new = memory.bytes(span).chunks(BLOCK as usize);
                let changed = blocks.zip(new).filter(|(block, new)| !self.content[*block as usize..].starts_with(new));
                changed.map(|(block, _)| block).collect()
            }
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8], step: u64) {
        let start = offset as usize;
        self.content[start..start + bytes.len()].copy_from_slice(bytes);
        let blocks = start / BLOCK as usize..(start + bytes.len()) / BLOCK as usize;
        self.unreadable[blocks.clone()].fill(false);
        self.written_at[blocks].fill(step);
    }

    /// Goes away in the middle of an I/O: of a write, some blocks may have got through.
    fn fail(&mut self, io: MemberIo, memory: &Memory, random: &mut Random) {
        self.is_gone = true;
        self.fails_after = None;
        if let MemberIo::Write { offset, span } = io {
            let written = random.within(0..u64::from(span.length) / BLOCK + 1) * BLOCK;
            let start = offset as usize;
            let bytes = &memory.bytes(span)[..written as usize];
            self.content[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn check_range(&self, io: MemberIo) {
        let (offset, length) = range_of(io);
        assert!(offset.is_multiple_of(BLOCK) && length.is_multiple_of(BLOCK), "{io:?} is no multiple of a block");
        assert!(offset + length <= self.content.len() as u64, "{io:?} is beyond the member's end");
        assert!(length > 0 || io == MemberIo::Flush, "{io:?} is empty");
    }
}

/// First byte and length of a member I/O.
pub(crate) fn range_of(io: MemberIo) -> (u64, u64) {
    match io {
        MemberIo::Read { offset, span } | MemberIo::Write { offset, span } => (offset, u64::from(span.length)),
        MemberIo::Flush => (0, 0),
        MemberIo::Discard { offset, length } => (offset, length),
    }
}
