//! The process that runs an array: one thread owns it, and does what sessions hand over.
//!
//! The owner waits for drives, for jobs and for what the array wants to do by itself, for all at
//! once: whoever hands a job over rings a bell, which the array's world watches while it waits for
//! drives.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shoal_documents::protocol::{REQUESTS_MAX, TRANSFER_BYTES_MAX};
use shoal_documents::{ArrayDocument, Fault, HasFault, RunningDocument, StateDocument};
use shoal_serve::Bell;
use shoal_volume::{ArrayStatus, Completion, MemberOn, VolumeError};

use crate::clients::welcome;
use crate::engine::{EngineError, Resumption};
use crate::handle::ExecuteError;
use crate::host::Host;
use crate::incarnation::incarnation;
use crate::jobs::{Job, Jobs, StopReply};
use crate::leftovers::sweep;
use crate::limits::JOBS_MAX;
use crate::opening::SERVED_BUFFERS;
use crate::place::{self, PlaceError, file_name};
use crate::service::Service;
use crate::traffic::Traffic;
use crate::watch::{Watch, WatchError};

/// With nothing to do, the owner looks around as often as this.
const TURN: Duration = Duration::from_secs(3600);
/// How long the client that stopped the array may take over its answer.
const LAST_ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Why an array is not kept running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody would be told of its health.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// There is no place for its socket.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its world cannot wait for clients.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Its socket cannot be made.
    #[error("the socket {} cannot be made: {source}; make its directory, or name another place with --socket", socket.display())]
    Socket {
        /// The socket, or a link to it.
        socket: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something else is in the socket's place.
    #[error("{} is no socket: name another place with --socket", socket.display())]
    NoSocket {
        /// The place.
        socket: PathBuf,
    },
    /// Another array's is.
    #[error("{}: another array is administered there: name another place with --socket", socket.display())]
    Taken {
        /// The place.
        socket: PathBuf,
    },
    /// Signals cannot be heard.
    #[error("signal handler: {0}")]
    Signals(io::Error),
    /// There is no thread.
    #[error("a thread: {0}")]
    Thread(io::Error),
    /// The system says no.
    #[error(transparent)]
    System(io::Error),
}

impl HasFault for StartError {
    fn fault(&self) -> Fault {
        match self {
            Self::Watch(error) => error.fault(),
            Self::Place(error) => error.fault(),
            Self::NoSocket { .. } | Self::Taken { .. } => Fault::Refused,
            Self::Volume(_) | Self::Socket { .. } | Self::Signals(_) | Self::Thread(_) | Self::System(_) => {
                Fault::Failed
            }
        }
    }
}

/// Why an array ended that was kept running.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its engine broke, or does not come to rest.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It cannot be brought to rest.
    #[error("a drive does not answer: the array was left as by a power cut; look at its drives before it is run again")]
    Silent,
}

impl HasFault for RunError {
    fn fault(&self) -> Fault {
        match self {
            Self::Engine(error) => error.fault(),
            Self::Silent => Fault::Failed,
        }
    }
}

/// An array with everything that makes it a running one.
pub struct Server {
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

/// Stops a running array, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Jobs);

impl Stopper {
    /// Has the array brought to rest. Returns whether that is still to come: not if it has ended.
    pub fn stop(&self) -> bool {
        self.0.hand_over(Job::Stop(None))
    }
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
    /// Opens the socket of an array whose members this process has claimed: at `named`, or at the
    /// usual place. `alerts` is the file that says who is told when its health changes. `signals`
    /// gets what stops the array, before anybody is told that it runs.
    pub fn start(
        mut host: Host,
        named: Option<&Path>,
        service: Option<Service>,
        alerts: Option<&Path>,
        signals: impl FnOnce(Stopper) -> io::Result<()>,
    ) -> Result<Self, StartError> {
        let status = host.array.status();
        let mut watch = Watch::new(&host.environment, alerts, &status.uuid)?;
        let socket = match named {
            Some(path) => std::path::absolute(path).map_err(StartError::System)?,
            None => place::make_directory(&host.environment)?.join(file_name(&status.uuid)),
        };
        let listener = listen(&socket)?;
        let mut sockets = Sockets(vec![socket.clone()]);
        if named.is_none() {
            link_inner(&status, &socket, &mut sockets)?;
        }
        let (sender, jobs) = channel();
        let bell = service.as_ref().map_or_else(Bell::new, |service| Ok(service.bell())).map_err(StartError::System)?;
        match &service {
            Some(service) => service.attach(host.array.as_mut())?,
            None => host.array.watch(bell.file())?,
        }
        let sessions = Jobs::new(sender, bell.clone());
        let (environment, own) = (host.environment.clone(), sessions.clone());
        spawn("shoal-welcome", move || welcome(&environment, &listener, &own))?;
        let environment = host.environment.clone();
        spawn("shoal-leftovers", move || sweep(&environment))?;
        signals(Stopper(sessions)).map_err(StartError::Signals)?;
        let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let own_buffers = if service.is_some() { SERVED_BUFFERS.start } else { host.array.request_buffers() };
        let traffic = Traffic::new(own_buffers);
        watch.begin(&mut host);
        Ok(Self { host, traffic, jobs, bell, service, watch, started_unix_s, sockets })
    }

    /// Where it is administered.
    pub fn socket(&self) -> &Path {
        &self.sockets.0[0]
    }

    /// Runs the array until it is stopped, and says how it is at rest.
    pub fn run(mut self) -> Result<StateDocument, RunError> {
        let mut completions = Vec::new();
        let stop = loop {
            let patience = match &mut self.service {
                Some(service) => service.serve(self.host.array.as_mut()),
                None => {
                    self.bell.silence();
                    TURN
                }
            };
            if let Some(stop) = self.take_jobs() {
                break stop;
            }
            self.traffic.start(self.host.array.as_mut());
            self.host.turn(self.watch.patience(patience), &mut completions)?;
            self.watch.came_round();
            self.resume();
            self.finish(&mut completions);
            self.tell_news();
        };
        self.watch.end();
        self.host.array.stop_waiting();
        let state = come_to_rest(self.service, &mut self.host);
        // Nobody is to find the socket once the array is at rest; whoever waits for its end may go
        // on.
        drop(self.sockets);
        // Whoever is told of the end may start the array anew at once: its members, and the array,
        // are free by then. A drive that does not answer is waited for, but not for long.
        drop(self.host);
        tell_end(stop, &self.jobs, &state);
        drop(self.watch);
        state
    }
}

impl Server {
    /// Tells clients, before they hear of anything that the array has done since, that it goes on
    /// after an outage.
    fn resume(&mut self) {
        let Some(resumption) = self.host.array.take_resumption() else { return };
        if resumption == Resumption::Unflushed {
            self.traffic.lose_unflushed();
        }
        if let Some(service) = &mut self.service {
            let array = ArrayDocument::from(&self.host.array.status());
            service.resumed(resumption, move || incarnation(&array, 0));
        }
    }

    /// Answers what is done. Of a flush that is refused all hear, whoever asked for it, before any
    /// flush that ended with it is answered: a drive may say once that it has lost something.
    fn finish(&mut self, completions: &mut Vec<Completion>) {
        let array = self.host.array.as_mut();
        let Some(service) = &mut self.service else {
            self.traffic.finish(array, completions);
            return;
        };
        if self.traffic.has_refusal(completions) {
            service.lose_unflushed();
        }
        if service.finish(array, completions) {
            self.traffic.lose_unflushed();
        }
        self.traffic.finish(array, completions);
    }

    /// Takes in what happened, and tells it to whoever watches.
    fn tell_news(&mut self) {
        if let Some(remark) = self.service.as_mut().and_then(Service::take_remark) {
            self.host.bulletin.tell(self.host.array.status().name, remark.to_owned());
        }
        self.host.look();
        let untold = self.host.bulletin.take_untold();
        if !untold.is_empty() {
            self.watch.see(&self.host.state(), self.host.bulletin.lost_ranges());
        }
        for news in untold {
            self.host.environment.tell(&format!("{}: {}", news.array, news.text));
        }
    }

    /// Does what sessions have handed over. Returns the job that ends it all.
    fn take_jobs(&mut self) -> Option<Option<StopReply>> {
        for _ in 0..JOBS_MAX {
            let Ok(job) = self.jobs.try_recv() else { return None };
            match job {
                Job::Stop(reply) => return Some(reply),
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
        None
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

/// Tells the clients that stopped the array how it is: the first, and who asks for the end
/// meanwhile.
fn tell_end(first: Option<StopReply>, jobs: &Receiver<Job>, state: &Result<StateDocument, RunError>) {
    let next = || jobs.try_iter().find_map(|job| if let Job::Stop(stop) = job { stop } else { None });
    let mut told = Vec::new();
    let until = Instant::now() + LAST_ANSWER_PATIENCE;
    for StopReply { result, answered } in first.into_iter().chain(std::iter::from_fn(next)) {
        let how = state.as_ref().map_err(|error| ExecuteError::NotAtRest(error.to_string()));
        let _ = result.send(how.cloned());
        told.push(answered);
    }
    for answered in told {
        let _ = answered.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

/// Ends what clients have under way, and brings the array to rest; or leaves it as a power cut
/// would, if a drive keeps everybody waiting.
fn come_to_rest(service: Option<Service>, host: &mut Host) -> Result<StateDocument, RunError> {
    let has_answered = service.map_or(Ok(true), |service| service.end(host.array.as_mut()));
    if !has_answered.map_err(EngineError::Volume)? {
        return Err(RunError::Silent);
    }
    host.rest()?;
    Ok(host.state())
}

/// Finds out whether an array could be administered at this socket.
pub fn try_socket(socket: &Path) -> Result<(), StartError> {
    drop(listen(socket)?);
    std::fs::remove_file(socket).map_err(|source| StartError::Socket { socket: socket.to_owned(), source })
}

/// Listens at a path. Whoever runs the array has claimed its members, so a socket that is there is
/// one left behind.
fn listen(socket: &Path) -> Result<UnixListener, StartError> {
    use std::os::unix::fs::FileTypeExt;
    let failure = |source| StartError::Socket { socket: socket.to_owned(), source };
    if let Ok(there) = socket.symlink_metadata() {
        if !there.file_type().is_socket() && !there.file_type().is_symlink() {
            return Err(StartError::NoSocket { socket: socket.to_owned() });
        }
        if std::os::unix::net::UnixStream::connect(socket).is_ok() {
            return Err(StartError::Taken { socket: socket.to_owned() });
        }
        std::fs::remove_file(socket).map_err(failure)?;
    }
    let listener = UnixListener::bind(socket).map_err(failure)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).map_err(failure)?;
    Ok(listener)
}

/// Lets the members of inner arrays lead to the socket too, also of those that are not used.
fn link_inner(array: &ArrayStatus, socket: &Path, sockets: &mut Sockets) -> Result<(), StartError> {
    let inside = array.members.iter().filter_map(|member| match &member.on {
        Some(MemberOn::Array(inner)) => Some(inner.as_ref()),
        _ => None,
    });
    for inner in inside.chain(&array.unattached) {
        let link = socket.with_file_name(file_name(&inner.uuid));
        let failure = |source| StartError::Socket { socket: link.clone(), source };
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).map_err(failure)?;
        }
        std::os::unix::fs::symlink(socket, &link).map_err(failure)?;
        sockets.0.push(link);
        link_inner(inner, socket, sockets)?;
    }
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(StartError::Thread)
}

#[cfg(test)]
mod tests;
