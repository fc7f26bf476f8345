//! What a study of the network is asked for.

use std::time::Duration;

use crate::link::LinkSpeed;
use crate::nfs_kind::NfsKind;
use crate::workload::Protocol;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The links.
    pub links: Vec<LinkSpeed>,
    /// What goes over them.
    pub protocols: Vec<Protocol>,
    /// Who serves NFS, and to whom.
    pub nfs: NfsKind,
    /// What each transfer moves.
    pub size_bytes: u64,
    /// How often each row is measured.
    pub repeats: u32,
    /// How long each link is looked at before.
    pub calibration: Duration,
    /// Decides the order, and the content.
    pub seed: u64,
}
