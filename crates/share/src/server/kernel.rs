//! The kernel's NFS server: threads of the kernel, and two daemons that answer its questions.
//!
//! | who | does |
//! | --- | --- |
//! | `nfsdcld` | writes down which clients hold locks, so that after a restart they, and nobody else, may have them back |
//! | `rpc.mountd` | tells the kernel who may have what, as `exportfs` left it |
//! | `rpc.nfsd` | starts the kernel's threads, or ends them |
//!
//! The kernel's threads are no child of anybody and do not die with one: a marker says that they are ours, so that they are ended before
//! the next start.

use std::path::Path;

use super::ServerError;
use super::daemon::{Command, Daemon, Overlay};
use super::plan::Plan;
use crate::configuration::{exports, nfs};
use crate::{Share, Site};

/// What the kernel's NFS server needs.
pub(super) fn plan(site: &Site, shares: &[Share]) -> Result<Plan, ServerError> {
    if shares.iter().filter_map(|share| share.nfs).any(|nfs| nfs.version_3) {
        let reason = "the kernel's NFS server is run here with version 4 alone: NFS-Ganesha does version 3";
        return Err(ServerError::Refused(reason.to_owned()));
    }
    let directory = site.places.runtime().join("nfs");
    let state = site.places.state().join("nfs");
    let at = |name: &str| directory.join(name);
    let overlays = overlays(&directory, &state);
    let command = |program, arguments: &[&str]| {
        let arguments = arguments.iter().map(Into::into).collect();
        Command { program, package: "nfs-kernel-server", arguments, overlays: overlays.clone() }
    };
    let daemon = |program, arguments: &[&str], ports| Daemon {
        command: command(program, arguments),
        said: at(&format!("{program}.said")),
        log: None,
        ports,
    };
    let pipefs = format!("--pipefsdir={}", at("pipefs").display());
    let storage = format!("--storagedir={}", state.join("clients").display());
    Ok(Plan {
        directories: [&directory, &at("empty"), &at("pipefs"), &state, &state.join("clients")]
            .map(|path| (path.clone(), 0o755))
            .to_vec(),
        files: vec![(at("exports"), exports::file(shares), 0o644), (at("nfs.conf"), nfs::file(site), 0o644)],
        daemons: vec![
            daemon("nfsdcld", &["--foreground", &pipefs, &storage], Vec::new()),
            daemon("rpc.mountd", &["--foreground"], vec![site.ports.nfs]),
        ],
        then: vec![command("exportfs", &["-r"]), command("rpc.nfsd", &[])],
        changed: vec![command("exportfs", &["-r"])],
        after: vec![command("rpc.nfsd", &["0"]), command("exportfs", &["-au"])],
        marker: Some(at("running")),
        ..Plan::default()
    })
}

/// What the server finds in place of the system's files.
fn overlays(directory: &Path, state: &Path) -> Vec<Overlay> {
    let at = |name: &str| directory.join(name);
    let mut overlays = vec![
        Overlay::Bind(state.to_owned(), "/var/lib/nfs"),
        Overlay::Bind(at("exports"), "/etc/exports"),
        Overlay::Bind(at("nfs.conf"), "/etc/nfs.conf"),
        Overlay::Kernel("nfsd", "/proc/fs/nfsd".into()),
        Overlay::Kernel("rpc_pipefs", at("pipefs")),
    ];
    for systems in ["/etc/exports.d", "/etc/nfs.conf.d"] {
        overlays.extend(Path::new(systems).is_dir().then(|| Overlay::Bind(at("empty"), systems)));
    }
    overlays
}
