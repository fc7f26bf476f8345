//! nfs.conf: how the kernel's NFS server is run.

use std::path::Path;

use super::{HEAD, joined, lines, set};
use crate::Site;

/// The whole file.
///
/// Clients see a tree of the servers' own, in which each share stands at its name: the machine's
/// root need not be a file system that NFS can export, which the ones of containers and live
/// systems are not, and no path of the machine is shown to anybody.
pub fn file(site: &Site, root: &Path) -> String {
    let exports =
        [set("rootdir", root.display().to_string(), "clients see shares by name, and nothing else of this machine")];
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
    let [exports, nfsd] = [exports.as_slice(), &nfsd].map(|settings| lines(settings, "  ", "=", ""));
    format!("{HEAD}[exports]\n{exports}[nfsd]\n{nfsd}")
}
