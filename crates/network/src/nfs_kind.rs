//! Who serves NFS and who is its client: this machine's kernel, where it can be both, else
//! programs.
//!
//! | | kernel | programs |
//! | --- | --- | --- |
//! | server | `nfsd`, the array exported twice: `sync` and `async` | NFS-Ganesha, which has no `async` |
//! | client | a mount for each transfer, so that nothing of the one before is remembered | [`crate::nfs`]: version 4.0, one file |
//! | `nfs-sync-put` | mounted `sync`: a write is answered when it is durable | each write FILE_SYNC |
//! | `nfs-put` | mounted as usual: written behind, committed at the end | COMMIT at the end |
//! | `nfs-async-put` | of the export `async`: the commit is answered, and nothing is durable | no COMMIT |

use std::path::Path;
use std::process::{Command, Stdio};

use shoal_share::{Durability, NfsServer, ShareId};

/// Which implementation serves NFS, and which one mounts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NfsKind {
    /// The kernel.
    Kernel,
    /// NFS-Ganesha, and this program as the client.
    Programs,
}

/// One way in which the directory is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub(crate) name: &'static str,
    /// The same in every study, as no file handle outlives one.
    pub(crate) id: ShareId,
    pub(crate) durability: Durability,
}

/// As it should be exported.
pub(crate) const EXPORT: Export =
    Export { name: "array", id: ShareId(*b"shoal's network "), durability: Durability::Sync };
/// The same directory, for a measurement of what safety costs.
pub(crate) const EXPORT_ASYNC: Export =
    Export { name: "array-async", id: ShareId(*b"shoal's, unsafe "), durability: Durability::Async };

/// File systems that a kernel knows which can be server and client.
const FILE_SYSTEMS: [&str; 2] = ["nfsd", "nfs4"];
/// The modules that bring them, if the kernel has not loaded them yet; it does so when they are
/// mounted.
const MODULES: [&str; 2] = ["nfsd", "nfsv4"];
/// The kernel's helpers, and Debian's packages that have them.
const KERNELS_PROGRAMS: [(&str, &str); 5] = [
    ("rpc.nfsd", "nfs-kernel-server"),
    ("rpc.mountd", "nfs-kernel-server"),
    ("exportfs", "nfs-kernel-server"),
    ("nfsdcld", "nfs-kernel-server"),
    ("mount.nfs4", "nfs-common"),
];
const GANESHAS_PROGRAMS: [(&str, &str); 1] = [("ganesha.nfsd", "nfs-ganesha nfs-ganesha-vfs")];

impl NfsKind {
    /// The kernel, if it is both server and client and its helpers are installed.
    pub fn of_this_machine() -> Self {
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let is_known = |wanted: &str| known.lines().any(|line| line.split_ascii_whitespace().last() == Some(wanted));
        let can = |(file_system, module): (&&str, &&str)| is_known(file_system) || is_loadable(module);
        let is_kernels = FILE_SYSTEMS.iter().zip(&MODULES).all(can)
            && KERNELS_PROGRAMS.iter().all(|(program, _)| is_installed(program));
        if is_kernels { Self::Kernel } else { Self::Programs }
    }

    /// The programs that it takes, and Debian's packages that have them.
    pub(crate) fn programs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Kernel => &KERNELS_PROGRAMS,
            Self::Programs => &GANESHAS_PROGRAMS,
        }
    }

    /// Who takes or gives the content.
    pub(crate) fn client(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel's client, NFS 4.2",
            Self::Programs => "this program, NFS 4.0 with blocks of 1 MiB",
        }
    }

    /// Who has the array, and what `shoal share` calls that.
    pub(crate) fn server(self) -> (&'static str, NfsServer) {
        match self {
            Self::Kernel => ("the kernel's nfsd", NfsServer::Kernel),
            Self::Programs => ("NFS-Ganesha", NfsServer::Ganesha),
        }
    }

    /// How the directory is exported.
    pub(crate) fn exports(self) -> &'static [Export] {
        match self {
            Self::Kernel => &[EXPORT, EXPORT_ASYNC],
            Self::Programs => &[EXPORT],
        }
    }
}

fn is_loadable(module: &str) -> bool {
    let asked = Command::new("modprobe").args(["--dry-run", "--quiet", module]).stdin(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Where programs are, those of administrators too.
const PROGRAMS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Whether a program is where programs are.
pub(crate) fn is_installed(program: &str) -> bool {
    PROGRAMS.iter().any(|directory| Path::new(directory).join(program).is_file())
}
