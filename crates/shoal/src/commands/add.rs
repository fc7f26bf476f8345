//! `shoal add`, `shoal re-add` and `shoal replace`: drives that come to an array.

use std::path::Path;

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, MemberStateDocument};
use shoal_inventory::same_file;
use shoal_running::Opening;

use crate::args::{AddArgs, ArrayArgs, Cli, ReAddArgs, ReplaceArgs};
use crate::attaching::refuse_members_in_use;
use crate::commands::rebuild::REBUILD_GOES_ON;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::setup::{check_first, reach, with_drive};

/// Adds a drive to an array. If a member is missing, the drive takes its place and is filled.
pub(crate) fn run(cli: &Cli, args: &AddArgs) -> Result<(), Failure> {
    refuse_members_in_use(std::slice::from_ref(&args.drive), &args.array)?;
    let add = Command::Add { drive: args.drive.clone(), force: args.force };
    bring(cli, &args.array, &args.drive, add, !args.no_rebuild)
}

/// Takes a former member back, and fills it where the array has changed meanwhile.
pub(crate) fn again(cli: &Cli, args: &ReAddArgs) -> Result<(), Failure> {
    bring(cli, &args.array, &args.drive, Command::ReAdd { drive: args.drive.clone() }, !args.no_rebuild)
}

/// Copies a member to another drive, which takes its place.
pub(crate) fn replace(cli: &Cli, args: &ReplaceArgs) -> Result<(), Failure> {
    refuse_members_in_use(std::slice::from_ref(&args.drive), &args.array)?;
    let (member, drive) = (args.member.clone(), args.drive.clone());
    let replace = Command::Replace { member, drive, force: args.force };
    bring(cli, &with_drive(&args.array, &args.member), &args.drive, replace, !args.no_rebuild)
}

/// Brings a drive to an array, and waits until it is filled if that is wanted. One that comes back
/// and is among the members given, as its array inside is to come back, is no newcomer.
fn bring(cli: &Cli, args: &ArrayArgs, drive: &Path, command: Command, wait: bool) -> Result<(), Failure> {
    let is_given = || args.drives.iter().any(|given| same_file(given, drive));
    let may_stand_for_an_array = matches!(command, Command::ReAdd { .. } | Command::Add { force: true, .. });
    let newcomer = if may_stand_for_an_array && is_given() { None } else { Some(drive) };
    check_first(cli, args, Opening::WRITABLE, newcomer, |array| match array.execute(command.clone()) {
        Err(error) if error.is_read_only() => Ok(()),
        carried_out => Ok(carried_out.map(drop)?),
    })?;
    let mut array = reach(cli, args, Opening::WRITABLE, newcomer)?;
    if !wait && !array.goes_on_by_itself() {
        // A small drive would be filled while the array is closed.
        array.execute(Command::Speed { min_bytes_per_s: Some(1), max_bytes_per_s: Some(1) })?;
    }
    array.execute(command)?;
    let rebuild = if wait { Some(run_background(cli, array.as_mut(), "rebuild")?) } else { None };
    let document = array.finish()?;
    let Some(rebuild) = rebuild else { return output::document(cli, &document, state_text) };
    rebuild.finished_or(REBUILD_GOES_ON)?;
    output::document(cli, &document, state_text)?;
    match place_of(&document.array, drive) {
        Some(Place::Serves) => Ok(()),
        Some(Place::Unfilled) => Err(Failure::Shown(format!(
            "{} is not filled: the others lack something that it needs; `shoal status` says what",
            drive.display()
        ))),
        None => Err(Failure::Shown(format!(
            "{} failed while it was filled, and is in the array no more: give another drive",
            drive.display()
        ))),
    }
}

/// What has become of a drive that came to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is a member with all of its data, or a spare.
    Serves,
    /// It is being filled.
    Unfilled,
}

/// The place of a drive in an array, or in one inside it; `None` if it has none.
fn place_of(array: &ArrayDocument, drive: &Path) -> Option<Place> {
    let is_it = |name: &String| same_file(Path::new(name), drive);
    if array.spares.iter().any(is_it) || array.journal.as_ref().is_some_and(is_it) {
        return Some(Place::Serves);
    }
    array.members.iter().find_map(|member| {
        if member.replacement.as_ref().is_some_and(|replacement| is_it(&replacement.drive)) {
            return Some(Place::Unfilled);
        }
        match &member.array {
            Some(inner) => place_of(inner, drive),
            None if member.drive.as_ref().is_some_and(is_it) => match member.state {
                MemberStateDocument::InSync => Some(Place::Serves),
                _ => Some(Place::Unfilled),
            },
            None => None,
        }
    })
}
