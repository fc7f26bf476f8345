//! Looks at a path without changing anything: what is on it, and is it in use.

use std::path::Path;

/// Something that speaks against wiping a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Mounted, used as swap, or held by another kernel driver (md, dm, loop): never overridden.
    InUse { how: String },
    /// It carries a signature: a file system, partition table, md, LUKS, LVM, ...: overridden by force.
    Signature { what: String, offset: u64 },
}

/// What a look at a path showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// What speaks against wiping it, worst first.
    pub findings: Vec<Finding>,
}

/// Looks at a file or block device. Reads only.
pub fn survey(_path: &Path) -> std::io::Result<Survey> {
    todo!()
}
