//! `shoal status`, and the description of an array that other commands end with.

mod next_step;

use std::fmt::Write;

use comfy_table::{Table, presets};
use shoal_attach::records::{Attachment, Standing};
use shoal_documents::protocol::Command;
use shoal_documents::{
    ArrayDocument, AttachedDocument, BackgroundDocument, EngineDocument, HealthDocument, MemberDocument,
    MemberStateDocument, PauseDocument, RunningDocument, StateDocument, WorkDocument,
};
use shoal_drive::{Access, Drive};
use shoal_inventory::{Purpose, Shown, host_memory, last_seen, members_to_show, open_drives};
use shoal_running::kernel_state;
use shoal_text::{Outside, format_age_s, format_count, format_rate, format_size};
use shoal_volume::{Inspected, Level, inspect_remembered};

use crate::args::{ArrayArgs, Cli, StatusArgs};
use crate::attaching::attachments;
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, join, open_options, reach_running};

/// Shows an array, however much of it is missing, without changing anything on its drives.
pub(crate) fn run(cli: &Cli, args: &StatusArgs) -> Result<(), Failure> {
    tell(cli, state_of_array(cli, &args.array)?)
}

/// The same, and says by the exit status how it is; `found` is whether it was found by its name, if
/// it was given by that.
pub(crate) fn test(cli: &Cli, args: &StatusArgs, found: Result<(), Failure>) -> Result<(), Failure> {
    let state = match found.and_then(|()| state_of_array(cli, &args.array)) {
        Ok(state) => state,
        Err(failure) => {
            output::failure(cli, &failure);
            return Err(Failure::Verdict(UNKNOWN));
        }
    };
    let verdict = verdict(&state.array);
    tell(cli, state)?;
    if verdict == 0 { Ok(()) } else { Err(Failure::Verdict(verdict)) }
}

/// The exit status of `mdadm --detail --test` where it cannot be told how an array is.
const UNKNOWN: u8 = 4;

/// The exit status of `mdadm --detail --test`.
fn verdict(array: &ArrayDocument) -> u8 {
    match array.health {
        HealthDocument::Failed => 2,
        HealthDocument::Unknown | HealthDocument::Unusable => UNKNOWN,
        HealthDocument::Optimal | HealthDocument::Degraded if array.doubt.is_some() => UNKNOWN,
        HealthDocument::Degraded => 1,
        HealthDocument::Optimal => 0,
    }
}

/// An array as the process that runs it says, or as its drives do.
pub(super) fn state_of_array(cli: &Cli, array: &ArrayArgs) -> Result<StateDocument, Failure> {
    if let Some(mut array) = reach_running(array)? {
        return Ok(array.execute(Command::Status)?);
    }
    if let Some(state) = kernel_state(&cli.setup()?, &array.named())? {
        return Ok(state);
    }
    at_rest(cli, array)
}

/// With what the array is to this machine, which whoever runs it does not know.
fn tell(cli: &Cli, state: StateDocument) -> Result<(), Failure> {
    let state = StateDocument { array: with_last_seen(state.array), ..state };
    output::document(cli, &attached_state(&attachments()?, state), state_text)
}

/// With the names of drives that are not there, as this host remembers them: whoever has to replace
/// one looks for it by that.
fn with_last_seen(array: ArrayDocument) -> ArrayDocument {
    array.with_last_seen(&|array, role| last_seen(environment(), array.parse().ok()?, role))
}

/// The same of one of several arrays.
pub(super) fn attached_state(attachments: &[Attachment], state: StateDocument) -> StateDocument {
    let attached = attachments.iter().find(|attachment| attachment.array_uuid == state.array.uuid).cloned();
    let with_standing = |attachment: Attachment| AttachedDocument { standing: attachment.standing(), attachment };
    StateDocument { attached: attached.map(with_standing), ..state }
}

/// An array that nobody runs, as its drives tell.
pub(crate) fn at_rest(cli: &Cli, array: &ArrayArgs) -> Result<StateDocument, Failure> {
    as_shown(cli, &members_to_show(environment(), &array.named())?)
}

/// The same by the members that it is to be shown with.
pub(super) fn as_shown(cli: &Cli, shown: &Shown) -> Result<StateDocument, Failure> {
    let drives = open_drives(&shown.paths, Access::Read)?;
    let held_by = drives.iter().find_map(Drive::holder);
    let opened = join(cli, drives, 1, 4096)?;
    let options = open_options(cli, false, false)?;
    let memory = host_memory(environment(), Purpose::Look);
    let inspected = inspect_remembered(opened.world, opened.plan, &opened.drives, &options, memory);
    let Inspected { status, doubt, remarks } = inspected?;
    environment().tell_all(&remarks);
    if !shown.unnamed.is_empty() {
        let names: Vec<_> = shown.unnamed.iter().map(|path| path.display().to_string()).collect();
        output::warn(&format!("members that were not named and are there are shown too: {}", names.join(" ")));
    }
    let doubt = doubt.map(|doubt| doubt.to_string());
    let document = ArrayDocument { doubt, ..ArrayDocument::from(&status) };
    let array = match shown.is_all(document.drive_count()) {
        true => document,
        false => document.with_unnamed(&|uuid, role| shown.is_counted_on(uuid, role)),
    };
    Ok(StateDocument { held_by, ..StateDocument::at_rest(array) })
}

/// An array and what goes on in it as text.
pub(crate) fn state_text(document: &StateDocument) -> String {
    let mut text = array_text(&document.array);
    tell_more(&mut text, document).expect("strings take everything");
    text
}

fn tell_more(text: &mut String, document: &StateDocument) -> std::fmt::Result {
    if let Some(simulated) = &document.simulated {
        writeln!(text, "  SIMULATED: {}", simulated.drives)?;
    }
    if let Some(EngineDocument { name, device, consistency_policy }) = &document.engine {
        writeln!(text, "  run by {name}, as {device}, consistency policy {consistency_policy}")?;
    }
    if let Some(paused) = &document.paused {
        writeln!(text, "  {}", paused_text(paused))?;
    }
    if let Some(attached) = &document.attached {
        writeln!(text, "  {}", attached_text(attached, document.running.as_ref()))?;
    }
    if let Some(BackgroundDocument { work, done_bytes, total_bytes, bytes_per_s }) = &document.background {
        let per_cent = done_bytes.saturating_mul(100).checked_div(*total_bytes).unwrap_or(100);
        let rate = bytes_per_s.map_or(String::new(), |rate| format!(", {}", format_rate(rate)));
        writeln!(text, "  {work}: {per_cent} %, {} of {}{rate}", format_size(*done_bytes), format_size(*total_bytes))?;
    }
    if let Some(process) = document.held_by {
        writeln!(text, "  {}: the above is what its drives said last", held_text(process))?;
    }
    if document.is_at_rest() {
        next_step::at_rest(&document.array).iter().try_for_each(|step| writeln!(text, "  {step}"))?;
    }
    document.running.as_ref().map_or(Ok(()), |running| tell_of_running(text, document, running))
}

/// Who has it that is not reached from here.
pub(super) fn held_text(process: u32) -> String {
    format!("in use by process {process}, which cannot be asked from here")
}

/// What it waits for, and for how long.
fn paused_text(PauseDocument { since_unix_s, waits_for, fails_in_s }: &PauseDocument) -> String {
    let since = format_age_s(unix_time_s().saturating_sub(*since_unix_s));
    let drives = waits_for.iter().map(|drive| Outside(drive).to_string()).collect::<Vec<_>>().join(" and ");
    let what = if drives.is_empty() { "its drives, which are there, to be usable".to_owned() } else { drives };
    let end = match fails_in_s {
        Some(seconds) => format!("requests wait, and fail in {seconds} s"),
        None => "no request waits yet".to_owned(),
    };
    format!("PAUSED for {since}: waits for {what}; {end}")
}

/// As what it is attached, and what is to be done if that cannot be used.
fn attached_text(
    AttachedDocument { attachment, standing }: &AttachedDocument,
    running: Option<&RunningDocument>,
) -> String {
    let Attachment { device, method, .. } = attachment;
    let again = attachment.attach_command();
    let places = attachment.mounted_at().unwrap_or_default();
    let trouble = match (standing, running) {
        (Standing::Served, _) => String::new(),
        (Standing::ServerGone, Some(running)) => format!(
            "; process {} runs it and does not serve it there: whatever uses it waits, or fails if its deadline is over: `shoal stop` \
             that, and `{again}` runs it again",
            running.process_id
        ),
        (Standing::ServerGone, None) => {
            format!(
                "; nobody runs it: whatever uses it waits, or fails if its deadline is over: `{again}` runs it again"
            )
        }
        (Standing::FrontStopped, _) => {
            let process_id = attachment.front.process_id;
            format!(
                "; process {process_id}, which keeps it, is stopped: whatever uses it waits: let it go on with `kill -CONT {process_id}`"
            )
        }
        (Standing::FrontGone, _) if !method.can_recover() && !places.is_empty() => {
            let place = places[0].display();
            format!(", whose process is gone: `shoal unmount {place}` takes it down; what was not flushed is lost")
        }
        (Standing::FrontGone, _) => {
            format!(", whose process is gone: `{again}` makes another, `shoal detach` takes it down")
        }
        (Standing::Gone, _) => format!(", which is not this array's any more: `{again}` makes another"),
    };
    let mounted = places.iter().map(|place| format!(", mounted on {}", place.display())).collect::<String>();
    format!("attached as {} by {method}{mounted}{trouble}", device.display())
}

/// The process that runs it, and what it has to tell.
fn tell_of_running(text: &mut String, document: &StateDocument, running: &RunningDocument) -> std::fmt::Result {
    if let Some(scrub) = &document.scrub {
        let verdict = match &document.background {
            Some(background) if background.work == WorkDocument::Scrub => "so far",
            _ if scrub.complete => "complete",
            _ => "stopped",
        };
        writeln!(text, "  scrub {verdict}: {} disagree", format_size(scrub.mismatched_bytes))?;
    }
    let most = running.speed_max_bytes_per_s.map_or("no limit".to_owned(), format_rate);
    writeln!(text, "  runs as process {}, administered at {}", running.process_id, running.socket)?;
    if !running.nbd.is_empty() {
        let clients = format_count(usize::try_from(running.nbd_clients).unwrap_or(usize::MAX), "client");
        writeln!(text, "  served by NBD at {} to {clients}", running.nbd.join(" "))?;
    }
    writeln!(
        text,
        "  background work: at least {} beside requests, {most}",
        format_rate(running.speed_min_bytes_per_s)
    )?;
    for news in &running.news {
        let ago = format_age_s(unix_time_s().saturating_sub(news.time_unix_s));
        writeln!(text, "  {ago} ago: {}: {}", Outside(&news.array), Outside(&news.text))?;
    }
    Ok(())
}

fn unix_time_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
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
        let on = match (&member.drive, &member.array) {
            (Some(drive), _) => Outside(drive).to_string(),
            (None, Some(inner)) => format!("array {}", Outside(&inner.name)),
            (None, None) => match &member.last_seen {
                Some(last) => format!("- (was {})", Outside(last)),
                None => "-".to_owned(),
            },
        };
        table.add_row([member.role.to_string(), member_state(member), on]);
    }
    for line in table.lines() {
        writeln!(text, "{indent} {}", line.trim_end())?;
    }
    for spare in &array.spares {
        writeln!(text, "{indent}  spare: {}", Outside(spare))?;
    }
    for left_out in &array.left_out {
        writeln!(text, "{indent}  not used: {}: {}", Outside(&left_out.drive), left_out.reason)?;
    }
    if let Some(problem) = &array.problem {
        writeln!(text, "{indent}  cannot run: {}", Outside(problem))?;
    }
    for inner in array.members.iter().filter_map(|member| member.array.as_deref()) {
        describe(text, inner, &format!("{indent}    "))?;
    }
    for other in &array.unattached {
        let why = match other.health {
            HealthDocument::Optimal | HealthDocument::Degraded => "given too, and not used:",
            _ => "given too, but it lacks too many members to say what it belongs to:",
        };
        writeln!(text, "{indent}  {why}")?;
        describe(text, other, &format!("{indent}    "))?;
    }
    Ok(())
}

/// How a member is, and how far what is done about it has come.
fn member_state(member: &MemberDocument) -> String {
    let state = match member.rebuilt_bytes {
        Some(bytes) => format!("{}, {} done", member.state, format_size(bytes)),
        None if member.suspect => format!("{}, slow: look at the drive", member.state),
        None => member.state.to_string(),
    };
    match &member.replacement {
        Some(it) => format!("{state}, {} copied to {}", format_size(it.copied_bytes), it.drive),
        None => state,
    }
}

fn describe_heading(text: &mut String, array: &ArrayDocument, indent: &str) -> std::fmt::Result {
    let layout = array.layout().map_or(String::new(), |layout| format!(", {layout}"));
    let chunk = array.chunk_bytes.map_or(String::new(), |chunk| format!(", chunk {}", format_size(chunk)));
    let capacity = array.capacity_bytes.map_or("size unknown".to_owned(), format_size);
    writeln!(text, "{indent}{}: {}{layout}{chunk}, {capacity}", Outside(&array.name), array.level)?;
    let in_state = |state| array.members.iter().filter(|member| member.state == state).count();
    let of_members = |count: usize, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} of {} {what}", array.members.len()),
    };
    let missing = of_members(in_state(MemberStateDocument::Missing), "missing");
    let unnamed = of_members(in_state(MemberStateDocument::NotNamed), "not named");
    let incomplete = of_members(in_state(MemberStateDocument::Incomplete), "incomplete");
    let resync = if array.needs_resync { ", needs a resync" } else { "" };
    writeln!(text, "{indent}  health {}{missing}{incomplete}{unnamed}{resync}", array.health)?;
    writeln!(text, "{indent}  {}", survives(array))?;
    if let Some(mend) = next_step::filling_text(array) {
        writeln!(text, "{indent}  {mend}")?;
    }
    if let Some(policy) = array.consistency_policy {
        let on = array.journal.as_ref().map_or(String::new(), |drive| format!(" on {}", Outside(drive)));
        writeln!(text, "{indent}  consistency policy {policy}{on}")?;
    }
    if let Some(window) = array.write_back {
        let [dirty, whole] = [window.dirty_bytes, window.window_bytes].map(format_size);
        writeln!(text, "{indent}  write-back window of {whole}, {dirty} of it not written yet")?;
    }
    writeln!(text, "{indent}  uuid {}, events {}", array.uuid, array.events)
}

/// Which losses the array is sure to survive as it is now.
fn survives(array: &ArrayDocument) -> String {
    let (now, when_whole) = (array.drives_to_spare, array.drives_to_spare_when_whole);
    let whole = drives(when_whole);
    let is_unsynced = |array: &ArrayDocument| array.needs_resync && array.has_parity();
    match array.health {
        HealthDocument::Unknown => {
            "how it is cannot be told: name its other members too, or say with --scan in which directory they are"
                .to_owned()
        }
        HealthDocument::Unusable => "enough members are there, and something else is in the way: see below".to_owned(),
        HealthDocument::Failed if array.incomplete_count() > 0 => {
            "a part of its content is on no member that was found".to_owned()
        }
        HealthDocument::Failed => "has lost more members than it survives".to_owned(),
        HealthDocument::Optimal if is_unsynced(array) || array.inner_arrays().any(is_unsynced) => {
            format!(
                "parity is not in sync yet: a loss now may cost data; after the resync survives the loss of {whole}"
            )
        }
        HealthDocument::Optimal | HealthDocument::Degraded if now == when_whole => {
            format!("survives the loss of {whole}")
        }
        HealthDocument::Optimal | HealthDocument::Degraded if now == 0 && is_certain(array) => {
            format!("survives no loss now; when whole, of {whole}")
        }
        HealthDocument::Optimal | HealthDocument::Degraded if now == 0 => {
            format!("is not sure to survive the loss of another drive now; when whole, of {whole}")
        }
        HealthDocument::Optimal | HealthDocument::Degraded => {
            format!("survives the loss of {} now; when whole, of {whole}", drives(now))
        }
    }
}

/// Whether it is all one which drive is lost next: not so of several mirrors, and of arrays inside
/// one.
fn is_certain(array: &ArrayDocument) -> bool {
    (array.has_parity() || array.level == Level::Raid1) && array.inner_arrays().next().is_none()
}

/// Members that do not hold all their data, here and in arrays inside.
pub(super) fn lacking(array: &ArrayDocument) -> u32 {
    let of_member = |member: &MemberDocument| match &member.array {
        _ if member.state != MemberStateDocument::InSync => 1,
        Some(inner) => lacking(inner),
        None => 0,
    };
    array.members.iter().map(of_member).sum()
}

fn drives(count: u32) -> String {
    match count {
        0 => "no drive".to_owned(),
        1 => "any one drive".to_owned(),
        count => format!("any {count} drives"),
    }
}
