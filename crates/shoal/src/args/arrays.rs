//! Arguments of the commands that make and keep arrays.

use std::path::PathBuf;

use clap::Args;
use shoal_md::Uuid;
use shoal_text::{parse_size, parse_small_size, whole_number};

/// Which array: its members, or one of them and where to look for the rest.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ArrayArgs {
    /// The array's members, in any order. Any one of them will do for an array that runs. Or its
    /// name, as `shoal list` shows it.
    #[arg(required_unless_present_any = ["socket", "uuid", "scan"], value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
    /// Look for the other members in this directory; for all, if it holds those of one array and no
    /// drive is given.
    #[arg(long, value_name = "DIR")]
    pub(crate) scan: Option<PathBuf>,
    /// The array with this UUID (md's form): its members are looked for among the machine's drives,
    /// or with --scan there.
    #[arg(long, value_name = "UUID")]
    pub(crate) uuid: Option<Uuid>,
    /// Where the array is administered while it runs, if not at the usual place.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Start it though members are missing that it counts on: what is written then is missing
    /// there, and they are filled anew when they come back. Asked for where this host has never run
    /// the array, cannot know whether those that are given are the newest, or cannot remember it;
    /// and where a member that was not given is there, or does not answer.
    #[arg(long)]
    pub(crate) degraded: bool,
}

/// What an array is called to which nobody gave a name: several may be.
pub(crate) const DEFAULT_NAME: &str = "shoal";

/// `shoal create`
#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// linear, 0, 1, 4, 5, 6 or 10; 50 and 60 stripe over groups of RAID5 or RAID6, 51 and 61
    /// mirror them.
    #[arg(long, short)]
    pub(crate) level: String,
    /// What lies on one member before the next one's turn; a power of two of at least 4K.
    #[arg(long, short, value_parser = parse_small_size, value_name = "SIZE", default_value = "512K")]
    pub(crate) chunk: u32,
    /// Where parity or copies go, as for mdadm: left-symmetric, ddf-zero-restart, ..., n2, f2, o2,
    /// original, alternate.
    #[arg(long)]
    pub(crate) layout: Option<String>,
    /// How many of the drives, the last ones given, are spares.
    #[arg(long, short = 'x', value_name = "COUNT", default_value_t = 0, value_parser = whole_number(0_usize..))]
    pub(crate) spares: usize,
    /// The array's name.
    #[arg(long, short = 'N', value_name = "NAME", default_value = DEFAULT_NAME)]
    pub(crate) name: String,
    /// Levels 50, 60, 51 and 61: how many groups.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = whole_number(1_usize..))]
    pub(crate) groups: usize,
    /// Use only so much of each drive, the superblock and what lies beside it included.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Where the superblocks lie: 1.2 near the start of the drives, 1.1 at it, 1.0 at the end.
    #[arg(long, value_name = "VERSION", default_value = "1.2")]
    pub(crate) metadata: Metadata,
    /// A write-intent bitmap: after a crash only what was being written is resynced, and a member
    /// that comes back is filled only where the array has changed.
    #[arg(long, value_name = "PLACE")]
    pub(crate) bitmap: Option<BitmapPlace>,
    /// What one bit of the bitmap stands for, a power of two; chosen by the array's size if left
    /// out.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) bitmap_chunk: Option<u64>,
    /// How parity and mirrors are made to agree after a crash: by a resync of everything, of what a
    /// bitmap names, or (level 5) by a log of partial parity, which also saves an array that is
    /// degraded then, and makes writes slower.
    #[arg(long, value_name = "POLICY")]
    pub(crate) consistency_policy: Option<Policy>,
    /// Take parity and mirrors as they are: only right if every drive holds zeros, or all content
    /// is rewritten.
    #[arg(long)]
    pub(crate) assume_clean: bool,
    /// Overwrite files, file systems, partition tables and other arrays. Drives in use are refused
    /// all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// The drives; or simulated drives, as sim:cruzer-titanium*6@usb2*2, whose array is shown and
    /// vanishes.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
}

/// Where superblocks lie, as mdadm names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Metadata {
    /// At the end of each drive.
    #[value(name = "1.0")]
    End,
    /// At the start.
    #[value(name = "1.1")]
    Start,
    /// 4 KiB from the start.
    #[value(name = "1.2")]
    Start4K,
}

/// Where a write-intent bitmap lies, as mdadm names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BitmapPlace {
    /// There is none.
    None,
    /// On the members.
    Internal,
}

/// How an array becomes consistent after a crash, as mdadm names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Policy {
    /// By a resync of everything.
    Resync,
    /// By a resync of what a write-intent bitmap names.
    Bitmap,
    /// By a log of partial parity.
    Ppl,
}

/// `shoal examine`
#[derive(Args, Debug)]
pub(crate) struct ExamineArgs {
    /// The drives.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
}

/// `shoal status`
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// Say by the exit status how it is, as `mdadm --detail --test` does: 0 optimal, 1 degraded, 2
    /// failed, 4 where that cannot be told, or where this host would not start the array.
    #[arg(long)]
    pub(crate) test: bool,
}

/// `shoal list`
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Look in this directory (not below it), and not at the machine's drives and files known to
    /// hold members; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) scan: Vec<PathBuf>,
}

/// `shoal trust`
#[derive(Args, Debug)]
#[command(mut_arg("drives", |drives| drives.help("The members that are right, in any order")))]
pub(crate) struct TrustArgs {
    /// The array, by the members that are right.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal read`
#[derive(Args, Debug)]
pub(crate) struct ReadArgs {
    /// First byte of the content.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "0")]
    pub(crate) offset: u64,
    /// How many bytes; all from the offset on if left out.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) length: Option<u64>,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal write`
#[derive(Args, Debug)]
pub(crate) struct WriteArgs {
    /// First byte of the content.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "0")]
    pub(crate) offset: u64,
    /// Write over a file system; or to a degraded array that was not shut down cleanly, though some
    /// blocks may be wrong.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal fail`
#[derive(Args, Debug)]
pub(crate) struct FailArgs {
    /// The member to take out.
    #[arg(long, value_name = "DRIVE")]
    pub(crate) member: PathBuf,
    /// Take it out though parity may not agree with the data: blocks of it may be lost.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal add`
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// The drive to add; its content is lost.
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: PathBuf,
    /// Overwrite what the drive holds. A drive in use is refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Add it and return; `shoal rebuild` fills it later.
    #[arg(long)]
    pub(crate) no_rebuild: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal remove`
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// The member: one that failed, or a spare.
    #[arg(long, alias = "drive", value_name = "DRIVE")]
    pub(crate) member: PathBuf,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal replace`
#[derive(Args, Debug)]
pub(crate) struct ReplaceArgs {
    /// The member to be replaced.
    #[arg(long, value_name = "DRIVE")]
    pub(crate) member: PathBuf,
    /// The drive that takes its place: a spare of the array, or another one, whose content is lost.
    #[arg(long, alias = "with", value_name = "DRIVE")]
    pub(crate) drive: PathBuf,
    /// Overwrite what that drive holds. A drive in use is refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Start and return; `shoal rebuild` goes on later.
    #[arg(long)]
    pub(crate) no_rebuild: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal re-add`
#[derive(Args, Debug)]
pub(crate) struct ReAddArgs {
    /// The drive that was a member.
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: PathBuf,
    /// Take it back and return; `shoal rebuild` fills it later.
    #[arg(long)]
    pub(crate) no_rebuild: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal grow`
#[derive(Args, Debug)]
pub(crate) struct GrowArgs {
    /// How many members the array is to have.
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = whole_number(1_usize..), required_unless_present_any = ["chunk", "layout", "bitmap", "go_on"])]
    pub(crate) raid_devices: Option<usize>,
    /// A drive to add, whose content is lost; give it once for each. Spares of the array are used
    /// besides.
    #[arg(long, alias = "add", value_name = "DRIVE")]
    pub(crate) drive: Vec<PathBuf>,
    /// Levels 4, 5 and 6: the new chunk.
    #[arg(long, short, value_parser = parse_small_size, value_name = "SIZE")]
    pub(crate) chunk: Option<u32>,
    /// Levels 5 and 6: the new layout, as for `create`.
    #[arg(long)]
    pub(crate) layout: Option<String>,
    /// Give it a write-intent bitmap, or take that away, as must be before an array with parity
    /// grows.
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["raid_devices", "drive", "chunk", "layout", "go_on"])]
    pub(crate) bitmap: Option<BitmapPlace>,
    /// What one bit of the bitmap stands for, a power of two; chosen by the array's size if left
    /// out.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", requires = "bitmap")]
    pub(crate) bitmap_chunk: Option<u64>,
    /// Go on with a reshape that was stopped, or cut off by a power cut, by shoal or by Linux.
    #[arg(long = "continue", conflicts_with_all = ["raid_devices", "drive", "chunk", "layout"])]
    pub(crate) go_on: bool,
    /// Overwrite what added drives hold. A drive in use is refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Return at once: `shoal rebuild` fills new members of level 1 later, and the kernel goes on
    /// with its arrays
    #[arg(long)]
    pub(crate) no_rebuild: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal rebuild`
#[derive(Args, Debug)]
pub(crate) struct RebuildArgs {
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal recover`
#[derive(Args, Debug)]
pub(crate) struct RecoverArgs {
    /// Files, devices, and directories of them: members, images of members or of whole disks,
    /// however damaged. Or the name of an array.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only this array, by name or UUID.
    #[arg(long, value_name = "ARRAY")]
    pub(crate) array: Option<String>,
    /// Copy the content into this new file, as far as it can be had, and list what is lost.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Write the superblocks that are proposed: the array runs so from then on.
    #[arg(long)]
    pub(crate) apply: bool,
}

/// `shoal scrub`
#[derive(Args, Debug)]
pub(crate) struct ScrubArgs {
    /// Write anew what cannot be read, where the others agree
    #[arg(long)]
    pub(crate) repair: bool,
    /// Make the rest agree, with the data or what most copies hold (Linux's md: the first copy)
    #[arg(long)]
    pub(crate) keep_data: bool,
    /// End the scrub that is under way in a running array.
    #[arg(long, conflicts_with = "repair")]
    pub(crate) stop: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}
