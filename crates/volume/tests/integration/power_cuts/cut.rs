//! Power is cut: what may be left on the drives.

use std::rc::Rc;

use crate::power_cuts::content::Expected;
use crate::power_cuts::media::Media;
use crate::power_cuts::random::Random;
use crate::power_cuts::trace::{Fact, Number};

/// What a drive is asked to write whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A write that a power cut may take away, in whole or in part.
#[derive(Clone, Debug)]
struct Volatile {
    number: Number,
    offset: u64,
    bytes: Rc<[u8]>,
    /// The drive said that it has it.
    written: bool,
}

/// What becomes of writes that were not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// No drive kept any.
    Lost,
    /// Every drive kept all.
    Kept,
    /// Each was kept or lost, one by one.
    Some,
    /// Each sector was kept or lost, one by one.
    Torn,
    /// One drive kept all, the others none.
    Uneven,
}

impl Fate {
    pub(crate) const ALL: [Self; 5] = [Self::Lost, Self::Kept, Self::Some, Self::Torn, Self::Uneven];
}

/// Goes through a trace; at every place power may be cut.
///
/// A drive's cache may lose, keep or tear any write that no finished flush covers, in any
/// combination. A flush covers what the drive had said to have when it was told to flush.
#[derive(Clone)]
pub(crate) struct Cursor {
    durable: Vec<Media>,
    volatile: Vec<Vec<Volatile>>,
    /// Flushes under way, with the writes that they cover.
    flushes: Vec<(Number, usize, Vec<Number>)>,
    pub(crate) expected: Expected,
    /// Drives that died and were not taken in again.
    pub(crate) dead: Vec<usize>,
    /// The next version that is asked for.
    next_version: u32,
    /// Drives that died, and the next version at that time.
    pub(crate) died_at: Vec<(usize, u32)>,
}

impl Cursor {
    pub(crate) fn new(drives: Vec<Media>, expected: Expected) -> Self {
        Self {
            volatile: vec![Vec::new(); drives.len()],
            durable: drives,
            flushes: Vec::new(),
            expected,
            dead: Vec::new(),
            next_version: 1,
            died_at: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, fact: &Fact) {
        match fact.clone() {
            Fact::Write { number, drive, offset, bytes } => {
                self.volatile[drive].push(Volatile { number, offset, bytes, written: false });
            }
            Fact::Written { number } => {
                let write = self.volatile.iter_mut().flatten().find(|write| write.number == number);
                write.expect("a write is submitted before it is done").written = true;
            }
            Fact::Flush { number, drive } => {
                let covered = self.volatile[drive].iter().filter(|write| write.written);
                self.flushes.push((number, drive, covered.map(|write| write.number).collect()));
            }
            Fact::Flushed { number } => self.flushed(number),
            Fact::Asked { blocks, version } => {
                self.expected.asked(blocks, version);
                self.next_version = version + 1;
            }
            Fact::Answered { version, good } => self.expected.answered(version, good),
            Fact::FlushAsked => self.expected.flush_asked(),
            Fact::FlushAnswered { good } => self.expected.flush_answered(good),
            Fact::Died { drive } => {
                self.dead.push(drive);
                self.died_at.push((drive, self.next_version));
            }
            Fact::Refused { drive } => self.died_at.push((drive, self.next_version)),
            Fact::Joined { drive } => {
                self.dead.retain(|dead| *dead != drive);
                // What it had been sent and not taken before it died was gone when it came back.
                self.volatile[drive].retain(|write| write.written);
            }
        }
    }

    /// What a flush covers is there for good.
    fn flushed(&mut self, number: Number) {
        let flush = self.flushes.iter().position(|flush| flush.0 == number).expect("a flush was told");
        let (_, drive, covered) = self.flushes.swap_remove(flush);
        let durable = &mut self.durable[drive];
        self.volatile[drive].retain(|write| {
            let is_covered = covered.contains(&write.number);
            if is_covered {
                durable.write(write.offset, &write.bytes);
            }
            !is_covered
        });
    }

    /// Whether all fates are the same here.
    pub(crate) fn is_settled(&self) -> bool {
        self.volatile.iter().all(Vec::is_empty)
    }

    /// What is left on the drives if power is cut here.
    pub(crate) fn cut(&self, fate: Fate, random: &mut Random) -> Vec<Media> {
        let lucky = random.below(self.durable.len());
        let mut media = self.durable.clone();
        for (drive, (media, volatile)) in media.iter_mut().zip(&self.volatile).enumerate() {
            for write in volatile {
                let is_kept = match fate {
                    Fate::Lost => false,
                    Fate::Kept => true,
                    Fate::Some => random.coin(),
                    Fate::Uneven => drive == lucky,
                    Fate::Torn => {
                        keep_sectors(media, write, random);
                        continue;
                    }
                };
                if is_kept {
                    media.write(write.offset, &write.bytes);
                }
            }
        }
        media
    }
}

fn keep_sectors(media: &mut Media, write: &Volatile, random: &mut Random) {
    for (sector, bytes) in (0..).zip(write.bytes.chunks(SECTOR_BYTES)) {
        if random.coin() {
            media.write(write.offset + sector * SECTOR_BYTES as u64, bytes);
        }
    }
}
