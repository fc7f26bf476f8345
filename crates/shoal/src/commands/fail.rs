//! `shoal fail` and `shoal remove`: drives that leave an array.

use std::path::Path;

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, MemberDocument, MemberStateDocument, StateDocument};
use shoal_inventory::same_file;
use shoal_running::{Handle, Opening, Setup};
use shoal_volume::{CommandError, Level, ManageError};

use crate::args::{ArrayArgs, Cli, FailArgs, RemoveArgs};
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, members_to_open, reach, reach_running, with_drive};

/// Takes a member out of its array. It is not written any more, and the others remember.
pub(crate) fn run(cli: &Cli, args: &FailArgs) -> Result<(), Failure> {
    let mut running = reach_running(&args.array)?;
    let at_rest = with_drive(&args.array, &args.member);
    if running.is_none() {
        members_to_open(&at_rest, Opening::WRITABLE)?;
    }
    let array = state(cli, running.as_mut(), &at_rest)?.array;
    if running.is_none() {
        // Checked before the start: a start writes superblocks, and an absent member misses them.
        refuse_needed(&array, &args.member)?;
    }
    if !args.force {
        refuse_unsynced(&array, &args.member)?;
    }
    take_leave(cli, running, &at_rest, Command::Fail { member: args.member.clone() })
}

/// Lets a drive go that failed, or a spare.
pub(crate) fn remove(cli: &Cli, args: &RemoveArgs) -> Result<(), Failure> {
    let command = Command::Remove { drive: args.member.clone() };
    take_leave(cli, reach_running(&args.array)?, &with_drive(&args.array, &args.member), command)
}

/// The array as it is; nothing of one at rest is changed.
fn state(cli: &Cli, running: Option<&mut Box<dyn Handle>>, at_rest: &ArrayArgs) -> Result<StateDocument, Failure> {
    if let Some(array) = running {
        return Ok(array.execute(Command::Status)?);
    }
    // What is to be told of it is told by the start.
    let setup = Setup { environment: environment().muted(), ..cli.setup()? };
    let mut array = shoal_running::reach(&setup, &at_rest.address(), Opening::READABLE, None)?;
    let state = array.execute(Command::Status)?;
    array.finish()?;
    Ok(state)
}

fn take_leave(
    cli: &Cli,
    running: Option<Box<dyn Handle>>,
    at_rest: &ArrayArgs,
    command: Command,
) -> Result<(), Failure> {
    let mut array = match running {
        Some(array) => array,
        None => reach(cli, at_rest, Opening::WRITABLE, None)?,
    };
    array.execute(command)?;
    output::document(cli, &array.finish()?, state_text)
}

/// Refuses a member that the array cannot spare. Of RAID10 and of arrays of arrays only the engine
/// knows that: they are not judged here.
fn refuse_needed(array: &ArrayDocument, drive: &Path) -> Result<(), Failure> {
    let is_it = |member: &&MemberDocument| member.drive.as_ref().is_some_and(|own| same_file(Path::new(own), drive));
    let Some(member) = array.members.iter().find(is_it) else { return Ok(()) };
    let is_lost = |other: &&MemberDocument| other.role != member.role && other.state != MemberStateDocument::InSync;
    let others_lost = array.members.iter().filter(is_lost).count();
    let spare = array.drives_to_spare_when_whole as usize;
    let is_simple = !matches!(array.level, Level::Raid10(_)) && array.inner_arrays().next().is_none();
    if !is_simple || member.state != MemberStateDocument::InSync || others_lost < spare {
        return Ok(());
    }
    let what = format!("{} cannot be taken out", drive.display());
    Err(Failure::Refused(ManageError::Refused { what, why: CommandError::NoRedundancy }.to_string()))
}

/// Whether a drive is a member of an array, or of one inside it.
fn has_member(array: &ArrayDocument, drive: &Path) -> bool {
    let is_it = |own: &String| same_file(Path::new(own), drive);
    array.members.iter().filter_map(|member| member.drive.as_ref()).any(is_it)
        || array.inner_arrays().any(|inner| has_member(inner, drive))
}

/// Refuses a member of an array with parity that is not known to agree with the data: it cannot
/// stand for one that leaves.
fn refuse_unsynced(array: &ArrayDocument, drive: &Path) -> Result<(), Failure> {
    array
        .inner_arrays()
        .filter(|inner| has_member(inner, drive))
        .try_for_each(|inner| refuse_unsynced(inner, drive))?;
    if !array.needs_resync || !array.has_parity() {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "array {} was not shut down cleanly, or has never been in sync: its parity may not stand for a member that leaves. \
         `shoal rebuild` waits until it is in sync; --force takes the member out now, and blocks of it may be lost",
        array.name
    )))
}
