//! Arrays as block devices of this machine: who attached what, and how it is undone.

#![expect(dead_code, reason = "the signatures are there before those who use them")]

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::{ArrayArgs, Cli};
use crate::exit::Failure;

/// How an array becomes a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// The kernel's ublk driver: a block device.
    Ublk,
    /// The kernel's nbd driver: a block device.
    Nbd,
    /// A file of a FUSE file system; a loop device over it where a block device is asked for.
    Fuse,
}

/// What is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// No other method.
    pub(crate) method: Option<Method>,
    /// A file will not do.
    pub(crate) block_device: bool,
    /// Nobody is to write.
    pub(crate) read_only: bool,
    /// Run the array though it is degraded and was not shut down cleanly.
    pub(crate) force: bool,
    /// It is attached to be mounted, and is to be detached when it is unmounted.
    pub(crate) until_unmounted: bool,
}

/// A process, so told that another that got its number is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProcessDocument {
    /// Its number.
    pub(crate) process_id: u32,
    /// When it began: clock ticks since the machine was started.
    pub(crate) started_ticks: u64,
}

/// An array that is attached: kept as JSON in the directory of running arrays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Attachment {
    /// As md prints it.
    pub(crate) array_uuid: String,
    /// The array's name.
    pub(crate) name: String,
    /// How.
    pub(crate) method: Method,
    /// /dev/nbd0, /dev/ublkb0, /dev/loop0, or the file.
    pub(crate) device: PathBuf,
    /// Whether that is a block device.
    pub(crate) is_block_device: bool,
    /// Bytes.
    pub(crate) size_bytes: u64,
    /// Whether nobody can write.
    pub(crate) read_only: bool,
    /// Drives by which the array was named.
    pub(crate) drives: Vec<PathBuf>,
    /// Where the array is served.
    pub(crate) socket: PathBuf,
    /// The process that keeps the device.
    pub(crate) front: ProcessDocument,
    /// The process that runs the array, if it was started for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ProcessDocument>,
    /// It was attached to be mounted, and is detached when it is unmounted: as the wish of whoever attached it said.
    #[serde(default)]
    pub(crate) until_unmounted: bool,
}

impl Attachment {
    /// Where a file system on it is mounted: by /proc/self/mountinfo, at this moment.
    pub(crate) fn mounted_at(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(Vec::new())
    }
}

/// Makes the array a device or file, or finds that it is one. Starts a process that runs the array if nobody does.
pub(crate) fn attach(cli: &Cli, array: &ArrayArgs, wish: &Wish) -> Result<Attachment, Failure> {
    let _ = (cli, array, wish);
    Err(Failure::failed("arrays cannot be attached yet"))
}

/// Undoes it: refused while it is mounted. Stops the array only if it was started for this.
pub(crate) fn detach(attachment: &Attachment) -> Result<(), Failure> {
    let _ = attachment;
    Err(Failure::failed("arrays cannot be detached yet"))
}

/// How the array is attached, if it is.
pub(crate) fn attachment_of(array: &ArrayArgs) -> Result<Option<Attachment>, Failure> {
    let _ = array;
    Ok(None)
}

/// All that is attached by this user.
pub(crate) fn attachments() -> Result<Vec<Attachment>, Failure> {
    Ok(Vec::new())
}
