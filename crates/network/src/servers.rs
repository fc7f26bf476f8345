//! The servers of files that a study measures: those that `shoal share` runs, on the server's host.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shoal_share::{
    Durability, Entry, Guests, HostName, NfsServer, NfsShare, Owner, Places, PlainPath, Ports, Running, ServerError,
    Share, ShareId, ShareName, Site, UserName,
};

use crate::host::Host;
use crate::pair::{CLIENT, SERVER};
use crate::workload::Protocol;

/// What the directory is called on the network.
pub(crate) const SHARE: &str = "array";
/// Who may come in.
pub(crate) const USER: &str = "study";
/// With which password: the link has no other hosts, and both are gone in a moment.
pub(crate) const PASSWORD: &str = "a-link-of-two-hosts";
/// To whom files belong: no user of the machine needs to have this number.
pub(crate) const OWNER: Owner = Owner { user_id: 1000, group_id: 1000 };
/// The export's id: the same in every study, as no file handle outlives one.
const SHARE_ID: ShareId = ShareId(*b"shoal's network ");

/// A site and what it shares.
#[derive(Debug)]
pub(crate) struct Servers {
    site: Site,
    share: Share,
    running: Vec<Running>,
}

impl Servers {
    /// Prepares to share a directory of the server's host; files of the servers go below `places`.
    pub(crate) fn prepare(server: &Host, directory: &Path, places: &Path) -> Result<Self, String> {
        let words = ["nsenter", "--target", &server.first_process().to_string(), "--net", "--mount", "--pid", "--"];
        let network = format!("{CLIENT}/30").parse().map_err(|error| format!("{error}"))?;
        let place = |name: &str| -> Result<PathBuf, String> {
            let path = places.join(name);
            std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(path)
        };
        let user: UserName = USER.parse().map_err(|error| format!("{error}"))?;
        let site = Site {
            host_name: HostName::of("shoal"),
            addresses: vec![SERVER],
            ports: Ports::default(),
            places: Places::new(&place("state")?, &place("runtime")?).map_err(|error| format!("{error}"))?,
            entry: Entry(words.iter().map(OsString::from).collect()),
            tls: None,
        };
        let share = Share {
            name: SHARE.parse::<ShareName>().map_err(|error| format!("{error}"))?,
            id: SHARE_ID,
            directory: PlainPath::new(directory).map_err(|error| format!("{error}"))?,
            owner: OWNER,
            networks: vec![network],
            read_only: false,
            users: vec![user],
            guests: Guests::Refused,
            smb: true,
            nfs: Some(NfsShare { server: NfsServer::Ganesha, durability: Durability::Sync, version_3: false }),
            ftp: true,
            mount: None,
            has_extended_attributes: true,
        };
        Ok(Self { site, share, running: Vec::new() })
    }

    /// Starts a protocol's server.
    pub(crate) fn start(&mut self, protocol: Protocol) -> Result<(), ServerError> {
        let protocol = match protocol {
            Protocol::Nfs => shoal_share::Protocol::Nfs(NfsServer::Ganesha),
            Protocol::Smb => shoal_share::Protocol::Smb,
            Protocol::Ftp => shoal_share::Protocol::Ftp,
            Protocol::Array | Protocol::Device | Protocol::Nbd => return Ok(()),
        };
        if let Some(user) = self.share.users.first().filter(|_| self.running.is_empty()) {
            shoal_share::set_password(&self.site, user, PASSWORD)?;
        }
        self.running.push(shoal_share::start(protocol, &self.site, std::slice::from_ref(&self.share))?);
        Ok(())
    }

    /// Stops them in order.
    pub(crate) fn stop(self) -> Result<(), ServerError> {
        self.running.into_iter().try_for_each(Running::stop)
    }
}
