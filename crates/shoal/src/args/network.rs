//! Arguments of `shoal network`.

use std::path::PathBuf;

use clap::Args;
use shoal_network::{LinkSpeed, Protocol};
use shoal_text::{parse_size, parse_small_size, whole_number};

use super::labbook::KeepArgs;

/// `shoal network`
#[derive(Args, Debug)]
#[command(
    after_help = "Two hosts of this machine, joined by a link of that speed: one serves the array, the other copies. \
                        Takes root. A directory keeps what it holds; an array's content is lost. An array that --level makes is \
                        taken off its drives again."
)]
pub(crate) struct NetworkArgs {
    /// A directory on a mounted array; or the members of an array, of which everything may be
    /// overwritten; or with --level drives that are none yet.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Look for the array's other members among the files and devices in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "level")]
    pub(crate) scan: Option<PathBuf>,
    /// Make an array of this level of the drives, as `shoal create` would, and measure that.
    #[arg(long, short, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Its chunk [default: 512K].
    #[arg(long, short, value_parser = parse_small_size, value_name = "SIZE", requires = "level")]
    pub(crate) chunk: Option<u32>,
    /// Its layout, as for `shoal create`.
    #[arg(long, requires = "level")]
    pub(crate) layout: Option<String>,
    /// How fast the link is; may be given several times [default: 1Gbit and 100Mbit].
    #[arg(long, value_name = "SPEED")]
    pub(crate) link: Vec<LinkSpeed>,
    /// What goes over it: nbd, nfs, smb, ftp [default: all].
    #[arg(long, value_delimiter = ',', value_name = "PROTOCOLS")]
    pub(crate) with: Vec<Protocol>,
    /// What each transfer moves; it has to fit into memory twice [default: 256M].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// How often each transfer is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = whole_number(1_u32..=100))]
    pub(crate) repeat: u32,
    /// Measure what a published study did, and show its figures beside.
    #[arg(long = "as", value_name = "STUDY")]
    pub(crate) preset: Option<Preset>,
    /// Decides the order of the transfers, and their content.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Write the report here: one page that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Overwrite the array's content; with --level, whatever the drives hold. Drives in use are
    /// refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Say what would be done, how long it would take and what would be written, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where the run is kept.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// Published studies with a network in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Preset {
    /// Eight disks in RAID5 over gigabit: 3.28 GB by NFS and FTP.
    Eide,
    /// Four sticks on a Raspberry Pi Zero: 4 KiB after 4 KiB, one at a time, of each stick and of
    /// all as one; and what became of it, a share by SMB.
    PiZero,
}
