//! Image files in a temporary directory, and the built program run on them.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod pool;
pub(crate) mod stage;
pub(crate) mod table;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use std::time::SystemTime;

use serde_json::Value;

/// Large enough for every level, small enough for many tests.
pub(crate) const DRIVE_BYTES: u64 = 8 << 20;

/// A directory with drives `d0`, `d1`, ...; removed at the end.
pub(crate) struct Bay {
    directory: tempfile::TempDir,
    /// Where its running arrays are administered. Names of sockets must be short.
    runtime: tempfile::TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Bay {
    pub(crate) fn new(drives: usize) -> Self {
        Self::with_sizes(&vec![DRIVE_BYTES; drives])
    }

    pub(crate) fn with_sizes(sizes: &[u64]) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let runtime = tempfile::tempdir().unwrap();
        let bay = Self { directory, runtime };
        for (number, &bytes) in sizes.iter().enumerate() {
            bay.add(&format!("d{number}"), bytes);
        }
        bay
    }

    /// One more sparse file.
    pub(crate) fn add(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(bytes).unwrap();
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where its running arrays are administered; made by the first that runs.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.runtime.path().join("shoal")
    }

    /// Where this host remembers its arrays.
    pub(crate) fn state(&self) -> PathBuf {
        self.runtime.path().join("state")
    }

    /// Starts the program in the bay, so that drives are named as people name them.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
        command.args(arguments).current_dir(self.directory.path());
        command.env("SHOAL_RUNTIME_DIRECTORY", self.runtime()).env("SHOAL_STATE_DIRECTORY", self.state());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command line, split at blanks.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line.split_whitespace()).output().unwrap())
    }

    /// The same with bytes on standard input.
    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut child = self.command(line.split_whitespace()).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A program that refuses reads nothing, and one that prints a lot is read meanwhile: a
            // broken pipe is no fault.
            scope.spawn(move || stdin.write_all(input).ok());
            Ran::of(child.wait_with_output().unwrap())
        })
    }

    /// Runs a command line that has to succeed.
    pub(crate) fn done(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "shoal {line}: {}", ran.stderr);
        ran
    }

    /// Writes bytes to an array, which has to succeed.
    pub(crate) fn write(&self, line: &str, input: &[u8]) {
        let ran = self.run_with(line, input);
        assert_eq!(ran.code, 0, "shoal {line}: {}", ran.stderr);
    }

    /// Runs a command line with `--json` that has to succeed.
    pub(crate) fn json(&self, line: &str) -> Value {
        self.done(&format!("--json {line}")).json()
    }

    /// Names, times of the last change and content of all files.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let changed = path.metadata().unwrap().modified().unwrap();
                files.push((path.clone(), changed, std::fs::read(&path).unwrap()));
            }
        }
        files.sort();
        files
    }

    /// Runs a command line that has to fail with `code`, in one line that says each of `words`, and
    /// writes nothing.
    pub(crate) fn refused(&self, line: &str, code: i32, words: &[&str]) -> Ran {
        let before = self.snapshot();
        let ran = self.run_with(line, b"these bytes must not be written");
        assert_eq!(ran.code, code, "shoal {line}: {}", ran.stderr);
        ran.is_one_line(line, words);
        assert!(self.snapshot() == before, "shoal {line} changed a file");
        ran
    }

    /// The same of an array that runs, whose superblocks may be written meanwhile.
    pub(crate) fn refused_running(&self, line: &str, code: i32, words: &[&str]) {
        let ran = self.run(line);
        assert_eq!(ran.code, code, "shoal {line}: {}", ran.stderr);
        ran.is_one_line(line, words);
    }

    /// Changes bytes behind everybody's back.
    pub(crate) fn poke(&self, name: &str, offset: u64, bytes: &[u8]) {
        File::options().write(true).open(self.path(name)).unwrap().write_all_at(bytes, offset).unwrap();
    }

    /// The bytes there.
    pub(crate) fn peek(&self, name: &str, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        File::open(self.path(name)).unwrap().read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    /// Starts the program and sends it SIGINT when it heeds it and `is_begun`, unless it has ended
    /// by then.
    pub(crate) fn interrupted(&self, line: &str, is_begun: impl Fn() -> bool) -> Ran {
        let mut child: Child = self.command(line.split_whitespace()).spawn().unwrap();
        while !(heeds_interrupts(child.id()) && is_begun()) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// How much of a file is there, whatever its size.
    pub(crate) fn allocated_bytes(&self, name: &str) -> u64 {
        std::os::unix::fs::MetadataExt::blocks(&self.path(name).metadata().unwrap()) * 512
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the program ends by itself"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one document on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.stdout)))
    }

    /// One line on standard error, which says each of `words`, and no panic.
    pub(crate) fn is_one_line(&self, what: &str, words: &[&str]) {
        assert_eq!(self.stderr.lines().count(), 1, "shoal {what}: {}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "shoal {what}: no `{word}` in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// Bytes that differ from block to block.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(length).collect()
}

/// Whether a process catches SIGINT.
fn heeds_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}

/// Whether a program is there.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').any(|directory| Path::new(directory).join(program).exists())
}

/// `d0 d1 ...`
pub(crate) fn names(numbers: impl IntoIterator<Item = usize>) -> String {
    numbers.into_iter().map(|number| format!("d{number}")).collect::<Vec<_>>().join(" ")
}
