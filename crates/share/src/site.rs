//! Where servers work: at which addresses, for which networks, below which directories.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::Network;

/// A place for servers: one machine, or one network namespace of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// What the machine is called among Windows machines: 1 to 15 letters, digits and dashes.
    pub host_name: String,
    /// Where servers listen.
    pub addresses: Vec<IpAddr>,
    /// Who is answered.
    pub networks: Vec<Network>,
    /// At which ports.
    pub ports: Ports,
    /// Which directories are the servers' own.
    pub places: Places,
    /// What has to be typed before a server's command to be at the site.
    pub entry: Entry,
}

/// Ports that servers listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// SMB.
    pub smb: u16,
    /// NFS.
    pub nfs: u16,
    /// FTP.
    pub ftp: u16,
    /// FTP: the first and last port for content.
    pub ftp_passive: (u16, u16),
}

impl Default for Ports {
    /// Those at which clients look.
    fn default() -> Self {
        Self { smb: 445, nfs: 2049, ftp: 21, ftp_passive: (50_000, 50_099) }
    }
}

/// Directories of the servers' own, root's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// What has to outlive a restart of the machine: passwords, and what clients hold open.
    pub state: PathBuf,
    /// What has not: configurations, sockets, locks, logs.
    pub runtime: PathBuf,
}

/// A command that becomes another one, as `ip netns exec NAME` or `nsenter --net=PATH` do; empty for here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry(pub Vec<OsString>);
