//! Who watches over a running array from outside, and what they hear of it: the service manager, and people.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shoal_unattended::Heart;
use shoal_unattended::alert::{ArraySight, Configuration, Desk, Health, MemberSight, MemberState, ScrubSight};

use super::host::Host;
use crate::documents::{ArrayDocument, MemberDocument, StateDocument};
use crate::exit::Failure;
use crate::host::host_name;
use crate::output;

/// Where what is kept from one start to the next goes, if this is set: for tests, and services with a place of their own.
const DIRECTORY_VARIABLE: &str = "SHOAL_STATE_DIRECTORY";

/// See the module's documentation.
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
            Some(file) => {
                let configuration = Configuration::read(file).map_err(Failure::usage)?;
                let kept = make_directory()?.join(format!("alerts-{array_uuid}.json"));
                let desk = Desk::open(&configuration, &kept, &host_name(), output::warn);
                Some(desk.map_err(Failure::failed)?)
            }
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
        add_sights(&state.array, &mut sights);
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
    MemberSight { state, on: member.drive.clone().or(inner) }
}

/// `pond: raid5, degraded, rebuild under way`
fn status_line(state: &StateDocument) -> String {
    let work = state.background.as_ref().map_or(String::new(), |work| format!(", {} under way", work.work));
    format!("{}: {}, {}{work}", state.array.name, state.array.level, state.array.health)
}

/// Makes the directory for what is kept from one start to the next: the machine's, or the user's.
fn make_directory() -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = named(DIRECTORY_VARIABLE).or_else(|| match rustix::process::geteuid().as_raw() {
        0 => Some(PathBuf::from("/var/lib/shoal")),
        _ => named("XDG_STATE_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("shoal")),
    });
    let directory = own.ok_or_else(|| {
        Failure::usage(format!("there is no home: say where to keep alerts with {DIRECTORY_VARIABLE}"))
    })?;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))?;
    Ok(directory)
}
