//! Who watches over a running array from outside, and what they hear of it: the service manager,
//! and people.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use shoal_documents::{
    ArrayDocument, Fault, HasFault, HealthDocument, MemberDocument, MemberStateDocument, StateDocument, WorkDocument,
};
use shoal_inventory::{Environment, EnvironmentError, Named, member_paths, members};
use shoal_md::Uuid;
use shoal_text::Outside;
use shoal_unattended::ServiceManager;
use shoal_unattended::alert::{
    ArraySight, Configuration, ConfigurationError, Health, MemberSight, MemberState, NotStarted, Notifier,
    NotifierError, ScrubSight, Witness,
};

use crate::host::Host;

/// Why nobody would be told of an array's health.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Nobody can say who is to be told.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// There is no place for what was told.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// They cannot be told.
    #[error(transparent)]
    Notifier(#[from] NotifierError),
}

impl HasFault for WatchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Configuration(_) => Fault::Usage,
            Self::Environment(error) => error.fault(),
            Self::Notifier(_) => Fault::Failed,
        }
    }
}

/// Tells the service manager and people how a running array is, when that changes.
pub(super) struct Watch {
    service_manager: ServiceManager,
    /// None if nobody wants to be told.
    notifier: Option<Notifier>,
}

impl Watch {
    /// Reads who is to be told of an array, if anybody is.
    pub(super) fn new(environment: &Environment, alerts: Option<&Path>, array_uuid: &str) -> Result<Self, WatchError> {
        let notifier = match alerts {
            None => None,
            Some(file) => Some(open_notifier(environment, file, array_uuid)?),
        };
        Ok(Self { service_manager: ServiceManager::of_this_process(), notifier })
    }

    /// The array can be used.
    pub(super) fn begin(&mut self, host: &mut Host) {
        let state = host.state();
        self.service_manager.is_ready(&status_line(&state));
        self.tell(&state, host.bulletin.lost_ranges());
    }

    /// How long the owner may wait, who would wait so long.
    pub(super) fn patience(&self, patience: Duration) -> Duration {
        patience.min(self.service_manager.patience(Instant::now()))
    }

    /// The owner has come round.
    pub(super) fn came_round(&mut self) {
        self.service_manager.beat(Instant::now());
    }

    /// Something has happened to the array.
    pub(super) fn see(&mut self, state: &StateDocument, lost_ranges: u64) {
        self.service_manager.is(&status_line(state));
        self.tell(state, lost_ranges);
    }

    /// The array is brought to rest.
    pub(super) fn end(&mut self) {
        self.service_manager.stops();
    }

    fn tell(&self, state: &StateDocument, lost_ranges: u64) {
        let Some(notifier) = &self.notifier else { return };
        let mut sights = Vec::new();
        match state.paused {
            Some(_) => sights.push(paused_sight(&state.array)),
            None => add_sights(&state.array, &mut sights),
        }
        if let Some(array) = sights.first_mut() {
            array.lost_ranges = lost_ranges;
            array.scrub = state.scrub.as_ref().map(|found| ScrubSight {
                under_way: state.background.as_ref().is_some_and(|background| background.work == WorkDocument::Scrub),
                mismatched_bytes: found.mismatched_bytes,
                unreadable_bytes: found.unreadable_bytes,
            });
        }
        notifier.see(sights);
    }
}

/// Refuses a file that does not say who is to be told of an array.
pub fn check_alerts(file: &Path) -> Result<(), WatchError> {
    Ok(Configuration::read(file).map(drop)?)
}

fn open_notifier(environment: &Environment, file: &Path, array_uuid: &str) -> Result<Notifier, WatchError> {
    let configuration = Configuration::read(file)?;
    let kept = environment.make_state_directory("keep alerts")?.join(format!("alerts-{array_uuid}.json"));
    let log = environment.clone();
    Ok(Notifier::open(&configuration, &kept, &host_name(), move |line: &str| log.tell(line))?)
}

/// What this machine calls itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Starts an array; if that comes to nothing, whoever is told of its health is told of that, before
/// this returns.
pub fn or_alert<T, E: fmt::Display>(
    environment: &Environment,
    alerts: Option<&Path>,
    named: &Named,
    start: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let started = start();
    if let (Err(error), Some(file)) = (&started, alerts) {
        let (array_uuid, array) = names(environment, named);
        let reason = error.to_string();
        match open_notifier(environment, file, &array_uuid) {
            Ok(notifier) => notifier.does_not_start(NotStarted { array_uuid, array, reason, witness: Witness::Server }),
            // What it does not start for is what the command ends with.
            Err(mute) => environment.tell(&format!("nobody is told that it does not start: {mute}")),
        }
    }
    started
}

/// Tells whoever is told of an array's health that nobody runs it any more; `reason` says what to
/// do now.
pub fn tell_gone(environment: &Environment, file: &Path, uuid: Uuid, reason: String) -> Result<(), WatchError> {
    let (array_uuid, array) = names(environment, &Named { uuid: Some(uuid), ..Named::default() });
    let notifier = open_notifier(environment, file, &array_uuid)?;
    notifier.does_not_start(NotStarted { array_uuid, array, reason, witness: Witness::Manager });
    Ok(())
}

/// The UUID and the name of an array of which not much may be there.
fn names(environment: &Environment, named: &Named) -> (String, String) {
    let paths = member_paths(environment, named).unwrap_or_else(|_| named.drives.clone());
    let superblock = members(environment, &paths).into_iter().next().map(|seen| seen.superblock);
    let uuid = named.uuid.or_else(|| superblock.as_ref().map(|it| it.array_uuid));
    let uuid = uuid.map_or_else(|| "unknown".to_owned(), |uuid| uuid.to_string());
    // What is inside an array of arrays has another name.
    let own = superblock.filter(|it| it.array_uuid.to_string() == uuid).map(|it| it.name());
    let name = own.filter(|name| !name.is_empty()).unwrap_or_else(|| uuid.clone());
    (uuid, name)
}

/// An array that waits for its drives: of those inside it nothing is seen either.
fn paused_sight(array: &ArrayDocument) -> ArraySight {
    ArraySight {
        uuid: array.uuid.clone(),
        name: array.name.clone(),
        health: Health::Paused,
        needs_resync: array.needs_resync,
        members: Vec::new(),
        spares: array.spares.len(),
        scrub: None,
        lost_ranges: 0,
    }
}

/// An array and those inside it, the outermost first.
fn add_sights(array: &ArrayDocument, sights: &mut Vec<ArraySight>) {
    sights.push(ArraySight {
        uuid: array.uuid.clone(),
        name: array.name.clone(),
        health: match array.health {
            HealthDocument::Optimal => Health::Optimal,
            HealthDocument::Degraded => Health::Degraded,
            // Of an array that runs all is known.
            HealthDocument::Failed | HealthDocument::Unknown | HealthDocument::Unusable => Health::Failed,
        },
        needs_resync: array.needs_resync,
        members: array.members.iter().map(member_sight).collect(),
        spares: array.spares.len(),
        scrub: None,
        lost_ranges: 0,
    });
    array.members.iter().filter_map(|member| member.array.as_deref()).for_each(|inner| add_sights(inner, sights));
}

fn member_sight(member: &MemberDocument) -> MemberSight {
    let state = match member.state {
        MemberStateDocument::InSync => MemberState::InSync,
        MemberStateDocument::Rebuilding => MemberState::Rebuilding,
        // Of an array that runs all members are whole, and all are known.
        MemberStateDocument::Missing | MemberStateDocument::NotNamed | MemberStateDocument::Incomplete => {
            MemberState::Missing
        }
    };
    let inner = member.array.as_deref().map(|inner| format!("array {}", inner.name));
    MemberSight { state, on: member.drive.clone().or(inner), suspect: member.suspect }
}

/// `pond: raid5, degraded, rebuild under way`
fn status_line(state: &StateDocument) -> String {
    let work = state.background.as_ref().map_or(String::new(), |work| format!(", {} under way", work.work));
    // A line that ended early would be one of the manager's protocol.
    let health = if state.paused.is_some() { "paused".to_owned() } else { state.array.health.to_string() };
    format!("{}: {}, {health}{work}", Outside(&state.array.name), state.array.level)
}
