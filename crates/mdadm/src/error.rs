//! Why the kernel does not do what was asked of it.

use std::io;
use std::path::PathBuf;

use crate::sysfs::SysfsError;

/// Why the kernel does not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// There is no md here, or nothing to reach it with.
    #[error("{what} is missing: {mend}, or leave --engine kernel out: shoal runs the array by itself as well")]
    Missing {
        /// What is not there.
        what: &'static str,
        /// How to get it.
        mend: &'static str,
    },
    /// The array is made in a way that is not handed over.
    #[error("array {name} cannot be handed to the kernel: {why}")]
    NotForKernel {
        /// The array.
        name: String,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// Somebody else has a member.
    #[error("{drive} is in use: {how}: release it first")]
    InUse {
        /// The drive.
        drive: String,
        /// By whom.
        how: String,
    },
    /// md did not take the members that shoal chose.
    #[error(
        "array {name}: the kernel took {taken} where shoal chose {chosen}; it was let go again, nothing was written: see \
         `mdadm --examine` of the members"
    )]
    OtherMembers {
        /// The array.
        name: String,
        /// Members in sync as md sees them.
        taken: usize,
        /// Members in sync as shoal sees them.
        chosen: usize,
    },
    /// The drive is not there.
    #[error("{drive} is no member of the array: name one that `status` shows")]
    NotAMember {
        /// The drive.
        drive: String,
    },
    /// It would lose data, or makes no sense now.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// Something else goes on in the array.
    #[error("{what}: a rebuild, resync or scrub is under way: wait for it, or stop it")]
    Busy {
        /// What was asked.
        what: String,
    },
    /// The level cannot do this.
    #[error("{what}: {why}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// A program could not be started, or said no.
    #[error("{program}: {said}")]
    Tool {
        /// Which.
        program: String,
        /// What it said, in one line.
        said: String,
    },
    /// The kernel did not take what was written to one of its files.
    #[error("{}: {source}", path.display())]
    Attribute {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// What sysfs says is not understood.
    #[error(transparent)]
    Sysfs(#[from] SysfsError),
    /// The loop under the content broke.
    #[error(transparent)]
    Volume(#[from] shoal_volume::VolumeError),
    /// The kernel takes too long.
    #[error("{what} after {seconds} s: see `dmesg`")]
    Patience {
        /// What has not happened.
        what: String,
        /// How long was waited.
        seconds: u64,
    },
}
