//! The buffers that all connections share.
//!
//! A client that stalls keeps the buffers that it has, until its deadline. So that nobody else is
//! brought to a halt meanwhile, two rules hold. One buffer is set aside for every client that may
//! come: whoever has none gets one, always. Of the others a connection gets one more only while it
//! has fewer than are left: the first of N greedy clients leaves half of them, and together they
//! leave one part in N + 1 to whoever comes next. (The latter are Choudhury and Hahne's dynamic
//! thresholds, for the shared memory of switches.)

/// The volume's request buffers, of which one is set aside for each client that may come.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<u32>,
}

impl Pool {
    pub(crate) fn new(buffers: impl Iterator<Item = u32>) -> Self {
        Self { free: buffers.collect() }
    }

    /// A buffer for a connection that has `held` of them, while so many clients that have none may
    /// want one.
    pub(crate) fn take(&mut self, held: usize, others_without: usize) -> Option<u32> {
        let is_allowed = held == 0 || held + others_without < self.free.len();
        if is_allowed { self.free.pop() } else { None }
    }

    pub(crate) fn give_back(&mut self, buffer: u32) {
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_connections_leave_something_to_everybody() {
        const CLIENTS: usize = 8;
        let mut pool = Pool::new(0..64);
        let mut others_without = CLIENTS;
        let mut take_all = || {
            others_without -= 1;
            let mut held = 0;
            while pool.take(held, others_without).is_some() {
                held += 1;
            }
            held
        };
        let taken: Vec<usize> = (0..CLIENTS).map(|_| take_all()).collect();
        assert_eq!(taken, [29, 15, 8, 4, 3, 2, 1, 1]);
    }
}
