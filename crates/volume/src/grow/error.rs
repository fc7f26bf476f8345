//! Why an array cannot grow.

use shoal_array::ShapeError;
use shoal_drive::DriveId;
use shoal_md::{AddError, AssembleError, BitmapRefusal, RefusalReason};

use crate::VolumeError;

/// Why an array cannot be grown or reshaped.
#[derive(Debug, thiserror::Error)]
pub enum GrowError {
    /// A drive is no member of anything.
    #[error("{drive}: {problem}: leave it out")]
    NoMember {
        /// The drive.
        drive: String,
        /// What is wrong.
        problem: String,
    },
    /// The members do not make an array.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// Not this array, or not so.
    #[error("array {name} cannot be grown: {why}")]
    Refused {
        /// The array.
        name: String,
        /// Why.
        why: GrowRefusal,
    },
    /// The new shape is none.
    #[error("array {name}: {cause}")]
    Geometry {
        /// The array.
        name: String,
        /// What is wrong.
        cause: ShapeError,
    },
    /// A drive cannot become a member.
    #[error(transparent)]
    Add(#[from] AddError),
    /// A drive did not do what it should, and the array cannot do without it. What was recorded
    /// holds.
    #[error(
        "{drive}: {what} failed: {cause}; mend or copy the drive, then `shoal grow --continue`, or let Linux finish"
    )]
    Drive {
        /// Which one.
        id: DriveId,
        /// Its name.
        drive: String,
        /// What it was asked for.
        what: DriveRequest,
        /// The system's error.
        cause: std::io::Error,
    },
    /// More members are missing than parity stands for.
    #[error("too many members are missing to read what is still to be moved: give the others too")]
    TooFewMembers,
    /// The world broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

impl GrowError {
    /// Whether it was found before anything was written.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Drive { .. } | Self::Volume(_))
    }
}

/// What a drive was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveRequest {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To flush.
    Flush,
}

impl std::fmt::Display for DriveRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Read => "a read",
            Self::Write => "a write",
            Self::Flush => "a flush",
        })
    }
}

/// Why this array is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrowRefusal {
    /// Known and not supported.
    #[error("{0}")]
    NotUsable(RefusalReason),
    /// Not all members are there and in sync.
    #[error("a member is missing or not in sync: rebuild it first")]
    Degraded,
    /// A reshape is gone on with, and they were not given.
    #[error("{}`--degraded` goes on without {}", absent(*missing, stale), if *missing == 1 { "it" } else { "them" })]
    Absent {
        /// How many.
        missing: usize,
        /// Those of them that were given, and lack what was written while the reshape went on
        /// without them.
        stale: Vec<String>,
    },
    /// A reshape goes on without members as far as parity stands for them, and no further.
    #[error(
        "its reshape cannot go on: more members are missing, or not in sync, than it survives: give the others too"
    )]
    TooFewMembers,
    /// Parity or mirrors may not agree with the data.
    #[error("it was not shut down cleanly, or a resync is due: let `shoal rebuild` finish it first")]
    Dirty,
    /// It would have to be kept in two shapes.
    #[error(
        "it has a write-intent bitmap: take it away first (`shoal grow --bitmap none`), and add it again later \
         (`--bitmap internal`)"
    )]
    Bitmap,
    /// It is to get what it has.
    #[error(
        "it has a write-intent bitmap already: to give it another chunk, take it away first (`shoal grow --bitmap none`)"
    )]
    HasBitmap,
    /// A bitmap has no place.
    #[error("{0}")]
    BitmapPlace(BitmapRefusal),
    /// A bitmap is for what can be out of sync.
    #[error("its level has neither parity nor copies, for which a bitmap could say what may disagree")]
    NoRedundancy,
    /// A journal does what a bitmap would do.
    #[error("it has a write journal, which says what a bitmap would say")]
    Journal,
    /// It would have to be kept in two shapes.
    #[error(
        "it has a partial parity log: take it away first (mdadm --grow --consistency-policy=resync), and add it again \
         later"
    )]
    PartialParityLog,
    /// They would move.
    #[error("a member lists bad blocks, or records what is not understood: replace it first")]
    Member,
    /// Not written at all.
    #[error("its metadata is of version 0.90, which is not written")]
    Legacy,
    /// Its level cannot be reshaped here.
    #[error("arrays of its level are not reshaped by shoal: mdadm --grow does it, then use shoal again")]
    Level,
    /// Mirrors and linear arrays have neither.
    #[error("arrays of its level have no chunk or layout to change: leave --chunk and --layout out")]
    NoChunk,
    /// Its level has no such layout.
    #[error("its level does not have this layout")]
    Layout,
    /// Less members.
    #[error("it has {has} members, and taking members away is not what shoal does: mdadm --grow does, then use shoal")]
    FewerMembers {
        /// How many.
        has: usize,
    },
    /// Drives are missing, or there are too many.
    #[error("{wanted} new members are wanted, {spares} spares are there and {added} drives are added: make them agree")]
    Newcomers {
        /// Members more.
        wanted: usize,
        /// Spares that can be used.
        spares: usize,
        /// Drives given.
        added: usize,
    },
    /// It is what it is to become.
    #[error("there is nothing to change: it is as asked already")]
    NothingToDo,
    /// Members would not be used to their end.
    #[error(
        "{member_bytes} bytes are used of each member, which is no multiple of the new chunk: choose a smaller chunk"
    )]
    MemberBytes {
        /// What is used.
        member_bytes: u64,
    },
    /// The data cannot move.
    #[error(
        "there is no room before its data to move them into ({free_bytes} bytes, {needed_bytes} are needed): mdadm \
         --grow with a --backup-file does it, then use shoal again"
    )]
    NoRoom {
        /// What there is.
        free_bytes: u64,
        /// The larger chunk.
        needed_bytes: u64,
    },
    /// So large a chunk is not handled.
    #[error("its chunk or the new one is larger than 64 MiB: mdadm --grow does it, then use shoal again")]
    ChunkTooLarge,
    /// A reshape comes first.
    #[error("a reshape is under way: `shoal grow --continue` goes on with it, or let Linux finish it")]
    UnderWay,
    /// There is nothing to go on with.
    #[error("no reshape is under way: say what it is to become")]
    NoReshape,
    /// Not one that can be gone on with here.
    #[error("the reshape under way is of a kind that only Linux does: let Linux finish it")]
    Foreign,
    /// The next window would overwrite what is still needed.
    #[error("the reshape under way cannot go on without its backup file: let Linux finish it")]
    NoHeadStart,
}

/// What is wrong with members that do not take part, and what could be given instead.
fn absent(missing: usize, stale: &[String]) -> String {
    let lag = match stale {
        [] => String::new(),
        [one] => format!("{one} was left behind and lacks what was written since: "),
        several => format!("{} were left behind and lack what was written since: ", several.join(" and ")),
    };
    match missing.saturating_sub(stale.len()) {
        0 => lag,
        1 => format!("{lag}one of its members is not among the drives: give it too, or "),
        absent => format!("{lag}{absent} of its members are not among the drives: give them too, or "),
    }
}
