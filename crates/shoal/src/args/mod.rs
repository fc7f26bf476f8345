//! The command line: what can be typed. Parsing never acts.

mod alert;
mod arrays;
mod attach;
mod check;
mod drives;
mod engine;
mod examples;
mod filesystem;
mod help;
mod labbook;
mod measure;
mod named;
mod network;
mod plan;
mod profile;
mod replay;
mod run;
mod serve;
mod service;
mod share;
mod sim;
mod write_back;

use clap::{Parser, Subcommand};

pub(crate) use alert::AlertArgs;
pub(crate) use arrays::{
    AddArgs, ArrayArgs, BitmapPlace, CreateArgs, DEFAULT_NAME, ExamineArgs, FailArgs, GrowArgs, ListArgs, Metadata,
    Policy, ReAddArgs, ReadArgs, RebuildArgs, RecoverArgs, RemoveArgs, ReplaceArgs, ScrubArgs, StatusArgs, TrustArgs,
    WriteArgs,
};
pub(crate) use attach::{AttachArgs, BackgroundArgs, DetachArgs, FrontArgs, SuccessorArgs};
pub(crate) use check::CheckArgs;
pub(crate) use drives::{RenameArgs, WipeArgs};
pub(crate) use engine::EngineArg;
pub(crate) use examples::examples_of;
pub(crate) use filesystem::{FormatArgs, MountArgs, UnmountArgs};
pub(crate) use help::{GROUPS, parse};
pub(crate) use labbook::{BookArgs, CompareArgs, KeepArgs, LogArgs, ShowArgs, TrendArgs};
pub(crate) use measure::{BenchArgs, DemoArgs, DrivesArgs, FactorArgs, SimulatedArgs, SimulatedArrayArgs, StudyArgs};
pub(crate) use network::{NetworkArgs, Preset};
pub(crate) use plan::{PlanArgs, parse_percent};
pub(crate) use profile::ProfileArgs;
pub(crate) use replay::ReplayArgs;
pub(crate) use run::{RunArgs, SpeedArgs, SpeedLimits, StopArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use service::{
    HotPlugArgs, InstallArgs, InstalledArgs, MdadmConfArgs, ServiceArgs, ServiceCommand, ServicePlaceArgs,
};
pub(crate) use share::{GuestsChoice, NfsServerChoice, ShareArgs, UnshareArgs};
pub(crate) use sim::{SimArgs, SimCommand, SwarmArgs};
pub(crate) use write_back::WriteBackArgs;

const AFTER_HELP: &str = "\
Sizes: 64K, 512KiB and 1M are powers of two, 1MB is 10^6 bytes; without a unit, bytes.

An array is given by its members in any order, by any one member and --scan DIR, by its name, or by --uuid.

Exit status: 0 done; 1 failed; 2 wrong usage; 3 refused because data would be in danger; 4 a drive \
is in use now: try again later.";

/// What stands above the options that all commands have, behind their own.
const GLOBAL: &str = "Options of every command";

/// Measures drives, builds arrays of them in Linux md's format, and runs the arrays in user space.
#[derive(Debug, Parser)]
#[command(name = "shoal", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// No progress bars.
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// How I/O is done.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "ENGINE", default_value = "auto")]
    pub(crate) io_engine: IoEngineChoice,
    /// Which instructions compute parity: auto, scalar, avx2, avx512-gfni or neon.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "KERNEL", default_value = "auto")]
    pub(crate) parity_kernel: String,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum IoEngineChoice {
    /// io_uring if the kernel permits it, else threads.
    Auto,
    /// io_uring with registered buffers and files.
    Uring,
    /// Threads with pread and pwrite.
    Threads,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A tour on image files: measure, build, break, rebuild, recommend.
    Demo(DemoArgs),
    /// Measure drives and arrays of them; recommend one. Wipes the drives.
    Study(StudyArgs),
    /// Show which drives are plugged in, where, and what is on them.
    ///
    /// With what drives share, and what is slower than it could be. Reads only.
    Drives(DrivesArgs),
    /// Rank the arrays that drives could make, before they are bought.
    ///
    /// By room, cost, speed, safety and wear.
    Plan(PlanArgs),
    /// Say whether drives have the capacity that they claim.
    ///
    /// Reads only, unless told to write.
    Check(CheckArgs),
    /// Measure a drive, and describe it for simulations and plans.
    Profile(ProfileArgs),
    /// Measure a file, a device, a directory or an array.
    Bench(BenchArgs),
    /// List what was measured, newest first, out of the lab book.
    ///
    /// Or write all of it to a file, or take in what such a file holds.
    Log(LogArgs),
    /// Show all figures of one run, and the line that reproduces it.
    Show(ShowArgs),
    /// Say how two runs differ, and which differences are noise.
    Compare(CompareArgs),
    /// Say whether a drive gets slower, by all runs of it.
    Trend(TrendArgs),
    /// Play published studies on simulated drives, figure by figure.
    Replay(ReplayArgs),
    /// Make an array of drives, in md's format.
    Create(CreateArgs),
    /// Show the superblock on each drive.
    Examine(ExamineArgs),
    /// Have this host take the drives given as the array.
    ///
    /// Also one that it has never seen in it, that it has left out, or that is older than what it
    /// has seen. What this host has seen of an array decides who takes part: a drive that was never
    /// seen in it is left out, and so is one that was left out before; where those that are right
    /// may be missing, the array is not started. This says that the drives given are right. Nothing
    /// is written to them.
    Trust(TrustArgs),
    /// End what drives were: array members, partitions, file systems.
    ///
    /// Says first what would go, and asks.
    Wipe(WipeArgs),
    /// Give an array another name.
    Rename(RenameArgs),
    /// List all arrays: running, on drives of this machine, remembered.
    List(ListArgs),
    /// Show an array's health, members, roles and events.
    Status(StatusArgs),
    /// Write an array's content to standard output.
    Read(ReadArgs),
    /// Write standard input to an array's content.
    Write(WriteArgs),
    /// Take a member out of its array.
    Fail(FailArgs),
    /// Add a drive: as a spare, or in the place of a missing member.
    Add(AddArgs),
    /// Let a drive that failed, or a spare, leave its array.
    Remove(RemoveArgs),
    /// Copy a member that still works to another drive.
    ///
    /// That one takes its place then.
    Replace(ReplaceArgs),
    /// Take a former member back; only what has changed is copied.
    ///
    /// What has changed is known by the array's bitmap.
    ReAdd(ReAddArgs),
    /// Give an array more members, another chunk or another layout.
    ///
    /// Nobody may use it meanwhile, unless the kernel runs it.
    Grow(GrowArgs),
    /// Fill members that are being rebuilt.
    Rebuild(RebuildArgs),
    /// Find members among many files, and see what can be made of them.
    ///
    /// Writes nothing unless told to.
    Recover(RecoverArgs),
    /// Compare parity and mirrors with the data.
    Scrub(ScrubArgs),
    /// Run an array until it is stopped; all other commands reach it.
    Run(RunArgs),
    /// Run an array, and serve it as a network block device (NBD).
    ///
    /// To kernels, virtual machines and tools.
    Serve(ServeArgs),
    /// Measure an array from another host: NBD, NFS, SMB and FTP.
    ///
    /// Over a shaped link, against the array itself.
    Network(NetworkArgs),
    /// Make a file system that fits an array.
    ///
    /// Its stripes, erase units and blocks.
    Format(FormatArgs),
    /// Mount an array's file system, and attach the array for that.
    Mount(MountArgs),
    /// Unmount it, and detach the array if it was attached for that.
    Unmount(UnmountArgs),
    /// Make an array a block device, or a file, of this machine.
    ///
    /// If nobody runs it, it is run in the background.
    Attach(AttachArgs),
    /// End what `attach` began.
    Detach(DetachArgs),
    /// Keep an array's device for `attach`, which starts it.
    #[command(hide = true)]
    Front(FrontArgs),
    /// Wait for the end of a front that does not say goodbye, and take its place; fronts start it.
    #[command(hide = true)]
    Successor(SuccessorArgs),
    /// Run this program with other arguments, out of reach of the terminal.
    #[command(hide = true)]
    Background(BackgroundArgs),
    /// Have the system run an array, from boot on.
    ///
    /// And when its drives are plugged in, and again when it fails.
    Service(ServiceArgs),
    /// Hand a drive that was plugged in to its array, as udev does.
    ///
    /// udev does it for arrays that are services.
    HotPlug(HotPlugArgs),
    /// See whether people would be told when health changes.
    Alert(AlertArgs),
    /// Share a directory, or a mounted array, by SMB, NFS or FTP.
    Share(ShareArgs),
    /// End a share.
    Unshare(UnshareArgs),
    /// Stop a running array.
    Stop(StopArgs),
    /// Change how fast a running array resyncs, rebuilds and scrubs.
    Speed(SpeedArgs),
    /// Hunt for faults of the arrays themselves, in simulated worlds.
    Sim(SimArgs),
    /// Write the manual pages into a directory.
    Man {
        /// Where to.
        directory: std::path::PathBuf,
    },
    /// Print the completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the JSON schemas of all `--json` documents.
    Schemas {
        /// Where to.
        directory: std::path::PathBuf,
    },
}
