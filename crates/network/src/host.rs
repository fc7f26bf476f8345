//! A host of its own within this machine: its own network, mounts and processes, gone without a
//! trace when it is let go of.
//!
//! A host is three namespaces, and nothing but processes holds them: they have no name in the file
//! system. Its first process reads from a pipe whose other end is ours alone. When we let go of it,
//! are killed, or crash, that process reads the pipe's end, kills the host's other processes,
//! removes the directories that it was given, and leaves. With it go the host's network, its ends
//! of links, and what was mounted there. So nobody has to clean up, whatever becomes of us.
//!
//! The host's `/run` is a memory file system of its own, so that its servers meet neither the
//! machine's nor each other's sockets and locks. Everything else is the machine's.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What the first process does: binds a directory to where servers look, makes room, says that it
/// is there, and waits for the end. Then it takes away what it was told to, but nothing of a file
/// system that is still mounted there. The kernel's NFS server in this network is no process of the
/// host's: it has to be told to end.
///
/// What is bound may lie below `/run`, as what desktops mount does. So it is bound before that is
/// covered, and its parent is held, to be rid of it in the end.
const FIRST_PROCESS: &str = r#"set -e
bound=$1
if [ "$bound" ]; then
    mount --bind "$bound" "$2"
    cd "$bound/.."
fi
shift 2
mount -t tmpfs -o mode=755 shoal-network /run
ip link set lo up
echo here
cat >/dev/null
kill -9 -1 || true
if grep -qs nfsd /proc/filesystems && mount -t nfsd nfsd /proc/fs/nfsd; then echo 0 >/proc/fs/nfsd/threads || true; fi 2>/dev/null
for directory in "$@"; do umount -l "$directory"/* 2>/dev/null || true; done
rm -rf --one-file-system -- "$@"
[ -z "$bound" ] || rm -rf --one-file-system -- "./${bound##*/}""#;
/// How long the kernel may take to end a host's processes.
const FAREWELL: Duration = Duration::from_secs(10);

/// Why there is no host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Namespaces take privileges.
    #[error("hosts of their own take root: run this as root")]
    NotRoot,
    /// A tool is not there.
    #[error("{program} is missing: install the package {package}")]
    Missing {
        /// The tool.
        program: String,
        /// Debian's package.
        package: String,
    },
    /// A tool could not be started or failed.
    #[error("{command}: {problem}")]
    Command {
        /// What was run.
        command: String,
        /// What it said.
        problem: String,
    },
    /// A namespace could not be entered.
    #[error("the host {host} cannot be entered: {source}")]
    Enter {
        /// Which.
        host: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Namespaces for network, mounts and processes of their own. They end when this is dropped, with
/// all that runs in them.
#[derive(Debug)]
pub struct IsolatedHost {
    name: String,
    unshare: Child,
    /// The first process, as this machine counts processes.
    first: u32,
    /// The end of the pipe that the host lives by.
    life: Option<ChildStdin>,
}

impl IsolatedHost {
    /// Starts a host of this name; these directories go when it goes. `bound` is a directory that
    /// goes as well, and where the host is to find it.
    ///
    /// # Errors
    /// Without root, or if `unshare`, `mount` or `ip` is missing or fails.
    pub fn start(name: &str, vanishing: &[&Path], bound: Option<(&Path, &Path)>) -> Result<Self, HostError> {
        if !rustix::process::geteuid().is_root() {
            return Err(HostError::NotRoot);
        }
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "sh", "-c"]);
        command
            .arg(FIRST_PROCESS)
            .arg("first")
            .args(bound.map_or([Path::new(""), Path::new("")], |(from, to)| [from, to]))
            .args(vanishing)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut unshare = command.spawn().map_err(|error| missing_or("unshare", "util-linux", &error))?;
        let life = unshare.stdin.take();
        let mut said = String::new();
        if let Some(output) = unshare.stdout.take() {
            // Whatever is wrong with what was said is told below.
            let _ = BufReader::new(output).read_line(&mut said);
        }
        let first = first_child(unshare.id()).filter(|_| said == "here\n");
        let mut host = Self { name: name.to_owned(), unshare, first: first.unwrap_or(0), life };
        match first {
            Some(_) => Ok(host),
            None => Err(host.why_not()),
        }
    }

    /// What the tools said that should have made this host.
    fn why_not(&mut self) -> HostError {
        drop(self.life.take());
        let mut problem = String::new();
        if let Some(errors) = self.unshare.stderr.take() {
            // They end with their writer, which has nothing to live by any more.
            problem = BufReader::new(errors).lines().map_while(Result::ok).collect::<Vec<_>>().join("; ");
        }
        if problem.is_empty() {
            "ended without a word".clone_into(&mut problem);
        }
        HostError::Command { command: format!("unshare, for the host {}", self.name), problem }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first process, as this machine counts processes.
    pub fn first_process(&self) -> u32 {
        self.first
    }

    /// A program that is to run on this host.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--net", "--mount", "--pid", "--"]).arg(program);
        command.stdin(Stdio::null());
        command
    }

    /// Asks a program that was started by [`Self::command`] to end. Its first process is only the
    /// way into the host, and passes nothing on.
    pub fn ask_to_end(&self, program: &Child) {
        let inside = first_child(program.id()).and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // One that has ended already is what was wanted.
        let _ = inside.map(|inside| kill_process(inside, Signal::TERM));
    }

    /// Configures this host's network. The tool sees this machine's processes, so that it can name
    /// those of other hosts.
    ///
    /// # Errors
    /// If the tool cannot be started or fails, with what it said.
    pub(crate) fn configure(&self, tool: &str, arguments: &[&str]) -> Result<(), HostError> {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--net", "--", tool]).args(arguments);
        run_to_end(command.stdin(Stdio::null())).map(drop)
    }

    /// Where a path of this host lies as this machine sees it.
    pub fn path(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.first));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Does something in this host's network, on a thread of its own. Sockets that it makes stay in
    /// that network, whoever uses them later.
    ///
    /// # Errors
    /// If the network cannot be entered.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> Result<T, HostError> {
        let enter = |source: std::io::Error| HostError::Enter { host: self.name.clone(), source };
        let network = std::fs::File::open(format!("/proc/{}/ns/net", self.first)).map_err(enter)?;
        thread::scope(|scope| {
            let task = scope.spawn(|| {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok::<T, rustix::io::Errno>(act())
            });
            match task.join() {
                Ok(done) => done.map_err(|error| enter(error.into())),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// The processes of this host, as this machine counts them.
    pub fn processes(&self) -> Vec<u32> {
        let Ok(own) = std::fs::read_link(format!("/proc/{}/ns/pid", self.first)) else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(|id| std::fs::read_link(format!("/proc/{id}/ns/pid")).is_ok_and(|space| space == own)).collect()
    }
}

impl Drop for IsolatedHost {
    fn drop(&mut self) {
        drop(self.life.take());
        let start = Instant::now();
        while start.elapsed() < FAREWELL {
            match self.unshare.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
        // A process that the kernel cannot end is stuck in a drive; nothing more can be done from
        // here.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Runs a program to its end, and returns what it printed.
///
/// # Errors
/// If it cannot be started or fails, with what it said.
pub(crate) fn run_to_end(command: &mut Command) -> Result<String, HostError> {
    let failed = |command: &Command, problem: String| HostError::Command { command: words(command), problem };
    let output = command.output().map_err(|error| failed(command, error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(command, format!("{}: {}", output.status, said.trim().replace('\n', "; "))))
}

/// A command as one would type it, without the way into its host.
fn words(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let own = words.iter().position(|word| word == "--").map_or(0, |at| at + 1);
    match command.get_program() == "nsenter" {
        true => words[own..].join(" "),
        false => format!("{} {}", command.get_program().to_string_lossy(), words.join(" ")),
    }
}

/// The first child of a process; `unshare` has one.
fn first_child(process: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// Why a program did not start.
pub(crate) fn missing_or(program: &str, package: &str, error: &std::io::Error) -> HostError {
    match error.kind() {
        std::io::ErrorKind::NotFound => HostError::Missing { program: program.to_owned(), package: package.to_owned() },
        _ => HostError::Command { command: program.to_owned(), problem: error.to_string() },
    }
}
