//! The FUSE front against nbdfuse (libnbd), both on the same server: nbdkit with a disk in memory,
//! at a Unix socket. So what differs is the way from the file to the socket and back.
//!
//! `cargo bench -p shoal-attach --bench versus_nbdfuse -- [--rounds N] [--seconds S]`, as root for
//! the loop devices; it needs nbdkit, nbdfuse, fio, losetup and mkfs.ext4.
//!
//! The files come first; then each gets a loop device with direct I/O that carries ext4. One side
//! is used at a time, they take turns, and who begins changes from round to round. A ratio is that
//! of one round; their median is shown, with the least and the greatest.

#![allow(clippy::unwrap_used, reason = "a benchmark on a machine that lacks something may end by panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use shoal_attach::fuse::{self, Access, FileOptions, FuseError};
use shoal_attach::{Client, ClientOptions, LoopDevice, LoopOptions};

/// What fio is asked for.
const POINTS: [(&str, &[&str]); 6] = [
    ("4 KiB read, depth 1", &["--rw=randread", "--bs=4k", "--iodepth=1"]),
    ("4 KiB read, depth 32", &["--rw=randread", "--bs=4k", "--iodepth=32"]),
    ("4 KiB write, depth 1", &["--rw=randwrite", "--bs=4k", "--iodepth=1"]),
    ("4 KiB write, depth 32", &["--rw=randwrite", "--bs=4k", "--iodepth=32"]),
    ("1 MiB read, depth 4", &["--rw=read", "--bs=1M", "--iodepth=4"]),
    ("1 MiB write, depth 4", &["--rw=write", "--bs=1M", "--iodepth=4"]),
];
/// Of the disk in memory.
const MIB: &str = "512M";

fn main() {
    let [mut rounds, mut seconds] = [5, 3];
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    for pair in arguments.chunks(2) {
        match (&pair[0][..], pair.get(1).and_then(|value| value.parse().ok())) {
            ("--rounds", Some(value)) => rounds = value,
            ("--seconds", Some(value)) => seconds = value,
            _ => panic!("usage: [--rounds N] [--seconds S]"),
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let mut shoal = Side::of_shoal(&directory.path().join("shoal"));
    let mut peer = Side::of_nbdfuse(&directory.path().join("nbdfuse"));
    say(&format!("shoal's rate over nbdfuse's: median of {rounds} rounds (least to greatest)"));
    let files = [shoal.file.clone(), peer.file.clone()];
    compare("the file", &files, rounds, seconds);
    compare("ext4 on a loop device", &[shoal.add_file_system(), peer.add_file_system()], rounds, seconds);
}

/// Ours comes first.
fn compare(target: &str, files: &[PathBuf; 2], rounds: u32, seconds: u32) {
    for (name, load) in POINTS {
        let ratio = |round: u32| {
            let mut rates = [0.0; 2];
            for turn in 0..2 {
                let side = usize::from((round + turn) % 2 == 1);
                rates[side] = rate(&files[side], load, seconds);
            }
            rates[0] / rates[1]
        };
        let mut ratios: Vec<_> = (0..rounds).map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let (least, greatest) = (ratios[0], ratios[ratios.len() - 1]);
        say(&format!("{target}, {name}: {:.2} ({least:.2} to {greatest:.2})", ratios[ratios.len() / 2]));
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").unwrap();
}

/// Bytes per second, as fio says.
fn rate(file: &Path, load: &[&str], seconds: u32) -> f64 {
    let mut fio = Command::new("fio");
    fio.args(["--name=load", "--ioengine=libaio", "--direct=1", "--size=256M", "--time_based", "--minimal"]).args(load);
    fio.arg(format!("--runtime={seconds}")).arg(format!("--filename={}", file.display()));
    let output = fio.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Field 7 of the terse format is what was read, 48 what was written, in KiB/s.
    let told = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<_> = told.trim().split(';').collect();
    let of = |field: usize| fields[field - 1].parse::<f64>().unwrap();
    of(7) + of(48)
}

/// A server, a file over it, and ext4 on a loop device on that.
struct Side {
    file: PathBuf,
    directory: PathBuf,
    disk: Option<LoopDevice>,
    front: Option<Front>,
    server: Child,
}

enum Front {
    Shoal(std::sync::mpsc::Sender<()>, JoinHandle<Result<(), FuseError>>),
    Nbdfuse(Child),
}

impl Side {
    fn of_shoal(directory: &Path) -> Self {
        let (server, socket) = serve(directory);
        let options = ClientOptions { export: String::new(), deadline: Duration::from_secs(30), connections: 1 };
        let client = Client::connect(&socket, &options).unwrap();
        let (tell, told) = channel();
        let (stop, stopped) = channel();
        let mount_point = directory.join("front");
        let thread = std::thread::spawn(move || {
            let options = FileOptions { name: "array".to_owned(), access: Access::Owner };
            fuse::run(&client, &mount_point, &options, |path| tell.send(path.to_owned()).unwrap(), stopped)
        });
        let file = told.recv().unwrap();
        Self::new(directory, file, Front::Shoal(stop, thread), server)
    }

    fn of_nbdfuse(directory: &Path) -> Self {
        let (server, socket) = serve(directory);
        let file = directory.join("front/nbd");
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        // As many connections as it takes by itself.
        let front = Command::new("nbdfuse").arg(file.parent().unwrap()).arg(uri).stdin(Stdio::null()).spawn().unwrap();
        until(|| file.exists());
        Self::new(directory, file, Front::Nbdfuse(front), server)
    }

    fn new(directory: &Path, file: PathBuf, front: Front, server: Child) -> Self {
        Self { file, directory: directory.to_owned(), disk: None, front: Some(front), server }
    }

    /// A loop device on the file, ext4 on it, and a file in that.
    fn add_file_system(&mut self) -> PathBuf {
        let options = LoopOptions { logical_block_bytes: 512, is_read_only: false, has_partitions: false };
        let disk = self.disk.insert(LoopDevice::attach(&self.file, options).unwrap());
        let mounted = self.directory.join("mounted");
        done(Command::new("mkfs.ext4").arg("-q").arg(disk.device()));
        done(Command::new("mount").arg(disk.device()).arg(&mounted));
        mounted.join("file")
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            let _ = Command::new("umount").arg(self.directory.join("mounted")).status();
            let _ = disk.detach();
        }
        match self.front.take() {
            Some(Front::Shoal(stop, thread)) => {
                let _ = stop.send(());
                let _ = thread.join();
            }
            Some(Front::Nbdfuse(mut child)) => {
                let _ = Command::new("umount").arg(self.directory.join("front")).status();
                let _ = child.wait();
            }
            None => {}
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// nbdkit with a disk in memory, and its socket.
fn serve(directory: &Path) -> (Child, PathBuf) {
    for inside in ["front", "mounted"] {
        std::fs::create_dir_all(directory.join(inside)).unwrap();
    }
    let socket = directory.join("nbd");
    let mut nbdkit = Command::new("nbdkit");
    nbdkit.args(["--foreground", "--unix"]).arg(&socket).args(["memory", MIB, "allocator=malloc"]);
    let server = nbdkit.spawn().unwrap();
    until(|| socket.exists());
    (server, socket)
}

fn done(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn until(happens: impl Fn() -> bool) {
    for _ in 0..500 {
        if happens() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not happen");
}
