//! What is shared, with whom, and how.

use std::fmt;

use crate::{Network, PlainPath, ShareName, UserName};

/// A directory, as others are to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// What clients call it.
    pub name: ShareName,
    /// What file handles call it.
    pub id: ShareId,
    /// What is shared.
    pub directory: PlainPath,
    /// To whom all of it belongs.
    pub owner: Owner,
    /// Who is answered.
    pub networks: Vec<Network>,
    /// Nobody may write.
    pub read_only: bool,
    /// Who may come in with a password (SMB, FTP).
    pub users: Vec<UserName>,
    /// What those may do who have none (SMB, FTP).
    pub guests: Guests,
    /// By SMB.
    pub smb: bool,
    /// By NFS, and how.
    pub nfs: Option<NfsShare>,
    /// By FTP.
    pub ftp: bool,
    /// Where the file system that holds it has to be mounted; if none, the machine's own holds it.
    pub mount: Option<PlainPath>,
    /// Whether that file system keeps attributes beside files.
    pub has_extended_attributes: bool,
}

/// The user and group on this machine to whom files of a share belong; never root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The user's number.
    pub user_id: u32,
    /// The group's number.
    pub group_id: u32,
}

/// What somebody without a password may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    /// Nothing.
    #[default]
    Refused,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// How a directory is shared by NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsShare {
    /// Which server.
    pub server: NfsServer,
    /// When a write is answered.
    pub durability: Durability,
    /// By version 3 too, which needs rpcbind on the machine. Only NFS-Ganesha does it here.
    pub version_3: bool,
}

/// Servers of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NfsServer {
    /// The kernel's, by `rpc.nfsd` and `exportfs`.
    Kernel,
    /// NFS-Ganesha, in user space.
    Ganesha,
}

/// When an NFS server says that something is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is.
    #[default]
    Sync,
    /// At once, so that a power cut loses what the client believes to be safe: to be measured, not
    /// to be used. Only the kernel's server can.
    Async,
}

/// What NFS calls a share: the array's UUID, so the same after each restart and on each machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareId(pub [u8; 16]);

impl ShareId {
    /// The number of its export (`Export_Id`), 1 to 65535.
    pub fn export_id(self) -> u16 {
        let folded = self.0.as_chunks::<2>().0.iter().fold(0, |sum, pair| sum ^ u16::from_be_bytes(*pair));
        folded.max(1)
    }

    /// The number of its file system, in two halves.
    pub fn filesystem_id(self) -> (u64, u64) {
        let [major, minor] = [0, 8].map(|at| {
            let half = self.0[at..at + 8].try_into().expect("eight of sixteen bytes");
            u64::from_be_bytes(half)
        });
        (major, minor)
    }
}

impl fmt::Display for ShareId {
    /// As libuuid prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}
