//! What happens next: the earliest of a fixed number of timers.
//!
//! Nothing here ever waits for more than a few things: a drive for the end of a phase and for its
//! medium, a bus for the end of a transfer. So instead of a heap of events there is one timer for
//! each of these, and a *tournament* over them: a binary tree with the timers as leaves, in which
//! every node knows the earlier of the two below it. To set a timer means to play the matches on
//! its way to the root again; nothing is allocated, and a timer can be taken back.
//!
//! Timers that are due at the same time fire in the order in which they were set.

/// When a timer is due, and how many were set before it.
type Key = (u64, u64);

const NEVER: Key = (u64::MAX, u64::MAX);

/// A fixed number of timers, and which of them is due first.
#[derive(Debug)]
pub(crate) struct Timers {
    keys: Box<[Key]>,
    /// Node 1 is the root; below node n are 2n and 2n + 1, and the leaves come last.
    winners: Box<[u32]>,
    sequence: u64,
}

impl Timers {
    /// So many timers, none of them set.
    pub(crate) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(2);
        let mut winners: Box<[u32]> = (0..2 * leaves).map(|node| (node % leaves) as u32).collect();
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![NEVER; leaves].into(), winners, sequence: 0 }
    }

    /// Sets a timer, whether it is set already or not. One that is due at the end of time never
    /// fires.
    pub(crate) fn set(&mut self, timer: usize, due_ns: u64) {
        self.sequence += 1;
        self.keys[timer] = if due_ns == u64::MAX { NEVER } else { (due_ns, self.sequence) };
        self.replay(timer);
    }

    /// Takes a timer back.
    pub(crate) fn clear(&mut self, timer: usize) {
        self.keys[timer] = NEVER;
        self.replay(timer);
    }

    /// When a timer is due, if it is set.
    pub(crate) fn due_ns(&self, timer: usize) -> Option<u64> {
        (self.keys[timer] != NEVER).then_some(self.keys[timer].0)
    }

    /// The timer that is due first, and when.
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        let first = self.winners[1] as usize;
        (self.keys[first] != NEVER).then_some((self.keys[first].0, first))
    }

    fn replay(&mut self, timer: usize) {
        let mut node = (self.keys.len() + timer) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let winner = if self.keys[left as usize] <= self.keys[right as usize] { left } else { right };
            // Further up nothing changes if neither who won here has, nor when.
            if winner == self.winners[node] && winner as usize != timer {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn timers_due_at_once_fire_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::new(5);
        assert_eq!(timers.first(), None);
        for timer in [3, 0, 4, 1] {
            timers.set(timer, 7);
        }
        timers.set(2, 8);
        timers.clear(0);
        timers.set(3, 7); // again: it is the last one now
        for expected in [4, 1, 3] {
            assert_eq!(timers.first(), Some((7, expected)));
            timers.clear(expected);
        }
        assert_eq!(timers.first(), Some((8, 2)));
    }

    #[test]
    fn the_first_is_the_least_of_all_whatever_is_set_and_cleared() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        for count in 1..20 {
            let (mut timers, mut plain) = (Timers::new(count), vec![None; count]);
            for sequence in 0..500_u64 {
                let (timer, due) = (random.next_u64() as usize % count, random.next_u64() % 50);
                if random.next_u64() % 3 == 0 {
                    timers.clear(timer);
                    plain[timer] = None;
                } else {
                    timers.set(timer, due);
                    plain[timer] = Some((due, sequence));
                }
                let least = (0..count).filter_map(|timer| plain[timer].map(|key| (key, timer))).min();
                assert_eq!(timers.first(), least.map(|((due, _), timer)| (due, timer)));
                assert_eq!(timers.due_ns(timer), plain[timer].map(|(due, _)| due));
            }
        }
    }
}
