//! ganesha.conf: NFS-Ganesha over a local file system.

use super::{HEAD, LEASE_SECONDS, Setting, joined, lines, set};
use crate::{Share, Site};

/// The whole file.
pub fn file(site: &Site, shares: &[Share]) -> String {
    let shared = || shares.iter().filter(|share| share.nfs.is_some());
    let version_3 = shared().any(wants_version_3);
    let blocks = [
        block("NFS_CORE_PARAM", &core(site, version_3), ""),
        block("NFSv4", &version_4(site), ""),
        block("LOG", &[set("Default_Log_Level", "EVENT", "")], ""),
    ];
    let exports = shared().map(export);
    format!("{HEAD}{}{}", blocks.concat(), exports.collect::<String>())
}

/// One share: to be included in any ganesha.conf.
pub fn export(share: &Share) -> String {
    let access = if share.read_only { "RO" } else { "RW" };
    let clients = [set("Clients", joined(&share.networks, ", "), ""), set("Access_Type", access, "")];
    let inner = block("FSAL", &[set("Name", "VFS", "")], "  ") + &block("CLIENT", &clients, "  ");
    format!("EXPORT {{\n{}{inner}}}\n", lines(&settings(share), "  ", " = ", ";"))
}

fn wants_version_3(share: &Share) -> bool {
    share.nfs.is_some_and(|nfs| nfs.version_3)
}

fn block(name: &str, settings: &[Setting], indent: &str) -> String {
    format!("{indent}{name} {{\n{}{indent}}}\n", lines(settings, &format!("{indent}  "), " = ", ";"))
}

fn core(site: &Site, version_3: bool) -> Vec<Setting> {
    let mut settings = vec![
        set("Protocols", if version_3 { "3, 4" } else { "4" }, "version 4 needs one port and no other daemon"),
        set("NFS_Port", site.ports.nfs.to_string(), ""),
        set("Enable_NLM", "false", "version 4 has its own locks"),
        set("Enable_RQUOTA", "false", ""),
    ];
    if version_3 {
        settings.push(set("MNT_Port", site.ports.nfs_mount.to_string(), "fixed, so that a firewall can know it"));
    }
    // It can listen at one address, or at all; `server` refuses several.
    if let [address] = site.addresses.as_slice() {
        settings.push(set("Bind_addr", address.to_string(), "listens here and nowhere else"));
    }
    settings
}

fn version_4(site: &Site) -> Vec<Setting> {
    let recovery = site.places.state().join("ganesha");
    vec![
        set("Minor_Versions", "0, 1, 2", ""),
        set("Lease_Lifetime", LEASE_SECONDS.to_string(), "seconds that a silent client keeps its locks"),
        set("Grace_Period", LEASE_SECONDS.to_string(), "seconds for clients to reclaim locks after a restart"),
        set("Graceless", "false", "without grace, somebody else could take a lock that is held"),
        set("RecoveryBackend", "fs", "who held locks is written down, and outlives a restart"),
        set("RecoveryRoot", format!("\"{}\"", recovery.display()), ""),
        set("Only_Numeric_Owners", "true", "all files are the owner's; no names are needed"),
    ]
}

fn settings(share: &Share) -> Vec<Setting> {
    let (major, minor) = share.id.filesystem_id();
    vec![
        set("Export_Id", share.id.export_id().to_string(), "fixed: it is part of every file handle"),
        set("Filesystem_Id", format!("{major}.{minor}"), "the array's, whatever device it is on"),
        set("Path", format!("\"{}\"", share.directory), ""),
        set("Pseudo", format!("\"/{}\"", share.name), "what clients mount"),
        set("Protocols", if wants_version_3(share) { "3, 4" } else { "4" }, ""),
        set("Transports", "TCP", ""),
        set("SecType", "sys", "clients are believed by their address: NFS without Kerberos knows no passwords"),
        set("Squash", "All_Squash", "all files belong to one user, whoever a client says to be"),
        set("Anonymous_Uid", share.owner.user_id.to_string(), ""),
        set("Anonymous_Gid", share.owner.group_id.to_string(), ""),
        set("Access_Type", "None", "nobody but the clients below"),
    ]
}
