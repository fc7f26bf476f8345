//! How long drives take: a histogram for each drive and kind of I/O, cheap enough to be kept
//! always; and how long they took before, so that one that has become slow is told from one that
//! always was.

use shoal_drive::IoKind;

/// Buckets in a doubling of time: neighbours are apart by a fifth.
const QUARTERS: usize = 4;
const BUCKETS: usize = 64 * QUARTERS;
/// With so many samples, older ones count half: what counts is how the drive is now.
const SAMPLES: u32 = 8192;
/// Fewer say nothing of a hundredth.
const SAMPLES_MIN: u32 = 100;
/// So many samples later a percentile is worked out anew.
const STALE: u32 = 64;
/// What a drive was like follows it so slowly when it becomes slower: by such a part, each time
/// that half of the samples are new. When it becomes faster it follows at once.
const AGEING: u64 = 256;
/// A drive has slowed if it takes so many times as long as it did,
const SLOWED_TIMES: u64 = 8;
/// and its peers at most so many times: what slows them all is the load.
const STEADY_TIMES: u64 = 2;

/// Times of one kind of I/O on one drive.
#[derive(Clone, Debug)]
struct Latencies {
    counts: Box<[u32; BUCKETS]>,
    total: u32,
    p99_ns: Option<u64>,
    since_p99: u32,
    past_p99_ns: Option<u64>,
}

/// How long all but a hundredth of a drive's I/Os of one kind take, and took before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) now_ns: u64,
    pub(super) past_ns: u64,
}

impl Course {
    fn times(self) -> u64 {
        self.now_ns / self.past_ns.max(1)
    }
}

/// Whether a drive has become slow by its own past, and its peers have not. Without peers nobody
/// can tell that from a load that has become heavy.
pub(super) fn has_slowed(own: Course, peers: &[Course]) -> bool {
    let are_steady = peers.iter().filter(|peer| peer.times() <= STEADY_TIMES).count() * 2 > peers.len();
    own.times() >= SLOWED_TIMES && are_steady
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), total: 0, p99_ns: None, since_p99: 0, past_p99_ns: None }
    }
}

impl Latencies {
    fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        if self.total >= SAMPLES {
            let p99_ns = self.percentile(99);
            self.past_p99_ns = Some(match self.past_p99_ns {
                Some(past_ns) if past_ns < p99_ns => past_ns + (p99_ns - past_ns) / AGEING,
                _ => p99_ns,
            });
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
        self.since_p99 += 1;
        if self.total >= SAMPLES_MIN && (self.p99_ns.is_none() || self.since_p99 >= STALE) {
            self.p99_ns = Some(self.percentile(99));
            self.since_p99 = 0;
        }
    }

    fn course(&self) -> Option<Course> {
        Some(Course { now_ns: self.p99_ns?, past_ns: self.past_p99_ns? })
    }

    /// So many per cent took no longer; the end of a bucket.
    fn percentile(&self, percent: u32) -> u64 {
        let wanted = (u64::from(self.total) * u64::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (number, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return bucket_end_ns(number);
            }
        }
        u64::MAX
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.max(QUARTERS as u64);
    let doublings = ns.ilog2();
    let quarter = (ns >> (doublings - 2)) as usize % QUARTERS;
    doublings as usize * QUARTERS + quarter
}

/// The first time that is beyond a bucket.
fn bucket_end_ns(number: usize) -> u64 {
    let (doublings, quarter) = (number / QUARTERS, number % QUARTERS);
    let end = (QUARTERS as u128 + quarter as u128 + 1) << doublings >> 2;
    u64::try_from(end).unwrap_or(u64::MAX)
}

/// All kinds of I/O on one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    reads: Latencies,
    writes: Latencies,
    flushes: Latencies,
}

impl Pace {
    /// An I/O has ended.
    pub(super) fn add(&mut self, kind: IoKind, ns: u64) {
        match kind {
            IoKind::Read(_) => self.reads.add(ns),
            IoKind::Write(_) => self.writes.add(ns),
            IoKind::Flush => self.flushes.add(ns),
            IoKind::Discard(_) => {}
        }
    }

    /// What all but a hundredth of the latest reads have taken no longer than; none if there were
    /// too few.
    pub(super) fn read_p99_ns(&self) -> Option<u64> {
        self.reads.p99_ns
    }

    /// The same of writes.
    pub(super) fn write_p99_ns(&self) -> Option<u64> {
        self.writes.p99_ns
    }

    /// The same of reads, beside what it was before; none as long as there is no past.
    pub(super) fn read_course(&self) -> Option<Course> {
        self.reads.course()
    }

    /// The same of writes.
    pub(super) fn write_course(&self) -> Option<Course> {
        self.writes.course()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_end_where_the_next_begins() {
        let mut times: Vec<u64> = (2..63).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1]).collect();
        times.extend([0, 1, 5, 6, 7, 1000, 1_000_000, u64::MAX]);
        times.sort_unstable();
        for pair in times.windows(2) {
            assert!(bucket(pair[0]) <= bucket(pair[1]), "{pair:?}");
        }
        for ns in times {
            let end_ns = bucket_end_ns(bucket(ns));
            assert!(end_ns > ns || end_ns == u64::MAX, "{ns} is not below {end_ns}");
            assert!(end_ns == u64::MAX || bucket(end_ns) == bucket(ns) + 1, "{ns}");
            let widest_ns = ns.max(4).saturating_add(ns.max(4) / 4 + 1);
            assert!(end_ns <= widest_ns, "{ns} in a bucket up to {end_ns}");
        }
    }

    #[test]
    fn the_past_follows_a_faster_drive_at_once_and_a_slower_one_slowly() {
        let mut latencies = Latencies::default();
        let mut take = |ns: u64, windows: u32| {
            (0..windows * SAMPLES).for_each(|_| latencies.add(ns));
            latencies.course().unwrap()
        };
        let was = take(1_000_000, 2);
        assert_eq!(was.now_ns, was.past_ns);
        let slow = take(40_000_000, 2);
        assert!(slow.now_ns >= 40_000_000 && slow.past_ns < 2 * was.past_ns, "{slow:?}");
        assert!(has_slowed(slow, &[was, was, slow]), "two of three go on as they were");
        assert!(!has_slowed(slow, &[was, slow]) && !has_slowed(slow, &[slow, slow]), "the load has become heavy");
        assert!(!has_slowed(slow, &[]), "nobody can tell");
        assert!(!has_slowed(was, &[was, was]));
        let aged = take(40_000_000, 100);
        assert!(!has_slowed(aged, &[was, was]), "it is like that now");
        let fast = take(100_000, 20);
        assert_eq!(fast.now_ns, fast.past_ns);
    }

    #[test]
    fn a_percentile_follows_the_latest_samples() {
        let mut latencies = Latencies::default();
        (0..99).for_each(|_| latencies.add(1000));
        assert_eq!(latencies.p99_ns, None);
        latencies.add(1_000_000);
        assert!(latencies.p99_ns.is_some_and(|ns| (1000..=1250).contains(&ns)));
        (0..64).for_each(|_| latencies.add(1_000_000));
        assert!(latencies.p99_ns.is_some_and(|ns| (1_000_000..=1_250_000).contains(&ns)));
        (0..20 * SAMPLES).for_each(|_| latencies.add(1000));
        assert!(latencies.p99_ns.is_some_and(|ns| (1000..=1250).contains(&ns)));
    }
}
