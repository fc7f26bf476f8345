//! Arguments of the commands for file systems on arrays.

use std::path::PathBuf;

use clap::Args;
use shoal_filesystem::Kind;
use shoal_text::parse_size;

use super::ArrayArgs;

/// `shoal format`
#[derive(Args, Debug)]
pub(crate) struct FormatArgs {
    /// Which file system: ext4, xfs, btrfs, f2fs, vfat, exfat or ntfs.
    #[arg(long, value_name = "KIND")]
    pub(crate) fs: Kind,
    /// The file system's name.
    #[arg(long, short = 'L', value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// What the members' flash erases at a time, if you know it; memory cards and simulated drives
    /// tell it themselves.
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) erase_unit: Option<u64>,
    /// Show the command with its reasons, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite what the array holds. What is mounted or otherwise in use is refused all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal mount`
#[derive(Args, Debug)]
#[command(override_usage = "shoal mount [OPTIONS] <DRIVE>... <DIR>", after_help = "The last path is the directory.")]
pub(crate) struct MountArgs {
    /// Options for mount(8), separated by commas, beside those that suit arrays: noatime, nosuid,
    /// nodev, and for ext4 errors=remount-ro. suid and dev have them left out.
    #[arg(long, short = 'o', value_name = "OPTIONS")]
    pub(crate) options: Option<String>,
    /// Write nothing.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Run the array though it is degraded and was not shut down cleanly, and some blocks may be
    /// wrong.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Which array, and then the directory.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal unmount`
#[derive(Args, Debug)]
#[command(override_usage = "shoal unmount [OPTIONS] <DIR>\n       shoal unmount [OPTIONS] <DRIVE>...")]
pub(crate) struct UnmountArgs {
    /// Let shares of it wait until it is mounted again; without this, what is shared is not
    /// unmounted.
    #[arg(long)]
    pub(crate) let_shares_wait: bool,
    /// The directory, or the array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

impl MountArgs {
    /// The array, and where it is to be mounted; none if only one path was given.
    pub(crate) fn array_and_directory(&self) -> Option<(ArrayArgs, PathBuf)> {
        let mut array = self.array.clone();
        let directory = array.drives.pop()?;
        (!array.drives.is_empty() || array.uuid.is_some() || array.socket.is_some()).then_some((array, directory))
    }
}
