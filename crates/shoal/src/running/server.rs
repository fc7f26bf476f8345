//! The process that runs an array: one thread owns it, and does what sessions hand over.
//!
//! The owner waits for drives, for jobs and for what the array wants to do by itself, for all at once: whoever hands a job
//! over rings a bell, which the array's world watches while it waits for drives.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shoal_serve::Bell;
use shoal_volume::{ArrayStatus, MemberOn};

use super::clients::welcome;
use super::host::Host;
use super::incarnation::incarnation;
use super::jobs::{Job, Jobs, StopReply};
use super::outage::Resumption;
use super::place;
use super::protocol::{REQUESTS_MAX, TRANSFER_BYTES_MAX};
use super::reach::SERVED_BUFFERS;
use super::service::Service;
use super::traffic::Traffic;
use super::watch::Watch;
use crate::documents::{RunningDocument, StateDocument, array_document};
use crate::exit::Failure;
use crate::output;

/// With nothing to do, the owner looks around as often as this.
const TURN: Duration = Duration::from_secs(3600);
/// Jobs taken in one go.
const JOBS_MAX: usize = 64;
/// Why an array is not brought to rest.
const NO_ANSWER: &str =
    "a drive does not answer: the array was left as by a power cut; look at its drives before it is run again";
/// How long the client that stopped the array may take over its answer.
const LAST_ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// An array with everything that makes it a running one.
pub(crate) struct Server {
    host: Host,
    traffic: Traffic,
    jobs: Receiver<Job>,
    bell: Bell,
    /// As a network block device, if it is one.
    service: Option<Service>,
    watch: Watch,
    started_unix_s: u64,
    /// Removed at the end.
    sockets: Sockets,
}

/// The socket, and the links to it by the UUIDs of inner arrays.
struct Sockets(Vec<PathBuf>);

impl Drop for Sockets {
    fn drop(&mut self) {
        for path in &self.0 {
            // One that stays behind leads to nobody, which clients understand.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Server {
    /// Opens the socket of an array whose members this process has claimed: at `named`, or at the usual place. `alerts` is
    /// the file that says who is told when its health changes.
    pub(crate) fn start(
        mut host: Host,
        named: Option<&Path>,
        service: Option<Service>,
        alerts: Option<&Path>,
    ) -> Result<Self, Failure> {
        let status = host.array.status();
        let mut watch = Watch::new(alerts, &status.uuid)?;
        let socket = match named {
            Some(path) => std::path::absolute(path).map_err(Failure::failed)?,
            None => place::make_directory()?.join(file_name(&status.uuid)),
        };
        let listener = listen(&socket)?;
        let mut sockets = Sockets(vec![socket.clone()]);
        if named.is_none() {
            link_inner(&status, &socket, &mut sockets)?;
        }
        let (sender, jobs) = channel();
        let bell = service.as_ref().map_or_else(Bell::new, |service| Ok(service.bell())).map_err(Failure::failed)?;
        match &service {
            Some(service) => service.attach(host.array.as_mut())?,
            None => host.array.watch(bell.file()).map_err(Failure::failed)?,
        }
        let sessions = Jobs::new(sender, bell.clone());
        let signals = sessions.clone();
        spawn("shoal-welcome", move || welcome(&listener, &sessions))?;
        stop_on_signals(signals)?;
        let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let own_buffers = if service.is_some() { SERVED_BUFFERS.start } else { host.array.request_buffers() };
        let traffic = Traffic::new(own_buffers);
        watch.begin(&mut host);
        Ok(Self { host, traffic, jobs, bell, service, watch, started_unix_s, sockets })
    }

    /// Where it is administered.
    pub(crate) fn socket(&self) -> &Path {
        &self.sockets.0[0]
    }

    /// Runs the array until it is stopped, and says how it is at rest.
    pub(crate) fn run(mut self) -> Result<StateDocument, Failure> {
        let mut completions = Vec::new();
        let stop = loop {
            let patience = match &mut self.service {
                Some(service) => service.serve(self.host.array.as_mut()),
                None => {
                    self.bell.silence();
                    TURN
                }
            };
            if let Some(stop) = self.take_jobs()? {
                break stop;
            }
            self.traffic.start(self.host.array.as_mut());
            self.host.turn(self.watch.patience(patience), &mut completions)?;
            self.watch.came_round();
            self.resume();
            if let Some(service) = &mut self.service {
                service.finish(self.host.array.as_mut(), &mut completions);
            }
            self.traffic.finish(self.host.array.as_ref(), &mut completions);
            self.tell_news();
        };
        self.watch.end();
        self.host.array.stop_waiting();
        let state = come_to_rest(self.service, &mut self.host);
        // Nobody is to find the socket once the array is at rest; whoever waits for its end may go on.
        drop(self.sockets);
        tell_end(stop, &state);
        // Whoever is told may be slow, and the members are to be free for others meanwhile. One that does not answer is
        // waited for, but not for long.
        drop(self.host);
        drop(self.watch);
        state
    }
}

impl Server {
    /// Tells clients, before they hear of anything that the array has done since, that it goes on after an outage.
    fn resume(&mut self) {
        let Some(resumption) = self.host.array.take_resumption() else { return };
        if resumption == Resumption::Unflushed {
            self.traffic.lose_unflushed();
        }
        if let Some(service) = &mut self.service {
            let array = array_document(&self.host.array.status());
            service.resumed(resumption, &incarnation(&array, self.traffic.outages()));
        }
    }

    /// Takes in what happened, and tells it to whoever watches.
    fn tell_news(&mut self) {
        self.host.look();
        let untold = self.host.bulletin.take_untold();
        if !untold.is_empty() {
            self.watch.see(&self.host.state(), self.host.bulletin.lost_ranges());
        }
        for news in untold {
            output::warn(&format!("{}: {}", news.array, news.text));
        }
    }

    /// Does what sessions have handed over. Returns the job that ends it all.
    fn take_jobs(&mut self) -> Result<Option<Option<StopReply>>, Failure> {
        for _ in 0..JOBS_MAX {
            let Ok(job) = self.jobs.try_recv() else { return Ok(None) };
            match job {
                Job::Stop(reply) => return Ok(Some(reply)),
                Job::Content { content, bytes, reply } => self.traffic.enter(content, bytes, reply),
                Job::Administer { order, result } => {
                    let mut done = self.host.carry_out(order);
                    if let Ok(state) = &mut done {
                        self.watch.see(state, self.host.bulletin.lost_ranges());
                        state.running = Some(self.running());
                    }
                    // A client that is gone misses it.
                    let _ = result.send(done);
                }
            }
        }
        // There may be more, which were rung for already.
        self.bell.ring();
        Ok(None)
    }

    fn running(&self) -> RunningDocument {
        let speed = self.host.background;
        RunningDocument {
            process_id: std::process::id(),
            socket: self.socket().display().to_string(),
            started_unix_s: self.started_unix_s,
            logical_block_bytes: self.host.array.logical_block_bytes(),
            transfer_bytes_max: TRANSFER_BYTES_MAX.min(self.host.array.request_buffer_bytes()),
            requests_max: REQUESTS_MAX,
            speed_min_bytes_per_s: speed.rate_min_bytes_per_s,
            speed_max_bytes_per_s: (speed.rate_max_bytes_per_s < u64::MAX).then_some(speed.rate_max_bytes_per_s),
            nbd: self.service.as_ref().map(Service::addresses).unwrap_or_default(),
            nbd_clients: self.service.as_ref().map_or(0, Service::clients) as u64,
            left_behind: self.host.array.left_behind() as u64,
            news: self.host.bulletin.news(),
        }
    }
}

/// Tells the client that stopped the array, if one did, how it is.
fn tell_end(stop: Option<StopReply>, state: &Result<StateDocument, Failure>) {
    if let Some(StopReply { result, answered }) = stop {
        let told = state.as_ref().map_or_else(|failure| Err(Failure::failed(failure)), |state| Ok(state.clone()));
        let _ = result.send(told);
        let _ = answered.recv_timeout(LAST_ANSWER_PATIENCE);
    }
}

/// Ends what clients have under way, and brings the array to rest; or leaves it as a power cut would, if a drive keeps
/// everybody waiting.
fn come_to_rest(service: Option<Service>, host: &mut Host) -> Result<StateDocument, Failure> {
    match service.map_or(Ok(true), |service| service.end(host.array.as_mut()))? {
        true => host.array.rest().map(|()| host.state()),
        false => Err(Failure::failed(NO_ANSWER)),
    }
}

/// Listens at a path. Whoever runs the array has claimed its members, so a socket that is there is one left behind.
fn listen(socket: &Path) -> Result<UnixListener, Failure> {
    use std::os::unix::fs::FileTypeExt;
    let failure = |error: std::io::Error| Failure::Failed(format!("{}: {error}", socket.display()));
    if let Ok(there) = socket.symlink_metadata() {
        if !there.file_type().is_socket() && !there.file_type().is_symlink() {
            return Err(Failure::Refused(format!("{} is no socket: name another place", socket.display())));
        }
        if std::os::unix::net::UnixStream::connect(socket).is_ok() {
            return Err(Failure::Refused(format!(
                "{}: another array is administered there: name another place",
                socket.display()
            )));
        }
        std::fs::remove_file(socket).map_err(failure)?;
    }
    let listener = UnixListener::bind(socket).map_err(failure)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).map_err(failure)?;
    Ok(listener)
}

/// Lets the members of inner arrays lead to the socket too.
fn link_inner(array: &ArrayStatus, socket: &Path, sockets: &mut Sockets) -> Result<(), Failure> {
    for member in &array.members {
        let Some(MemberOn::Array(inner)) = &member.on else { continue };
        let link = socket.with_file_name(file_name(&inner.uuid));
        let failure = |error: std::io::Error| Failure::Failed(format!("{}: {error}", link.display()));
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).map_err(failure)?;
        }
        std::os::unix::fs::symlink(socket, &link).map_err(failure)?;
        sockets.0.push(link);
        link_inner(inner, socket, sockets)?;
    }
    Ok(())
}

fn file_name(array_uuid: &str) -> String {
    format!("{array_uuid}.sock")
}

/// The first Ctrl-C or polite kill stops the array in order; the second ends the process at once, as a crash would.
fn stop_on_signals(jobs: Jobs) -> Result<(), Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| Failure::Failed(format!("signal handler: {error}")))?;
    spawn("shoal-signals", move || {
        for (number, _) in signals.forever().enumerate() {
            if number > 0 || !jobs.hand_over(Job::Stop(None)) {
                signal_hook::low_level::exit(130);
            }
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| Failure::Failed(format!("a thread: {error}")))
}
