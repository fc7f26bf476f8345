//! Arguments of `shoal profile`.

use std::path::PathBuf;

use clap::Args;
use shoal_text::parse_size;

use super::labbook::KeepArgs;

const AFTER_HELP: &str = "\
The description can be used wherever simulated drives can, as in sim:./my-stick.toml*6@usb2*2, and with `shoal plan`. \
Without --write nothing is written, and what only writing tells is said to be not measured.";

/// `shoal profile`
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ProfileArgs {
    /// The drive. More drives of its model on its bus are read together with it, to see what they
    /// cost each other.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
    /// Where to write the description.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What to call it: lowercase words joined by hyphens [default: from what the drive says of
    /// itself].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the drive is plugged into: usb2, usb3, ata133, sata3, sata6 or direct [default: as the
    /// system tells, else direct].
    #[arg(long, value_name = "BUS")]
    pub(crate) bus: Option<String>,
    /// Write to the drive as well. What it holds is lost.
    #[arg(long)]
    pub(crate) write: bool,
    /// About how much to write in a row: twice what a fast area may hold.
    #[arg(long, requires = "write", value_parser = parse_size, value_name = "SIZE", default_value = "1G")]
    pub(crate) bytes: u64,
    /// Overwrite what the drive holds when writing, and a description that is there. Drives in use
    /// are refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Where the run is kept.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}
