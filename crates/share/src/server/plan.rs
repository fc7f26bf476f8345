//! What each server needs to run: files, directories, daemons, and commands before and after.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use super::daemon::{Command, Daemon, Overlay, Ready, is_installed};
use super::{Protocol, ServerError, kernel, make_directory, passwords, write_file};
use crate::configuration::accounts::{self, Numbering};
use crate::configuration::{ganesha, samba, vsftpd};
use crate::{Durability, NfsServer, Owner, Share, ShareName, Site, UserName};

/// What a server needs to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerPlan {
    /// What it serves.
    pub(super) shares: Vec<ShareName>,
    /// Emptied when the server starts: what it left there last time means nothing.
    pub(super) fresh: Vec<PathBuf>,
    /// Made if need be, with these permissions.
    pub(super) directories: Vec<(PathBuf, u32)>,
    /// Written, with these permissions.
    pub(super) files: Vec<(PathBuf, String, u32)>,
    /// Started, in this order, and stopped in the reverse one.
    pub(super) daemons: Vec<Daemon>,
    /// Run to their end when the daemons have been started.
    pub(super) then: Vec<Command>,
    /// Ports that are listened at by somebody else than the daemons: the kernel.
    pub(super) ports: Vec<u16>,
    /// Tell the daemons that the files have changed.
    pub(super) changed: Vec<Command>,
    /// A signal tells them.
    pub(super) is_told_by_signal: bool,
    /// Sends away clients of a share, when its name is appended.
    pub(super) dismissal: Option<Command>,
    /// Run when the daemons have ended.
    pub(super) after: Vec<Command>,
    /// There while the commands of `after` have something to undo.
    pub(super) marker: Option<PathBuf>,
}

/// What a server of a protocol needs for the shares that want it.
pub(super) fn of(protocol: Protocol, site: &Site, shares: &[Share]) -> Result<ServerPlan, ServerError> {
    let shares: Vec<Share> = shares.iter().filter(|share| protocol.is_of(share)).cloned().collect();
    if shares.is_empty() || site.addresses.is_empty() || shares.iter().any(|share| share.networks.is_empty()) {
        let reason = "a server needs a share, an address to listen at and a network to answer";
        return Err(ServerError::Refused(reason.to_owned()));
    }
    let plan = match protocol {
        Protocol::Smb => smb(site, &shares),
        Protocol::Nfs(NfsServer::Ganesha) => ganesha(site, &shares)?,
        Protocol::Nfs(NfsServer::Kernel) => kernel::plan(site, &shares)?,
        Protocol::Ftp => ftp(site, &shares)?,
    };
    Ok(ServerPlan { shares: shares.iter().map(|share| share.name.clone()).collect(), ..plan })
}

impl ServerPlan {
    /// Whether all that is to be run is there.
    pub(super) fn look_for_programs(&self) -> Result<(), ServerError> {
        let daemons = self.daemons.iter().map(|daemon| &daemon.command);
        let mut commands = daemons.chain(&self.then).chain(&self.changed).chain(&self.after);
        match commands.find(|command| !is_installed(command.program)) {
            Some(Command { program, package, .. }) => Err(ServerError::Missing { program, package }),
            None => Ok(()),
        }
    }

    /// Whether somebody else is at the ports already. Elsewhere than here the server finds out by
    /// itself.
    pub(super) fn look_for_others(&self, protocol: Protocol, site: &Site) -> Result<(), ServerError> {
        let ports = self.daemons.iter().flat_map(|daemon| daemon.ready.ports()).chain(&self.ports);
        for (port, address) in ports.flat_map(|&port| site.addresses.iter().map(move |&address| (port, address))) {
            let taken = || match TcpListener::bind((address, port)) {
                Ok(_) => None,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => Some("is taken by another server"),
                Err(_) => Some("is no address of this machine"),
            };
            if let Some(problem) = site.entry.0.is_empty().then(taken).flatten() {
                let mend = "let that one serve the share: write its configuration with --configuration-only";
                return Err(ServerError::Refused(format!("{protocol:?}: port {port} of {address} {problem}; {mend}")));
            }
        }
        Ok(())
    }

    /// Makes directories and files.
    pub(super) fn write_files(&self) -> Result<(), ServerError> {
        for (path, mode) in &self.directories {
            make_directory(path, *mode)?;
        }
        for (path, content, mode) in &self.files {
            write_file(path, content, *mode)?;
        }
        Ok(())
    }

    /// Notes that from now on there is something to be undone.
    pub(super) fn mark(&self) -> Result<(), ServerError> {
        self.marker.as_ref().map_or(Ok(()), |marker| write_file(marker, "", 0o600))
    }

    /// Undoes what outlives the daemons, if anything was left to be undone.
    pub(super) fn undo_the_last(&self, site: &Site) {
        let Some(marker) = self.marker.as_ref().filter(|marker| marker.exists()) else { return };
        for command in &self.after {
            // What is not undone is in the way of the next start, which says so.
            let _ = command.run(&site.entry, b"");
        }
        let _ = fs::remove_file(marker);
    }

    /// Forgets what the server left the last time.
    pub(super) fn forget(&self) -> Result<(), ServerError> {
        for path in &self.fresh {
            match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ServerError::File { path: path.clone(), error });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether daemons of this plan can go on with the files of another one. What is laid over the
    /// system's files cannot change under a running daemon.
    pub(super) fn can_become(&self, other: &Self) -> bool {
        let laid_over = |plan: &Self| -> Vec<_> {
            let overlays = plan.daemons.iter().flat_map(|daemon| daemon.command.overlays.clone());
            let sources = overlays.filter_map(|overlay| match overlay {
                Overlay::Bind(ours, _) => Some(ours),
                Overlay::Kernel(..) => None,
            });
            let sources: BTreeSet<_> = sources.collect();
            plan.files.iter().filter(|(path, ..)| sources.contains(path)).cloned().collect()
        };
        let can_be_told = other.is_told_by_signal || !other.changed.is_empty();
        can_be_told && self.daemons == other.daemons && laid_over(self) == laid_over(other)
    }

    /// What sends away the clients of a share that is gone.
    pub(super) fn dismissal(&self, name: &ShareName) -> Option<Command> {
        let mut command = self.dismissal.clone()?;
        command.arguments.push(name.to_string().into());
        Some(command)
    }
}

/// `/etc/passwd` and `/etc/group` of a server.
fn account_files(
    directory: &Path,
    shares: &[Share],
    guests: &[&str],
    numbering: Numbering,
) -> [(PathBuf, String, u32); 2] {
    let owners: BTreeSet<Owner> = shares.iter().map(|share| share.owner).collect();
    let users: BTreeSet<UserName> = shares.iter().flat_map(|share| share.users.iter().cloned()).collect();
    [
        (directory.join("passwd"), accounts::passwd(&owners, &users, guests, numbering), 0o644),
        (directory.join("group"), accounts::group(&owners), 0o644),
    ]
}

fn smb(site: &Site, shares: &[Share]) -> ServerPlan {
    let directory = site.places.runtime().join("samba");
    let state = site.places.state().join("samba");
    let configuration = directory.join("smb.conf");
    let overlays = vec![
        Overlay::Bind(directory.join("passwd"), "/etc/passwd".into()),
        Overlay::Bind(directory.join("group"), "/etc/group".into()),
    ];
    let with = |program, arguments: &[&str]| {
        let arguments = arguments.iter().map(Into::into).collect();
        Command { program, package: "samba", arguments, overlays: overlays.clone() }
    };
    let option = format!("--configfile={}", configuration.display());
    let mut files = account_files(&directory, shares, &[accounts::GUEST], Numbering::Distinct).to_vec();
    files.push((configuration, samba::file(site, shares), 0o600));
    let made = ["cache", "lock", "pid", "ncalrpc", "dns"].map(|name| (directory.join(name), 0o755));
    let kept = ["private", "state"].map(|name| (state.join(name), 0o700));
    ServerPlan {
        // Samba remembers there which account has which number; accounts and owners may be others
        // now.
        fresh: vec![directory.join("lock"), directory.join("cache")],
        directories: [made.as_slice(), &kept].concat(),
        files,
        daemons: vec![Daemon {
            command: with("smbd", &["--foreground", "--no-process-group", &option]),
            said: directory.join("smbd.said"),
            log: Some(directory.join("smbd.log")),
            ready: Ready::Listening(vec![site.ports.smb]),
        }],
        changed: vec![with("smbcontrol", &[&option, "smbd", "reload-config"])],
        dismissal: Some(with("smbcontrol", &[&option, "smbd", "close-share"])),
        ..ServerPlan::default()
    }
}

fn ganesha(site: &Site, shares: &[Share]) -> Result<ServerPlan, ServerError> {
    let kinds = || shares.iter().filter_map(|share| share.nfs);
    if kinds().any(|nfs| nfs.durability == Durability::Async) {
        let reason = "NFS-Ganesha cannot answer before data are durable: only the kernel's NFS server has async";
        return Err(ServerError::Refused(reason.to_owned()));
    }
    if site.addresses.len() > 1 {
        let addresses: Vec<_> = site.addresses.iter().map(ToString::to_string).collect();
        return Err(ServerError::Refused(format!(
            "NFS-Ganesha listens at one address, or at all of the machine's, and networks of these shares are at {}: name one of them \
             with --network, or use the kernel's NFS server",
            addresses.join(", ")
        )));
    }
    let directory = site.places.runtime().join("ganesha");
    let [configuration, log, pid] = ["ganesha.conf", "ganesha.log", "ganesha.pid"].map(|name| directory.join(name));
    let options = ["-F".into(), "-f".into(), configuration.clone().into(), "-L".into(), log.clone().into()];
    let arguments = options.into_iter().chain(["-p".into(), pid.into()]).collect();
    let program = Command { program: "ganesha.nfsd", package: "nfs-ganesha-vfs", arguments, overlays: Vec::new() };
    let mount = kinds().any(|nfs| nfs.version_3).then_some(site.ports.nfs_mount);
    let ports = [site.ports.nfs].into_iter().chain(mount).collect();
    let said = directory.join("ganesha.said");
    Ok(ServerPlan {
        directories: vec![(directory.clone(), 0o755), (site.places.state().join("ganesha"), 0o700)],
        files: vec![(configuration, ganesha::file(site, shares), 0o600)],
        daemons: vec![Daemon { command: program, said, log: Some(log), ready: Ready::Listening(ports) }],
        is_told_by_signal: true,
        ..ServerPlan::default()
    })
}

fn ftp(site: &Site, shares: &[Share]) -> Result<ServerPlan, ServerError> {
    let [share] = shares else {
        let reason = "FTP has one directory at an address, as its users are shut in there: share another by SMB or NFS";
        return Err(ServerError::Refused(reason.to_owned()));
    };
    let directory = site.places.runtime().join("ftp");
    let at = |name: &str| directory.join(name);
    let log = at("vsftpd.log");
    let own = vsftpd::Belongings { directory: &directory, log: &log, pam_service: "vsftpd" };
    let (mut files, overlays) = ftp_accounts(site, share, &directory);
    let mut daemons = Vec::new();
    for (index, &address) in site.addresses.iter().enumerate() {
        let configuration = at(&format!("vsftpd-{index}.conf"));
        files.push((configuration.clone(), vsftpd::file(site, share, address, own), 0o600));
        let arguments = vec![configuration.into()];
        let command = Command { program: "vsftpd", package: "vsftpd", arguments, overlays: overlays.clone() };
        let said = at(&format!("vsftpd-{index}.said"));
        daemons.push(Daemon { command, said, log: None, ready: Ready::Listening(vec![site.ports.ftp]) });
    }
    let directories = vec![(directory.clone(), 0o755), (at("empty"), 0o755), (at("guests"), 0o700)];
    Ok(ServerPlan { directories, files, daemons, ..ServerPlan::default() })
}

/// What vsftpd knows of people, and where it looks for that.
fn ftp_accounts(site: &Site, share: &Share, directory: &Path) -> (Vec<(PathBuf, String, u32)>, Vec<Overlay>) {
    let guests = vsftpd::guests(share);
    let at = |name: &str| directory.join(name);
    let mut files = account_files(directory, std::slice::from_ref(share), guests, Numbering::Owners).to_vec();
    files.push((at("pam"), accounts::pam(guests), 0o644));
    files.push((at("hosts.allow"), vsftpd::hosts_allow(share).join("\n") + "\n", 0o644));
    files.push((at("hosts.deny"), vsftpd::HOSTS_DENY.to_owned(), 0o644));
    files.push((at("users"), vsftpd::user_list(share), 0o600));
    files.push((at("shadow"), passwords::hashes_of(&site.places, &share.users), 0o600));
    for guest in guests {
        files.push((at("guests").join(guest), vsftpd::guests_file(share), 0o600));
    }
    let overlays = vec![
        Overlay::Bind(at("passwd"), "/etc/passwd".into()),
        Overlay::Bind(at("group"), "/etc/group".into()),
        Overlay::Bind(at("shadow"), "/etc/shadow".into()),
        Overlay::Bind(at("pam"), "/etc/pam.d/vsftpd".into()),
        Overlay::Bind(at("hosts.allow"), "/etc/hosts.allow".into()),
        Overlay::Bind(at("hosts.deny"), "/etc/hosts.deny".into()),
    ];
    (files, overlays)
}
