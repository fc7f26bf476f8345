//! How long requests wait for their answers, by the worst that has happened to the array before.

use schemars::JsonSchema;
use serde::Serialize;

use super::Counts;

/// The longest waits, in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waits {
    /// Where nothing had happened yet.
    pub unhurt_ns: u64,
    /// After errors, and drives that were pulled or away.
    pub errors_ns: u64,
    /// After pauses of drives.
    pub stalls_ns: u64,
    /// After a hub lost its power, or an array too many of its members.
    pub hubs_ns: u64,
    /// After a drive had hung for good.
    pub hangs_ns: u64,
}

impl Waits {
    /// A request was answered after so long.
    pub(super) fn note(counts: &mut Counts, waited_ns: u64) {
        let Counts { hung, hubs_lost, revived, stalls, errors, latent, unplugged, away, .. } = *counts;
        let waits = &mut counts.waits;
        let longest = if hung > 0 {
            &mut waits.hangs_ns
        } else if hubs_lost + revived > 0 {
            &mut waits.hubs_ns
        } else if stalls > 0 {
            &mut waits.stalls_ns
        } else if errors + latent + unplugged + away > 0 {
            &mut waits.errors_ns
        } else {
            &mut waits.unhurt_ns
        };
        *longest = waited_ns.max(*longest);
    }

    /// The longer of each two.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { unhurt_ns, errors_ns, stalls_ns, hubs_ns, hangs_ns } = *other;
        for (own, other) in [
            (&mut self.unhurt_ns, unhurt_ns),
            (&mut self.errors_ns, errors_ns),
            (&mut self.stalls_ns, stalls_ns),
            (&mut self.hubs_ns, hubs_ns),
            (&mut self.hangs_ns, hangs_ns),
        ] {
            *own = other.max(*own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_is_kept_by_the_worst_that_happened_before() {
        let mut counts = Counts::default();
        Waits::note(&mut counts, 5);
        Waits::note(&mut counts, 3);
        counts.errors = 1;
        Waits::note(&mut counts, 7);
        counts.stalls = 1;
        counts.hung = 1;
        Waits::note(&mut counts, 90);
        let mut all = Waits { unhurt_ns: 1, errors_ns: 8, ..Waits::default() };
        all.add(&counts.waits);
        assert_eq!(all, Waits { unhurt_ns: 5, errors_ns: 8, hangs_ns: 90, ..Waits::default() });
    }
}
