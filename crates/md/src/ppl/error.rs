//! Why a log, or an entry of it, says nothing.

/// Why a header is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PplError {
    /// Another array's, or none.
    #[error("there is no partial parity log of this array")]
    Foreign,
    /// Its checksum is wrong: it was being written when the power was cut, or the drive has damaged
    /// it.
    #[error("the header of the partial parity log is damaged")]
    Torn,
    /// More entries than a header has.
    #[error("the partial parity log has {count} entries, more than fit in its header")]
    Entries {
        /// How many.
        count: u32,
    },
}

/// Why an entry means nothing on this array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PplEntryError {
    /// Its sizes do not go together, with each other or with the chunk.
    #[error("an entry of the partial parity log has sizes that do not go together")]
    Sizes,
    /// It lies beyond the array's end, or in several stripes.
    #[error("an entry of the partial parity log lies outside of a stripe")]
    Place,
    /// It names another parity than the stripe has.
    #[error("an entry of the partial parity log names the wrong parity")]
    Parity,
}
