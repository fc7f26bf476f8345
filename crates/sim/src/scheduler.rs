//! In which order requests go out to a drive that takes one at a time.
//!
//! As Linux's mq-deadline, which Debian and its kin put before such drives (`block/mq-deadline.c`):
//! reads and writes are kept apart, and each is served in ascending order, in batches of up to 16
//! (`fifo_batch`). After a batch reads come first, but not more than twice while writes wait
//! (`writes_starved`). A batch goes on upwards from where the last of its kind ended; where nothing
//! lies further up, or the oldest has waited beyond its deadline (0.5 s for a read, 5 s for a
//! write), it begins with the oldest. Nothing overtakes a flush.
//!
//! This is what keeps a member's writes sequential when an array's requests end in the middle of a
//! row: the row that two requests share is written when the second has come, behind rows that went
//! ahead.

use crate::Operation;

/// How the block layer orders requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// First come first served.
    None,
    /// Last come first served: the worst that a queue without order does. Linux 5.16 to 6.12 does
    /// it with what is submitted together and meets no scheduler (a list that is filled at its
    /// head, `rq_list_add` in `block/blk-mq.c`).
    LastFirst,
    /// Upwards, in batches.
    #[default]
    Deadline,
}

/// As in mq-deadline.
const FIFO_BATCH: u32 = 16;
/// As in mq-deadline.
const WRITES_STARVED: u32 = 2;
/// How long reads and writes may be passed over, as in mq-deadline (`read_expire`, `write_expire`).
const DEADLINE_NS: [u64; 2] = [500_000_000, 5_000_000_000];

/// What there is to choose from: a request, as far as the order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// When it came.
    pub(crate) since_ns: u64,
}

impl Candidate {
    fn kind(&self) -> usize {
        usize::from(self.operation != Operation::Read)
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }
}

const READS: usize = 0;
const WRITES: usize = 1;

/// Where a scheduler is in its round.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Reads or writes.
    kind: usize,
    /// Requests of this batch that have gone out.
    batch: u32,
    /// How often reads came first while writes waited.
    starved: u32,
    /// Where the last of each kind ended.
    reached: [u64; 2],
}

impl Sweep {
    /// At the end of a batch.
    pub(crate) fn new() -> Self {
        Self { kind: READS, batch: FIFO_BATCH, starved: 0, reached: [0; 2] }
    }

    /// Which of the candidates, the oldest first, goes out at a moment.
    pub(crate) fn choose(&mut self, now_ns: u64, candidates: impl Iterator<Item = Candidate> + Clone) -> usize {
        let candidates = candidates.enumerate().take_while(|(_, it)| it.length > 0);
        if candidates.clone().next().is_none() {
            return 0; // a flush
        }
        let next = |kind: usize, reached: u64| {
            let further = candidates.clone().filter(|(_, it)| it.kind() == kind && it.offset >= reached);
            further.min_by_key(|&(place, it)| (it.offset, place))
        };
        let goes_on = (self.batch < FIFO_BATCH).then(|| next(self.kind, self.reached[self.kind])).flatten();
        let (place, chosen) = goes_on.unwrap_or_else(|| {
            self.batch = 0;
            self.kind = self.next_kind(candidates.clone().map(|(_, it)| it.kind()));
            let oldest = candidates.clone().find(|(_, it)| it.kind() == self.kind);
            let expired = oldest.filter(|(_, it)| now_ns.saturating_sub(it.since_ns) > DEADLINE_NS[self.kind]);
            let upwards = || next(self.kind, self.reached[self.kind]);
            expired.or_else(upwards).or(oldest).expect("there is one of this kind")
        });
        self.batch += 1;
        self.reached[self.kind] = chosen.end();
        place
    }

    /// Whose turn it is.
    fn next_kind(&mut self, kinds: impl Iterator<Item = usize> + Clone) -> usize {
        let waits = |kind| kinds.clone().any(|it| it == kind);
        let reads_first = waits(READS) && !(waits(WRITES) && self.starved >= WRITES_STARVED);
        if !reads_first {
            self.starved = 0;
            return WRITES;
        }
        self.starved += u32::from(waits(WRITES));
        READS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which what waits goes out, named by where it begins; `r` and `w` come with 8
    /// bytes, `f` is a flush.
    fn order(waiting: &[(char, u64)]) -> Vec<(char, u64)> {
        let mut waiting = waiting.to_vec();
        let (mut sweep, mut gone) = (Sweep::new(), Vec::new());
        while !waiting.is_empty() {
            let candidate = |&(kind, offset): &(char, u64)| {
                let operation = match kind {
                    'r' => Operation::Read,
                    'w' => Operation::Write,
                    _ => Operation::Flush,
                };
                Candidate { operation, offset, length: if kind == 'f' { 0 } else { 8 }, since_ns: 0 }
            };
            let place = sweep.choose(0, waiting.iter().map(candidate));
            gone.push(waiting.remove(place));
        }
        gone
    }

    #[test]
    fn one_kind_goes_upwards_and_then_begins_with_the_oldest() {
        assert_eq!(order(&[('w', 80), ('w', 16), ('w', 0), ('w', 8)]), [('w', 0), ('w', 8), ('w', 16), ('w', 80)]);
        let mut sweep = Sweep { kind: WRITES, batch: 1, starved: 0, reached: [0, 50] };
        let write = |offset| Candidate { operation: Operation::Write, offset, length: 8, since_ns: 0 };
        assert_eq!(sweep.choose(0, [write(40), write(90), write(60)].into_iter()), 2);
        assert_eq!(sweep.choose(0, [write(40), write(90)].into_iter()), 1);
        assert_eq!(sweep.choose(0, [write(40), write(8)].into_iter()), 0);
    }

    #[test]
    fn whoever_waits_too_long_begins_the_next_batch() {
        let read = |offset, since_ns| Candidate { operation: Operation::Read, offset, length: 8, since_ns };
        let mut sweep = Sweep { reached: [50, 0], ..Sweep::new() };
        assert_eq!(sweep.choose(400_000_000, [read(0, 1), read(90, 1)].into_iter()), 1);
        sweep.batch = FIFO_BATCH;
        assert_eq!(sweep.choose(600_000_000, [read(0, 1), read(190, 1)].into_iter()), 0);
    }

    #[test]
    fn reads_come_first_but_not_for_ever() {
        let reads = (0..50).map(|number| ('r', number * 8));
        let waiting: Vec<_> = [('w', 0), ('w', 8)].into_iter().chain(reads).collect();
        let gone = order(&waiting);
        let first_write = gone.iter().position(|it| it.0 == 'w');
        assert_eq!(first_write, Some(2 * FIFO_BATCH as usize));
        assert!(gone[..32].is_sorted() && gone[32..34] == [('w', 0), ('w', 8)]);
    }

    #[test]
    fn nothing_overtakes_a_flush() {
        assert_eq!(order(&[('w', 16), ('f', 0), ('w', 0), ('r', 0)])[..2], [('w', 16), ('f', 0)]);
    }
}
