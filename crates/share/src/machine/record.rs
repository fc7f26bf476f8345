//! What is written down of a share: all that it follows from, as JSON, in a directory that outlives
//! a restart of the machine.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{MachineError, RecordFault};
use super::presence::FileSystem;
use crate::{
    Durability, Guests, Interface, Network, NfsServer, NfsShare, Owner, PlainPath, Share, ShareId, TlsFiles, interfaces,
};

/// A share, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// What clients call it.
    pub name: String,
    /// What file handles call it: 32 hexadecimal digits.
    pub id: String,
    /// What is shared.
    pub directory: PathBuf,
    /// What has to be mounted for it; left out if the machine's own file system holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// To whom files belong: the user's number.
    pub user_id: u32,
    /// The group's.
    pub group_id: u32,
    /// By SMB.
    pub smb: bool,
    /// By NFS, from which server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NfsWord>,
    /// By version 3 of NFS too.
    #[serde(default)]
    pub nfs_version_3: bool,
    /// By FTP.
    pub ftp: bool,
    /// Nobody may write.
    pub read_only: bool,
    /// Who may come in with a password.
    pub users: Vec<String>,
    /// What those may do who have none: "refused", "read" or "write".
    pub guests: GuestsWord,
    /// Who is answered; if there is none here, all private networks that the machine is in.
    pub networks: Vec<String>,
    /// Where FTP's certificate is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_certificates: Option<PathBuf>,
    /// Whether the file system keeps attributes beside files.
    pub has_extended_attributes: bool,
    /// Another one each time the share is set up.
    pub revision: String,
}

/// An NFS server, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NfsWord {
    /// The kernel's.
    Kernel,
    /// NFS-Ganesha.
    Ganesha,
}

/// What guests may do, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuestsWord {
    /// Nothing.
    Refused,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

impl Record {
    /// What the servers are to do. Everything is looked at again: a record is a file, and anybody
    /// may have been at it.
    pub fn share(&self, interfaces: &[Interface]) -> Result<Share, MachineError> {
        self.parsed(interfaces).map_err(|fault| MachineError::Record { name: self.name.clone(), fault })
    }

    fn parsed(&self, interfaces: &[Interface]) -> Result<Share, RecordFault> {
        let mut networks = self.networks.iter().map(|network| network.parse()).collect::<Result<Vec<Network>, _>>()?;
        if networks.is_empty() {
            networks = interfaces.iter().map(|it| it.network).filter(Network::is_private).collect();
        }
        let users = self.users.iter().map(|user| user.parse());
        let nfs = self.nfs.map(|word| NfsShare {
            server: match word {
                NfsWord::Kernel => NfsServer::Kernel,
                NfsWord::Ganesha => NfsServer::Ganesha,
            },
            durability: Durability::Sync,
            version_3: self.nfs_version_3,
        });
        Ok(Share {
            name: self.name.parse()?,
            id: parse_id(&self.id).ok_or(RecordFault::Id)?,
            directory: PlainPath::new(&self.directory)?,
            owner: Owner { user_id: self.user_id, group_id: self.group_id },
            networks,
            read_only: self.read_only,
            users: users.collect::<Result<_, _>>()?,
            guests: match self.guests {
                GuestsWord::Refused => Guests::Refused,
                GuestsWord::Read => Guests::Read,
                GuestsWord::Write => Guests::Write,
            },
            smb: self.smb,
            nfs,
            ftp: self.ftp,
            mount: self.file_system.as_ref().map(|it| PlainPath::new(&it.mount)).transpose()?,
            has_extended_attributes: self.has_extended_attributes,
        })
    }

    /// FTP's certificate and key.
    pub fn tls(&self) -> Result<Option<TlsFiles>, MachineError> {
        let Some(directory) = &self.tls_certificates else { return Ok(None) };
        let plain = |name| PlainPath::new(&directory.join(name));
        Ok(Some(TlsFiles { certificate: plain("server-cert.pem")?, key: plain("server-key.pem")? }))
    }
}

/// 32 hexadecimal digits, with anything that UUIDs are written with between them.
pub fn parse_id(text: &str) -> Option<ShareId> {
    let digits: String = text.chars().filter(|character| !matches!(character, '-' | ':')).collect();
    let value = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    Some(ShareId(value.to_be_bytes()))
}

/// How a share is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareStatus {
    /// Which.
    pub name: String,
    /// Which setting-up of it.
    pub revision: String,
    /// How it is.
    pub state: State,
    /// Why it is not served, or not by all servers.
    pub problems: Vec<String>,
}

/// Whether a share can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// By all that it was set up for.
    Served,
    /// Not now: what it is on is not mounted, or this machine is in none of its networks.
    Waiting,
    /// A server does not run.
    Failed,
    /// No keeper runs: `shoal share --serve`.
    Stopped,
}

/// The networks that this machine is in, by its interfaces.
pub fn networks_of_machine() -> Result<Vec<Interface>, MachineError> {
    let output = Command::new("ip").args(["-oneline", "address", "show", "up"]).output();
    match output {
        Ok(output) if output.status.success() => Ok(interfaces(&String::from_utf8_lossy(&output.stdout))),
        Ok(output) => Err(MachineError::Addresses(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(error) => Err(MachineError::Addresses(format!("{error}: install the package iproute2"))),
    }
}

/// This machine's addresses in any of some networks.
pub fn addresses(interfaces: &[Interface], networks: &[Network]) -> Vec<IpAddr> {
    let within = |it: &&Interface| networks.iter().any(|network| network.contains(it.address));
    interfaces.iter().filter(within).map(|it| it.address).collect()
}
