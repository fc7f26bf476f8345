//! CPU time, of the process and of the machine.
//!
//! The process's total comes from its CPU clock, to the nanosecond, and covers every thread, the kernel's io_uring
//! workers included, since those are threads of the process. How it divides into user and system time is known to the
//! kernel's tick only (`/proc/PID/stat`), so the split of a short run is coarse and the total is not.

use rustix::time::{ClockId, clock_gettime};

/// CPU time up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    total_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    machine_busy_ns: Option<u64>,
}

/// CPU time over a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuSpent {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) machine_busy_ns: Option<u64>,
}

impl CpuTimes {
    pub(crate) fn now() -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let total_ns = u64::try_from(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)).unwrap_or(0);
        let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| ticks_of_stat(&text));
        let (user_ticks, system_ticks) = ticks.unwrap_or_default();
        let machine = std::fs::read_to_string("/proc/stat").ok().and_then(|text| busy_ticks(&text));
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Self { total_ns, user_ticks, system_ticks, machine_busy_ns: machine.map(|ticks| ticks.saturating_mul(tick_ns)) }
    }

    pub(crate) fn until(&self, later: &Self) -> CpuSpent {
        let total_ns = later.total_ns.saturating_sub(self.total_ns);
        let user = later.user_ticks.saturating_sub(self.user_ticks);
        let system = later.system_ticks.saturating_sub(self.system_ticks);
        // Without a tick in either, all of it counts as system time: load generation hardly computes.
        let user_ns = u128::from(total_ns) * u128::from(user) / u128::from((user + system).max(1));
        let user_ns = u64::try_from(user_ns).unwrap_or(total_ns);
        let busy = later.machine_busy_ns.zip(self.machine_busy_ns);
        CpuSpent {
            user_ns,
            system_ns: total_ns - user_ns,
            machine_busy_ns: busy.map(|(later, earlier)| later.saturating_sub(earlier)),
        }
    }
}

/// utime and stime, fields 14 and 15 of proc_pid_stat(5). The second field, the name, may hold anything, but ends at
/// the last parenthesis.
fn ticks_of_stat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Ticks that all processors together spent on anything, of the first line of proc_stat(5): user, nice, system, idle,
/// iowait, irq, softirq, steal, ... Stolen time was spent elsewhere.
fn busy_ticks(text: &str) -> Option<u64> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let &[user, nice, system, _idle, _iowait, irq, softirq, ..] = ticks.as_slice() else { return None };
    Some(user + nice + system + irq + softirq)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{CpuTimes, busy_ticks, ticks_of_stat};

    #[test]
    fn the_kernels_files_are_read_right() {
        let stat = "42 (a (b) c) R 1 42 42 0 -1 4194304 100 0 0 0 123 45 0 0 20 0 1 0 100 1000 10";
        assert_eq!(ticks_of_stat(stat), Some((123, 45)));
        assert_eq!(ticks_of_stat("42 (a)"), None);
        assert_eq!(busy_ticks("cpu  1 2 3 1000 2000 4 5 6 0 0\ncpu0 1 2 3"), Some(15));
        assert_eq!(busy_ticks("intr 5"), None);
    }

    #[test]
    fn work_is_seen() {
        let before = CpuTimes::now();
        let mut value = 1;
        let mut after = before;
        while after.total_ns - before.total_ns < 20_000_000 {
            value = (0..100_000).fold(value, |value: u64, _| std::hint::black_box(crate::fill::mix(value)));
            after = CpuTimes::now();
        }
        let spent = before.until(&after);
        assert!(spent.user_ns + spent.system_ns >= 20_000_000);
        assert!(spent.machine_busy_ns.is_some());
    }
}
