//! The clients: one run of a load against one server.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::servers::Server;
use crate::versus::Failure;

/// What a client does.
pub(crate) enum Load {
    /// nbdcopy to nowhere.
    CopyOut,
    /// nbdcopy of a file in memory, and a flush.
    CopyIn,
    /// fio, 4 KiB at random places.
    Random { writes: bool, depth: u32 },
}

/// What one run came to.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) bytes_per_s: f64,
    pub(crate) cpu_ns_per_byte: f64,
}

/// Loads a server for about so many seconds.
pub(crate) fn run(load: &Load, server: &Server, source: &Path, seconds: u32) -> Result<Run, Failure> {
    server.cool()?;
    let before_ns = server.cpu_ns()?;
    let (bytes, time) = match *load {
        Load::CopyOut => copy(server, None, seconds)?,
        Load::CopyIn => copy(server, Some(source), seconds)?,
        Load::Random { writes, depth } => random(server, writes, depth, seconds)?,
    };
    let cpu_ns = server.cpu_ns()? - before_ns;
    Ok(Run { bytes_per_s: bytes / time.as_secs_f64(), cpu_ns_per_byte: cpu_ns / bytes })
}

/// Copies again and again: bytes, and the time that the copies took, connecting included.
fn copy(server: &Server, source: Option<&Path>, seconds: u32) -> Result<(f64, Duration), Failure> {
    let (mut bytes, mut time) = (0.0, Duration::ZERO);
    let size_bytes = match source {
        Some(source) => source.metadata()?.len(),
        None => size_bytes(server)?,
    };
    while time < Duration::from_secs(u64::from(seconds)) {
        server.cool()?;
        let mut command = Command::new("nbdcopy");
        match source {
            Some(source) => command.arg("--flush").arg(source).arg(server.uri()),
            None => command.args([&server.uri(), "null:"]),
        };
        let start = Instant::now();
        if !command.status()?.success() {
            return Err(format!("nbdcopy failed against {}", server.contender.name).into());
        }
        time += start.elapsed();
        bytes += size_bytes as f64;
    }
    Ok((bytes, time))
}

/// What the export holds.
fn size_bytes(server: &Server) -> Result<u64, Failure> {
    let output = Command::new("nbdinfo").args(["--size", &server.uri()]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn random(server: &Server, writes: bool, depth: u32, seconds: u32) -> Result<(f64, Duration), Failure> {
    let direction = if writes { "write" } else { "read" };
    let size_bytes = size_bytes(server)?;
    let output = Command::new("fio")
        .args(["--name=random", "--ioengine=nbd", "--bs=4k", "--time_based", "--output-format=json"])
        .args([format!("--uri={}", server.uri()), format!("--rw=rand{direction}"), format!("--iodepth={depth}")])
        .args([format!("--runtime={seconds}"), format!("--size={}", size_bytes / 4096 * 4096)])
        .args(["--refill_buffers=0", "--randrepeat=0"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("fio failed against {}", server.contender.name).into());
    }
    let document: Value = serde_json::from_slice(from_brace(&output.stdout))?;
    let job = &document["jobs"][0];
    let bytes = job[direction]["io_bytes"].as_f64().ok_or("fio tells no bytes")?;
    let runtime_ms = job[direction]["runtime"].as_f64().ok_or("fio tells no time")?;
    Ok((bytes, Duration::from_secs_f64(runtime_ms / 1e3)))
}

/// fio says a word about the engine before its document.
fn from_brace(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().position(|&byte| byte == b'{').unwrap_or(0)..]
}
