//! The buffers that all connections share.
//!
//! A client that stalls keeps the buffers that it has, until its deadline. So that nobody else is brought to a halt
//! meanwhile, a connection gets another buffer only while it has fewer than are free: the first of N greedy clients
//! is left with half of them, and together they leave one part in N + 1 to whoever comes next. (Choudhury and Hahne's
//! dynamic thresholds, for the shared memory of switches.) A connection without any gets one while there is one.

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<u32>,
}

impl Pool {
    pub(crate) fn new(buffers: impl Iterator<Item = u32>) -> Self {
        Self { free: buffers.collect() }
    }

    /// A buffer for a connection that has `held` of them.
    pub(crate) fn take(&mut self, held: usize) -> Option<u32> {
        if held > 0 && held >= self.free.len() { None } else { self.free.pop() }
    }

    pub(crate) fn give_back(&mut self, buffer: u32) {
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_connections_leave_something_to_the_next_one() {
        let mut pool = Pool::new(0..128);
        let mut take_all = || {
            let mut held = 0;
            while pool.take(held).is_some() {
                held += 1;
            }
            held
        };
        assert_eq!(take_all(), 64);
        assert_eq!(take_all(), 32);
        let later: Vec<usize> = (0..8).map(|_| take_all()).collect();
        assert_eq!(later, [16, 8, 4, 2, 1, 1, 0, 0]);
    }
}
