//! Commands and daemons, each with files laid over the system's own.
//!
//! A command line is built up from the outside in: the site's entry (into a network namespace),
//! `setpriv` (dies with its parent), `unshare` (a mount namespace of its own, into which unmounting
//! outside still reaches), a few lines of shell that mount, and then the program itself, which
//! takes the place of all of them: there is one process.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Duration;

use super::ServerError;
use crate::Entry;

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(60);

/// How long it may take to end in order.
const END: Duration = Duration::from_secs(60);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// Mounts what it is given in fours, up to `--`, and becomes the rest.
const MOUNT_AND_BECOME: &str =
    r#"while [ "$1" != -- ]; do mount "$1" "$2" "$3" "$4" || exit 1; shift 4; done; shift; exec "$@""#;

/// A program with its arguments, and what it finds in place of the system's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// Its name.
    pub(super) program: &'static str,
    /// What Debian calls its package.
    pub(super) package: &'static str,
    /// Its arguments.
    pub(super) arguments: Vec<OsString>,
    /// What is mounted where, for it alone.
    pub(super) overlays: Vec<Overlay>,
}

/// Something mounted for one command alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Overlay {
    /// A file or directory of ours over one of the system's.
    Bind(PathBuf, PathBuf),
    /// One of the kernel's own file systems, by type.
    Kernel(&'static str, PathBuf),
}

impl Command {
    /// The whole command line.
    fn line(&self, entry: &Entry) -> Vec<OsString> {
        let mut line = entry.0.clone();
        let before = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "slave"];
        line.extend(before.map(OsString::from));
        line.extend(["sh", "-c", MOUNT_AND_BECOME, "sh"].map(OsString::from));
        for overlay in &self.overlays {
            line.extend(match overlay {
                Overlay::Bind(ours, systems) => ["-o".into(), "bind".into(), ours.into(), systems.into()],
                Overlay::Kernel(kind, place) => ["-t".into(), kind.into(), kind.into(), place.into()],
            });
        }
        line.push("--".into());
        line.push(self.program.into());
        line.extend(self.arguments.iter().cloned());
        line
    }

    /// Runs it to its end, and returns what it prints.
    pub(super) fn run(&self, entry: &Entry, input: &[u8]) -> Result<String, ServerError> {
        let failed = |error: io::Error| self.failed(error.to_string());
        let mut command = self.prepared(entry);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        // What is written is a password or nothing, far less than a pipe holds. A child that does
        // not read it says why itself.
        let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = [output.stderr, output.stdout].concat();
        Err(self.failed(last_line(&said).unwrap_or_else(|| output.status.to_string())))
    }

    fn failed(&self, reason: String) -> ServerError {
        ServerError::Failed { program: self.program, reason }
    }

    fn prepared(&self, entry: &Entry) -> process::Command {
        let line = self.line(entry);
        let mut command = process::Command::new(&line[0]);
        let kept = OF_THE_PROCESSOR.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(&line[1..]).env_clear().envs(kept).env("PATH", PATH).current_dir("/").process_group(0);
        command
    }
}

/// What libraries are told of this machine's processor holds for servers too; nothing else of the
/// caller's variables does.
const OF_THE_PROCESSOR: [&str; 3] = ["GLIBC_TUNABLES", "GNUTLS_CPUID_OVERRIDE", "OPENSSL_ia32cap"];

/// Where servers are, whoever calls.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether a program is there.
pub(super) fn is_installed(program: &str) -> bool {
    PATH.split(':').any(|directory| Path::new(directory).join(program).exists())
}

/// A server's process: it stays in the foreground, and listens at its ports when it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Daemon {
    pub(super) command: Command,
    /// What it says on standard output and standard error goes there.
    pub(super) said: PathBuf,
    /// Its own log, if what it says is not all.
    pub(super) log: Option<PathBuf>,
    /// How it is known to be ready.
    pub(super) ready: Ready,
}

/// How a daemon is known to be ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// It listens at all of these ports.
    Listening(Vec<u16>),
    /// It watches for files to appear.
    Watching,
    /// At once.
    Started,
}

impl Ready {
    /// Ports that it must be able to have.
    pub(super) fn ports(&self) -> &[u16] {
        match self {
            Self::Listening(ports) => ports,
            Self::Watching | Self::Started => &[],
        }
    }
}

/// A daemon that runs.
#[derive(Debug)]
pub(super) struct Child {
    daemon: Daemon,
    process: process::Child,
}

impl Child {
    pub(super) fn start(daemon: &Daemon, entry: &Entry) -> Result<Self, ServerError> {
        let at = |error| ServerError::File { path: daemon.said.clone(), error };
        let said = fs::File::create(&daemon.said).map_err(at)?;
        let mut command = daemon.command.prepared(entry);
        command.stdin(Stdio::null()).stdout(said.try_clone().map_err(at)?).stderr(said);
        let process = command.spawn().map_err(|error| daemon.command.failed(error.to_string()))?;
        Ok(Self { daemon: daemon.clone(), process })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ServerError> {
        let status = match self.process.try_wait() {
            Ok(None) => return None,
            // Who is killed has not said why.
            Ok(Some(status)) if status.signal().is_some() => {
                return Some(self.daemon.command.failed(status.to_string()));
            }
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let logs = [Some(&self.daemon.said), self.daemon.log.as_ref()];
        let said = logs.into_iter().flatten().find_map(|path| last_line(&tail(path)));
        Some(self.daemon.command.failed(said.unwrap_or(status)))
    }

    /// Waits until it is ready.
    pub(super) fn wait_until_ready(&mut self) -> Result<(), ServerError> {
        for _ in 0..START.as_millis() / LOOK.as_millis() {
            if let Some(error) = self.ended() {
                return Err(error);
            }
            if self.is_ready() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(self.daemon.command.failed(format!("it is not ready after {} s", START.as_secs())))
    }

    fn is_ready(&self) -> bool {
        match &self.daemon.ready {
            Ready::Listening(ports) => ports.iter().all(|&port| self.is_listening(port)),
            Ready::Watching => self.is_watching(),
            Ready::Started => true,
        }
    }

    /// Whether it has asked the kernel to be told of new files. Where the way in is into a process
    /// namespace the daemon is a child of that.
    fn is_watching(&self) -> bool {
        let way_in = self.process.id();
        let children = fs::read_to_string(format!("/proc/{way_in}/task/{way_in}/children")).unwrap_or_default();
        let processes = children.split_ascii_whitespace().map(ToOwned::to_owned).chain([way_in.to_string()]);
        let files = processes.filter_map(|process| fs::read_dir(format!("/proc/{process}/fdinfo")).ok()).flatten();
        let mut texts = files.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
        texts.any(|text| text.contains("inotify"))
    }

    /// Whether somebody listens at a port in the child's network namespace.
    fn is_listening(&self, port: u16) -> bool {
        ["tcp", "tcp6"].iter().any(|table| {
            let path = format!("/proc/{}/net/{table}", self.process.id());
            fs::read_to_string(path).is_ok_and(|table| has_listener(&table, port))
        })
    }

    /// Asks it to end, and waits.
    pub(super) fn stop(&mut self) -> Result<(), ServerError> {
        self.signal(rustix::process::Signal::TERM);
        for _ in 0..END.as_millis() / LOOK.as_millis() {
            if !matches!(self.process.try_wait(), Ok(None)) {
                // What it left in its group, as sessions of vsftpd, ends with it.
                self.signal(rustix::process::Signal::KILL);
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        self.kill();
        Err(self.daemon.command.failed(format!("it was killed, as it did not end in {} s", END.as_secs())))
    }

    pub(super) fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        // It is gone either way.
        let _ = self.process.wait();
    }

    /// Tells it to read its configuration again.
    pub(super) fn hang_up(&self) {
        let id = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw);
        // If it has ended, that is told where it is asked for.
        let _ = id.map(|process| rustix::process::kill_process(process, rustix::process::Signal::HUP));
    }

    /// Sends a signal to it and to what it started.
    fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw);
        // It may have ended by itself.
        let _ = id.map(|group| rustix::process::kill_process_group(group, signal));
    }
}

/// Whether a table of the kernel's, `/proc/net/tcp`, has somebody who listens at a port.
fn has_listener(table: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local =
            fields.next().and_then(|local| local.rsplit_once(':')).map(|(_, port)| u16::from_str_radix(port, 16));
        local == Some(Ok(port)) && fields.nth(1) == Some(LISTEN)
    })
}

/// The end of a file.
fn tail(path: &Path) -> Vec<u8> {
    const MUCH: u64 = 4096;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let end = file.metadata()?.len();
        io::Seek::seek(&mut file, io::SeekFrom::Start(end.saturating_sub(MUCH)))?;
        let mut bytes = Vec::new();
        file.take(MUCH).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}

/// What was said last, in one line.
fn last_line(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_known_by_its_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                        0: 01004D0A:01BD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n\
                        1: 01004D0A:0801 02004D0A:01BE 01 00000000:00000000 00:00000000 00000000     0        0 2\n";
        assert!(has_listener(table, 445));
        assert!(!has_listener(table, 2049), "connected is not listening");
        assert!(!has_listener(table, 446));
        assert!(!has_listener("", 445));
    }
}
