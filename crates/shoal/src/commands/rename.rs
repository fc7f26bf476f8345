//! `shoal rename`: an array gets another name.

use shoal_documents::protocol::Command;
use shoal_running::Opening;

use super::create::{homehost, tell_namesakes};
use crate::args::{Cli, RenameArgs};
use crate::attaching::refuse_occupied;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::setup::reach;

/// Writes the new name to all members. Who knows the array by its UUID does not notice.
pub(crate) fn run(cli: &Cli, args: &RenameArgs) -> Result<(), Failure> {
    let (array, name) = args.array_and_name()?;
    // The file that it is attached as has its name.
    refuse_occupied(&array)?;
    let mut array = reach(cli, &array, Opening::WRITABLE, None)?;
    let former = array.execute(Command::Status)?.array.name;
    let homehost = if args.no_homehost { None } else { homehost() };
    array.execute(Command::Rename { name, homehost })?;
    let document = array.finish()?;
    tell_namesakes(&document.array);
    output::document(cli, &document, |document| {
        format!(
            "{}  was {former}; this host, services and mdadm.conf know the array by its UUID, and go on. /dev/md/NAME and \
             descriptions of services have the old name until they are made anew\n",
            state_text(document)
        )
    })
}
