//! `shoal rebuild`

use shoal_documents::protocol::Command;
use shoal_running::Opening;

use crate::args::{Cli, RebuildArgs};
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::setup::reach;

/// How to go on after Ctrl-C.
pub(crate) const REBUILD_GOES_ON: &str = "`shoal rebuild` goes on where it stood";

/// Goes on with resyncs and rebuilds where they stood, and starts rebuilds for which there is a spare.
pub(crate) fn run(cli: &Cli, args: &RebuildArgs) -> Result<(), Failure> {
    let mut array = reach(cli, &args.array, Opening::WRITABLE, None)?;
    let state = array.execute(Command::Status)?;
    if state.background.is_none() {
        let health = state.array.health;
        output::warn(&format!("nothing to rebuild: the array is {health}, and no missing member has a spare"));
    }
    let rebuild = run_background(cli, array.as_mut(), "rebuild")?;
    let document = array.finish()?;
    rebuild.finished_or(REBUILD_GOES_ON)?;
    output::document(cli, &document, state_text)
}
