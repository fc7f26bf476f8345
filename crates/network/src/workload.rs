//! What is transferred how: each way has a name, a method, and what it is measured against.

use std::fmt;
use std::str::FromStr;

use Direction::{Get, Put};

use crate::nfs_kind::NfsKind;

/// By which way content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// A file of the array's own file system, on the server itself.
    Array,
    /// The array as a block device, on the server itself: NBD over a Unix socket.
    Device,
    /// NBD over the link.
    Nbd,
    /// NFS.
    Nfs,
    /// SMB.
    Smb,
    /// FTP.
    Ftp,
}

impl Protocol {
    /// Those that a link is for.
    pub const OVER_LINKS: [Self; 4] = [Self::Nbd, Self::Nfs, Self::Smb, Self::Ftp];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Device => "device",
            Self::Nbd => "nbd",
            Self::Nfs => "nfs",
            Self::Smb => "smb",
            Self::Ftp => "ftp",
        }
    }

    /// Whether files are what it transfers; else it is blocks.
    pub fn is_of_files(self) -> bool {
        !matches!(self, Self::Device | Self::Nbd)
    }

    /// What it is measured against: the array without a network, in the same form.
    pub fn base(self) -> Self {
        if self.is_of_files() { Self::Array } else { Self::Device }
    }

    /// Programs that it takes, and Debian's packages that have them.
    pub(crate) fn programs(self, nfs: NfsKind) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Array => &[],
            Self::Device | Self::Nbd => &[("nbdcopy", "libnbd-bin")],
            Self::Nfs => nfs.programs(),
            Self::Smb => &[("smbd", "samba"), ("smbclient", "smbclient")],
            Self::Ftp => &[("vsftpd", "vsftpd"), ("curl", "curl")],
        }
    }

    /// Who takes or gives the content.
    pub(crate) fn client(self, nfs: NfsKind) -> &'static str {
        match self {
            Self::Array => "this program",
            Self::Device | Self::Nbd => "nbdcopy",
            Self::Nfs => nfs.client(),
            Self::Smb => "smbclient",
            Self::Ftp => "curl",
        }
    }

    /// Who has the array.
    pub(crate) fn server(self, nfs: NfsKind) -> &'static str {
        match self {
            Self::Array => "the file system",
            Self::Device | Self::Nbd => "shoal serve",
            Self::Nfs => nfs.server().0,
            Self::Smb => "Samba",
            Self::Ftp => "vsftpd",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::OVER_LINKS.into_iter().find(|protocol| protocol.name() == text);
        found.ok_or_else(|| format!("`{text}` is no protocol of this study: nbd, nfs, smb and ftp are"))
    }
}

/// Which way content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Onto the array.
    Put,
    /// Off it.
    Get,
}

/// One way to transfer content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name, of which programs make use.
    pub name: &'static str,
    /// By which way.
    pub protocol: Protocol,
    /// In which direction.
    pub direction: Direction,
    /// What happens, in one line.
    pub method: &'static str,
}

/// All of them.
pub const WORKLOADS: [Workload; 14] = [
    row("array-write", Protocol::Array, Put, "a file copied onto the array's file system, on the server itself"),
    row("array-read", Protocol::Array, Get, "a file copied off it, nothing of it in memory before"),
    row("device-write", Protocol::Device, Put, "content copied onto the array as a block device, on the server itself"),
    row("device-read", Protocol::Device, Get, "content copied off it"),
    row("nbd-put", Protocol::Nbd, Put, "content copied onto the network block device, and flushed"),
    row("nbd-get", Protocol::Nbd, Get, "content copied off the network block device"),
    row(NFS_SYNC, Protocol::Nfs, Put, "NFS mounted sync: each write of 1 MiB is durable before the next is sent"),
    row(
        NFS_COMMIT,
        Protocol::Nfs,
        Put,
        "NFS as it is mounted today: many writes in flight, committed when the file is closed",
    ),
    row(
        NFS_ASYNC,
        Protocol::Nfs,
        Put,
        "NFS exported async: many writes in flight, nothing durable when the client is done",
    ),
    row("nfs-get", Protocol::Nfs, Get, "a file read over NFS, many reads in flight"),
    row("smb-put", Protocol::Smb, Put, "a file put by SMB 3"),
    row("smb-get", Protocol::Smb, Get, "a file got by SMB 3"),
    row("ftp-put", Protocol::Ftp, Put, "a file put by FTP"),
    row("ftp-get", Protocol::Ftp, Get, "a file got by FTP"),
];

/// NFS with each write durable.
pub(crate) const NFS_SYNC: &str = "nfs-sync-put";
/// NFS with a commit at the end.
pub(crate) const NFS_COMMIT: &str = "nfs-put";
/// NFS without.
pub(crate) const NFS_ASYNC: &str = "nfs-async-put";

const fn row(name: &'static str, protocol: Protocol, direction: Direction, method: &'static str) -> Workload {
    Workload { name, protocol, direction, method }
}
