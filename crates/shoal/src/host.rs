//! The machine, for reports.

use std::fs;

use shoal_study::model::Host;

/// What the system tells of itself; empty or 0 where it does not.
pub(crate) fn describe(io_engine: &str) -> Host {
    let kernel = rustix::system::uname();
    Host {
        os: os_name(),
        kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
        cpu_model: field("/proc/cpuinfo", "model name").or_else(|| field("/proc/cpuinfo", "Model")).unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        memory_bytes: memory_bytes().unwrap_or(0),
        io_engine: io_engine.to_owned(),
    }
}

/// What the machine calls itself.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn os_name() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "Linux".to_owned(), |name| name.trim_matches('"').to_owned())
}

fn memory_bytes() -> Option<u64> {
    let kib: u64 = field("/proc/meminfo", "MemTotal")?.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// Memory that programs can have without others having to make room.
pub(crate) fn memory_available_bytes() -> Option<u64> {
    let kib: u64 = field("/proc/meminfo", "MemAvailable")?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The value of the first `name : value` line.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(named)
}
