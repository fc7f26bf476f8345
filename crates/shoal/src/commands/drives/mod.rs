//! `shoal drives`: what is plugged in, where, and what is on it.

pub(crate) mod document;
mod text;
mod watch;

use std::path::Path;
use std::time::Duration;

use shoal_inventory::plugged;

use crate::args::{Cli, DrivesArgs};
use crate::exit::Failure;
use crate::output;
use document::DrivesDocument;

/// Where the kernel's tree of devices is mounted.
const SYSFS: &str = "/sys";
/// How long a drive may take to say what is on it. Disks that sleep take ten seconds to spin up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lists the drives. Reads only.
pub(crate) fn run(cli: &Cli, args: &DrivesArgs) -> Result<(), Failure> {
    if args.watch && cli.json {
        return Err(Failure::usage("--watch prints lines for people: leave --json out"));
    }
    let found = look()?;
    output::document(cli, &found, text::of)?;
    if args.watch { watch::follow(&found) } else { Ok(()) }
}

fn look() -> Result<DrivesDocument, Failure> {
    let found = plugged(Path::new(SYSFS), PATIENCE);
    let found = found.map_err(|error| Failure::Failed(format!("{SYSFS}/block: {error}: is sysfs mounted?")))?;
    Ok(DrivesDocument::of(&found))
}
