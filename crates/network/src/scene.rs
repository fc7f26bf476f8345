//! Two hosts, what one of them serves, and transfers between them, one at a time.
//!
//! The client's files lie in memory, so that no drive but the array's is measured. What is transferred follows from the
//! study's seed and is incompressible; after each transfer both sides are compared, byte by byte and outside of the
//! measured time. Before content is read it is thrown out of the server's page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::{Advice, fadvise};

use crate::cpu::CpuClock;
use crate::nfs::{NfsFile, Stability};
use crate::pair::{Pair, SERVER};
use crate::result::Run;
use crate::servers::{OWNER, PASSWORD, SHARE, USER};
use crate::workload::{Direction, NFS_ASYNC, NFS_SYNC, Protocol, Workload};

/// What is put and got in.
const BLOCK_BYTES: usize = 1 << 20;
/// What a transfer may take beside the time of its bytes at a tenth of the slowest link.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a client is asked whether it is done.
const GLANCE: Duration = Duration::from_micros(500);
/// The file that is got.
const OFFERED: &str = "offered";

/// What the server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// What it is, for people.
    pub description: String,
    /// A directory of the array's file system that is the study's alone, as the server's host sees it.
    pub directory: Option<PathBuf>,
    /// Files below that file system, of which the page cache may hold parts: as the server's host sees them.
    pub below: Vec<PathBuf>,
    /// The array as a block device, of which the study may overwrite everything.
    pub device: Option<ServedDevice>,
}

/// A block device that is served by NBD, as large as what is transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedDevice {
    /// Its socket, as the server's host sees it.
    pub socket: PathBuf,
    /// Its port at [`SERVER`].
    pub port: u16,
    /// Its export.
    pub export: String,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pair: &'a Pair,
    served: &'a Served,
    /// A directory in memory, of the same name everywhere.
    place: PathBuf,
    size_bytes: u64,
}

impl<'a> Scene<'a> {
    /// Brings the content to both sides.
    pub(crate) fn prepare(
        pair: &'a Pair,
        served: &'a Served,
        place: &Path,
        size_bytes: u64,
        seed: u64,
    ) -> io::Result<Self> {
        let scene = Self { pair, served, place: place.to_owned(), size_bytes };
        fill(&scene.of_client("source"), size_bytes, seed)?;
        let credentials = format!("username = {USER}\npassword = {PASSWORD}\n");
        std::fs::write(scene.of_client("smb"), credentials)?;
        std::fs::write(scene.of_client("netrc"), format!("machine {SERVER} login {USER} password {PASSWORD}\n"))?;
        if let Some(directory) = scene.of_directory("") {
            chown(&directory, Some(OWNER.user_id), Some(OWNER.group_id))?;
            let offered = directory.join(OFFERED);
            copy(&scene.of_client("source"), &offered)?;
            chown(&offered, Some(OWNER.user_id), Some(OWNER.group_id))?;
            std::fs::set_permissions(&offered, PermissionsExt::from_mode(0o644))?;
            File::open(&offered)?.sync_all()?;
        }
        Ok(scene)
    }

    /// Transfers once, and compares what came.
    pub(crate) fn run(&self, workload: &Workload) -> Result<Run, String> {
        let (got, put) = (self.of_client("got"), self.of_directory(workload.name));
        remove(&got).map_err(|error| error.to_string())?;
        if let Some(put) = put.as_ref().filter(|_| workload.protocol.is_of_files()) {
            remove(put).map_err(|error| error.to_string())?;
        }
        self.cool().map_err(|error| format!("the page cache cannot be emptied: {error}"))?;
        let (before, start) = (CpuClock::now(&self.pair.server), Instant::now());
        self.transfer(workload)?;
        let elapsed = start.elapsed();
        let settle = match (workload.direction, workload.protocol.is_of_files(), &put) {
            (Direction::Put, true, Some(put)) => Some(settle(put)?),
            // What was put is flushed, and nothing but the array's drives holds it.
            (Direction::Put, ..) => Some(Duration::ZERO),
            (Direction::Get, ..) => None,
        };
        let cpu = before.until(&CpuClock::now(&self.pair.server));
        self.compare(workload, &got)?;
        // Room for the next one.
        put.filter(|_| workload.protocol.is_of_files())
            .map_or(Ok(()), |put| remove(&put))
            .map_err(|e| e.to_string())?;
        Ok(Run { elapsed_ns: nanoseconds(elapsed), settle_ns: settle.map(nanoseconds), cpu })
    }

    /// Lets the client do its work, to its end.
    fn transfer(&self, workload: &Workload) -> Result<(), String> {
        match (workload.protocol, workload.direction) {
            (Protocol::Array, Direction::Put) => self.copy_onto(workload).map_err(|error| error.to_string()),
            (Protocol::Array, Direction::Get) => self.read_off().map_err(|error| error.to_string()),
            (Protocol::Device | Protocol::Nbd, direction) => self.nbdcopy(workload.protocol, direction),
            (Protocol::Nfs, direction) => self.nfs(workload, direction),
            (Protocol::Smb, direction) => self.smbclient(workload, direction),
            (Protocol::Ftp, direction) => self.curl(workload, direction),
        }
    }

    fn copy_onto(&self, workload: &Workload) -> io::Result<()> {
        let put = self.of_directory(workload.name).ok_or(io::ErrorKind::NotFound)?;
        copy(&self.of_client("source"), &put)
    }

    fn read_off(&self) -> io::Result<()> {
        let mut file = File::open(self.of_directory(OFFERED).ok_or(io::ErrorKind::NotFound)?)?;
        let (mut block, mut bytes) = (vec![0; BLOCK_BYTES], 0);
        loop {
            match file.read(&mut block)? {
                0 if bytes == self.size_bytes => return Ok(()),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => bytes += got as u64,
            }
        }
    }

    fn nbdcopy(&self, protocol: Protocol, direction: Direction) -> Result<(), String> {
        let device = self.served.device.as_ref().ok_or("no block device is served")?;
        let (host, place) = match protocol {
            Protocol::Device => {
                let socket = device.socket.display();
                (&self.pair.server, format!("nbd+unix:///{}?socket={socket}", device.export))
            }
            _ => (&self.pair.client, format!("nbd://{SERVER}:{}/{}", device.port, device.export)),
        };
        let mut command = host.command("nbdcopy");
        match direction {
            Direction::Put => command.arg("--flush").arg(self.of_client("source")).arg(place),
            Direction::Get => command.arg(place).arg(self.of_client("got")),
        };
        self.finish(command)
    }

    fn nfs(&self, workload: &Workload, direction: Direction) -> Result<(), String> {
        let address = SocketAddr::new(SERVER, 2049);
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(5));
        let stream = self.pair.client.within(connect).map_err(|error| error.to_string())?;
        let stream = stream.map_err(|error| format!("{address}: {error}"))?;
        let (name, put) = match direction {
            Direction::Put => (workload.name, true),
            Direction::Get => (OFFERED, false),
        };
        let stability = match workload.name {
            NFS_SYNC => Stability::EachWrite,
            NFS_ASYNC => Stability::Never,
            _ => Stability::AtEnd,
        };
        let copy = || {
            let mut file = NfsFile::open(stream, (OWNER.user_id, OWNER.group_id), &[SHARE, name], put)?;
            match put {
                true => file.put(&File::open(self.of_client("source"))?, self.size_bytes, stability)?,
                false => file.get(&File::create(self.of_client("got"))?, self.size_bytes)?,
            }
            file.close()
        };
        copy().map_err(|error: crate::nfs::NfsError| error.to_string())
    }

    fn smbclient(&self, workload: &Workload, direction: Direction) -> Result<(), String> {
        let mut command = self.pair.client.command("smbclient");
        command.args(["--configfile=/dev/null", "--option=client max protocol = SMB3", "--debuglevel=0"]);
        command.arg("--authentication-file").arg(self.of_client("smb")).arg(format!("//{SERVER}/{SHARE}"));
        let words = match direction {
            Direction::Put => format!("put {} {}", self.of_client("source").display(), workload.name),
            Direction::Get => format!("get {OFFERED} {}", self.of_client("got").display()),
        };
        command.arg("--command").arg(words);
        self.finish(command)
    }

    fn curl(&self, workload: &Workload, direction: Direction) -> Result<(), String> {
        let mut command = self.pair.client.command("curl");
        command.args(["--silent", "--show-error", "--netrc-file"]).arg(self.of_client("netrc"));
        match direction {
            Direction::Put => {
                command.arg("--upload-file").arg(self.of_client("source"));
                command.arg(format!("ftp://{SERVER}/{}", workload.name))
            }
            Direction::Get => {
                command.arg("--output").arg(self.of_client("got")).arg(format!("ftp://{SERVER}/{OFFERED}"))
            }
        };
        self.finish(command)
    }

    /// Lets a client program run to its end, if that comes.
    fn finish(&self, mut command: Command) -> Result<(), String> {
        let slowest_bytes_per_s = 12_500;
        let patience = PATIENCE + Duration::from_secs(self.size_bytes / slowest_bytes_per_s);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let start = Instant::now();
        loop {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{status}: {}", last_words(&mut child))),
                None if start.elapsed() > patience => {
                    // nsenter passes nothing on; what it runs ends with its host.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("not done after {} s", patience.as_secs()));
                }
                None => thread::sleep(GLANCE),
            }
        }
    }

    /// Throws content out of the server's page cache.
    fn cool(&self) -> io::Result<()> {
        let offered = self.of_directory(OFFERED);
        let below = self.served.below.iter().map(|path| self.pair.server.path(path));
        for path in offered.into_iter().chain(below) {
            let file = File::open(path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    /// Whether the content is what was sent.
    fn compare(&self, workload: &Workload, got: &Path) -> Result<(), String> {
        let there = match (workload.direction, workload.protocol) {
            (Direction::Get, Protocol::Array) => return Ok(()),
            (Direction::Get, _) => got.to_owned(),
            // A block device has no file to look at; what it holds is compared when it is got.
            (Direction::Put, Protocol::Device | Protocol::Nbd) => return Ok(()),
            (Direction::Put, _) => self.of_directory(workload.name).ok_or("no directory is served")?,
        };
        match same(&self.of_client("source"), &there) {
            Ok(true) => Ok(()),
            Ok(false) => Err("what arrived is not what was sent".to_owned()),
            Err(error) => Err(format!("what arrived cannot be read: {error}")),
        }
    }

    /// A file of the client's.
    fn of_client(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// A file of the served directory, as this process sees it.
    fn of_directory(&self, name: &str) -> Option<PathBuf> {
        self.served.directory.as_ref().map(|directory| self.pair.server.path(directory).join(name))
    }
}

/// Fills a file with what no compression makes smaller.
fn fill(path: &Path, size_bytes: u64, seed: u64) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut file, mut block, mut left) = (File::create(path)?, vec![0; BLOCK_BYTES], size_bytes);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        random.fill_bytes(&mut block);
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// Copies a file, as `cp` does where files cannot share blocks.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to, mut block) = (File::open(from)?, File::create(to)?, vec![0; BLOCK_BYTES]);
    loop {
        match from.read(&mut block)? {
            0 => return Ok(()),
            got => to.write_all(&block[..got])?,
        }
    }
}

/// Whether two files hold the same.
fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    loop {
        let got = one.read(&mut left)?;
        other.read_exact(&mut right[..got])?;
        if left[..got] != right[..got] {
            return Ok(false);
        }
        if got == 0 {
            return Ok(true);
        }
    }
}

/// Makes what was put durable, on the server; returns how long that took.
fn settle(path: &Path) -> Result<Duration, String> {
    let start = Instant::now();
    let synced = OpenOptions::new().read(true).open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(start.elapsed())
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What a program said last.
fn last_words(child: &mut Child) -> String {
    let mut said = String::new();
    // A program's complaint fits a pipe; what does not was not waited for.
    for output in [
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
    ] {
        let _ = output.map(|pipe| pipe.take(4096).read_to_string(&mut said));
    }
    said.trim().replace('\n', "; ")
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
