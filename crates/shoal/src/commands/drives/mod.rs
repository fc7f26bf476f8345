//! `shoal drives`: what is plugged in, where, and what is on it.

pub(crate) mod catalogue;
pub(crate) mod document;
mod look;
mod text;
mod watch;

use crate::args::{Cli, DrivesArgs};
use crate::exit::Failure;
use crate::output;
use look::look;

/// Lists the drives. Reads only.
pub(crate) fn run(cli: &Cli, args: &DrivesArgs) -> Result<(), Failure> {
    if args.catalogue {
        return output::document(cli, &catalogue::catalogue(), catalogue::text);
    }
    if args.watch && cli.json {
        return Err(Failure::usage("--watch prints lines for people: leave --json out"));
    }
    let found = look()?;
    output::document(cli, &found, text::of)?;
    if args.watch { watch::follow(&found) } else { Ok(()) }
}
