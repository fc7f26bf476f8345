//! A stage for stories that shoal and the kernel play together: image files that both can get at, one after the other.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shoal_lab::{Guest, Lab};

/// What the kernel says of an array that it does not like, or not entirely.
const COMPLAINTS: [&str; 12] = [
    "kicking",
    "non-fresh",
    "not clean",
    "fail",
    "error",
    "invalid",
    "corrupt",
    "reject",
    "cannot",
    "mismatch",
    "out of date",
    "resync of RAID",
];

/// Image files, a kernel, and shoal. The kernel boots when it is first needed, and again after a power cut.
pub(crate) struct Stage {
    lab: Lab,
    directory: tempfile::TempDir,
    guest: Option<Guest>,
    /// The drives of the story under way, in the order in which they were made.
    drives: Vec<String>,
    /// Their logical blocks, as the kernel sees them.
    block_bytes: u32,
}

impl Stage {
    pub(crate) fn new(lab: &Lab) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { lab: lab.clone(), directory, guest: None, drives: Vec::new(), block_bytes: 512 }
    }

    /// Removes what an earlier story left, and makes sparse files `d0`, `d1`, ... of these sizes.
    pub(crate) fn set(&mut self, sizes_bytes: &[u64], block_bytes: u32) {
        for entry in std::fs::read_dir(self.directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
        self.drives.clear();
        self.block_bytes = block_bytes;
        for &bytes in sizes_bytes {
            self.add(bytes);
        }
    }

    /// One more drive, which gets the next number.
    pub(crate) fn add(&mut self, size_bytes: u64) {
        let name = format!("d{}", self.drives.len());
        File::create(self.path(&name)).unwrap().set_len(size_bytes).unwrap();
        self.drives.push(name);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `d0 d1 ...`: all drives, as shoal is given them.
    pub(crate) fn drives(&self) -> String {
        self.drives.join(" ")
    }

    /// Runs a script, which has to succeed, with all drives attached: `$DRIVES` are their devices. Afterwards the
    /// drives are the host's again. Gives what was printed.
    pub(crate) fn kernel(&mut self, script: &str) -> String {
        let attach = format!("attach_all {} {}", self.block_bytes, self.drives());
        self.guest().done(&format!("dmesg --clear\n{attach}\n{script}\ndetach")).unwrap_or_else(|error| {
            panic!("{error}");
        })
    }

    /// The guest, which boots if there is none.
    pub(crate) fn guest(&mut self) -> &mut Guest {
        let Self { lab, directory, guest, .. } = self;
        guest.get_or_insert_with(|| lab.boot(directory.path()).unwrap())
    }

    /// What the kernel complained of since the last script began.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let log = self.guest().done("dmesg --notime").unwrap();
        log.lines().filter(|line| COMPLAINTS.iter().any(|word| line.contains(word))).map(str::to_owned).collect()
    }

    /// Cuts the kernel's power, whatever it is at.
    pub(crate) fn cut_power(&mut self) {
        if let Some(guest) = self.guest.take() {
            guest.cut_power();
        }
    }

    /// Runs shoal in the stage's directory with files, if named, as its standard input and output. It has to succeed.
    pub(crate) fn shoal(&self, line: &str, input: Option<&str>, output: Option<&str>) -> Vec<u8> {
        let mut command = self.shoal_command(line);
        if let Some(name) = input {
            command.stdin(File::open(self.path(name)).unwrap());
        }
        if let Some(name) = output {
            command.stdout(File::create(self.path(name)).unwrap());
        }
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "shoal {line}: {}", String::from_utf8_lossy(&ran.stderr));
        ran.stdout
    }

    /// The same with `--json`, for the document.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_slice(&self.shoal(&format!("--json {line}"), None, None)).unwrap()
    }

    /// The program, to be started in the stage's directory with the words of `line`.
    pub(crate) fn shoal_command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
        command.arg("--quiet").args(line.split_whitespace()).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs one of the host's tools in the stage's directory. It has to succeed.
    pub(crate) fn tool(&self, line: &str) {
        let mut words = line.split_whitespace();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let mut command = Command::new(words.next().unwrap());
        let ran = command.args(words).env("PATH", path).current_dir(self.directory.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{line}: {errors}{}", String::from_utf8_lossy(&ran.stdout));
    }
}

/// Whether two files hold the same bytes; else where they first differ.
pub(crate) fn assert_same(one: &Path, other: &Path, what: &str) {
    let (one, other) = (std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    assert_eq!(one.len(), other.len(), "{what}: sizes");
    let differs = one.iter().zip(&other).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{what}: first byte that differs");
}
