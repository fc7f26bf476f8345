//! What is asked for, looked at closely before anything is done.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_serve::{Clients, TlsFiles};
use shoal_share::machine::{
    FileSystem, GuestsWord, NfsWord, Record, addresses, home_of, networks_of_machine, parse_id,
};
use shoal_share::{Network, PlainPath, ShareId, ShareName};

use crate::args::{ArrayArgs, GuestsChoice, NfsServerChoice, ShareArgs};
use crate::attaching::attachment_of;
use crate::exit::Failure;

/// A share that is to be, and what has to be done for it.
pub(super) struct ShareRequest {
    pub(super) record: Record,
    /// The directory is root's, and is to be given to the share's owner.
    is_to_be_given: bool,
}

/// What is shared: where, what it is called, and what UUID it has.
struct Shared {
    directory: PathBuf,
    name: String,
    uuid: Option<String>,
}

/// Looks at what is asked for. Nothing is changed.
pub(super) fn of(args: &ShareArgs) -> Result<ShareRequest, Failure> {
    let shared = shared(&args.what)?;
    PlainPath::new(&shared.directory).map_err(Failure::usage)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => {
            let named = |error| Failure::Usage(format!("{error}; or name it with --name"));
            shared.name.parse::<ShareName>().map_err(named)?
        }
    };
    refuse_clear_passwords(args)?;
    look_at_networks(args)?;
    let guests = guests(args)?;
    let mounts = shoal_drive::mounts().map_err(Failure::failed)?;
    let home = home_of(&shared.directory, &mounts);
    let file_system = home.as_ref().and_then(FileSystem::of);
    let (owner, is_to_be_given) = owner(args.owner.as_deref(), &shared.directory)?;
    let id = id(&shared, file_system.as_ref())?;
    let record = Record {
        name: name.to_string(),
        id: id.to_string(),
        directory: shared.directory.clone(),
        file_system,
        user_id: owner.0,
        group_id: owner.1,
        smb: args.smb,
        nfs: args.nfs.then(|| nfs_server(args)),
        nfs_version_3: args.nfs_version_3,
        ftp: args.ftp,
        read_only: args.read_only,
        users: args.users.iter().map(ToString::to_string).collect(),
        guests,
        networks: args.networks.iter().map(ToString::to_string).collect(),
        tls_certificates: args.tls_certificates.as_deref().map(certificates).transpose()?,
        has_extended_attributes: keeps_attributes(&shared.directory),
        revision: random_id()?.to_string(),
    };
    Ok(ShareRequest { record, is_to_be_given })
}

impl ShareRequest {
    /// Gives the directory to its owner, has `serve` do the rest, and says what was done. The
    /// directory is as it was if any of it fails.
    pub(super) fn carry_out(&self, serve: impl FnOnce() -> Result<(), Failure>) -> Result<Vec<String>, Failure> {
        let Record { directory, user_id, group_id, .. } = &self.record;
        let before = fs::metadata(directory).map_err(|error| at(directory, &error))?;
        let give = |user, group| chown(directory, Some(user), Some(group)).map_err(|error| at(directory, &error));
        if self.is_to_be_given {
            give(*user_id, *group_id)?;
        }
        let done = reachable(directory, *user_id, *group_id).and_then(|()| serve());
        if done.is_err() && self.is_to_be_given {
            give(before.uid(), before.gid())?;
        }
        done.map(|()| self.notes())
    }

    /// What people should know of a share that is served.
    fn notes(&self) -> Vec<String> {
        let Record { directory, user_id, group_id, .. } = &self.record;
        let mut notes = Vec::new();
        if self.is_to_be_given {
            notes.push(format!(
                "{} belongs to user {user_id}, group {group_id} now; it was root's",
                directory.display()
            ));
        }
        if self.record.nfs.is_some() {
            notes.push("NFS knows no passwords: every machine in the networks may do what the share allows".to_owned());
        }
        if self.record.ftp && self.record.tls_certificates.is_none() && !self.record.users.is_empty() {
            notes.push("FTP without TLS: passwords and content cross the network in the clear".to_owned());
        }
        notes
    }
}

/// What guests may do; without any, somebody has to have a name.
fn guests(args: &ShareArgs) -> Result<GuestsWord, Failure> {
    match args.guests {
        None if (args.smb || args.ftp) && args.users.is_empty() => {
            Err(Failure::usage("nobody could come in: name users with --user NAME, or let in anybody with --guests"))
        }
        None => Ok(GuestsWord::Refused),
        Some(GuestsChoice::Read) => Ok(GuestsWord::Read),
        Some(GuestsChoice::Write) => Ok(GuestsWord::Write),
    }
}

/// Refuses what cannot be beside other shares.
pub(super) fn hold_against_others(record: &Record, others: &[Record]) -> Result<(), Failure> {
    let export = |record: &Record| parse_id(&record.id).map(ShareId::export_id);
    for other in others.iter().filter(|other| other.name != record.name) {
        let name = &other.name;
        if other.directory == record.directory {
            return Err(Failure::Refused(format!(
                "{} is shared as {name} already: `shoal unshare {name}` first",
                record.directory.display()
            )));
        }
        if record.nfs.is_some() && other.nfs.is_some() && record.nfs != other.nfs {
            return Err(Failure::Refused(format!(
                "share {name} is had from another NFS server, and one port has one: give the same --nfs-server"
            )));
        }
        if record.nfs.is_some() && other.nfs.is_some() && export(record) == export(other) {
            return Err(Failure::Refused(format!(
                "shares {name} and {} would have one number in NFS: share one by SMB alone",
                record.name
            )));
        }
        if record.ftp && other.ftp {
            return Err(Failure::Refused(format!(
                "FTP has one directory, and {name} is it: share this one by SMB or NFS"
            )));
        }
    }
    let same_name = others.iter().find(|other| other.name == record.name && other.directory != record.directory);
    match same_name {
        Some(other) => Err(Failure::Refused(format!(
            "{} is the name of the share of {}: take another --name",
            other.name,
            other.directory.display()
        ))),
        None => Ok(()),
    }
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// A directory, or where an array is mounted.
fn shared(what: &ArrayArgs) -> Result<Shared, Failure> {
    let directories: Vec<_> = what.drives.iter().filter(|path| path.is_dir()).collect();
    match directories.as_slice() {
        [directory] if what.drives.len() == 1 => {
            let directory = directory.canonicalize().map_err(|error| at(directory, &error))?;
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Shared { directory, name, uuid: None })
        }
        [] => mounted_array(what),
        _ => Err(Failure::usage("name one directory, or one array by its members")),
    }
}

/// Where the array that somebody means is mounted.
fn mounted_array(what: &ArrayArgs) -> Result<Shared, Failure> {
    for path in &what.drives {
        fs::metadata(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    }
    let attachment = attachment_of(what)?;
    let attachment = attachment.ok_or_else(|| Failure::usage("the array is not mounted: `shoal mount` it first"))?;
    let (array, mounts) = (&attachment.name, attachment.mounted_at()?);
    let directory = match mounts.as_slice() {
        [directory] => directory.clone(),
        [] => {
            return Err(Failure::Usage(format!("array {array} is attached but not mounted: `shoal mount` it first")));
        }
        _ => {
            let places: Vec<_> = mounts.iter().map(|place| place.display().to_string()).collect();
            return Err(Failure::Usage(format!(
                "array {array} is mounted at {}: name the one to share",
                places.join(" and ")
            )));
        }
    };
    // A host and a name, as md keeps them.
    let name = array.rsplit(':').next().unwrap_or_default().to_owned();
    Ok(Shared { directory, name, uuid: Some(attachment.array_uuid) })
}

/// Networks are private unless told, and this machine is in at least one of them.
fn look_at_networks(args: &ShareArgs) -> Result<(), Failure> {
    if let Some(network) = args.networks.iter().find(|network| network.is_link_local_6()) {
        return Err(Failure::Refused(format!(
            "{network} is in every cable: an address there means nothing without the name of an interface, which these servers \
             do not take; give the machine an address of fd00::/8, or of IPv4"
        )));
    }
    if let Some(public) = args.networks.iter().find(|network| !network.is_private() && !args.allow_public) {
        return Err(Failure::Refused(format!(
            "{public} is not private: anybody on the internet may be in it; --allow-public if that is meant"
        )));
    }
    let interfaces = networks_of_machine().map_err(Failure::failed)?;
    let private = || interfaces.iter().map(|it| it.network).filter(Network::is_private).collect();
    let networks = if args.networks.is_empty() { private() } else { args.networks.clone() };
    let all: Vec<String> = interfaces.iter().map(|it| format!("{} ({})", it.network, it.name)).collect();
    let is_in_one = !addresses(&interfaces, &networks).is_empty();
    if is_in_one || args.configuration_only.is_some() {
        Ok(())
    } else {
        Err(Failure::Refused(format!(
            "this machine has no address in a network to share with; it is in: {}",
            all.join(", ")
        )))
    }
}

/// A password that crosses the internet in the clear is everybody's.
fn refuse_clear_passwords(args: &ShareArgs) -> Result<(), Failure> {
    let is_clear = args.ftp && args.tls_certificates.is_none() && !args.users.is_empty();
    match args.networks.iter().find(|network| is_clear && !network.is_private()) {
        Some(public) => Err(Failure::Refused(format!(
            "FTP without TLS would send passwords in the clear through {public}, which is not private: give --tls-certificates DIR"
        ))),
        None => Ok(()),
    }
}

/// To whom files are to belong, and whether the directory has to be given to them.
fn owner(wanted: Option<&str>, directory: &Path) -> Result<((u32, u32), bool), Failure> {
    let about = fs::metadata(directory).map_err(|error| at(directory, &error))?;
    let present = (about.uid(), about.gid());
    let place = directory.display();
    match wanted.map(numbers).transpose()? {
        None if present.0 == 0 => Err(Failure::Refused(format!(
            "{place} belongs to root, and nobody writes there as root: say whose files are to be with --owner USER (`useradd \
             --system --no-create-home --shell /usr/sbin/nologin shoal-share` makes a user for shares alone)"
        ))),
        None => Ok((present, false)),
        Some((0, _)) => Err(Failure::usage("--owner: files of a share never belong to root")),
        Some(wanted) if wanted.0 == present.0 => Ok((wanted, false)),
        Some(wanted) if present.0 == 0 => Ok((wanted, true)),
        Some((user, group)) => Err(Failure::Refused(format!(
            "{place} belongs to user {}: it is theirs to give away, with all that is in it: chown -R {user}:{group} {place}",
            present.0
        ))),
    }
}

/// A user's number and group: of an account, or as UID:GID.
fn numbers(text: &str) -> Result<(u32, u32), Failure> {
    if let Some((user, group)) = text.split_once(':')
        && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
    {
        return Ok((user, group));
    }
    let ask = |option: &str| -> Option<u32> {
        let output =
            Command::new("id").args([option, "--", text]).output().ok().filter(|output| output.status.success())?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    ask("-u")
        .zip(ask("-g"))
        .ok_or_else(|| Failure::Usage(format!("--owner {text}: there is no such user; or write UID:GID")))
}

/// Servers go there as the owner: who must be let through all directories above.
fn reachable(directory: &Path, user: u32, group: u32) -> Result<(), Failure> {
    for above in directory.ancestors() {
        let about = fs::metadata(above).map_err(|error| at(above, &error))?;
        let shift = if about.uid() == user {
            6
        } else if about.gid() == group {
            3
        } else {
            0
        };
        if about.mode() >> shift & 1 == 0 {
            return Err(Failure::Refused(format!(
                "user {user}, whose files those in {} are to be, is not let through {}: chmod o+x {}",
                directory.display(),
                above.display(),
                above.display()
            )));
        }
    }
    Ok(())
}

/// The number by which file handles know a share: the array's, or the file system's; of a directory
/// below, one that follows from it.
fn id(shared: &Shared, file_system: Option<&FileSystem>) -> Result<ShareId, Failure> {
    let of_file_system = file_system.and_then(|it| it.uuid.as_deref());
    let Some(base) = shared.uuid.as_deref().or(of_file_system).and_then(parse_id) else { return random_id() };
    let below = file_system.and_then(|it| shared.directory.strip_prefix(&it.mount).ok()).unwrap_or(&shared.directory);
    Ok(ShareId((u128::from_be_bytes(base.0) ^ hash(below.as_os_str().as_encoded_bytes())).to_be_bytes()))
}

/// FNV-1a; nothing of nothing, so that the whole of an array has the array's number.
fn hash(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    if bytes.is_empty() {
        return 0;
    }
    bytes.iter().fold(OFFSET, |sum, byte| (sum ^ u128::from(*byte)).wrapping_mul(PRIME))
}

/// A number that nobody else has.
fn random_id() -> Result<ShareId, Failure> {
    let mut bytes = [0; 16];
    let taken = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(Failure::failed)?;
    if taken == bytes.len() { Ok(ShareId(bytes)) } else { Err(Failure::failed("the kernel has no random numbers")) }
}

/// The kernel's server, if it has one and its programs are there.
fn nfs_server(args: &ShareArgs) -> NfsWord {
    let is_in_kernel = || {
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let is_loaded = known.lines().any(|line| line.split_ascii_whitespace().last() == Some("nfsd"));
        let has_module =
            || Command::new("modprobe").args(["--dry-run", "--quiet", "nfsd"]).status().is_ok_and(|it| it.success());
        (is_loaded || has_module()) && Path::new("/usr/sbin/rpc.nfsd").exists()
    };
    match args.nfs_server {
        Some(NfsServerChoice::Kernel) => NfsWord::Kernel,
        Some(NfsServerChoice::Ganesha) => NfsWord::Ganesha,
        None if !args.nfs_version_3 && is_in_kernel() => NfsWord::Kernel,
        None => NfsWord::Ganesha,
    }
}

/// Where a certificate is that a server can use: vsftpd would find out with its first client.
fn certificates(directory: &Path) -> Result<PathBuf, Failure> {
    let directory =
        directory.canonicalize().map_err(|error| Failure::Usage(format!("{}: {error}", directory.display())))?;
    let files = TlsFiles::Certificates { directory: directory.clone(), clients: Clients::Local };
    files.check().map_err(Failure::usage)?;
    Ok(directory)
}

/// Whether files there can have attributes: tried, as no table says it of every file system. Where
/// there can be none, not even the question for one is understood.
fn keeps_attributes(directory: &Path) -> bool {
    let mut nothing = [0_u8; 1];
    match rustix::fs::getxattr(directory, "user.shoal.none", &mut nothing) {
        Err(rustix::io::Errno::NODATA) | Ok(_) => true,
        Err(_) => false,
    }
}
