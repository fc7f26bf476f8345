//! Who watches over a running array from outside, and what they hear of it: the service manager, and people.

use std::path::Path;
use std::time::{Duration, Instant};

use shoal_md::Uuid;
use shoal_unattended::Heart;
use shoal_unattended::alert::{
    ArraySight, Configuration, Desk, Health, MemberSight, MemberState, NotStarted, ScrubSight, Witness,
};

use super::host::Host;
use crate::args::ArrayArgs;
use crate::documents::{ArrayDocument, MemberDocument, StateDocument};
use crate::drives::member_paths;
use crate::exit::Failure;
use crate::host::host_name;
use crate::look::members;
use crate::output;
use crate::outside::Outside;
use crate::state_directory::make_state_directory;

/// Tells the service manager and people how a running array is, when that changes.
pub(crate) struct Watch {
    heart: Heart,
    /// None if nobody wants to be told.
    desk: Option<Desk>,
}

impl Watch {
    /// Reads who is to be told of an array, if anybody is.
    pub(super) fn new(alerts: Option<&Path>, array_uuid: &str) -> Result<Self, Failure> {
        let desk = match alerts {
            None => None,
            Some(file) => Some(open_desk(file, array_uuid)?),
        };
        Ok(Self { heart: Heart::of_this_process(), desk })
    }

    /// The array can be used.
    pub(super) fn begin(&mut self, host: &mut Host) {
        let state = host.state();
        self.heart.is_ready(&status_line(&state));
        self.tell(&state, host.bulletin.lost_ranges());
    }

    /// How long the owner may wait, who would wait so long.
    pub(super) fn patience(&self, patience: Duration) -> Duration {
        patience.min(self.heart.patience(Instant::now()))
    }

    /// The owner has come round.
    pub(super) fn came_round(&mut self) {
        self.heart.beat(Instant::now());
    }

    /// Something has happened to the array.
    pub(super) fn see(&mut self, state: &StateDocument, lost_ranges: u64) {
        self.heart.is(&status_line(state));
        self.tell(state, lost_ranges);
    }

    /// The array is brought to rest.
    pub(super) fn end(&mut self) {
        self.heart.stops();
    }

    fn tell(&self, state: &StateDocument, lost_ranges: u64) {
        let Some(desk) = &self.desk else { return };
        let mut sights = Vec::new();
        match state.paused {
            Some(_) => sights.push(paused_sight(&state.array)),
            None => add_sights(&state.array, &mut sights),
        }
        if let Some(array) = sights.first_mut() {
            array.lost_ranges = lost_ranges;
            array.scrub = state.scrub.as_ref().map(|found| ScrubSight {
                under_way: state.background.as_ref().is_some_and(|background| background.work == "scrub"),
                mismatched_bytes: found.mismatched_bytes,
                unreadable_bytes: found.unreadable_bytes,
            });
        }
        desk.see(sights);
    }
}

fn open_desk(file: &Path, array_uuid: &str) -> Result<Desk, Failure> {
    let configuration = Configuration::read(file).map_err(Failure::usage)?;
    let kept = make_state_directory()?.join(format!("alerts-{array_uuid}.json"));
    Desk::open(&configuration, &kept, &host_name(), output::warn).map_err(Failure::failed)
}

/// Starts an array; if that comes to nothing, whoever is told of its health is told of that, before this returns.
pub(crate) fn or_alert<T>(
    alerts: Option<&Path>,
    array: &ArrayArgs,
    start: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let started = start();
    if let (Err(failure), Some(file)) = (&started, alerts) {
        let (array_uuid, array) = names(array);
        let reason = failure.to_string();
        match open_desk(file, &array_uuid) {
            Ok(desk) => desk.does_not_start(NotStarted { array_uuid, array, reason, witness: Witness::Server }),
            // What it does not start for is what the command ends with.
            Err(mute) => output::warn(&format!("nobody is told that it does not start: {mute}")),
        }
    }
    started
}

/// Tells whoever is told of an array's health that nobody runs it any more; `reason` says what to do now.
pub(crate) fn tell_gone(file: &Path, uuid: Uuid, reason: String) -> Result<(), Failure> {
    let array = ArrayArgs { uuid: Some(uuid), ..ArrayArgs::default() };
    let (array_uuid, array) = names(&array);
    let desk = open_desk(file, &array_uuid)?;
    desk.does_not_start(NotStarted { array_uuid, array, reason, witness: Witness::Manager });
    Ok(())
}

/// The UUID and the name of an array of which not much may be there.
fn names(array: &ArrayArgs) -> (String, String) {
    let paths = member_paths(array).unwrap_or_else(|_| array.drives.clone());
    let superblock = members(&paths).into_iter().next().map(|seen| seen.superblock);
    let uuid = array.uuid.or_else(|| superblock.as_ref().map(|it| it.array_uuid));
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
        health: match array.health.as_str() {
            "optimal" => Health::Optimal,
            "degraded" => Health::Degraded,
            _ => Health::Failed,
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
    let state = match member.state.as_str() {
        "in-sync" => MemberState::InSync,
        "rebuilding" => MemberState::Rebuilding,
        _ => MemberState::Missing,
    };
    let inner = member.array.as_deref().map(|inner| format!("array {}", inner.name));
    MemberSight { state, on: member.drive.clone().or(inner), suspect: member.suspect }
}

/// `pond: raid5, degraded, rebuild under way`
fn status_line(state: &StateDocument) -> String {
    let work = state.background.as_ref().map_or(String::new(), |work| format!(", {} under way", work.work));
    // A line that ended early would be one of the manager's protocol.
    let health = if state.paused.is_some() { "paused" } else { state.array.health.as_str() };
    format!("{}: {}, {health}{work}", Outside(&state.array.name), state.array.level)
}
