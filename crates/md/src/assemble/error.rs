//! Why candidates make no array, or an array has no shape.

use shoal_array::Role;

use super::RefusalReason;
use crate::Uuid;

/// Why an assembly has no shape to run with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeUnknown {
    /// Its data cannot be found, or not relied on.
    #[error("array {name} cannot be used: {reason}")]
    Refused {
        /// The array.
        name: String,
        /// Why.
        reason: RefusalReason,
    },
    /// Linear and RAID0 depend on every member's size.
    #[error("array {name}: member {} is missing, and this level needs all of them: give its drive too", role.0)]
    MemberMissing {
        /// The array.
        name: String,
        /// The first missing one.
        role: Role,
    },
    /// RAID0 with members of unequal size, made before it was recorded how it counts.
    #[error("array {name} does not say which RAID0 layout it has: set it by mdadm --assemble --update=layout-original")]
    Raid0Layout {
        /// The array.
        name: String,
    },
    /// The chunk is larger than any.
    #[error("array {name} claims a chunk of {chunk_bytes} bytes: its superblock is damaged")]
    Chunk {
        /// The array.
        name: String,
        /// What it says.
        chunk_bytes: u64,
    },
}

/// Why candidates do not make one array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// Nothing was given.
    #[error("no members were given")]
    Nothing,
    /// Two arrays.
    #[error("{first} belongs to array {first_array}, {second} to array {second_array}: give the members of one")]
    DifferentArrays {
        /// One drive.
        first: String,
        /// Its array.
        first_array: Uuid,
        /// The other drive.
        second: String,
        /// Its array.
        second_array: Uuid,
    },
    /// One member, given under two names, or copied.
    #[error("{first} and {second} are the same member: give it once")]
    SameMemberTwice {
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
    /// Superblocks of one array that cannot be true together.
    #[error("{first} and {second} disagree about their array's {what}: leave one of them out")]
    Disagree {
        /// The fresher one.
        first: String,
        /// The other.
        second: String,
        /// About what.
        what: &'static str,
    },
    /// No array has so many members, or none.
    #[error("{drive} claims an array of {raid_devices} members: its superblock is damaged")]
    RaidDevices {
        /// The drive.
        drive: String,
        /// What it says.
        raid_devices: u32,
    },
}
