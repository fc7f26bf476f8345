//! `shoal rebuild`

use crate::args::{Cli, RebuildArgs};
use crate::commands::status::{array_at_rest, array_document, array_text};
use crate::drives::open_array;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;

/// How to go on after Ctrl-C.
pub(crate) const REBUILD_GOES_ON: &str = "`shoal rebuild` goes on where it stood";

/// Goes on with rebuilds where they stood, and starts those for which there is a spare.
pub(crate) fn run(cli: &Cli, args: &RebuildArgs) -> Result<(), Failure> {
    let mut array = open_array(cli, &args.array, true, false)?;
    if array.progress().is_none() {
        let health = array_document(&array.status()).health;
        output::warn(&format!("nothing to rebuild: the array is {health}, and no missing member has a spare"));
    }
    let rebuild = run_background(cli, &mut array, "rebuild", &mut |_| {})?;
    let document = array_at_rest(&mut array)?;
    rebuild.finished_or(REBUILD_GOES_ON)?;
    output::document(cli, &document, array_text)
}
