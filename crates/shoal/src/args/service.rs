//! Arguments of `shoal service` and `shoal hot-plug`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::arrays::ArrayArgs;

/// `shoal service`
#[derive(Args, Debug)]
pub(crate) struct ServiceArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

/// What can be done about arrays as services.
#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Make an array a service of this machine: shows every file, and writes it.
    Install(InstallArgs),
    /// Show the files of an array's service as they are.
    Show(InstalledArgs),
    /// Stop an array's service and take its files away.
    Remove(InstalledArgs),
    /// Print the lines that have the kernel run an array at boot, for mdadm's configuration and an
    /// initramfs.
    MdadmConf(MdadmConfArgs),
}

/// `shoal service install`
#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    /// Mount its file system here: at boot, before whatever needs local file systems.
    #[arg(long, value_name = "DIR")]
    pub(crate) mount: Option<PathBuf>,
    /// Keep the shares that `shoal share` has made, too, from boot on.
    #[arg(long)]
    pub(crate) shares: bool,
    /// Wait so long for members that are not there yet; then the array is run without them, if it
    /// can be.
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    pub(crate) wait: u64,
    /// Tell people when the array's health changes, as this file says (shoal alert --help).
    #[arg(long, value_name = "FILE")]
    pub(crate) alerts: Option<PathBuf>,
    /// Only show what would be written.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where the service goes.
    #[command(flatten)]
    pub(crate) place: ServicePlaceArgs,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal service show` and `shoal service remove`
#[derive(Args, Debug)]
pub(crate) struct InstalledArgs {
    /// Where the service is.
    #[command(flatten)]
    pub(crate) place: ServicePlaceArgs,
    /// Which array; by its --uuid none of its drives has to be there.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// Where a service is.
#[derive(Args, Debug)]
pub(crate) struct ServicePlaceArgs {
    /// A service of yours, not of the machine: without udev, for image files, or drives that you
    /// may open.
    #[arg(long)]
    pub(crate) user: bool,
    /// Write below this directory, which is the root of another system; nothing is started or
    /// stopped.
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub(crate) root: Option<PathBuf>,
}

/// `shoal service mdadm-conf`
#[derive(Args, Debug)]
pub(crate) struct MdadmConfArgs {
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal hot-plug`
#[derive(Args, Debug)]
pub(crate) struct HotPlugArgs {
    /// The drive that was plugged in.
    pub(crate) drive: PathBuf,
}
