//! What a rule reports.

use std::fmt;

/// One breach of one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// File, from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 stands for the file as a whole.
    pub line: usize,
    /// What was found.
    pub what: String,
    /// Why it is not wanted.
    pub why: String,
    /// What to do instead.
    pub mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, why, mend } = self;
        write!(formatter, "{path}:{line}: {what} ({why}); mend: {mend}")
    }
}
