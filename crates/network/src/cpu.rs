//! The processor time of a host's processes, of our own, and of the whole machine.
//!
//! A process's time includes that of its children which have ended, so a server that makes a process for each client is
//! counted whole. What the kernel does for the network outside of any process, and in threads of its own, is in the machine's
//! figure alone.

use crate::host::Host;
use crate::result::CpuUse;

/// Processor time up to a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuClock {
    server: u64,
    client: u64,
    machine: u64,
}

impl CpuClock {
    /// Reads the clocks. The client is whatever this process does itself, and the programs that it has run to their end.
    pub(crate) fn now(server: &Host) -> Self {
        let of = |id: u32| std::fs::read_to_string(format!("/proc/{id}/stat")).ok();
        let server = server.processes().into_iter().filter_map(of).filter_map(|text| process_ticks(&text)).sum();
        let client = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| process_ticks(&text));
        let machine = std::fs::read_to_string("/proc/stat").ok().and_then(|text| machine_ticks(&text));
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let in_ns = |ticks: u64| ticks.saturating_mul(tick_ns);
        Self { server: in_ns(server), client: in_ns(client.unwrap_or(0)), machine: in_ns(machine.unwrap_or(0)) }
    }

    /// What was used until a later moment.
    pub(crate) fn until(&self, later: &Self) -> CpuUse {
        CpuUse {
            server_ns: later.server.saturating_sub(self.server),
            client_ns: later.client.saturating_sub(self.client),
            machine_ns: later.machine.saturating_sub(self.machine),
        }
    }
}

/// utime, stime, cutime and cstime, fields 14 to 17 of proc_pid_stat(5). The second field, the name, may hold anything, but
/// ends at the last parenthesis.
fn process_ticks(text: &str) -> Option<u64> {
    let fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks: Vec<u64> = fields.take(4).map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

/// user, nice, system, irq and softirq of the first line of proc_stat(5).
fn machine_ticks(text: &str) -> Option<u64> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let &[user, nice, system, _idle, _iowait, irq, softirq, ..] = ticks.as_slice() else { return None };
    Some(user + nice + system + irq + softirq)
}

#[cfg(test)]
mod tests {
    use super::{machine_ticks, process_ticks};

    #[test]
    fn the_kernels_files_are_read_right() {
        let stat = "42 (a (b) c) R 1 42 42 0 -1 4194304 100 0 0 0 123 45 6 7 20 0 1 0 100 1000 10";
        assert_eq!(process_ticks(stat), Some(181));
        assert_eq!(process_ticks("42 (a) R 1"), None);
        assert_eq!(machine_ticks("cpu  1 2 3 1000 2000 4 5 6 0 0\ncpu0 1 2 3"), Some(15));
    }
}
