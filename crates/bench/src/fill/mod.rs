//! What is written: bytes that no drive can compress or share, and that say where they belong.
//!
//! Content is made of *units* of 4 KiB (512 bytes where a workload is aligned to no more). Each
//! begins with a stamp: whose it is, its offset, the pass that wrote it, the number of its payload,
//! and a checksum over these. The rest is the payload: random bits in *slices* of 512 bytes, all of
//! which follow from that number. So every unit is distinct, and whoever finds one can tell where
//! and when it was meant to be.
//!
//! Where every byte counts ([`Fill::write`]), the payload's number follows from offset and pass.
//! Under load ([`WriteBuffers`](buffers::WriteBuffers)) making all of it anew would cost more CPU
//! than the I/O itself, so one slice is renewed for each write; the stamps, always. A payload's
//! number then says how often its slices were renewed.

pub(crate) mod buffers;

use shoal_volume::Memory;

/// Bytes of a stamp.
pub(crate) const STAMP_BYTES: usize = 40;
/// The larger unit.
const LARGE_UNIT_BYTES: u32 = 4096;
/// The smaller unit: the smallest block a drive can have.
const SMALL_UNIT_BYTES: u32 = 512;
/// The part of a payload that is renewed at a time.
pub(crate) const SLICE_BYTES: usize = 512;
const WORD_BYTES: usize = 8;

/// Makes content and checks it. Two fills of one seed and unit agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    tag: u64,
    unit_bytes: u32,
}

/// A unit that does not hold what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongUnit {
    /// Where it is.
    pub offset: u64,
    /// What is there.
    pub found: Found,
}

/// What can be found instead of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The unit of another pass: a write was lost, or came too late.
    OtherPass {
        /// Which.
        pass: u64,
    },
    /// A unit that belongs elsewhere: a write or a read was led astray.
    OtherOffset {
        /// Where it belongs.
        offset: u64,
        /// Which pass wrote it.
        pass: u64,
    },
    /// A unit stamped for this place, with other bytes from `first_byte` on: torn or damaged.
    Damaged {
        /// First wrong byte within the unit.
        first_byte: u32,
    },
    /// A unit that another run wrote.
    OtherRun,
    /// Zeros only: never written, discarded, or lost.
    Zeros,
    /// Nothing that was ever written by a fill.
    Garbage,
}

/// Names a payload: a stream of random bits, and how often a slice of it was renewed. The slices
/// take turns, so the number of renewals tells how often each was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Payload {
    stream: u32,
    renewals: u32,
}

impl Payload {
    /// The slice that the latest renewal renewed, of `count`.
    fn latest_slice(self, count: u32) -> u32 {
        (self.renewals.max(1) - 1) % count
    }

    /// How often a slice, of `count`, was renewed.
    fn slice_renewals(self, slice: u32, count: u32) -> u64 {
        (u64::from(self.renewals) + u64::from(count - 1 - slice)) / u64::from(count)
    }

    fn to_word(self) -> u64 {
        (u64::from(self.stream) << 32) | u64::from(self.renewals)
    }

    fn of_word(word: u64) -> Self {
        let [renewals, stream] = [word & u64::from(u32::MAX), word >> 32].map(|half| u32::try_from(half).unwrap_or(0));
        Self { stream, renewals }
    }
}

/// The start of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    tag: u64,
    offset: u64,
    pass: u64,
    payload: Payload,
}

impl Fill {
    /// The fill of a seed, for content whose offsets and lengths are all multiples of
    /// `alignment_bytes` (itself a multiple of 512).
    pub fn new(seed: u64, alignment_bytes: u64) -> Self {
        let large = alignment_bytes.is_multiple_of(u64::from(LARGE_UNIT_BYTES));
        let unit_bytes = if large { LARGE_UNIT_BYTES } else { SMALL_UNIT_BYTES };
        Self { tag: mix(seed ^ u64::from_le_bytes(*b"shoalfil")), unit_bytes }
    }

    /// Whether bytes begin with a unit that any fill has written, for whatever place.
    pub fn wrote(bytes: &[u8]) -> bool {
        Stamp::parse(bytes).is_some()
    }

    /// Size of a unit.
    pub fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    /// The content of `bytes.len()` bytes at `offset`, as a pass writes it; both are multiples of
    /// the unit.
    pub fn write(&self, offset: u64, pass: u64, bytes: &mut [u8]) {
        for (place, unit) in self.units(offset, bytes) {
            self.write_unit(self.whole_stamp(place, pass), unit);
        }
    }

    /// Compares `bytes` with what [`Fill::write`] made for `offset` and `pass`, and tells `wrong`
    /// of every unit that differs.
    pub fn check(&self, offset: u64, pass: u64, bytes: &[u8], wrong: &mut dyn FnMut(WrongUnit)) {
        let mut expected = [0; LARGE_UNIT_BYTES as usize];
        let expected = &mut expected[..self.unit_bytes as usize];
        for (place, unit) in (offset..).step_by(self.unit_bytes as usize).zip(bytes.chunks_exact(expected.len())) {
            self.write_unit(self.whole_stamp(place, pass), expected);
            if *unit != *expected {
                let first_byte = first_difference(unit, expected);
                wrong(WrongUnit { offset: place, found: self.identify(place, Some(pass), first_byte, unit) });
            }
        }
    }

    /// Checks `bytes`, read at `offset`, against their own stamps: what a load wrote there, in
    /// whichever pass.
    pub fn check_stamped(&self, offset: u64, bytes: &[u8], wrong: &mut dyn FnMut(WrongUnit)) {
        let mut expected = [0; LARGE_UNIT_BYTES as usize];
        let expected = &mut expected[..self.unit_bytes as usize];
        for (place, unit) in (offset..).step_by(self.unit_bytes as usize).zip(bytes.chunks_exact(expected.len())) {
            let stamp = Stamp::parse(unit).filter(|stamp| stamp.tag == self.tag && stamp.offset == place);
            let first_byte = match stamp {
                Some(stamp) => {
                    self.write_unit(stamp, expected);
                    first_difference(unit, expected)
                }
                None => Some(0),
            };
            if first_byte.is_some() {
                wrong(WrongUnit { offset: place, found: self.identify(place, None, first_byte, unit) });
            }
        }
    }

    /// Says what a unit is that is not what it should be.
    fn identify(&self, place: u64, pass: Option<u64>, first_byte: Option<u32>, unit: &[u8]) -> Found {
        let Some(stamp) = Stamp::parse(unit) else {
            return if unit.iter().all(|byte| *byte == 0) { Found::Zeros } else { Found::Garbage };
        };
        if stamp.tag != self.tag {
            Found::OtherRun
        } else if stamp.offset != place {
            Found::OtherOffset { offset: stamp.offset, pass: stamp.pass }
        } else if pass.is_some_and(|pass| pass != stamp.pass) {
            Found::OtherPass { pass: stamp.pass }
        } else {
            Found::Damaged { first_byte: first_byte.unwrap_or(0) }
        }
    }

    fn units<'a>(&self, offset: u64, bytes: &'a mut [u8]) -> impl Iterator<Item = (u64, &'a mut [u8])> {
        let step = self.unit_bytes as usize;
        debug_assert!(offset.is_multiple_of(u64::from(self.unit_bytes)) && bytes.len().is_multiple_of(step));
        (offset..).step_by(step).zip(bytes.chunks_exact_mut(step))
    }

    /// The stamp of a unit whose payload follows from its place.
    fn whole_stamp(&self, offset: u64, pass: u64) -> Stamp {
        Stamp { tag: self.tag, offset, pass, payload: Payload::of_word(mix(offset ^ mix(pass))) }
    }

    fn write_unit(&self, stamp: Stamp, unit: &mut [u8]) {
        for (slice, bytes) in (0..).zip(unit.chunks_exact_mut(SLICE_BYTES)) {
            self.write_slice(stamp, slice, bytes);
        }
    }

    /// Writes a slice of a unit; the stamp lies over the start of the first.
    fn write_slice(&self, stamp: Stamp, slice: u32, bytes: &mut [u8]) {
        let Stamp { payload, .. } = stamp;
        let renewals = payload.slice_renewals(slice, self.slice_count());
        let key = mix(self.tag ^ mix((u64::from(payload.stream) << 32) | renewals) ^ u64::from(slice));
        if slice == 0 {
            let (head, rest) = bytes.split_at_mut(STAMP_BYTES);
            head.copy_from_slice(&stamp.to_bytes());
            write_random(key, rest);
        } else {
            write_random(key, bytes);
        }
    }

    fn slice_count(&self) -> u32 {
        self.unit_bytes / SLICE_BYTES as u32
    }
}

impl Stamp {
    fn to_bytes(self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        let words = [self.tag, self.offset, self.pass, self.payload.to_word(), self.checksum()];
        for (to, word) in bytes.chunks_exact_mut(WORD_BYTES).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The stamp at the start of a unit, if there is one.
    fn parse(unit: &[u8]) -> Option<Self> {
        let mut words = unit.as_chunks::<WORD_BYTES>().0.iter().map(|word| u64::from_le_bytes(*word));
        let (tag, offset, pass) = (words.next()?, words.next()?, words.next()?);
        let stamp = Self { tag, offset, pass, payload: Payload::of_word(words.next()?) };
        (words.next()? == stamp.checksum()).then_some(stamp)
    }

    fn checksum(&self) -> u64 {
        // Not zero to begin with, so that zeros are no stamp.
        let words = [self.tag, self.offset, self.pass, self.payload.to_word()];
        words.into_iter().fold(u64::from_le_bytes(*b"stampsum"), |sum, word| mix(sum ^ word))
    }
}

/// Writes the stream of the wyrand generator from `key` on: one wide multiplication a word.
fn write_random(key: u64, bytes: &mut [u8]) {
    let mut state = key;
    for word in bytes.as_chunks_mut::<WORD_BYTES>().0 {
        state = state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
        let [low, high] = [product as u64, (product >> 64) as u64];
        *word = (low ^ high).to_le_bytes();
    }
}

/// Turns a number into another that looks unrelated to it: a permutation of the 64-bit numbers (the
/// finisher of splitmix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn first_difference(left: &[u8], right: &[u8]) -> Option<u32> {
    if left == right {
        return None;
    }
    let first = left.iter().zip(right).position(|(left, right)| left != right)?;
    u32::try_from(first).ok()
}

/// A part of a run of memory.
pub(crate) fn part(memory: Memory, offset: usize, length: u32) -> Memory {
    Memory { offset: memory.offset + offset, length }
}

#[cfg(test)]
mod tests;
