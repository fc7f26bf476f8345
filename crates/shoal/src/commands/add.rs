//! `shoal add`

use crate::args::{AddArgs, Cli};
use crate::commands::rebuild::REBUILD_GOES_ON;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::running::{Command, Opening, reach};

/// Adds a drive to an array. If a member is missing, the drive takes its place and is filled.
pub(crate) fn run(cli: &Cli, args: &AddArgs) -> Result<(), Failure> {
    let mut array = reach(cli, &args.array, Opening::WRITABLE, Some(&args.drive))?;
    array.execute(Command::Add { drive: args.drive.clone(), force: args.force })?;
    let mut rebuild = None;
    if !args.no_rebuild {
        rebuild = Some(run_background(cli, array.as_mut(), "rebuild")?);
    }
    let document = array.finish()?;
    if let Some(rebuild) = rebuild {
        rebuild.finished_or(REBUILD_GOES_ON)?;
    }
    output::document(cli, &document, state_text)
}
