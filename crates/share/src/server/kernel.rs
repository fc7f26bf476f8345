//! The kernel's NFS server: threads of the kernel, and two daemons that answer its questions.
//!
//! | who | does |
//! | --- | --- |
//! | `nfsdcld` | writes down which clients hold locks, so that after a restart they, and nobody else, may have them back |
//! | `rpc.mountd` | tells the kernel who may have what, as `exportfs` left it |
//! | `rpc.nfsd` | starts the kernel's threads, or ends them |
//!
//! The kernel's threads are no child of anybody and do not die with one: a marker says that they
//! are ours, so that they are ended before the next start.

use std::path::{Path, PathBuf};

use super::ServerError;
use super::daemon::{Command, Daemon, Overlay, Ready};
use super::plan::ServerPlan;
use crate::configuration::{exports, nfs};
use crate::{Share, Site};

/// What the kernel's NFS server needs.
pub(super) fn plan(site: &Site, shares: &[Share]) -> Result<ServerPlan, ServerError> {
    refuse_version_3(shares)?;
    let directory = site.places.runtime().join("nfs");
    let state = site.places.state().join("nfs");
    let at = |name: &str| directory.join(name);
    let overlays = overlays(&directory, &state, shares);
    let command = |program, arguments: &[&str]| {
        let arguments = arguments.iter().map(Into::into).collect();
        Command { program, package: "nfs-kernel-server", arguments, overlays: overlays.clone() }
    };
    let daemon = |program, arguments: &[&str], ready| Daemon {
        command: command(program, arguments),
        said: at(&format!("{program}.said")),
        log: None,
        ready,
    };
    let pipefs = format!("--pipefsdir={}", at("pipefs").display());
    let storage = format!("--storagedir={}", state.join("clients").display());
    let mut directories =
        [&directory, &at("empty"), &at("pipefs"), &state, &state.join("clients")].map(PathBuf::clone).to_vec();
    directories.extend(shares.iter().map(|share| at("tree").join(share.name.to_string())));
    Ok(ServerPlan {
        directories: directories.into_iter().map(|path| (path, 0o755)).collect(),
        files: vec![
            (at("exports"), exports::file(shares, exports::Tree::Names), 0o644),
            (at("nfs.conf"), nfs::file(site, &at("tree")), 0o644),
        ],
        daemons: vec![
            daemon("nfsdcld", &["--foreground", &pipefs, &storage], Ready::Watching),
            daemon("rpc.mountd", &["--foreground", "--no-nfs-version", "2", "--no-nfs-version", "3"], Ready::Started),
        ],
        then: vec![command("exportfs", &["-r"]), command("rpc.nfsd", &[])],
        ports: vec![site.ports.nfs],
        changed: vec![command("exportfs", &["-r"])],
        after: vec![command("rpc.nfsd", &["0"]), command("exportfs", &["-au"])],
        marker: Some(at("running")),
        ..ServerPlan::default()
    })
}

fn refuse_version_3(shares: &[Share]) -> Result<(), ServerError> {
    if shares.iter().filter_map(|share| share.nfs).any(|nfs| nfs.version_3) {
        let reason = "the kernel's NFS server is run here with version 4 alone: NFS-Ganesha does version 3";
        return Err(ServerError::Refused(reason.to_owned()));
    }
    Ok(())
}

/// What the server finds in place of the system's files, and the tree that clients see.
fn overlays(directory: &Path, state: &Path, shares: &[Share]) -> Vec<Overlay> {
    let at = |name: &str| directory.join(name);
    let mut overlays = vec![
        Overlay::Bind(state.to_owned(), "/var/lib/nfs".into()),
        Overlay::Bind(at("exports"), "/etc/exports".into()),
        Overlay::Bind(at("nfs.conf"), "/etc/nfs.conf".into()),
        Overlay::Kernel("nfsd", "/proc/fs/nfsd".into()),
        Overlay::Kernel("rpc_pipefs", at("pipefs")),
    ];
    for systems in ["/etc/exports.d", "/etc/nfs.conf.d"] {
        overlays.extend(Path::new(systems).is_dir().then(|| Overlay::Bind(at("empty"), systems.into())));
    }
    let in_tree =
        |share: &Share| Overlay::Bind(share.directory.path().to_owned(), at("tree").join(share.name.to_string()));
    overlays.extend(shares.iter().map(in_tree));
    overlays
}
