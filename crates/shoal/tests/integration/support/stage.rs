//! A stage for stories that shoal and the kernel play together: image files that both can get at,
//! one after the other.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
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
/// In a command line of shoal: all drives of the stage.
const DRIVES: &str = "DRIVES";

/// Image files, a kernel, and shoal. The kernel boots when it is first needed, and again after a
/// power cut.
///
/// Blocks of 512 bytes: shoal works on the files, as anybody may. Larger ones exist only as devices
/// of the kernel, so there shoal runs in the guest.
pub(crate) struct Stage {
    lab: Lab,
    directory: tempfile::TempDir,
    guest: Option<Guest>,
    /// The drives of the story under way, in the order in which they were made.
    drives: Vec<String>,
    /// Their logical blocks, as the kernel sees them.
    block_bytes: u32,
}

/// The lab, or a line that says why `what` is skipped.
pub(crate) fn lab(what: &str) -> Option<Lab> {
    Lab::find().map_err(|missing| eprintln!("SKIPPED: {what}: needs {missing}")).ok()
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

    /// `d0 d1 ...`: all drives.
    pub(crate) fn drives(&self) -> String {
        self.drives.join(" ")
    }

    /// Bytes of a file.
    pub(crate) fn peek(&self, name: &str, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        File::open(self.path(name)).unwrap().read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    /// Puts other bytes into a file behind everybody's back.
    pub(crate) fn poke(&self, name: &str, offset: u64, bytes: &[u8]) {
        File::options().write(true).open(self.path(name)).unwrap().write_all_at(bytes, offset).unwrap();
    }

    /// Runs a script, which has to succeed, with all drives attached: `$DRIVES` are their devices.
    /// Afterwards the drives are the host's again. Gives what was printed.
    pub(crate) fn kernel(&mut self, script: &str) -> String {
        let script = format!("{}\n{script}\ndetach", self.attach());
        self.guest().done(&script).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, for a script that will not come to its end.
    pub(crate) fn start_kernel(&mut self, script: &str) {
        let script = format!("{}\n{script}", self.attach());
        self.guest().start(&script).unwrap();
    }

    fn attach(&self) -> String {
        format!("dmesg --clear\nattach_all {} {}", self.block_bytes, self.drives())
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

    /// Cuts the kernel's power, whatever it is at. Gives the lines that its script had printed and
    /// nobody has taken yet.
    pub(crate) fn cut_power(&mut self) -> Vec<String> {
        self.guest.take().map(Guest::cut_power).unwrap_or_default()
    }

    /// Takes a drive away for good.
    pub(crate) fn lose(&mut self, number: usize) {
        let name = self.drives.remove(number);
        std::fs::remove_file(self.path(&name)).unwrap();
    }

    /// Runs shoal with files, if named, as its standard input and output; the word DRIVES in `line`
    /// stands for all drives. It has to succeed.
    pub(crate) fn shoal(&mut self, line: &str, input: Option<&str>, output: Option<&str>) {
        if self.block_bytes != 512 {
            self.shoal_inside(line, input.unwrap_or("/dev/null"), output.unwrap_or("/dev/null"));
            return;
        }
        let mut command = self.shoal_command(line);
        if let Some(name) = input {
            command.stdin(File::open(self.path(name)).unwrap());
        }
        if let Some(name) = output {
            command.stdout(File::create(self.path(name)).unwrap());
        }
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "shoal {line}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// The same in the guest, on devices. There is no AVX there, whatever the processor says of
    /// itself.
    fn shoal_inside(&mut self, line: &str, input: &str, output: &str) {
        let program = env!("CARGO_BIN_EXE_shoal");
        let line = with_drives(line, "$DRIVES");
        self.kernel(&format!(
            "SHOAL_STATE_DIRECTORY=/run/state {program} --quiet --parity-kernel scalar {line} <{input} 2>&1 >{output}"
        ));
    }

    /// The same with `--json`, for the document.
    pub(crate) fn json(&mut self, line: &str) -> Value {
        self.shoal(&format!("--json {line}"), None, Some("document"));
        serde_json::from_slice(&std::fs::read(self.path("document")).unwrap()).unwrap()
    }

    /// Runs shoal on the files; it has to be refused, in one line that says each of `words`.
    pub(crate) fn refused(&self, line: &str, words: &[&str]) {
        let ran = self.shoal_command(line).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && said.lines().count() == 1, "shoal {line}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "shoal {line}: {said}");
    }

    /// The program, to be started in the stage's directory with the words of `line`.
    pub(crate) fn shoal_command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
        let line = with_drives(line, &self.drives());
        command.arg("--quiet").args(line.split_whitespace()).current_dir(self.directory.path());
        command.env("SHOAL_STATE_DIRECTORY", self.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts shoal with a file as its input, and kills it at some `delay` after it has begun to
    /// change drives.
    pub(crate) fn killed(&self, line: &str, input: &str, delay: Duration) {
        let changed = || -> Vec<_> {
            self.drives.iter().map(|name| self.path(name).metadata().unwrap().modified().unwrap()).collect()
        };
        let before = changed();
        let mut command = self.shoal_command(line);
        let mut process = command.stdin(File::open(self.path(input)).unwrap()).spawn().unwrap();
        while changed() == before && process.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(delay);
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// The same, until it is killed with its array active. A writer that ended first has left the
    /// array clean, and writes again.
    pub(crate) fn killed_while_active(&mut self, line: &str, input: &str) {
        for _ in 0..100 {
            self.killed(line, input, Duration::from_millis(5));
            let examined = self.json("examine DRIVES");
            if examined["drives"].as_array().unwrap().iter().any(|drive| drive["superblock"]["clean"] == false) {
                return;
            }
        }
        panic!("shoal {line}: is never killed in its middle");
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

    /// Holds a file against another, byte by byte.
    pub(crate) fn assert_same(&self, one: &str, other: &str) {
        let (one_bytes, other_bytes) = (self.bytes(one), self.bytes(other));
        assert_eq!(one_bytes.len(), other_bytes.len(), "sizes of {one} and {other}");
        if one_bytes == other_bytes {
            return;
        }
        let differs = one_bytes.iter().zip(&other_bytes).position(|(a, b)| a != b);
        assert_eq!(differs, None, "the first byte in which {one} and {other} differ");
    }

    /// All bytes of a file.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }
}

/// Where a path ends: what shoal's documents call a drive, on either side.
pub(crate) fn name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap()
}

/// A command line with the drives in it. What the kernel has run this host has not: where an array
/// is named, members may be missing.
fn with_drives(line: &str, drives: &str) -> String {
    let names_an_array = !["create", "examine", "grow"].iter().any(|other| line.split(' ').any(|word| word == *other));
    let word = if names_an_array { "--degraded " } else { "" };
    line.replace(DRIVES, &format!("{word}{drives}"))
}
