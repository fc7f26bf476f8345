//! The servers of files that a study measures: those that `shoal share` runs, on the server's host.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shoal_share::{
    Entry, Guests, HostName, NfsShare, Owner, Places, PlainPath, Ports, Running, ServerError, Share, ShareName, Site,
    UserName,
};

use crate::host::IsolatedHost;
use crate::nfs_kind::{EXPORT, Export, NfsKind};
use crate::pair::{CLIENT, SERVER};
use crate::workload::Protocol;

/// What the directory is called on the network.
pub(crate) const SHARE: &str = EXPORT.name;
/// Who may come in.
pub(crate) const USER: &str = "study";
/// With which password: the link has no other hosts, and both are gone in a moment.
pub(crate) const PASSWORD: &str = "a-link-of-two-hosts";
/// To whom files belong: no user of the machine needs to have this number.
pub(crate) const OWNER: Owner = Owner { user_id: 1000, group_id: 1000 };

/// A site and what it shares: one directory, as often as it is exported.
#[derive(Debug)]
pub(crate) struct Servers {
    site: Site,
    shares: Vec<Share>,
    nfs: NfsKind,
    running: Vec<Running>,
}

impl Servers {
    /// Prepares to share a directory of the server's host; files of the servers go below `places`.
    pub(crate) fn prepare(
        server: &IsolatedHost,
        directory: &Path,
        places: &Path,
        nfs: NfsKind,
    ) -> Result<Self, String> {
        let words = ["nsenter", "--target", &server.first_process().to_string(), "--net", "--mount", "--pid", "--"];
        let place = |name: &str| -> Result<PathBuf, String> {
            let path = places.join(name);
            std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(path)
        };
        let site = Site {
            host_name: HostName::of("shoal"),
            addresses: vec![SERVER],
            ports: Ports::default(),
            places: Places::new(&place("state")?, &place("runtime")?).map_err(|error| format!("{error}"))?,
            entry: Entry(words.iter().map(OsString::from).collect()),
            tls: None,
        };
        let shares = nfs.exports().iter().map(|export| share(directory, nfs, *export)).collect::<Result<_, _>>()?;
        Ok(Self { site, shares, nfs, running: Vec::new() })
    }

    /// Starts a protocol's server.
    pub(crate) fn start(&mut self, protocol: Protocol) -> Result<(), ServerError> {
        let protocol = match protocol {
            Protocol::Nfs => shoal_share::Protocol::Nfs(self.nfs.server().1),
            Protocol::Smb => shoal_share::Protocol::Smb,
            Protocol::Ftp => shoal_share::Protocol::Ftp,
            Protocol::Array | Protocol::Device | Protocol::Nbd => return Ok(()),
        };
        let has_one = self.running.iter().any(|server| server.protocol().has_passwords());
        if protocol.has_passwords() && !has_one {
            let users = self.shares.first().map(|share| share.users.as_slice()).unwrap_or_default();
            users.iter().try_for_each(|user| shoal_share::set_password(&self.site, user, PASSWORD))?;
        }
        self.running.push(shoal_share::start(protocol, &self.site, &self.shares)?);
        Ok(())
    }

    /// Stops them in order.
    pub(crate) fn stop(self) -> Result<(), ServerError> {
        self.running.into_iter().try_for_each(Running::stop)
    }
}

/// The directory, as one export has it; by the other protocols it is had once.
fn share(directory: &Path, nfs: NfsKind, export: Export) -> Result<Share, String> {
    let is_usual = export == EXPORT;
    let user: UserName = USER.parse().map_err(|error| format!("{error}"))?;
    Ok(Share {
        name: export.name.parse::<ShareName>().map_err(|error| format!("{error}"))?,
        id: export.id,
        directory: PlainPath::new(directory).map_err(|error| format!("{error}"))?,
        owner: OWNER,
        networks: vec![format!("{CLIENT}/30").parse().map_err(|error| format!("{error}"))?],
        read_only: false,
        users: vec![user],
        guests: Guests::Refused,
        smb: is_usual,
        nfs: Some(NfsShare { server: nfs.server().1, durability: export.durability, version_3: false }),
        ftp: is_usual,
        mount: None,
        has_extended_attributes: true,
    })
}
