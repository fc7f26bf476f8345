//! Arguments of `shoal replay`.

use std::path::PathBuf;

use clap::Args;
use shoal_replay::Study;

/// `shoal replay`
#[derive(Args, Debug)]
#[command(
    after_help = "Studies: cruzer (six sticks in RAID0 on one and two USB 2.0 buses), rally2 (two sticks in RAID0), \
                        sticks-os-fs (three sticks, operating systems and file systems), eide (disks in RAID5, local and \
                        over gigabit), pi-zero (four sticks on a Raspberry Pi).\n\n\
                        Each figure is an input, fitted, predicted, predicted with an assumption, or not predicted; --json \
                        and docs/replay.md say why, figure by figure. No drive is touched: all are simulated."
)]
pub(crate) struct ReplayArgs {
    /// Which studies; all of them if none is named.
    #[arg(value_name = "STUDY", value_parser = parse_study)]
    pub(crate) studies: Vec<Study>,
    /// Draw a chart of each study, as SVG, into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
}

fn parse_study(name: &str) -> Result<Study, String> {
    let names = Study::ALL.map(Study::name).join(", ");
    Study::parse(name).ok_or_else(|| format!("there is no such study: name one of {names}"))
}
