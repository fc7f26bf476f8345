//! What keeps an array from being written, or used at all: features that are known and not
//! supported.

use crate::limits::EVENTS_MAX;
use crate::{Features, MetadataVersion, Superblock};

/// Why the array must not be written. Its content can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ReadOnlyReason {
    /// Nothing of it is ever written.
    #[error("its metadata is of version 0.90, which is not written (mdadm --assemble --update=metadata makes it 1.0)")]
    Legacy,
    /// Writing the superblock would write over it.
    #[error("its write-intent bitmap lies within the superblock's 4 KiB: let Linux remove it and add it again")]
    BitmapInSuperblock,
    /// A field that older kernels want to be 0.
    #[error("it records a logical block size, which only newer kernels do")]
    LogicalBlockSize,
    /// A field that nobody used when this was written.
    #[error("its superblock uses a field that is not known")]
    UnknownField,
    /// No array gets there by itself. What cannot be counted cannot be told from what was there
    /// before.
    #[error("a superblock's count of updates is at the end of what can be counted: it is damaged or forged")]
    CountedOut,
}

impl ReadOnlyReason {
    /// What to do to have it written.
    pub fn way_out(self) -> &'static str {
        match self {
            Self::CountedOut => "copy what it holds to a new array",
            Self::Legacy | Self::BitmapInSuperblock | Self::LogicalBlockSize | Self::UnknownField => "let Linux run it",
        }
    }
}

/// Why the array can be shown, and neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RefusalReason {
    /// Data lie in two geometries.
    #[error("a reshape is under way: `shoal grow --continue` goes on with it, or let Linux finish it")]
    Reshape,
    /// Other hosts may write.
    #[error("it is clustered: other hosts may be writing")]
    Clustered,
    /// The newest data may be in the journal.
    #[error("its write journal is missing, and may hold what its members do not: give that drive too")]
    Journal,
}

/// Features without which the data cannot be found, or not relied on.
pub(super) const REFUSED: [(Features, RefusalReason); 5] = [
    (Features::RESHAPE_ACTIVE, RefusalReason::Reshape),
    (Features::RESHAPE_BACKWARDS, RefusalReason::Reshape),
    (Features::NEW_OFFSET, RefusalReason::Reshape),
    (Features::CLUSTERED, RefusalReason::Clustered),
    (Features::JOURNAL, RefusalReason::Journal),
];

pub(super) fn read_only_reasons(superblocks: &[&Superblock]) -> Vec<ReadOnlyReason> {
    let mut reasons = Vec::new();
    if superblocks.iter().any(|superblock| superblock.version() == MetadataVersion::Legacy) {
        reasons.push(ReadOnlyReason::Legacy);
    }
    if superblocks.iter().any(|superblock| superblock.bitmap_is_in_superblock()) {
        reasons.push(ReadOnlyReason::BitmapInSuperblock);
    }
    if superblocks.iter().any(|superblock| superblock.logical_block_bytes != 0) {
        reasons.push(ReadOnlyReason::LogicalBlockSize);
    }
    if superblocks.iter().any(|superblock| superblock.padding.iter().any(|byte| *byte != 0)) {
        reasons.push(ReadOnlyReason::UnknownField);
    }
    if superblocks.iter().any(|superblock| superblock.events > EVENTS_MAX) {
        reasons.push(ReadOnlyReason::CountedOut);
    }
    reasons
}

/// By the features of all; of the journal by those of the last update alone: one that failed with
/// nothing in it is retired by an update, which members may have missed.
pub(super) fn refusal_reasons(superblocks: &[&Superblock], has_journal: bool) -> Vec<RefusalReason> {
    let newest = superblocks.iter().map(|superblock| superblock.events).max();
    let wants_journal =
        |superblock: &&Superblock| Some(superblock.events) == newest && superblock.features.any_of(Features::JOURNAL);
    let lacks_journal = !has_journal && superblocks.iter().any(wants_journal);
    let mut reasons = reasons(superblocks, &REFUSED);
    reasons.retain(|reason| *reason != RefusalReason::Journal || lacks_journal);
    reasons
}

fn reasons<Reason: Copy + PartialEq>(superblocks: &[&Superblock], table: &[(Features, Reason)]) -> Vec<Reason> {
    let features = superblocks.iter().fold(Features(0), |all, superblock| all | superblock.features);
    let mut reasons: Vec<Reason> =
        table.iter().filter(|(feature, _)| features.any_of(*feature)).map(|(_, reason)| *reason).collect();
    reasons.dedup();
    reasons
}
