//! Two hosts, what one of them serves, and transfers between them, one at a time.
//!
//! The client's files lie in memory, so that no drive but the array's is measured. What is
//! transferred follows from the study's seed and is incompressible; after each transfer both sides
//! are compared, byte by byte and outside of the measured time. Before content is read, to be
//! measured or to be compared, it is thrown out of the server's page cache: what is compared is
//! what the array holds.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

use crate::cpu::CpuClock;
use crate::files::{BLOCK_BYTES, copy, fill, remove, same, settle};
use crate::nfs::{NfsFile, Stability};
use crate::nfs_kind::{EXPORT, EXPORT_ASYNC, NfsKind};
use crate::nfs_mount::NfsMount;
use crate::options::Options;
use crate::pair::{Pair, SERVER};
use crate::result::Run;
use crate::servers::{OWNER, PASSWORD, SHARE, USER};
use crate::workload::{Direction, NFS_ASYNC, NFS_SYNC, Protocol, Workload};

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
    /// A directory of the array's file system that is the study's alone, as the server's host sees
    /// it.
    pub directory: Option<PathBuf>,
    /// Files below that file system, of which the page cache may hold parts: as the server's host
    /// sees them.
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

/// What the transfers of one study row share: two hosts, what is served, and the files that are
/// carried.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pair: &'a Pair,
    served: &'a Served,
    /// A directory in memory, of the same name everywhere.
    place: PathBuf,
    size_bytes: u64,
    nfs: NfsKind,
    /// How many there have been.
    transfers: u32,
}

/// Why a transfer came to nothing.
#[derive(Debug, thiserror::Error)]
enum TransferError {
    /// A file that the study itself handles.
    #[error("the study's files: {0}")]
    File(#[from] io::Error),
    /// The client, or what came of it.
    #[error("{0}")]
    Client(String),
}

impl From<String> for TransferError {
    fn from(reason: String) -> Self {
        Self::Client(reason)
    }
}

impl<'a> Scene<'a> {
    /// Brings the content to both sides.
    pub(crate) fn prepare(pair: &'a Pair, served: &'a Served, place: &Path, options: &Options) -> io::Result<Self> {
        let Options { size_bytes, nfs, seed, .. } = *options;
        let scene = Self { pair, served, place: place.to_owned(), size_bytes, nfs, transfers: 0 };
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
        if served.device.is_some() {
            scene.nbdcopy(Protocol::Device, Direction::Put).map_err(io::Error::other)?;
        }
        Ok(scene)
    }

    /// Transfers once, and compares what came.
    pub(crate) fn run(&mut self, workload: &Workload) -> Result<Run, String> {
        self.transfers += 1;
        self.once(workload).map_err(|error| error.to_string())
    }

    fn once(&self, workload: &Workload) -> Result<Run, TransferError> {
        let put = self.put_of(workload);
        remove(&self.of_client("got"))?;
        let mount = self.mount_for(workload)?;
        self.cool(self.of_directory(OFFERED))?;
        let (before, start) = (CpuClock::now(&self.pair.server), Instant::now());
        self.transfer(workload, mount.as_ref())?;
        let elapsed = start.elapsed();
        let settle = match (workload.direction, &put) {
            (Direction::Put, Some(put)) => Some(settle(put)?),
            // What was put is flushed, and nothing but the array's drives holds it.
            (Direction::Put, None) => Some(Duration::ZERO),
            (Direction::Get, _) => None,
        };
        let cpu = before.until(&CpuClock::now(&self.pair.server));
        mount.map_or(Ok(()), NfsMount::unmount)?;
        self.cool(put.clone())?;
        self.compare(workload, put.as_deref())?;
        // Room for the next one.
        put.as_deref().map_or(Ok(()), remove)?;
        Ok(Run { elapsed_ns: nanoseconds(elapsed), settle_ns: settle.map(nanoseconds), cpu })
    }

    /// What a put file is called: another name each time, as servers may remember a file that went
    /// behind their backs.
    fn put_name(&self) -> String {
        format!("put-{}", self.transfers)
    }

    /// The file that a workload puts, if it does.
    fn put_of(&self, workload: &Workload) -> Option<PathBuf> {
        let puts_file = workload.direction == Direction::Put && workload.protocol.is_of_files();
        self.of_directory(&self.put_name()).filter(|_| puts_file)
    }

    /// Lets the client do its work, to its end.
    fn transfer(&self, workload: &Workload, mount: Option<&NfsMount<'_>>) -> Result<(), String> {
        match (workload.protocol, workload.direction) {
            (Protocol::Array, Direction::Put) => self.copy_onto().map_err(|error| error.to_string()),
            (Protocol::Array, Direction::Get) => self.read_off().map_err(|error| error.to_string()),
            (Protocol::Device | Protocol::Nbd, direction) => self.nbdcopy(workload.protocol, direction),
            (Protocol::Nfs, direction) => match mount {
                Some(mount) => self.through(mount, direction).map_err(|error| format!("NFS: {error}")),
                None => self.nfs(workload, direction),
            },
            (Protocol::Smb, direction) => self.smbclient(direction),
            (Protocol::Ftp, direction) => self.curl(direction),
        }
    }

    fn copy_onto(&self) -> io::Result<()> {
        let put = self.of_directory(&self.put_name()).ok_or(io::ErrorKind::NotFound)?;
        copy(&self.of_client("source"), &put).map(drop)
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

    /// What a transfer by the kernel's NFS client goes through.
    fn mount_for(&self, workload: &Workload) -> Result<Option<NfsMount<'a>>, String> {
        if (workload.protocol, self.nfs) != (Protocol::Nfs, NfsKind::Kernel) {
            return Ok(None);
        }
        let export = if workload.name == NFS_ASYNC { EXPORT_ASYNC } else { EXPORT };
        NfsMount::new(&self.pair.client, &self.place, export, workload.name == NFS_SYNC).map(Some)
    }

    /// Copies as `cp` does. A client need not write back what it holds when a file is closed (it
    /// may hold a delegation), so it is told to: the commit belongs to the transfer.
    fn through(&self, mount: &NfsMount<'_>, direction: Direction) -> io::Result<()> {
        match direction {
            Direction::Put => copy(&self.of_client("source"), &mount.path(&self.put_name()))?.sync_all(),
            Direction::Get => copy(&mount.path(OFFERED), &self.of_client("got")).map(drop),
        }
    }

    fn nfs(&self, workload: &Workload, direction: Direction) -> Result<(), String> {
        let address = SocketAddr::new(SERVER, 2049);
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(5));
        let stream = self.pair.client.within(connect).map_err(|error| error.to_string())?;
        let stream = stream.map_err(|error| format!("{address}: {error}"))?;
        let (name, put) = match direction {
            Direction::Put => (self.put_name(), true),
            Direction::Get => (OFFERED.to_owned(), false),
        };
        let stability = match workload.name {
            NFS_SYNC => Stability::EachWrite,
            NFS_ASYNC => Stability::Never,
            _ => Stability::AtEnd,
        };
        let copy = || {
            let mut file = NfsFile::open(stream, (OWNER.user_id, OWNER.group_id), &[SHARE, &name], put)?;
            match put {
                true => file.put(&File::open(self.of_client("source"))?, self.size_bytes, stability)?,
                false => file.get(&File::create(self.of_client("got"))?, self.size_bytes)?,
            }
            file.close()
        };
        copy().map_err(|error: crate::nfs::NfsError| error.to_string())
    }

    fn smbclient(&self, direction: Direction) -> Result<(), String> {
        let mut command = self.pair.client.command("smbclient");
        command.args(["--configfile=/dev/null", "--option=client max protocol = SMB3", "--debuglevel=0"]);
        command.arg("--authentication-file").arg(self.of_client("smb")).arg(format!("//{SERVER}/{SHARE}"));
        let words = match direction {
            Direction::Put => format!("put {} {}", self.of_client("source").display(), self.put_name()),
            Direction::Get => format!("get {OFFERED} {}", self.of_client("got").display()),
        };
        command.arg("--command").arg(words);
        self.finish(command)
    }

    fn curl(&self, direction: Direction) -> Result<(), String> {
        let mut command = self.pair.client.command("curl");
        command.args(["--silent", "--show-error", "--netrc-file"]).arg(self.of_client("netrc"));
        match direction {
            Direction::Put => {
                command.arg("--upload-file").arg(self.of_client("source"));
                command.arg(format!("ftp://{SERVER}/{}", self.put_name()))
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

    /// Throws a file's content out of the server's page cache.
    fn cool(&self, file: Option<PathBuf>) -> io::Result<()> {
        let below = self.served.below.iter().map(|path| self.pair.server.path(path));
        for path in file.into_iter().chain(below) {
            let file = File::open(path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    /// Whether the content is what was sent.
    fn compare(&self, workload: &Workload, put: Option<&Path>) -> Result<(), TransferError> {
        let there = match (workload.direction, workload.protocol, put) {
            // Nothing is kept of what is only read.
            (Direction::Get, Protocol::Array, _) => return Ok(()),
            (Direction::Get, ..) => self.of_client("got"),
            (Direction::Put, _, Some(put)) => put.to_owned(),
            // A block device has no file to look at; what it holds is compared when it is got.
            (Direction::Put, _, None) => return Ok(()),
        };
        match same(&self.of_client("source"), &there)? {
            true => Ok(()),
            false => Err(TransferError::Client("what arrived is not what was sent".to_owned())),
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
