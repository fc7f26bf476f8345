//! `shoal status`, and the description of an array that other commands end with.

use std::fmt::Write;

use comfy_table::{Table, presets};
use shoal_drive::Access;
use shoal_volume::{
    ArrayStatus, ArrayVolume, Health, LeftOut, MemberOn, MemberState, MemberStatus, RealWorld, Verdict, inspect,
    layout_name,
};

use crate::args::{Cli, StatusArgs};
use crate::documents::{ArrayDocument, LeftOutDocument, MemberDocument};
use crate::drives::{array_failure, join, member_paths, open_drives, open_options};
use crate::exit::Failure;
use crate::output;
use crate::size::format_size;

/// Shows an array, however much of it is missing, without changing anything on its drives.
pub(crate) fn run(cli: &Cli, args: &StatusArgs) -> Result<(), Failure> {
    let drives = open_drives(&member_paths(&args.array)?, Access::Read)?;
    let opened = join(cli, drives, 1, 4096)?;
    let options = open_options(cli, false, false)?;
    let status = inspect(opened.world, opened.plan, &opened.drives, &options).map_err(array_failure)?;
    output::document(cli, &array_document(&status), array_text)
}

/// Brings an array to rest, and says how it is then.
pub(crate) fn array_at_rest(array: &mut ArrayVolume<RealWorld>) -> Result<ArrayDocument, Failure> {
    array.rest().map_err(Failure::failed)?;
    Ok(array_document(&array.status()))
}

/// An array's state as a document.
pub(crate) fn array_document(status: &ArrayStatus) -> ArrayDocument {
    ArrayDocument {
        name: status.name.clone(),
        uuid: status.uuid.clone(),
        level: status.level.to_string(),
        layout: layout_name(status.level),
        chunk_bytes: (status.chunk_bytes > 0).then_some(u64::from(status.chunk_bytes)),
        capacity_bytes: status.problem.is_none().then_some(status.capacity_bytes),
        health: health_name(status.health).to_owned(),
        redundancy: u32::try_from(status.redundancy).unwrap_or(u32::MAX),
        needs_resync: status.needs_resync,
        events: status.events,
        update_time_unix_s: status.update_time_unix_s,
        members: status.members.iter().map(member_document).collect(),
        spares: status.spares.clone(),
        left_out: status.left_out.iter().map(left_out_document).collect(),
        problem: status.problem.clone(),
        unattached: status.unattached.iter().map(array_document).collect(),
    }
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Optimal => "optimal",
        Health::Degraded => "degraded",
        Health::Failed => "failed",
    }
}

fn member_document(member: &MemberStatus) -> MemberDocument {
    let (state, rebuilt_bytes) = match member.state {
        MemberState::InSync => ("in-sync", None),
        MemberState::Rebuilding { position } => ("rebuilding", Some(position)),
        MemberState::Missing => ("missing", None),
    };
    let (drive, array) = match &member.on {
        Some(MemberOn::Drive(drive)) => (Some(drive.clone()), None),
        Some(MemberOn::Array(array)) => (None, Some(Box::new(array_document(array)))),
        None => (None, None),
    };
    MemberDocument { role: member.role.0, drive, state: state.to_owned(), rebuilt_bytes, array }
}

fn left_out_document(left_out: &LeftOut) -> LeftOutDocument {
    let reason = match left_out.verdict {
        Verdict::Stale { updates_missed } => format!("stale: it missed {updates_missed} updates"),
        Verdict::Faulty => "it failed".to_owned(),
        Verdict::RoleTaken(role) => format!("a fresher drive has its role, {}", role.0),
        Verdict::Journal => "it is the array's journal".to_owned(),
        Verdict::Replacement { role, .. } => format!("it is being made a replacement of member {}", role.0),
        Verdict::Unusable => "its role is none that the array has".to_owned(),
        Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare => "it is in use".to_owned(),
    };
    LeftOutDocument { drive: left_out.name.clone(), reason }
}

/// An array's state as text.
pub(crate) fn array_text(document: &ArrayDocument) -> String {
    let mut text = String::new();
    describe(&mut text, document, "").expect("strings take everything");
    text
}

fn describe(text: &mut String, array: &ArrayDocument, indent: &str) -> std::fmt::Result {
    describe_heading(text, array, indent)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["role", "state", "drive"]);
    for member in &array.members {
        let state = match member.rebuilt_bytes {
            Some(bytes) => format!("{}, {} done", member.state, format_size(bytes)),
            None => member.state.clone(),
        };
        let on = match (&member.drive, &member.array) {
            (Some(drive), _) => drive.clone(),
            (None, Some(inner)) => format!("array {}", inner.name),
            (None, None) => "-".to_owned(),
        };
        table.add_row([member.role.to_string(), state, on]);
    }
    for line in table.lines() {
        writeln!(text, "{indent} {}", line.trim_end())?;
    }
    for spare in &array.spares {
        writeln!(text, "{indent}  spare: {spare}")?;
    }
    for left_out in &array.left_out {
        writeln!(text, "{indent}  not used: {}: {}", left_out.drive, left_out.reason)?;
    }
    if let Some(problem) = &array.problem {
        writeln!(text, "{indent}  cannot run: {problem}")?;
    }
    for inner in array.members.iter().filter_map(|member| member.array.as_deref()) {
        describe(text, inner, &format!("{indent}    "))?;
    }
    for other in &array.unattached {
        writeln!(text, "{indent}  given too, but it lacks too many members to say what it belongs to:")?;
        describe(text, other, &format!("{indent}    "))?;
    }
    Ok(())
}

fn describe_heading(text: &mut String, array: &ArrayDocument, indent: &str) -> std::fmt::Result {
    let layout = array.layout.as_deref().map_or(String::new(), |layout| format!(", {layout}"));
    let chunk = array.chunk_bytes.map_or(String::new(), |chunk| format!(", chunk {}", format_size(chunk)));
    let capacity = array.capacity_bytes.map_or("size unknown".to_owned(), format_size);
    writeln!(text, "{indent}{}: {}{layout}{chunk}, {capacity}", array.name, array.level)?;
    let missing = array.members.iter().filter(|member| member.state == "missing").count();
    let missing = if missing == 0 { String::new() } else { format!(", {missing} of {} missing", array.members.len()) };
    let resync = if array.needs_resync { ", needs a resync (scrub --repair)" } else { "" };
    writeln!(text, "{indent}  health {}{missing}{resync}", array.health)?;
    writeln!(text, "{indent}  survives the loss of {} when whole", members(array.redundancy))?;
    writeln!(text, "{indent}  uuid {}, events {}", array.uuid, array.events)
}

fn members(count: u32) -> String {
    match count {
        0 => "no member".to_owned(),
        1 => "any one member".to_owned(),
        count => format!("any {count} members"),
    }
}
