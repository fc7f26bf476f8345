//! Why something cannot be done to an array that runs.

use shoal_array::{CommandError, MemberState};

use crate::create::CreateError;
use crate::interface::VolumeError;
use shoal_md::{AddError, NameError, ReAddError};

/// Why something cannot be done to a running array.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// The drive is not there.
    #[error("{drive} is no member of the array: name one that `status` shows")]
    NotAMember {
        /// The drive.
        drive: String,
    },
    /// The drive has nothing to come back with.
    #[error(
        "{drive} cannot be re-added: {problem}: add it as a new drive with `shoal add --force`, which rebuilds all of it"
    )]
    NoFormerMember {
        /// The drive.
        drive: String,
        /// What is wrong with its superblock.
        problem: String,
    },
    /// It holds data.
    #[error("{drive} is in use in the array: let it fail first (`fail`), or replace it (`replace`)")]
    InUse {
        /// The drive.
        drive: String,
    },
    /// It is to be wiped, and holds data of the array.
    #[error(
        "{drive} is an active member of array {array}, which counts on what it holds: give it among the members, or another drive; \
         a filling that was stopped goes on with `shoal rebuild`"
    )]
    ActiveMember {
        /// The drive.
        drive: String,
        /// The array.
        array: String,
    },
    /// A member is missing, whose place a new drive takes before it replaces another.
    #[error(
        "{drive} is not replaced while array {array} lacks a member: `add` a drive first, which takes the missing place, and \
         replace {drive} when that one is in sync"
    )]
    Degraded {
        /// The drive that was to be replaced.
        drive: String,
        /// The array.
        array: String,
    },
    /// What it was asked before it was taken out is not over.
    #[error("{drive} has not answered yet what it was asked: wait until it does, or plug it in anew")]
    Silent {
        /// The drive.
        drive: String,
    },
    /// The member whose name it has does not answer, and may be only slow.
    #[error(
        "{drive} says that it is the member that {namesake} is, which does not answer yet: try again when it has answered, or `fail` it if it \
         is gone"
    )]
    SilentNamesake {
        /// The drive that is to come.
        drive: String,
        /// The member.
        namesake: String,
    },
    /// More drives than there are buffers for.
    #[error(
        "{drive} cannot be added: there is no room for more drives; remove one that failed, or open the array anew"
    )]
    NoRoom {
        /// The drive.
        drive: String,
    },
    /// The engine refuses.
    #[error("{what}: {}", explain(*.why))]
    Refused {
        /// What was asked.
        what: String,
        /// Why not.
        why: CommandError,
    },
    /// The drive cannot become a member.
    #[error(transparent)]
    Add(#[from] AddError),
    /// The drive cannot become again what it was.
    #[error(transparent)]
    ReAdd(#[from] ReAddError),
    /// Superblocks do not hold such a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The drive did not take its superblock.
    #[error(transparent)]
    Superblock(#[from] CreateError),
    /// The world broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

fn explain(why: CommandError) -> &'static str {
    match why {
        CommandError::NoSuchRole => "there is no such member",
        CommandError::State(MemberState::Missing) => "the member is missing already",
        CommandError::State(MemberState::InSync) => "the member is in sync",
        CommandError::State(MemberState::Rebuilding { .. }) => "the member is being rebuilt",
        CommandError::NoRedundancy => {
            "the array has no redundancy for this, or the member holds the last copy of some data: add a drive first (`add`), or \
             replace this one (`replace`)"
        }
        CommandError::Busy => "a rebuild or scrub is under way: wait for it, or stop it",
        CommandError::ReadOnly => "the array is open for reading only",
    }
}
