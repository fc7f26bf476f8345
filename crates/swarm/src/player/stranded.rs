//! What an array of arrays has lost in write holes.

use std::collections::BTreeSet;

/// Inner arrays that have lost what says that they are members.
#[derive(Clone, Debug, Default)]
pub(super) struct Stranded {
    /// The drives of one of them: the array is not made whole again with it.
    pub(super) drives: BTreeSet<usize>,
    /// It is all of them: there is no array any more.
    pub(super) is_all: bool,
}
