//! Arguments of the commands that measure.

use std::path::PathBuf;

use clap::Args;
use shoal_text::{parse_size, parse_small_size, whole_number};

use super::engine::EngineArgs;
use super::labbook::KeepArgs;

/// `shoal bench`
#[derive(Args, Debug)]
#[command(
    after_help = "Several members of one array given together are that array. In a directory a file is written, \
                        measured and deleted; elsewhere nothing is written without --write or --mix."
)]
pub(crate) struct BenchArgs {
    /// Files, devices, directories, or the members or the name of one array; or simulated drives,
    /// as sim:cruzer-titanium*6@usb2*2.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Look for the other members of the target's array among the files and devices in this
    /// directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) scan: Option<PathBuf>,
    /// Start the array though members are missing that it counts on.
    #[arg(long)]
    pub(crate) degraded: bool,
    /// Measure the files or devices themselves, even if they are members of an array.
    #[arg(long, conflicts_with = "scan")]
    pub(crate) raw: bool,
    /// Read (the default).
    #[arg(long, group = "direction")]
    pub(crate) read: bool,
    /// Write. What the target holds is lost.
    #[arg(long, group = "direction")]
    pub(crate) write: bool,
    /// Read so many of a hundred requests, write the others. What the target holds is lost.
    #[arg(long, group = "direction", value_name = "PERCENT", value_parser = whole_number(0_u8..=100))]
    pub(crate) mix: Option<u8>,
    /// Blocks one after the other (the default).
    #[arg(long, group = "pattern")]
    pub(crate) sequential: bool,
    /// Blocks anywhere.
    #[arg(long, group = "pattern")]
    pub(crate) random: bool,
    /// Size of each request [default: 1M sequential, 4K random].
    #[arg(long, value_parser = parse_small_size, value_name = "SIZE")]
    pub(crate) block_size: Option<u32>,
    /// Requests in flight [default: 4 sequential, 32 random].
    #[arg(long, value_name = "COUNT", value_parser = whole_number(1_u32..=4096))]
    pub(crate) depth: Option<u32>,
    /// How long to measure.
    #[arg(long, group = "limit", value_name = "SECONDS", default_value_t = 10, value_parser = whole_number(1_u64..=86_400))]
    pub(crate) seconds: u64,
    /// How much to transfer, instead of how long.
    #[arg(long, group = "limit", value_parser = parse_size, value_name = "SIZE")]
    pub(crate) bytes: Option<u64>,
    /// Run so long before measuring.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = whole_number(0_u64..=3600))]
    pub(crate) warm_up: u64,
    /// How often to measure.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = whole_number(1_u32..=1000))]
    pub(crate) repeat: u32,
    /// First byte of the range to visit.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "0")]
    pub(crate) offset: u64,
    /// Length of the range to visit; everything from the offset on if left out.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) length: Option<u64>,
    /// Directories: how large the file is that is written there, measured and deleted [default: 1
    /// GiB, or a quarter of what is free].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Repeats a run: the same blocks in the same order, the same bytes.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Arrays: answer writes from a window of so much memory, as drives with a volatile cache do;
    /// it is emptied by the flush at the end, which counts.
    #[arg(long, value_parser = parse_small_size, value_name = "SIZE", default_value = "0")]
    pub(crate) write_back: u32,
    /// Overwrite files, file systems, partition tables and arrays when writing. Drives in use are
    /// refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Who runs the array.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Where the run is kept.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Measure the simulated drives.
    #[command(flatten)]
    pub(crate) simulated: SimulatedArgs,
}

/// What is done with simulated drives.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated drives")]
pub(crate) struct SimulatedArgs {
    /// What is made of them; each is taken alone if no level is given.
    #[command(flatten)]
    pub(crate) array: SimulatedArrayArgs,
    /// Let virtual time pass as real time does, instead of as fast as this machine computes.
    #[arg(long)]
    pub(crate) real_time: bool,
}

/// The array that is made of simulated drives, for as long as the command runs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated drives")]
pub(crate) struct SimulatedArrayArgs {
    /// Make an array of this level of the simulated drives.
    #[arg(long, short, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// The array's chunk [default: 512K].
    #[arg(long, short, value_parser = parse_small_size, value_name = "SIZE", requires = "level")]
    pub(crate) chunk: Option<u32>,
    /// The array's layout, as for `shoal create`.
    #[arg(long, requires = "level")]
    pub(crate) layout: Option<String>,
}

/// `shoal study`
#[derive(Args, Debug)]
pub(crate) struct StudyArgs {
    /// The drives. What they hold is lost. Or simulated drives, as sim:cruzer-titanium*6@usb2*2.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
    /// What to vary.
    #[command(flatten)]
    pub(crate) plan: FactorArgs,
    /// Who runs the arrays.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Wipe files, and drives that hold file systems, partition tables or arrays. Drives in use are
    /// refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Where the run is kept.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Do not let a member fail and be rebuilt at the end. That takes three drives or more, and
    /// writes over all of the part of each drive that is used.
    #[arg(long)]
    pub(crate) no_fault: bool,
    /// Say what would be done, how long it would take and what would be written, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the report here: one page that needs nothing else.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

/// `shoal drives`
#[derive(Args, Debug)]
pub(crate) struct DrivesArgs {
    /// Go on, and tell what is plugged in and pulled, until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// List the drives that can be simulated, as sim:NAME, instead.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) catalogue: bool,
}

/// `shoal demo`
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Where the image files go, in a temporary directory that is removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// How many image files.
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = whole_number(3_u32..=26))]
    pub(crate) drives: u32,
    /// Size of each image file.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "96M")]
    pub(crate) size: u64,
    /// Write the report here.
    #[arg(long, value_name = "FILE.html", default_value = "shoal-demo.html")]
    pub(crate) report: PathBuf,
    /// Repeats a tour: the same order, the same blocks, the same bytes.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// The factors of a study and their levels.
#[derive(Args, Clone, Debug)]
pub(crate) struct FactorArgs {
    /// Levels of the arrays.
    #[arg(long, value_delimiter = ',', value_name = "LEVELS", default_value = "0,5")]
    pub(crate) levels: Vec<String>,
    /// Chunk sizes of the arrays.
    #[arg(long, value_delimiter = ',', value_parser = parse_small_size, value_name = "SIZES", default_value = "64K,512K")]
    pub(crate) chunks: Vec<u32>,
    /// Numbers of members: one, several, or a range as 2..6 [default: all drives].
    #[arg(long, value_name = "COUNTS")]
    pub(crate) members: Option<String>,
    /// How often each point is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = whole_number(1_u32..=100))]
    pub(crate) repeat: u32,
    /// How long each measurement takes.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = whole_number(1_u64..=3600))]
    pub(crate) seconds: u64,
    /// Use only so much of each drive [default: 1 GiB, or the whole drive if it is smaller].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Decides the order of the runs and all they do.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}
