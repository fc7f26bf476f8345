//! Why there is no array to run.

use shoal_md::{JournalError, ReadOnlyReason, ShapeUnknown, Uuid};
use shoal_memory::Doubt;

use crate::VolumeError;
use crate::bitmap::BitmapProblem;

/// Why there is no array to run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A drive is no member of anything.
    #[error("{drive}: {problem}: leave it out; `shoal recover` shows what can be had of damaged members")]
    NoMember {
        /// The drive.
        drive: String,
        /// What is wrong.
        problem: String,
    },
    /// The members do not make an array.
    #[error(transparent)]
    Assemble(#[from] shoal_md::AssembleError),
    /// Arrays that make no array together: one is a member of another, and one carries nothing that
    /// says so.
    #[error(
        "array {stranger} carries no superblock of array {outer}, of which {member} is a member: leave {} out; if it \
         was a member too, what says so was lost when it stopped while it was degraded",
        drives.join(" and ")
    )]
    Stranger {
        /// The array that is not the others'.
        stranger: String,
        /// Its UUID.
        array_uuid: Uuid,
        /// The drives that were given of it.
        drives: Vec<String>,
        /// One that is a member.
        member: String,
        /// What that is a member of.
        outer: String,
    },
    /// What this host remembers of the array speaks against starting it.
    #[error("array {name}: {doubt}: {}", doubt.way_out())]
    Doubt {
        /// The array.
        name: String,
        /// Why.
        doubt: Doubt,
    },
    /// Another process of this host runs it, or changes it, perhaps with other members.
    #[error(
        "array {name} is busy: {} of this host uses it, perhaps with other members: wait until it ends, or `shoal stop --uuid {array_uuid}` first; then \
         start it with all of its members",
        process_id.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
    )]
    InUse {
        /// The array.
        name: String,
        /// Its UUID.
        array_uuid: Uuid,
        /// Which process, if it says so.
        process_id: Option<u32>,
    },
    /// What the members say of the array's shape does not work.
    #[error(transparent)]
    Shape(#[from] ShapeUnknown),
    /// The engine refuses the shape.
    #[error("array {name}: {cause}: its superblocks are damaged")]
    Geometry {
        /// The array.
        name: String,
        /// What is wrong.
        cause: shoal_array::ShapeError,
    },
    /// Writing would harm it.
    #[error("array {name} can only be read: {reason}: {}", .reason.way_out())]
    ReadOnly {
        /// The array.
        name: String,
        /// Why.
        reason: ReadOnlyReason,
    },
    /// Writing would go past the write-intent bitmap.
    #[error("array {name} can only be read: {problem}")]
    Bitmap {
        /// The array.
        name: String,
        /// What is wrong with it.
        problem: BitmapProblem,
    },
    /// A member says that it has bad blocks, and not which.
    #[error(
        "{drive}: its bad-block log cannot be used: {problem}: leave the drive out, its content is not to be trusted"
    )]
    BadBlocks {
        /// The drive.
        drive: String,
        /// What is wrong.
        problem: String,
    },
    /// Degraded, and not shut down cleanly.
    #[error(
        "array {name} is degraded and was not shut down cleanly: blocks of the missing member that were being written \
         may be wrong; give the missing drive too, if it is not out of date; if it is, or is gone for good, `shoal run \
         --force` starts the array all the same, and `shoal add` takes another drive then"
    )]
    DirtyDegraded {
        /// The array.
        name: String,
    },
    /// More is missing than the level survives.
    #[error(
        "array {name} has lost more members than its level survives ({missing} of {members} are missing): {way_out}"
    )]
    Incomplete {
        /// The array.
        name: String,
        /// How many members are missing, or are being filled.
        missing: usize,
        /// How many it has when it is whole.
        members: usize,
        /// What can be done.
        way_out: WayOut,
    },
    /// What the journal says cannot be followed.
    #[error("array {name}: {problem}")]
    Journal {
        /// The array.
        name: String,
        /// What is wrong.
        problem: JournalError,
    },
    /// The journal holds what the members do not.
    #[error(
        "array {name}: its journal holds writes that have not reached the members: open it for writing once, and they will"
    )]
    JournalNotReplayed {
        /// The array.
        name: String,
    },
    /// The replay of the journal met a drive that does not work.
    #[error(
        "{drive} does not read or write while the journal is replayed: leave it out if the array can do without it"
    )]
    JournalIo {
        /// The drive, or the array.
        drive: String,
    },
    /// Members are absent, and no superblock can be made to say so.
    #[error(
        "array {name}: no member takes its superblock, and without it absent members would pass for fresh ones: check its \
         drives; its content can be read (`shoal read`)"
    )]
    NotRecorded {
        /// The array.
        name: String,
    },
    /// A member that cannot be done without refused a flush, and does not take again what it holds.
    #[error(
        "array {name}: {drive} refused a flush earlier, and cannot be rewritten now: check the drive and its cable, and \
         start again; if it fails again, copy it to another drive; `shoal read` reads the content meanwhile"
    )]
    NotRenewed {
        /// The array.
        name: String,
        /// The drive.
        drive: String,
    },
    /// A partial parity log that nothing can be written to.
    #[error("{drive}: its partial parity log has no room: let Linux run the array")]
    LogRoom {
        /// The drive.
        drive: String,
    },
    /// It would go on without a member, and this host cannot remember that.
    #[error(
        "array {name} would be written without a member, and this host cannot remember that ({why}): make room for it, \
         or start with --degraded, and never start what is missing alone"
    )]
    NotRemembered {
        /// The array's name.
        name: String,
        /// What failed.
        why: String,
    },
    /// More engines than the buffers are planned for.
    #[error("too many arrays in one: {nodes}")]
    TooManyNodes {
        /// How many.
        nodes: usize,
    },
    /// The world broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// How an array that has lost too much could be had back, with what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// These drives could be taken in although they missed updates; what was written since may be
    /// lost.
    TakeIn(Vec<String>),
    /// There is none.
    None,
}

impl std::fmt::Display for WayOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TakeIn(drives) => write!(
                formatter,
                "give the others too; with those that were given, `shoal recover` would take in {}, which missed updates, \
                 and says what may be lost by it",
                drives.join(" and ")
            ),
            Self::None => formatter.write_str(
                "give the others too; with those that were given, `shoal recover` would save no more than what can be read",
            ),
        }
    }
}
