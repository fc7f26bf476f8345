//! `shoal list`: all arrays of this machine, a line each.

use std::collections::HashSet;
use std::path::Path;

use comfy_table::{Table, presets};
use schemars::JsonSchema;
use serde::Serialize;
use shoal_attach::records::Standing;
use shoal_documents::{ArrayDocument, AttachedDocument, HealthDocument, MemberStateDocument, StateDocument};
use shoal_inventory::{Absentee, Listed, Named, files_in, found_to_show, listed, remembered, usual_places};
use shoal_md::Uuid;
use shoal_running::{kernel_state, running_arrays};
use shoal_text::{Outside, format_size};

use super::status::{as_shown, attached_state, held_text};
use crate::args::{Cli, ListArgs};
use crate::attaching::attachments;
use crate::exit::Failure;
use crate::output;
use crate::setup::environment;

/// `list`: the arrays of this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListDocument {
    /// Each as `status` shows it.
    arrays: Vec<StateDocument>,
    /// Arrays that are there, and of which it cannot be said how they are.
    unknown: Vec<UnknownDocument>,
    /// Arrays that this host remembers, and of which no drive is here. Left out where a directory
    /// was looked through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absent: Vec<AbsentDocument>,
    /// The directories that were looked through, if any were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scanned: Vec<String>,
}

/// An array of which it cannot be said how it is.
#[derive(Debug, Serialize, JsonSchema)]
struct UnknownDocument {
    /// Its UUID.
    uuid: String,
    /// Why.
    why: String,
}

/// An array that is not here.
#[derive(Debug, Serialize, JsonSchema)]
struct AbsentDocument {
    /// Its UUID.
    uuid: String,
    /// Its members, as they were called when they were last seen.
    drives: Vec<String>,
}

/// Lists arrays that run, and arrays that drives carry. Nothing is changed.
pub(crate) fn run(cli: &Cli, args: &ListArgs) -> Result<(), Failure> {
    let mut places = if args.scan.is_empty() { usual_places(environment()) } else { Vec::new() };
    for directory in &args.scan {
        places.extend(files_in(directory)?);
    }
    let scanned = args.scan.iter().map(|directory| directory.display().to_string()).collect();
    let mut document = ListDocument { arrays: Vec::new(), unknown: Vec::new(), absent: Vec::new(), scanned };
    let mut known = list_running(&mut document);
    let carried = listed(environment(), &places);
    for found in &carried {
        if found.carried.iter().chain([&found.array]).all(|uuid| !known.contains(&uuid.to_string())) {
            match state_of(cli, found) {
                Ok(state) => document.arrays.push(state),
                Err(failure) => {
                    let (uuid, why) = (found.array.to_string(), failure.to_string());
                    document.unknown.push(UnknownDocument { uuid, why });
                }
            }
        }
        known.extend(found.carried.iter().chain([&found.array]).map(Uuid::to_string));
    }
    if args.scan.is_empty() {
        // Drives that carry another array by now are that one's.
        let carries =
            |drive: &String| carried.iter().any(|found| found.paths.iter().any(|path| path == Path::new(drive)));
        let is_here = |it: &Absentee| known.contains(&it.array.to_string()) || it.drives.iter().all(carries);
        let absent = remembered(environment()).into_iter().filter(|it| !is_here(it));
        let absent = absent.map(|it| AbsentDocument { uuid: it.array.to_string(), drives: it.drives });
        document.absent.extend(absent);
    }
    let attachments = attachments()?;
    document.arrays = document.arrays.into_iter().map(|state| attached_state(&attachments, state)).collect();
    document.arrays.sort_by(|one, other| one.array.name.cmp(&other.array.name));
    output::document(cli, &document, text)
}

/// Lists what runs; gives the UUIDs of these arrays and of all inside them.
fn list_running(document: &mut ListDocument) -> HashSet<String> {
    let mut known = HashSet::new();
    for array in running_arrays(environment()) {
        match array {
            Ok(state) => {
                add_uuids(&state.array, &mut known);
                document.arrays.push(state);
            }
            Err((array, why)) => {
                known.insert(array.to_string());
                document.unknown.push(UnknownDocument { uuid: array.to_string(), why: why.to_string() });
            }
        }
    }
    known
}

fn add_uuids(array: &ArrayDocument, known: &mut HashSet<String>) {
    known.insert(array.uuid.clone());
    array.inner_arrays().for_each(|inner| add_uuids(inner, known));
}

/// An array that no process of this user's runs: the kernel does, or it is at rest.
fn state_of(cli: &Cli, found: &Listed) -> Result<StateDocument, Failure> {
    let named = Named { drives: found.paths.clone(), ..Named::default() };
    match kernel_state(&cli.setup()?, &named)? {
        Some(state) => Ok(state),
        None => as_shown(cli, &found_to_show(environment(), &found.paths)?),
    }
}

fn text(document: &ListDocument) -> String {
    let ListDocument { arrays, unknown, absent, scanned } = document;
    let mut lines = Vec::new();
    if !arrays.is_empty() {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["name", "level", "size", "health", "now", "uuid"]);
        for state in arrays {
            table.add_row(row(state));
        }
        lines.extend(table.lines().map(|line| line.trim_end().to_owned()));
    }
    let problem = |state: &StateDocument| {
        let problem = state.array.problem.as_ref().filter(|_| state.array.health == HealthDocument::Unusable)?;
        Some(Outside(problem).to_string())
    };
    lines.extend(arrays.iter().filter_map(problem));
    lines.extend(unknown.iter().map(|it| format!("array {}: {}", it.uuid, Outside(&it.why))));
    for AbsentDocument { uuid, drives } in absent {
        let drives = drives.iter().map(|drive| Outside(drive).to_string()).collect::<Vec<_>>().join(" ");
        lines.push(format!("not here: array {uuid}, last seen on {drives}"));
    }
    if lines.is_empty() {
        lines.push(match scanned[..] {
            [] => "no array runs, and no drive carries one: `shoal list --scan DIR` looks at image files".to_owned(),
            _ => format!("no array runs, and none is in {}: directories below are not looked at", scanned.join(" or ")),
        });
    }
    lines.join("\n") + "\n"
}

fn row(state: &StateDocument) -> [String; 6] {
    let array = &state.array;
    let size = array.capacity_bytes.map_or("unknown".to_owned(), format_size);
    let in_state = |state| array.members.iter().filter(|member| member.state == state).count();
    let (missing, filled) = (in_state(MemberStateDocument::Missing), in_state(MemberStateDocument::Rebuilding));
    let health = match (missing, filled) {
        (0, 0) if array.needs_resync => format!("{}, needs a resync", array.health),
        (0, 0) => array.health.to_string(),
        (0, count) => format!("{}, {count} of {} being filled", array.health, array.members.len()),
        (count, _) => format!("{}, {count} of {} missing", array.health, array.members.len()),
    };
    [Outside(&array.name).to_string(), array.level.to_string(), size, health, now(state), array.uuid.clone()]
}

/// What runs it, and as what it is to be used.
fn now(state: &StateDocument) -> String {
    let runner = match (&state.running, &state.engine) {
        (_, Some(engine)) => format!("{}, {}", engine.name, engine.device),
        (Some(running), None) if state.paused.is_some() => format!("paused, process {}", running.process_id),
        (Some(running), None) => format!("runs, process {}", running.process_id),
        (None, None) => state.held_by.map_or("at rest".to_owned(), held_text),
    };
    let Some(AttachedDocument { attachment, standing }) = &state.attached else { return runner };
    let places = attachment.mounted_at().unwrap_or_default();
    let mounted: String = places.iter().map(|place| format!(", mounted on {}", place.display())).collect();
    let served = if *standing == Standing::Served { "" } else { " (not served)" };
    format!("{runner}, {}{served}{mounted}", attachment.device.display())
}
