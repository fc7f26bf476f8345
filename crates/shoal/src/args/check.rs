//! Arguments of `shoal check`.

use std::path::PathBuf;

use clap::Args;
use shoal_text::parse_size;

use super::labbook::KeepArgs;

const AFTER_HELP: &str = "\
Without --write nothing is written, and a fake drive cannot be told from a genuine one: what is told is whether all can be read, \
and whether what the drive holds repeats.

Exit status: 0 all drives are genuine; 1 one is fake or damaged, or what was done does not tell.";

/// `shoal check`
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CheckArgs {
    /// The drives, one after the other. Or simulated drives, as sim:stick-64g:fake.real=8G.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
    /// Write to chosen places of each drive, and read them back. What it holds is lost.
    #[arg(long)]
    pub(crate) write: bool,
    /// Write all of each drive, and read all of it back.
    #[arg(long, requires = "write")]
    pub(crate) full: bool,
    /// What is written to each drive at most, but for --full itself. A cache of the drive of up to
    /// a sixteenth of it is defeated.
    #[arg(long, requires = "write", value_parser = parse_size, value_name = "SIZE", default_value = "1G")]
    pub(crate) budget: u64,
    /// Repeats a check: the same places, the same bytes.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Overwrite what the drives hold when writing. Drives in use are refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Where the run is kept.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}
