//! What is written down of a share: all that it follows from, as JSON, in a directory that outlives a restart of the machine.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_share::{
    Durability, Guests, Interface, NfsServer, NfsShare, Owner, Places, PlainPath, Share, ShareId, TlsFiles, interfaces,
};

use super::presence::FileSystem;

/// Where records, passwords and the like are kept, if this is set.
const STATE_VARIABLE: &str = "SHOAL_STATE_DIRECTORY";

/// Where sockets, logs and configurations are, if this is set.
const RUNTIME_VARIABLE: &str = "SHOAL_RUNTIME_DIRECTORY";

/// A share, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Record {
    /// What clients call it.
    pub(crate) name: String,
    /// What file handles call it: 32 hexadecimal digits.
    pub(crate) id: String,
    /// What is shared.
    pub(crate) directory: PathBuf,
    /// What has to be mounted for it; left out if the machine's own file system holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file_system: Option<FileSystem>,
    /// To whom files belong: the user's number.
    pub(crate) user_id: u32,
    /// The group's.
    pub(crate) group_id: u32,
    /// By SMB.
    pub(crate) smb: bool,
    /// By NFS, from which server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nfs: Option<NfsWord>,
    /// By version 3 of NFS too.
    #[serde(default)]
    pub(crate) nfs_version_3: bool,
    /// By FTP.
    pub(crate) ftp: bool,
    /// Nobody may write.
    pub(crate) read_only: bool,
    /// Who may come in with a password.
    pub(crate) users: Vec<String>,
    /// What those may do who have none: "refused", "read" or "write".
    pub(crate) guests: GuestsWord,
    /// Who is answered; if there is none here, all private networks that the machine is in.
    pub(crate) networks: Vec<String>,
    /// Where FTP's certificate is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_certificates: Option<PathBuf>,
    /// Whether the file system keeps attributes beside files.
    pub(crate) has_extended_attributes: bool,
    /// Another one each time the share is set up.
    pub(crate) revision: String,
}

/// An NFS server, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NfsWord {
    /// The kernel's.
    Kernel,
    /// NFS-Ganesha.
    Ganesha,
}

/// What guests may do, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GuestsWord {
    /// Nothing.
    Refused,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// Why a record or a status cannot be had.
pub(crate) type RecordError = String;

impl Record {
    /// Where it is kept.
    fn path(name: &str) -> PathBuf {
        state_directory().join("shares").join(format!("{name}.json"))
    }

    /// Keeps it, durably, in place of the one of that name.
    pub(crate) fn keep(&self) -> Result<(), RecordError> {
        let path = Self::path(&self.name);
        let at = |error: io::Error| format!("{}: {error}", path.display());
        make_private(path.parent().unwrap_or(&path)).map_err(at)?;
        write_whole(&path, &(serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n")).map_err(at)
    }

    /// Forgets it.
    pub(crate) fn forget(&self) -> Result<(), RecordError> {
        let path = Self::path(&self.name);
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// What the servers are to do. Everything is looked at again: a record is a file, and anybody may have been at it.
    pub(crate) fn share(&self, interfaces: &[Interface]) -> Result<Share, RecordError> {
        let text = |error: &dyn std::fmt::Display| format!("share {}: {error}", self.name);
        let mut networks = Vec::new();
        for network in &self.networks {
            networks.push(network.parse().map_err(|error| text(&error))?);
        }
        if networks.is_empty() {
            networks = interfaces.iter().map(|it| it.network).filter(shoal_share::Network::is_private).collect();
        }
        let users = self.users.iter().map(|user| user.parse().map_err(|error| text(&error)));
        let plain = |path: &Path| PlainPath::new(path).map_err(|error| text(&error));
        let nfs = self.nfs.map(|word| NfsShare {
            server: match word {
                NfsWord::Kernel => NfsServer::Kernel,
                NfsWord::Ganesha => NfsServer::Ganesha,
            },
            durability: Durability::Sync,
            version_3: self.nfs_version_3,
        });
        Ok(Share {
            name: self.name.parse().map_err(|error| text(&error))?,
            id: parse_id(&self.id).ok_or_else(|| text(&"its id is no UUID"))?,
            directory: plain(&self.directory)?,
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
            mount: self.file_system.as_ref().map(|it| plain(&it.mount)).transpose()?,
            has_extended_attributes: self.has_extended_attributes,
        })
    }

    /// FTP's certificate and key.
    pub(crate) fn tls(&self) -> Result<Option<TlsFiles>, RecordError> {
        let Some(directory) = &self.tls_certificates else { return Ok(None) };
        let plain = |name| PlainPath::new(&directory.join(name)).map_err(|error| error.to_string());
        Ok(Some(TlsFiles { certificate: plain("server-cert.pem")?, key: plain("server-key.pem")? }))
    }
}

/// 32 hexadecimal digits, with anything that UUIDs are written with between them.
pub(crate) fn parse_id(text: &str) -> Option<ShareId> {
    let digits: String = text.chars().filter(|character| !matches!(character, '-' | ':')).collect();
    let value = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    Some(ShareId(value.to_be_bytes()))
}

/// All shares that are written down, by name; files that are none are told of.
pub(crate) fn records() -> Result<Vec<Record>, RecordError> {
    let directory = state_directory().join("shares");
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| at(&directory, &error))?,
    };
    let mut records = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| at(&directory, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
            let record: Record = serde_json::from_str(&text).map_err(|error| at(&path, &error))?;
            records.push(record);
        }
    }
    records.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(records)
}

/// How a share is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShareStatus {
    /// Which.
    pub(crate) name: String,
    /// Which setting-up of it.
    pub(crate) revision: String,
    /// How it is.
    pub(crate) state: State,
    /// Why it is not served, or not by all servers.
    pub(crate) problems: Vec<String>,
}

/// Whether a share can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// By all that it was set up for.
    Served,
    /// Not now: what it is on is not mounted, or this machine is in none of its networks.
    Waiting,
    /// A server does not run.
    Failed,
    /// No keeper runs: `shoal share --serve`.
    Stopped,
}

/// What the keeper wrote last.
pub(crate) fn read_status() -> Vec<ShareStatus> {
    let text = fs::read_to_string(runtime_directory().join("status.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// What everybody may know of how shares are.
pub(super) fn write_status(status: &[ShareStatus]) -> Result<(), RecordError> {
    let text = serde_json::to_string_pretty(status).map_err(|error| error.to_string())? + "\n";
    let path = runtime_directory().join("status.json");
    write_whole(&path, &text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Where the servers keep their own.
pub(crate) fn places() -> Result<Places, RecordError> {
    let [state, runtime] = [state_directory().join("servers"), runtime_directory().join("servers")];
    for directory in [&state, &runtime] {
        make_private(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    places_unmade()
}

/// The same, without looking at them.
pub(crate) fn places_unmade() -> Result<Places, RecordError> {
    let [state, runtime] = [state_directory().join("servers"), runtime_directory().join("servers")];
    Places::new(&state, &runtime).map_err(|error| error.to_string())
}

/// What outlives a restart of the machine.
fn state_directory() -> PathBuf {
    let named = std::env::var_os(STATE_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| "/var/lib/shoal".into())
}

/// What does not.
pub(super) fn runtime_directory() -> PathBuf {
    let named = std::env::var_os(RUNTIME_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| "/run/shoal".into()).join("sharing")
}

/// Makes a directory for root alone, and those above it.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes a file so that it is there whole or as it was, even after a power cut.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let file = fs::File::create(&new)?;
    io::Write::write_all(&mut &file, text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |directory| fs::File::open(directory)?.sync_all())
}

/// The networks that this machine is in, by its interfaces.
pub(crate) fn networks_of_machine() -> Result<Vec<Interface>, RecordError> {
    let output = Command::new("ip").args(["-oneline", "address", "show", "up"]).output();
    match output {
        Ok(output) if output.status.success() => Ok(interfaces(&String::from_utf8_lossy(&output.stdout))),
        Ok(output) => Err(format!("ip: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("ip: {error}: install the package iproute2")),
    }
}

/// This machine's addresses in any of some networks.
pub(crate) fn addresses(interfaces: &[Interface], networks: &[shoal_share::Network]) -> Vec<IpAddr> {
    let within = |it: &&Interface| networks.iter().any(|network| network.contains(it.address));
    interfaces.iter().filter(within).map(|it| it.address).collect()
}
