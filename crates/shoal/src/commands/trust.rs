//! `shoal trust`: this host takes the drives given as the array, whatever it has seen of it before.

use shoal_documents::{ArrayDocument, StateDocument};
use shoal_drive::Access;
use shoal_inventory::{keeper, open_drives, refuse_silent};
use shoal_running::refuse_held;
use shoal_volume::{ArrayStatus, Believed, Health, believe};

use crate::args::{Cli, TrustArgs};
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, join, member_paths, open_options, reach_running};

/// Remembers the array that the drives make, as it is. Nothing is written to them.
pub(crate) fn run(cli: &Cli, args: &TrustArgs) -> Result<(), Failure> {
    if reach_running(&args.array)?.is_some() {
        return Err(Failure::usage(
            "the array is running, and what it is made of is remembered: `shoal stop` it first",
        ));
    }
    let paths = member_paths(&args.array)?;
    refuse_silent(environment(), &paths)?;
    refuse_held(&paths)?;
    let mut drives = open_drives(&paths, Access::Read)?;
    for drive in &mut drives {
        drive.keep_writers_out()?;
    }
    let opened = join(cli, drives, 1, 4096)?;
    let options = open_options(cli, false, false)?;
    let Believed { status, given_up, trouble } =
        believe(opened.world, opened.plan, &opened.drives, &options, keeper(environment())?, |status| {
            status.health != Health::Failed
        })?;
    if status.health == Health::Failed {
        return Err(Failure::Refused(format!(
            "array {}: these are too few of its members to be the array: give the others too",
            status.name
        )));
    }
    if let Some(trouble) = trouble {
        return Err(Failure::Failed(trouble));
    }
    given_up.iter().for_each(|given_up| output::warn(given_up));
    show(cli, &status)
}

fn show(cli: &Cli, status: &ArrayStatus) -> Result<(), Failure> {
    let array = ArrayDocument::from(status);
    output::document(cli, &StateDocument::at_rest(array), |state| {
        state_text(state)
            + "  this host takes these drives as the array from now on; any other is a stranger, or out of date\n"
    })
}
