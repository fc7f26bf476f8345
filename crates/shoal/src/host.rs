//! The machine, for reports.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use shoal_drive::{IoEngine, IoLoop};
use shoal_study::model::Machine;
use shoal_study::run::Heading;

use crate::args::Cli;
use crate::exit::Failure;

/// What a report begins with, on this host; made when what it reports begins.
pub(crate) fn heading(host: Machine) -> Heading {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Heading {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started_unix_ns: since_1970.and_then(|duration| u64::try_from(duration.as_nanos()).ok()),
        host,
    }
}

/// What will carry the I/O, found as it will be found for each drive.
pub(crate) fn io_engine_name(cli: &Cli) -> Result<&'static str, Failure> {
    let arena = shoal_volume::Arena::new(4096).map_err(Failure::failed)?;
    let probe = IoLoop::new(cli.io_engine(), arena, 1).map_err(Failure::failed)?;
    Ok(match probe.engine() {
        IoEngine::Uring => "io_uring",
        IoEngine::Threads => "threads",
    })
}

/// What the system tells of itself; empty or 0 where it does not.
pub(crate) fn describe(io_engine: &str) -> Machine {
    let kernel = rustix::system::uname();
    Machine {
        os: os_name(),
        kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
        cpu_model: field("/proc/cpuinfo", "model name").or_else(|| field("/proc/cpuinfo", "Model")).unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        memory_bytes: memory_bytes().unwrap_or(0),
        io_engine: io_engine.to_owned(),
    }
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
