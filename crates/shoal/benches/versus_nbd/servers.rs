//! Who is compared: files, and the server that exports them.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

use crate::versus::{Failure, write_random};

/// Members of each array.
const MEMBERS: u64 = 6;
/// What a member holds beside content, with room to spare.
const OVERHEAD_MIB: u64 = 8;
/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who exports what.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Shoal { level: &'static str, data_members: u64 },
    Nbdkit,
    Qemu,
}

/// One side of the comparison.
#[derive(Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

impl Contender {
    pub(crate) const fn array(name: &'static str, level: &'static str, data_members: u64) -> Self {
        Self { name, kind: Kind::Shoal { level, data_members } }
    }

    pub(crate) const fn peer(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }
}

/// A server that runs; killed when this is dropped.
pub(crate) struct Server {
    pub(crate) contender: Contender,
    child: Child,
    socket: PathBuf,
    files: Vec<PathBuf>,
    /// Whether the files lie on a disk.
    is_on_disk: bool,
}

impl Server {
    /// Makes the files and starts the server on them.
    pub(crate) fn start(contender: &Contender, directory: &Path, mib: u64) -> Result<Self, Failure> {
        let is_on_disk = rustix::fs::statfs(directory)?.f_type as u64 != 0x0102_1994; // TMPFS_MAGIC
        let path = |name: &str| directory.join(format!("{}-{name}", contender.name));
        let (count, file_mib) = match contender.kind {
            Kind::Shoal { data_members, .. } => (MEMBERS, mib.div_ceil(data_members) + OVERHEAD_MIB),
            Kind::Nbdkit | Kind::Qemu => (1, mib),
        };
        let files: Vec<PathBuf> = (0..count).map(|number| path(&number.to_string())).collect();
        files.iter().try_for_each(|file| write_random(file, file_mib))?;
        let socket = path("socket");
        let mut command = command(contender.kind, &files, &socket, is_on_disk)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { contender: *contender, child, socket, files, is_on_disk };
        let start = Instant::now();
        while UnixStream::connect(&server.socket).is_err() {
            if start.elapsed() > PATIENCE {
                return Err(format!("{} does not come up", contender.name).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// What clients call it.
    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    /// Makes the page cache let go of the files, where they lie on a disk.
    pub(crate) fn cool(&self) -> Result<(), Failure> {
        for file in self.files.iter().filter(|_| self.is_on_disk) {
            let file = File::open(file)?;
            rustix::fs::fdatasync(&file)?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    /// CPU time of the process and of the kernel's workers on its behalf, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> Result<f64, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, after_name) = stat.rsplit_once(')').ok_or("no such process")?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        // utime and stime are fields 14 and 15 of proc(5), in hundredths of a second; the state is
        // the third.
        let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        Ok(ticks * 1e9 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(kind: Kind, files: &[PathBuf], socket: &Path, is_on_disk: bool) -> Result<Command, Failure> {
    let mut command;
    match kind {
        Kind::Shoal { level, .. } => {
            let shoal = env!("CARGO_BIN_EXE_shoal");
            let mut create = Command::new(shoal);
            create.args(["create", "--level", level, "--assume-clean", "--force"]).args(files);
            if !create.stdout(Stdio::null()).status()?.success() {
                return Err("shoal create failed".into());
            }
            command = Command::new(shoal);
            command.args(["serve", "--nbd", &format!("unix:{}", socket.display())]).args(files);
        }
        Kind::Nbdkit => {
            command = Command::new("nbdkit");
            command.args(["--foreground", "--unix"]).arg(socket).arg("file").arg(&files[0]);
            command.args(is_on_disk.then_some("cache=none"));
        }
        Kind::Qemu => {
            command = Command::new("qemu-nbd");
            command.args(["--persistent", "--shared=0", "--format=raw", "--socket"]).arg(socket);
            command.args(["--cache=none", "--aio=io_uring"].iter().filter(|_| is_on_disk)).arg(&files[0]);
        }
    }
    Ok(command)
}
