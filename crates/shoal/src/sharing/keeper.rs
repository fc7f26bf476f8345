//! The process that keeps the servers of all shares.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use shoal_share::{HostName, News, Protocol, Servers, Share, Site};

use super::leaving::{leaving, refuse_leaving};
use super::presence::Presence;
use super::record::{
    Record, RecordError, ShareStatus, State, addresses, make_private, networks_of_machine, places, records,
    runtime_directory, write_status,
};

/// How long the keeper looks away at most: servers that end, and addresses, tell nobody of themselves.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How many such looks addresses are good for.
const LOOKS_AT_ADDRESSES: u32 = 10;

/// The keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    _lock: File,
    servers: Servers,
    presence: std::collections::BTreeMap<String, Presence>,
    /// Why servers do not run.
    problems: std::collections::BTreeMap<Protocol, String>,
    interfaces: Vec<shoal_share::Interface>,
    status: Option<Vec<ShareStatus>>,
    tell: fn(&str),
}

impl Keeper {
    /// Becomes the machine's keeper, of whom there is one.
    pub(crate) fn become_it(tell: fn(&str)) -> Result<Self, RecordError> {
        let path = lock_path();
        let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        make_private(&runtime_directory()).map_err(|error| at(&error))?;
        let lock = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(|error| at(&error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| "the servers of this machine's shares are kept by another process already".to_owned())?;
        lock.set_len(0).map_err(|error| at(&error))?;
        io::Write::write_all(&mut &lock, std::process::id().to_string().as_bytes()).map_err(|error| at(&error))?;
        Ok(Self {
            _lock: lock,
            servers: Servers::default(),
            presence: std::collections::BTreeMap::new(),
            problems: std::collections::BTreeMap::new(),
            interfaces: Vec::new(),
            status: None,
            tell,
        })
    }

    /// Keeps the servers until the process is told to end; then they are stopped in order.
    pub(crate) fn keep(mut self) -> Result<(), RecordError> {
        let (ends, called) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&ends)).map_err(|error| error.to_string())?;
        }
        signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&called))
            .map_err(|error| error.to_string())?;
        let table = File::open("/proc/self/mountinfo").map_err(|error| format!("/proc/self/mountinfo: {error}"))?;
        let began = Instant::now();
        let mut looks = 0;
        while !ends.load(Ordering::Relaxed) {
            if looks % LOOKS_AT_ADDRESSES == 0 || called.swap(false, Ordering::Relaxed) {
                self.interfaces = networks_of_machine()?;
            }
            looks += 1;
            let status = self.look(began.elapsed());
            self.tell_of(status)?;
            // The kernel says when something is mounted or unmounted; a signal ends the wait as well.
            let mut changes = [PollFd::new(&table, PollFlags::PRI)];
            let _ = poll(&mut changes, Some(&LOOK));
        }
        for News { problem, .. } in std::mem::take(&mut self.servers).stop() {
            problem.into_iter().for_each(|problem| (self.tell)(&problem.to_string()));
        }
        write_status(&[])
    }

    /// Makes the servers be what they should be at this moment.
    fn look(&mut self, now: Duration) -> Vec<ShareStatus> {
        let records = match records() {
            Ok(records) => records,
            Err(problem) => {
                // What is served stays served until it is known again what should be.
                (self.tell)(&problem);
                return self.status.clone().unwrap_or_default();
            }
        };
        let leaving = leaving();
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
                let failed = |(_, record): (_, Record)| status(record, State::Failed, vec![problem.clone()]);
                looked.into_iter().map(failed).collect()
            }
        }
    }

    /// A share that can be served now, or why it cannot.
    fn there(&mut self, record: &Record, leaving: &[PathBuf]) -> Result<Share, String> {
        refuse_leaving(&record.directory, leaving)?;
        let mounts = shoal_drive::mounts().map_err(|error| format!("/proc/self/mountinfo: {error}"))?;
        let presence = self.presence.entry(record.name.clone()).or_default();
        presence.look(&record.directory, record.file_system.as_ref(), &mounts)?;
        let share = record.share(&self.interfaces)?;
        if addresses(&self.interfaces, &share.networks).is_empty() {
            return Err("this machine has no address in the networks that may have it".to_owned());
        }
        Ok(share)
    }

    /// Where the servers work.
    fn site(&self, looked: &[(Result<Share, String>, Record)], shares: &[Share]) -> Result<Site, RecordError> {
        let networks: Vec<_> = shares.iter().flat_map(|share| share.networks.clone()).collect();
        let with_tls = looked.iter().filter(|(share, _)| share.is_ok()).find(|(_, it)| it.tls_certificates.is_some());
        let machine = rustix::system::uname();
        Ok(Site {
            host_name: HostName::of(&machine.nodename().to_string_lossy()),
            addresses: addresses(&self.interfaces, &networks),
            ports: shoal_share::Ports::default(),
            places: places()?,
            entry: shoal_share::Entry::default(),
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
    fn tell_of(&mut self, status: Vec<ShareStatus>) -> Result<(), RecordError> {
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
        write_status(&status)?;
        self.status = Some(status);
        Ok(())
    }
}

fn status(record: Record, state: State, problems: Vec<String>) -> ShareStatus {
    ShareStatus { name: record.name, revision: record.revision, state, problems }
}

fn lock_path() -> PathBuf {
    runtime_directory().join("keeper.lock")
}

/// The process that keeps the servers, if there is one.
pub(crate) fn keeper_process() -> Option<rustix::process::Pid> {
    let lock = File::open(lock_path()).ok()?;
    // Who cannot have the lock even with others knows that somebody has it alone.
    if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    let text = fs::read_to_string(lock_path()).ok()?;
    rustix::process::Pid::from_raw(text.trim().parse().ok()?)
}

/// Has the keeper look again at once; starts one if there is none.
pub(crate) fn call_keeper() -> Result<(), RecordError> {
    if let Some(keeper) = keeper_process() {
        return rustix::process::kill_process(keeper, rustix::process::Signal::HUP).map_err(|error| error.to_string());
    }
    make_private(&runtime_directory()).map_err(|error| format!("{}: {error}", runtime_directory().display()))?;
    let path = runtime_directory().join("keeper.log");
    let log = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["share", "--serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // A group of its own: what ends the command at the terminal does not end the servers.
    command.current_dir("/").process_group(0).spawn().map_err(|error| error.to_string())?;
    Ok(())
}

/// Has the keeper end, and waits until it has.
pub(crate) fn stop_keeper() -> Result<(), RecordError> {
    const PATIENCE: Duration = Duration::from_secs(180);
    const PAUSE: Duration = Duration::from_millis(50);
    let Some(keeper) = keeper_process() else { return Ok(()) };
    rustix::process::kill_process(keeper, rustix::process::Signal::TERM).map_err(|error| error.to_string())?;
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if keeper_process().is_none() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err(format!("the process {} that keeps the servers does not end", keeper.as_raw_nonzero()))
}
