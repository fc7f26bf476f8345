//! The thread that tells people, and the file in which it keeps what it has seen and still has to
//! tell.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::changes::changes;
use super::channel::{Channel, SendError};
use super::configuration::{Configuration, ConfigurationError};
use super::kind::{Alert, Kind, Message};
use super::outbox::{Limits, Outbox};
use super::sight::ArraySight;

/// Sights that may wait: the thread is only ever held up by a way out.
const WAITING_MAX: usize = 64;

/// Where sights are handed in.
pub struct Notifier {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Why nobody would be told.
#[derive(Debug, Error)]
pub enum NotifierError {
    /// The configuration is no good.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// What was seen and is to be told cannot be kept.
    #[error("{}: {source}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Why the array does not start.
    failure: Option<NotStarted>,
    sights: VecDeque<Vec<ArraySight>>,
    is_over: bool,
}

/// An array that nobody runs, of which there is nothing to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStarted {
    /// As md prints it.
    pub array_uuid: String,
    /// The array's name, or its UUID where nobody knows.
    pub array: String,
    /// In one line.
    pub reason: String,
    /// Who says so.
    pub witness: Witness,
}

/// Who says that nobody runs an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// Who was to run it, and knows the reason.
    Server,
    /// The service manager, which has given up. If the server has said it already that is no news.
    Manager,
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// What arrays were like, by UUID.
    seen: BTreeMap<String, ArraySight>,
    /// People were told that it does not start.
    #[serde(default)]
    is_unstarted: bool,
    outbox: Outbox,
}

struct Clerk {
    path: PathBuf,
    kept: Kept,
    channels: Vec<Channel>,
    limits: Limits,
    host: String,
    log: Box<dyn Fn(&str) + Send>,
}

impl Notifier {
    /// Starts telling. `path` is the file for what is kept; `log` takes what goes wrong.
    pub fn open(
        configuration: &Configuration,
        path: &Path,
        host: &str,
        log: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, NotifierError> {
        let log: Box<dyn Fn(&str) + Send> = Box::new(log);
        let channels = Channel::all(configuration)?;
        let names: Vec<_> = channels.iter().map(Channel::name).collect();
        let failure = |source| NotifierError::File { path: path.to_owned(), source };
        let mut kept = read(path, &*log).map_err(failure)?;
        kept.outbox = kept.outbox.with_lanes(&names);
        let limits = Limits { messages_per_hour: configuration.messages_per_hour, least: configuration.least };
        let clerk = Clerk { path: path.to_owned(), kept, channels, limits, host: host.to_owned(), log };
        // What cannot be written later would be lost at the next start: better known now.
        clerk.save().map_err(failure)?;
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("shoal-alerts".to_owned()).spawn(move || clerk.work(&own));
        Ok(Self { shared, thread: Some(thread.map_err(failure)?) })
    }

    /// Hands in what an array and those inside it are like now. Never waits for anybody who is
    /// told.
    pub fn see(&self, sights: Vec<ArraySight>) {
        let mut queue = self.shared.lock();
        if queue.sights.len() >= WAITING_MAX {
            queue.sights.pop_back();
        }
        queue.sights.push_back(sights);
        self.shared.changed.notify_one();
    }

    /// Hands in that the array does not start. Who is told it, and whether it was told already, is
    /// as with all else.
    pub fn does_not_start(&self, failure: NotStarted) {
        self.shared.lock().failure = Some(failure);
        self.shared.changed.notify_one();
    }
}

impl Drop for Notifier {
    /// Tells what is known, once, and ends. What is not taken is told at the next start.
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing is left half done in there.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was handed in, when there is something, the time is up or it is over; and whether that
    /// is so.
    fn take(&self, patience: Duration) -> (Queue, bool) {
        let idle = |queue: &mut Queue| queue.sights.is_empty() && queue.failure.is_none() && !queue.is_over;
        let waited = self.changed.wait_timeout_while(self.lock(), patience, idle);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_over = queue.is_over;
        (Queue { is_over, ..std::mem::take(&mut *queue) }, is_over)
    }
}

impl Clerk {
    fn work(mut self, shared: &Shared) {
        loop {
            let limits = vec![self.limits; self.channels.len()];
            let next_s = self.kept.outbox.next_s(&limits, now_s());
            let patience = next_s.map_or(Duration::from_secs(3600), |next_s| {
                Duration::from_secs(next_s.saturating_sub(now_s())).max(Duration::from_millis(100))
            });
            let (Queue { sights, failure, .. }, is_over) = shared.take(patience);
            let any = !sights.is_empty() || failure.is_some();
            if let Some(failure) = failure {
                self.note_failure(&failure);
            }
            sights.iter().flatten().for_each(|sight| self.look(sight));
            if any {
                self.save_or_say();
            }
            if is_over {
                self.kept.outbox.end();
            }
            self.send();
            if is_over {
                return;
            }
        }
    }

    fn look(&mut self, sight: &ArraySight) {
        if std::mem::take(&mut self.kept.is_unstarted) {
            let started = (Kind::ArrayStarted, "it was started, and can be used");
            self.put(&start_alert(&sight.uuid, &sight.name, sight.health.name(), started));
        }
        let alerts = changes(self.kept.seen.get(&sight.uuid), sight, now_s());
        alerts.iter().for_each(|alert| self.put(alert));
        self.kept.seen.insert(sight.uuid.clone(), sight.clone());
    }

    fn note_failure(&mut self, NotStarted { array_uuid, array, reason, witness }: &NotStarted) {
        let is_known = std::mem::replace(&mut self.kept.is_unstarted, true);
        let text = match witness {
            Witness::Server => format!("it does not start: {reason}"),
            Witness::Manager if is_known => return,
            Witness::Manager => format!("nobody runs it any more: {reason}"),
        };
        self.put(&start_alert(array_uuid, array, "unknown", (Kind::ArrayNotStarted, &text)));
    }

    /// Puts an alert into every lane.
    fn put(&mut self, alert: &Alert) {
        for index in 0..self.channels.len() {
            self.kept.outbox.put(index, alert, self.limits, now_s());
        }
    }

    /// Sends all that is due.
    fn send(&mut self) {
        for (index, channel) in self.channels.iter().enumerate() {
            let Some(message) = self.kept.outbox.due(index, self.limits, &self.host, now_s()) else { continue };
            match channel.send(&message) {
                Ok(()) => self.kept.outbox.sent(index, now_s()),
                Err(error) => {
                    let wait_s = self.kept.outbox.failed(index, now_s());
                    (self.log)(&format!("alert by {}: {error}; tried again in {wait_s} s", channel.name()));
                }
            }
            self.save_or_say();
        }
    }

    fn save_or_say(&self) {
        if let Err(error) = self.save() {
            (self.log)(&format!(
                "alerts: {}: {error}; a restart may tell things twice, or not at all",
                self.path.display()
            ));
        }
    }

    /// Replaces the file: what is there is always whole.
    fn save(&self) -> io::Result<()> {
        let bytes = serde_json::to_vec(&self.kept)?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let temporary = self.path.with_extension("new");
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &self.path)?;
        std::fs::File::open(directory)?.sync_all()
    }
}

/// Whether an array was started.
fn start_alert(uuid: &str, name: &str, health: &str, (kind, text): (Kind, &str)) -> Alert {
    Alert {
        time_unix_s: now_s(),
        array: name.to_owned(),
        array_uuid: uuid.to_owned(),
        health: health.to_owned(),
        subject: "start".to_owned(),
        kind,
        severity: kind.severity(),
        text: text.to_owned(),
        replaced: 0,
    }
}

/// What was kept; nothing if there is no file, or none that makes sense, which is told.
fn read(path: &Path, log: &dyn Fn(&str)) -> io::Result<Kept> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Err(error) => return Err(error),
    };
    Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        log(&format!("alerts: {}: {error}: begun anew", path.display()));
        Kept::default()
    }))
}

/// A way out by its name, and what came of a message.
pub type Tried = (String, Result<(), SendError>);

/// Sends a test over each way out at once, and says what came of it.
pub fn try_all(configuration: &Configuration, host: &str) -> Result<Vec<Tried>, NotifierError> {
    let alert = Alert {
        time_unix_s: now_s(),
        array: "no array".to_owned(),
        array_uuid: String::new(),
        health: "optimal".to_owned(),
        subject: "test".to_owned(),
        kind: Kind::Test,
        severity: Kind::Test.severity(),
        text: "this is a test of alerts".to_owned(),
        replaced: 0,
    };
    let message = Message::of(host, vec![alert], 0);
    let channels = Channel::all(configuration)?;
    Ok(channels.iter().map(|channel| (channel.name(), channel.send(&message))).collect())
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
