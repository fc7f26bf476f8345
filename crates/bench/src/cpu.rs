//! CPU time, of a process and of the machine.
//!
//! Our own total comes from our CPU clock, to the nanosecond, and covers every thread, the kernel's
//! io_uring workers included, since those are threads of the process. How it divides into user and
//! system time is known to the kernel's tick only (`/proc/PID/stat`), so the split of a short run
//! is coarse and the total is not.

use rustix::time::{ClockId, clock_gettime};

/// CPU time up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    total_ns: u64,
    process: ProcessTime,
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
        let process = ProcessTime::of(std::process::id()).unwrap_or_default();
        Self { total_ns, process, machine_busy_ns: machine_busy_ns() }
    }

    pub(crate) fn until(&self, later: &Self) -> CpuSpent {
        let total_ns = later.total_ns.saturating_sub(self.total_ns);
        let user = later.process.user_ns.saturating_sub(self.process.user_ns);
        let system = later.process.system_ns.saturating_sub(self.process.system_ns);
        // Without a tick in either, all of it counts as system time: load generation hardly
        // computes.
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

/// What a process has used so far, as the kernel counts it: in ticks, of which there are a hundred
/// in most kernels' second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTime {
    /// Of its own program.
    pub user_ns: u64,
    /// Of the kernel, for it.
    pub system_ns: u64,
    /// Of both, by children of it that have ended and were waited for.
    pub children_ns: u64,
}

impl ProcessTime {
    /// That of a process of this machine; `None` if there is none of this number, or the kernel
    /// does not tell.
    pub fn of(process_id: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
        let [user, system, children_user, children_system] = ticks_of_stat(&text)?;
        let children_ns = in_ns(children_user.saturating_add(children_system));
        Some(Self { user_ns: in_ns(user), system_ns: in_ns(system), children_ns })
    }

    /// All of it.
    pub fn total_ns(self) -> u64 {
        self.user_ns.saturating_add(self.system_ns).saturating_add(self.children_ns)
    }
}

/// What all processors together have spent on anything since the machine started; `None` if the
/// kernel does not tell.
pub fn machine_busy_ns() -> Option<u64> {
    busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?).map(in_ns)
}

fn in_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// utime, stime, cutime and cstime, fields 14 to 17 of proc_pid_stat(5). The second field, the
/// name, may hold anything, but ends at the last parenthesis.
fn ticks_of_stat(text: &str) -> Option<[u64; 4]> {
    let fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks: Vec<u64> = fields.take(4).map_while(|field| field.parse().ok()).collect();
    ticks.try_into().ok()
}

/// Ticks that all processors together spent on anything, of the first line of proc_stat(5): user,
/// nice, system, idle, iowait, irq, softirq, steal, ... Stolen time was spent elsewhere.
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
        let stat = "42 (a (b) c) R 1 42 42 0 -1 4194304 100 0 0 0 123 45 6 7 20 0 1 0 100 1000 10";
        assert_eq!(ticks_of_stat(stat), Some([123, 45, 6, 7]));
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
