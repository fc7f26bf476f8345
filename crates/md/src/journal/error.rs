//! Why a journal cannot be replayed.

/// Why a journal cannot be replayed. Nothing is on any drive then that a whole replay would not
/// have put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Its superblock leads nowhere.
    #[error(
        "there is no log at sector {sector} of the journal: what it held is lost; leave the journal out and use --force"
    )]
    NoLog {
        /// Where it should start.
        sector: u64,
    },
    /// The array has no parity, or chunks that are no multiple of a block: it cannot have a
    /// journal.
    #[error("an array of this shape has no journal: its superblocks are damaged")]
    NoParity,
    /// Checksums are right, and the block means nothing on this array.
    #[error(
        "the journal's block at sector {sector} describes what the array does not have: it was written by a newer Linux, or for an array of another shape"
    )]
    Meaningless {
        /// The meta block.
        sector: u64,
    },
    /// Data without parity beyond what is kept.
    #[error("the journal holds more than {limit} blocks that were not given to the members: let Linux replay it")]
    TooMuch {
        /// How many can be kept.
        limit: usize,
    },
}
