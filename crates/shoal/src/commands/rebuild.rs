//! `shoal rebuild`

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, ConsistencyDocument, MemberDocument, MemberStateDocument, StateDocument};
use shoal_running::Opening;

use crate::args::{Cli, RebuildArgs};
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;
use crate::setup::{check_first, reach};

/// How to go on after Ctrl-C.
pub(crate) const REBUILD_GOES_ON: &str = "`shoal rebuild` goes on where it stood";

/// Goes on with resyncs and rebuilds where they stood, and starts rebuilds for which there is a
/// spare.
pub(crate) fn run(cli: &Cli, args: &RebuildArgs) -> Result<(), Failure> {
    let looked = check_first(cli, &args.array, Opening::WRITABLE, None, |array| Ok(array.execute(Command::Status)?))?;
    let is_idle = |state: &StateDocument| !has_work(&state.array) && !has_log(&state.array);
    if let Some(idle) = looked.filter(|state| args.array.degraded && is_idle(state)) {
        output::warn(&nothing_to_do(&idle.array));
        return output::document(cli, &idle, state_text);
    }
    let mut array = reach(cli, &args.array, Opening::WRITABLE, None)?;
    let state = array.execute(Command::Status)?;
    if state.background.is_none() {
        output::warn(&nothing_to_do(&state.array));
    }
    let rebuild = run_background(cli, array.as_mut(), "rebuild")?;
    let document = array.finish()?;
    rebuild.finished_or(REBUILD_GOES_ON)?;
    output::document(cli, &document, state_text)
}

fn nothing_to_do(array: &ArrayDocument) -> String {
    format!("nothing to rebuild: the array is {}, and no missing member has a spare", array.health)
}

/// Whether the array, or one inside it, has logs, in which a crash may have left something to be
/// replayed.
fn has_log(array: &ArrayDocument) -> bool {
    let policy = array.consistency_policy;
    matches!(policy, Some(ConsistencyDocument::Ppl | ConsistencyDocument::Journal)) || array.inner_arrays().any(has_log)
}

/// Whether there will be something to resync, to fill or to copy in the array, or in one inside it,
/// once it is started.
pub(super) fn has_work(array: &ArrayDocument) -> bool {
    let is_filled = |member: &MemberDocument| match member.state {
        MemberStateDocument::Missing => !array.spares.is_empty(),
        state => state == MemberStateDocument::Rebuilding || member.replacement.is_some(),
    };
    array.needs_resync || array.members.iter().any(is_filled) || array.inner_arrays().any(has_work)
}
