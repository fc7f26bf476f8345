//! What a network study stands on: two hosts, and what one of them serves.
//!
//! ```text
//! a directory   ── mount --bind ──────────────────────────────────► PLACE/files ─► servers of files
//! an array      ── shoal serve ─┬─ export files ── FUSE ── loop ──►
//!  (overwritten)                └─ export blocks ─────────────────► NBD over the link
//! ```
//!
//! All of it runs on the server's host: processes, mounts and what they made go with that host,
//! whatever ends this program.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use shoal_documents::StateDocument;
use shoal_filesystem::Kind;
use shoal_network::{Pair, SERVER, Served, ServedDevice};
use tempfile::TempDir;

use super::target::Target;
use crate::commands::format::geometry::geometry;
use crate::exit::Failure;

/// Where NBD is looked for (IANA).
const NBD_PORT: u16 = 10_809;
/// What a loop device's blocks are unless told.
const LOOP_BLOCK_BYTES: u32 = 512;
/// How long a server may take to come up.
const PATIENCE: Duration = Duration::from_secs(120);
/// Exports begin and end at multiples of this.
const ALIGNMENT: u64 = 1 << 20;

/// Two hosts, with the array at one of them. The order of the fields is that in which they have to
/// go.
pub(super) struct Testbed {
    pub(super) pair: Pair,
    /// The array's server and its file.
    processes: Vec<Child>,
    pub(super) served: Served,
    place: TempDir,
    /// Its part of a directory that it was given.
    _own: Option<TempDir>,
}

impl Testbed {
    /// Sets it up.
    pub(super) fn lay(target: &Target, size_bytes: u64) -> Result<Self, Failure> {
        let place = temporary("shoal-network-", memory_directory())?;
        let own = match target {
            Target::Directory(path) => Some(temporary(".shoal-network-", path)?),
            Target::Array { .. } => None,
        };
        let files = place.path().join("files");
        make_directory(&files)?;
        let bound = own.as_ref().map(|own| (own.path(), files.as_path()));
        let pair = Pair::start(&[place.path()], bound).map_err(Failure::failed)?;
        let served =
            Served { description: target.description(), directory: Some(files), below: Vec::new(), device: None };
        let mut testbed = Self { pair, processes: Vec::new(), served, place, _own: own };
        if let Target::Array { members, state } = target {
            testbed.serve(members, state, size_bytes)?;
        }
        Ok(testbed)
    }

    /// The study's own directory.
    pub(super) fn place(&self) -> &Path {
        self.place.path()
    }

    /// Runs a program on the server's host, to its end.
    fn on_server(&self, command: &Command) -> Result<(), Failure> {
        let output = self.pair.server.command(command.get_program()).args(command.get_args()).output();
        let output = output.map_err(Failure::failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        Err(Failure::Failed(format!("{}: {said}", command.get_program().to_string_lossy())))
    }
}

impl Testbed {
    /// Serves the array: its end as blocks, what is before that as a file, and on that a file
    /// system.
    fn serve(&mut self, members: &[PathBuf], state: &StateDocument, size_bytes: u64) -> Result<(), Failure> {
        let capacity = state.array.capacity_bytes.unwrap_or(0);
        let files = capacity.saturating_sub(size_bytes) / ALIGNMENT * ALIGNMENT;
        let socket = self.place().join("nbd");
        let mut command = self.shoal()?;
        command.arg("serve").args(members).arg("--nbd").arg(format!("unix:{}", socket.display()));
        command.args(["--nbd", &format!("tcp:{SERVER}:{NBD_PORT}"), "--allow-plain-tcp"]);
        // Who names no export gets the first.
        command.args(["--export", &format!("files=0+{files}"), "--export", &format!("blocks={files}+{size_bytes}")]);
        self.start(command, &socket)?;
        let directory = self.place().join("device");
        make_directory(&directory)?;
        let file = directory.join("files");
        let mut front = self.shoal()?;
        front.args(["front", "--method", "fuse", "--socket"]).arg(&socket);
        front.arg("--directory").arg(&directory).args(["--name", "files", "--deadline-s", "60"]);
        front.args(["--logical-block-bytes", &LOOP_BLOCK_BYTES.to_string()]);
        self.start(front, &file)?;
        self.make_filesystem(&file, state, files)?;
        self.served.below.push(file);
        self.served.device = Some(ServedDevice { socket, port: NBD_PORT, export: "blocks".to_owned() });
        Ok(())
    }

    /// Makes a file system that fits the array, and mounts it where servers look.
    fn make_filesystem(&self, file: &Path, state: &StateDocument, size_bytes: u64) -> Result<(), Failure> {
        let geometry = geometry(state, LOOP_BLOCK_BYTES, size_bytes, None)?;
        let plan = shoal_filesystem::plan(Kind::Ext4, &geometry, None).map_err(Failure::failed)?;
        let words = plan.command(file);
        let (program, arguments) = words.split_first().expect("a plan begins with its program");
        self.on_server(Command::new(program).args(arguments))?;
        self.on_server(Command::new("mount").args(["-o", "loop"]).arg(file).arg(self.place().join("files")))
    }

    /// This program, on the server's host.
    fn shoal(&self) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let mut command = self.pair.server.command(program);
        command.env("SHOAL_RUNTIME_DIRECTORY", self.place().join("run"));
        Ok(command)
    }

    /// Starts a process that goes on, and waits for what it makes.
    fn start(&mut self, mut command: Command, made: &Path) -> Result<(), Failure> {
        let log = self.place().join("log");
        let complaints = File::create(&log).map_err(Failure::failed)?;
        let child = command.stdout(Stdio::null()).stderr(complaints).spawn().map_err(Failure::failed)?;
        self.processes.push(child);
        self.wait_for(made, &log)
    }

    /// Waits until the process that was started last has made a file.
    fn wait_for(&mut self, file: &Path, log: &Path) -> Result<(), Failure> {
        let start = Instant::now();
        while !self.pair.server.path(file).exists() {
            let ended = self.processes.last_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || start.elapsed() > PATIENCE {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                let said = said.lines().next().unwrap_or("it said nothing").trim_start_matches("shoal: ").to_owned();
                return Err(Failure::Failed(format!("what serves the array did not come up: {said}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Testbed {
    /// Ends the array in order, so that nothing has to be made consistent when it is opened again.
    fn drop(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        // What does not end is killed with the host.
        let _ = self.on_server(Command::new("umount").arg(self.place().join("files")));
        let start = Instant::now();
        // The array's file goes before the array's server.
        for child in self.processes.iter_mut().rev() {
            self.pair.server.ask_to_end(child);
            while matches!(child.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// A directory of files in memory, if there is one.
fn memory_directory() -> &'static Path {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared } else { Path::new("/tmp") }
}

/// A directory that goes with its owner, and that servers under any user can pass through.
pub(super) fn temporary(prefix: &str, parent: &Path) -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o755)).tempdir_in(parent);
    made.map_err(|error| Failure::Failed(format!("{}: {error}", parent.display())))
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}
