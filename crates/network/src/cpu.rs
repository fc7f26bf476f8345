//! The processor time of a host's processes, of our own, and of the whole machine.
//!
//! A process's time includes that of its children which have ended, so a server that makes a
//! process for each client is counted whole. What the kernel does for the network outside of any
//! process, and in threads of its own, is in the machine's figure alone; but for the threads of its
//! NFS server, which belong to no host and are counted as the server's.

use shoal_bench::{ProcessTime, machine_busy_ns};

use crate::host::IsolatedHost;
use crate::result::CpuUse;

/// What the kernel calls the threads of its NFS server.
const NFS_THREADS: &str = "nfsd";

/// Processor time up to a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuClock {
    server: u64,
    client: u64,
    machine: u64,
}

impl CpuClock {
    /// Reads the clocks. The client is whatever this process does itself, and the programs that it
    /// has run to their end.
    pub(crate) fn now(server: &IsolatedHost) -> Self {
        let of = |process: u32| ProcessTime::of(process).map_or(0, ProcessTime::total_ns);
        let servers = server.processes().into_iter().chain(threads_of_kernel(NFS_THREADS));
        Self { server: servers.map(of).sum(), client: of(std::process::id()), machine: machine_busy_ns().unwrap_or(0) }
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

/// The kernel's own threads of a name: processes without a program.
fn threads_of_kernel(name: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_it = |entry: &std::fs::DirEntry| {
        let named = std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name);
        named && std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.is_empty())
    };
    entries.flatten().filter(is_it).filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
