//! The process that keeps the servers of all shares.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use super::directories::Machine;
use super::error::{MachineError, at};
use super::leaving::refuse_leaving;
use super::presence::Presence;
use super::record::{Record, ShareStatus, State, addresses, networks_of_machine};
use crate::{Entry, HostName, Interface, News, Ports, Protocol, Servers, Share, Site};

/// What is mounted; the kernel wakes who waits for a change of it.
const MOUNTS: &str = "/proc/self/mountinfo";

/// How long the keeper looks away at most: servers that end, and addresses, tell nobody of
/// themselves.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Whoever has a lock on this file is the keeper; it says which process that is.
const LOCK: &str = "keeper.lock";

/// How long the keeper may take to heed a command: servers end in order.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(50);

/// How many such looks addresses are good for.
const LOOKS_AT_ADDRESSES: u32 = 10;

/// The keeper.
#[derive(Debug)]
pub struct Keeper {
    machine: Machine,
    _lock: File,
    servers: Servers,
    presence: BTreeMap<String, Presence>,
    /// Why servers do not run.
    problems: BTreeMap<Protocol, String>,
    interfaces: Vec<Interface>,
    status: Option<Vec<ShareStatus>>,
    tell: fn(&str),
}

impl Keeper {
    /// Becomes the machine's keeper, of whom there is one.
    pub fn become_it(machine: Machine, tell: fn(&str)) -> Result<Self, MachineError> {
        let path = machine.runtime(LOCK);
        machine.make_runtime()?;
        let lock = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(at(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| MachineError::Kept)?;
        lock.set_len(0).map_err(at(&path))?;
        io::Write::write_all(&mut &lock, std::process::id().to_string().as_bytes()).map_err(at(&path))?;
        Ok(Self {
            machine,
            _lock: lock,
            servers: Servers::default(),
            presence: BTreeMap::new(),
            problems: BTreeMap::new(),
            interfaces: Vec::new(),
            status: None,
            tell,
        })
    }

    /// Keeps the servers until the process is told to end; then they are stopped in order.
    /// `elapsed` is the time since some moment, by a clock that never goes back.
    pub fn keep(mut self, elapsed: impl Fn() -> Duration) -> Result<(), MachineError> {
        let (ends, called) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&ends))?;
        }
        signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&called))?;
        let table = File::open(MOUNTS).map_err(at(Path::new(MOUNTS)))?;
        let mut looks = 0;
        while !ends.load(Ordering::Relaxed) {
            if looks % LOOKS_AT_ADDRESSES == 0 || called.swap(false, Ordering::Relaxed) {
                self.interfaces = networks_of_machine()?;
            }
            looks += 1;
            let status = self.look(elapsed());
            self.tell_of(status)?;
            // The kernel says when something is mounted or unmounted; a signal ends the wait as
            // well.
            let mut changes = [PollFd::new(&table, PollFlags::PRI)];
            let _ = poll(&mut changes, Some(&LOOK));
        }
        for News { problem, .. } in std::mem::take(&mut self.servers).stop() {
            problem.into_iter().for_each(|problem| (self.tell)(&problem.to_string()));
        }
        self.machine.write_status(&[])
    }

    /// Makes the servers be what they should be at this moment.
    fn look(&mut self, now: Duration) -> Vec<ShareStatus> {
        let records = match self.machine.records() {
            Ok(records) => records,
            Err(problem) => {
                // What is served stays served until it is known again what should be.
                (self.tell)(&problem.to_string());
                return self.status.clone().unwrap_or_default();
            }
        };
        let leaving = self.machine.leaving();
        let looked: Vec<_> = records.into_iter().map(|record| (self.there(&record, &leaving), record)).collect();
        let shares: Vec<Share> = looked.iter().filter_map(|(share, _)| share.clone().ok()).collect();
        match self.site(&looked, &shares) {
            Ok(site) => {
                for News { protocol, problem } in self.servers.reconcile(&site, &shares, now) {
                    match problem {
                        None => self.problems.remove(&protocol),
                        Some(problem) => self.problems.insert(protocol, problem.to_string()),
                    };
                }
                self.problems.retain(|protocol, _| shares.iter().any(|share| protocol.is_of(share)));
                looked.into_iter().map(|(share, record)| self.status_of(share, record)).collect()
            }
            Err(problem) => {
                let failed = |(_, record): (_, Record)| status(record, State::Failed, vec![problem.to_string()]);
                looked.into_iter().map(failed).collect()
            }
        }
    }

    /// A share that can be served now, or why it cannot.
    fn there(&mut self, record: &Record, leaving: &[PathBuf]) -> Result<Share, String> {
        refuse_leaving(&record.directory, leaving)?;
        let mounts = shoal_drive::mounts().map_err(|error| format!("{MOUNTS}: {error}"))?;
        let presence = self.presence.entry(record.name.clone()).or_default();
        presence.look(&record.directory, record.file_system.as_ref(), &mounts)?;
        let share = record.share(&self.interfaces).map_err(|error| error.to_string())?;
        if addresses(&self.interfaces, &share.networks).is_empty() {
            return Err("this machine has no address in the networks that may have it".to_owned());
        }
        Ok(share)
    }

    /// Where the servers work.
    fn site(&self, looked: &[(Result<Share, String>, Record)], shares: &[Share]) -> Result<Site, MachineError> {
        let networks: Vec<_> = shares.iter().flat_map(|share| share.networks.clone()).collect();
        let with_tls = looked.iter().filter(|(share, _)| share.is_ok()).find(|(_, it)| it.tls_certificates.is_some());
        let machine = rustix::system::uname();
        Ok(Site {
            host_name: HostName::of(&machine.nodename().to_string_lossy()),
            addresses: addresses(&self.interfaces, &networks),
            ports: Ports::default(),
            places: self.machine.places()?,
            entry: Entry::default(),
            tls: with_tls.map(|(_, record)| record.tls()).transpose()?.flatten(),
        })
    }

    fn status_of(&self, share: Result<Share, String>, record: Record) -> ShareStatus {
        match share {
            Err(problem) => status(record, State::Waiting, vec![problem]),
            Ok(share) => {
                let of_it = self.problems.iter().filter(|(protocol, _)| protocol.is_of(&share));
                let problems: Vec<String> = of_it.map(|(_, problem)| problem.clone()).collect();
                status(record, if problems.is_empty() { State::Served } else { State::Failed }, problems)
            }
        }
    }

    /// Writes down how things are, if they have changed.
    fn tell_of(&mut self, status: Vec<ShareStatus>) -> Result<(), MachineError> {
        if self.status.as_ref() == Some(&status) {
            return Ok(());
        }
        for share in &status {
            let word = format!("{:?}", share.state).to_lowercase();
            (self.tell)(&format!(
                "{}: {word}{}",
                share.name,
                share.problems.iter().map(|it| format!("; {it}")).collect::<String>()
            ));
        }
        self.machine.write_status(&status)?;
        self.status = Some(status);
        Ok(())
    }
}

fn status(record: Record, state: State, problems: Vec<String>) -> ShareStatus {
    ShareStatus { name: record.name, revision: record.revision, state, problems }
}

impl Machine {
    /// The process that keeps the servers, if there is one.
    pub fn keeper_process(&self) -> Option<Pid> {
        let path = self.runtime(LOCK);
        let lock = File::open(&path).ok()?;
        // Who cannot have the lock even with others knows that somebody has it alone.
        if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        Pid::from_raw(fs::read_to_string(path).ok()?.trim().parse().ok()?)
    }

    /// Has the keeper look again at once; starts one if there is none.
    pub fn call_keeper(&self) -> Result<(), MachineError> {
        if let Some(keeper) = self.keeper_process() {
            return Ok(kill_process(keeper, Signal::HUP).map_err(io::Error::from)?);
        }
        self.make_runtime()?;
        let path = self.runtime("keeper.log");
        let log = File::create(&path).map_err(at(&path))?;
        let mut command = Command::new(&self.program);
        command.args(["share", "--serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // A group of its own: what ends the command at the terminal does not end the servers.
        command.current_dir("/").process_group(0).spawn()?;
        Ok(())
    }

    /// Has the keeper follow the records, and waits until it says that it does; without any record
    /// it ends.
    pub fn settle_keeper(&self) -> Result<(), MachineError> {
        let records = self.records()?;
        if records.is_empty() {
            return self.stop_keeper();
        }
        self.call_keeper()?;
        let settled = || {
            let status = self.status();
            let is_told = |record: &Record| status.iter().any(|told| told.revision == record.revision);
            status.len() == records.len() && records.iter().all(is_told)
        };
        if waited(settled) { Ok(()) } else { Err(MachineError::KeeperSilent) }
    }

    /// Has the keeper end, and waits until it has.
    fn stop_keeper(&self) -> Result<(), MachineError> {
        let Some(keeper) = self.keeper_process() else { return Ok(()) };
        kill_process(keeper, Signal::TERM).map_err(io::Error::from)?;
        if waited(|| self.keeper_process().is_none()) { Ok(()) } else { Err(MachineError::KeeperStays(keeper)) }
    }
}

/// Whether something came about in the time that a keeper may take.
fn waited(is_done: impl Fn() -> bool) -> bool {
    (0..PATIENCE.as_millis() / PAUSE.as_millis()).any(|_| {
        let done = is_done();
        if !done {
            std::thread::sleep(PAUSE);
        }
        done
    })
}
