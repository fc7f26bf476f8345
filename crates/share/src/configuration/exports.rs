//! Lines of /etc/exports, for the kernel's NFS server.
//!
//! | option | why |
//! | --- | --- |
//! | `rw`, `ro` | |
//! | `sync` | a write is answered when it is durable; `async` only to be measured |
//! | `fsid=UUID` | file handles name the array, and not the number of the device that it has today |
//! | `mountpoint=PATH` | if nothing is mounted there, nothing is exported, and not the empty directory below |
//! | `no_subtree_check` | handles stay good when files move; the check keeps out nobody who may write |
//! | `root_squash`, `all_squash`, `anonuid`, `anongid` | all files belong to one user, whoever a client says to be |
//! | `sec=sys` | clients are believed by their address: NFS without Kerberos knows no passwords |
//! | `secure` | from a port that only root has: no user of a client machine can speak for it |

use super::HEAD;
use crate::{Durability, NfsServer, Share};

/// Where a share stands in the tree that clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The machine's own: at its path.
    Machine,
    /// One of the servers': at its name, below a directory that `nfs.conf` names.
    Names,
}

/// The whole file.
pub fn file(shares: &[Share], tree: Tree) -> String {
    let is_kernels = |share: &&Share| share.nfs.is_some_and(|nfs| nfs.server == NfsServer::Kernel);
    let lines: String = shares.iter().filter(is_kernels).map(|share| line(share, tree)).collect();
    format!("{HEAD}{lines}")
}

/// One share's line.
fn line(share: &Share, tree: Tree) -> String {
    let (path, mount) = match tree {
        Tree::Machine => (share.directory.to_string(), share.mount.as_ref().map(ToString::to_string)),
        Tree::Names => (format!("/{}", share.name), None),
    };
    let options = options(share, mount);
    let clients: String = share.networks.iter().map(|network| format!(" {network}({options})")).collect();
    format!("\"{path}\"{clients}\n")
}

fn options(share: &Share, mount: Option<String>) -> String {
    let durability = match share.nfs.map(|nfs| nfs.durability) {
        Some(Durability::Async) => "async",
        Some(Durability::Sync) | None => "sync",
    };
    // A comma would end the option, so such a path cannot stand here.
    let mount = mount.filter(|path| !path.contains([',', '(', ')', ' ']));
    let mut options = vec![
        if share.read_only { "ro" } else { "rw" }.to_owned(),
        durability.to_owned(),
        "no_subtree_check,secure,sec=sys,root_squash,all_squash".to_owned(),
        format!("anonuid={},anongid={}", share.owner.user_id, share.owner.group_id),
        format!("fsid={}", share.id),
    ];
    options.extend(mount.map(|path| format!("mountpoint={path}")));
    options.join(",")
}
