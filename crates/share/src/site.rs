//! Where servers work: at which addresses, for which networks, below which directories.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::{HostName, NameError, PlainPath};

/// A place for servers: one machine, or one network namespace of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// What the machine is called among Windows machines.
    pub host_name: HostName,
    /// Where servers listen.
    pub addresses: Vec<IpAddr>,
    /// At which ports.
    pub ports: Ports,
    /// Which directories are the servers' own.
    pub places: Places,
    /// What has to be typed before a server's command to be at the site.
    pub entry: Entry,
    /// With what FTP is encrypted; if none it is not.
    pub tls: Option<TlsFiles>,
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that vouch for it.
    pub certificate: PlainPath,
    /// Its key.
    pub key: PlainPath,
}

/// Ports that servers listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// SMB.
    pub smb: u16,
    /// NFS.
    pub nfs: u16,
    /// NFS version 3: where clients ask for a share's first handle.
    pub nfs_mount: u16,
    /// FTP.
    pub ftp: u16,
    /// FTP: the first and last port for content.
    pub ftp_passive: (u16, u16),
}

impl Default for Ports {
    /// Those at which clients look.
    fn default() -> Self {
        Self { smb: 445, nfs: 2049, nfs_mount: 20_048, ftp: 21, ftp_passive: (50_000, 50_099) }
    }
}

/// Directories of the servers' own, root's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    state: PathBuf,
    runtime: PathBuf,
}

impl Places {
    /// Takes two absolute paths, which need not be there yet.
    ///
    /// # Errors
    ///
    /// If a path could mean something else in a configuration file, or has spaces.
    pub fn new(state: &Path, runtime: &Path) -> Result<Self, NameError> {
        let plain = |path: &Path| {
            let path = PlainPath::new(path)?.path().to_owned();
            // Samba's list of password databases has no quotes.
            if path.as_os_str().as_encoded_bytes().contains(&b' ') { Err(NameError::Directory(path)) } else { Ok(path) }
        };
        Ok(Self { state: plain(state)?, runtime: plain(runtime)? })
    }

    /// For what has to outlive a restart of the machine: passwords, and who holds which locks.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// For what has not: configurations, sockets, locks, logs.
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }
}

/// A command that becomes another one, as `ip netns exec NAME` or `nsenter --net=PATH` do; empty
/// for here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry(pub Vec<OsString>);
