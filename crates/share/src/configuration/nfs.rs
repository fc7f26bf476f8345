//! nfs.conf: how the kernel's NFS server is run.

use super::{HEAD, joined, lines, set};
use crate::Site;

/// The whole file.
pub fn file(site: &Site) -> String {
    let nfsd = [
        set("threads", "8", ""),
        set("host", joined(&site.addresses, ","), "listens here and nowhere else"),
        set("port", site.ports.nfs.to_string(), ""),
        set("tcp", "y", ""),
        set("udp", "n", ""),
        set("vers3", "n", "version 4 needs one port and no other daemon"),
        set("vers4", "y", ""),
        set("lease-time", super::LEASE_SECONDS.to_string(), "seconds that a silent client keeps its locks"),
        set("grace-time", super::LEASE_SECONDS.to_string(), "seconds for clients to reclaim locks after a restart"),
    ];
    format!("{HEAD}[nfsd]\n{}", lines(&nfsd, "  ", "=", ""))
}
