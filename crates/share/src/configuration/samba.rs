//! smb.conf: a standalone server of SMB 2.1 and later.

use std::net::{IpAddr, Ipv6Addr};

use super::{HEAD, Setting, accounts, joined, lines, networks_of, set};
use crate::{Guests, Network, Share, Site};

/// The whole file.
pub fn file(site: &Site, shares: &[Share]) -> String {
    let sections =
        shares.iter().filter(|share| share.smb).map(|share| section(share, &accounts::owner_name(share.owner)));
    format!("{HEAD}[global]\n{}{}", lines(&global(site, shares), "  ", " = ", ""), sections.collect::<String>())
}

/// One share: to be included in any smb.conf. `owner` is the account to which files belong.
pub fn section(share: &Share, owner: &str) -> String {
    format!("\n[{}]\n{}", share.name, lines(&settings(share, owner), "  ", " = ", ""))
}

/// What holds for all shares.
fn global(site: &Site, shares: &[Share]) -> Vec<Setting> {
    let guests = shares.iter().any(|share| share.smb && share.guests != Guests::Refused);
    let mut settings = vec![
        set("server role", "standalone server", "its users are its own"),
        set("netbios name", site.host_name.to_string(), ""),
        set("server string", "shoal", ""),
        set("server min protocol", "SMB2_10", "SMB1 is broken; Windows 7 and all later systems have 2.1"),
        set("disable netbios", "yes", "names are DNS's work; no broadcasts, and one port"),
        set("smb ports", site.ports.smb.to_string(), ""),
        set("interfaces", joined(&site.addresses, " "), "listens here and nowhere else"),
        set("bind interfaces only", "yes", ""),
        set("hosts allow", hosts(&networks_of(shares)), "answers these and nobody else"),
        set("hosts deny", "ALL", ""),
        set("map to guest", if guests { "Bad User" } else { "Never" }, "a wrong password is never a guest's"),
        set("guest account", accounts::GUEST, ""),
        set("ntlm auth", "ntlmv2-only", "older answers give the password away"),
        set("restrict anonymous", if guests { "0" } else { "2" }, "names of users and shares are not for strangers"),
        set("strict sync", "yes", "when a client asks for its data to be durable, they are written and flushed first"),
        set("load printers", "no", "no printers"),
        set("printcap name", "/dev/null", ""),
        set("disable spoolss", "yes", ""),
        set("usershare max shares", "0", "only what stands here is shared"),
        set("allow insecure wide links", "no", "no link leads out of a share"),
        set("max log size", "1024", "KiB, and one old file"),
    ];
    settings.extend(places(site));
    settings
}

/// Directories of its own instead of the system's.
fn places(site: &Site) -> Vec<Setting> {
    let state = |name: &str| site.places.state().join("samba").join(name).display().to_string();
    let runtime = |name: &str| site.places.runtime().join("samba").join(name).display().to_string();
    vec![
        set(
            "passdb backend",
            format!("tdbsam:{}/passdb.tdb", state("private")),
            "passwords of its own; the system's Samba is not touched",
        ),
        set("private dir", state("private"), ""),
        set("state directory", state("state"), ""),
        set("cache directory", runtime("cache"), ""),
        set("lock directory", runtime("lock"), ""),
        set("pid directory", runtime("pid"), ""),
        set("ncalrpc dir", runtime("ncalrpc"), ""),
        set("binddns dir", runtime("dns"), ""),
        set("log file", runtime("smbd.log"), ""),
    ]
}

/// What holds for one share.
fn settings(share: &Share, owner: &str) -> Vec<Setting> {
    let yes_or_no = |yes| if yes { "yes" } else { "no" };
    let guests_only_read = share.guests == Guests::Read && !share.read_only;
    let mut settings = vec![
        set("path", share.directory.to_string(), ""),
        set("read only", yes_or_no(share.read_only || guests_only_read), ""),
        set("hosts allow", hosts(&share.networks), ""),
        set("guest ok", yes_or_no(share.guests != Guests::Refused), ""),
        set("force user", owner, "all files belong to one user, whichever way they came"),
        set("create mask", "0660", "owner and group may read and write, others nothing"),
        set("force create mode", "0660", ""),
        set("directory mask", "0770", ""),
        set("force directory mode", "0770", ""),
        set("wide links", "no", "no link leads out of the share"),
        set("oplocks", yes_or_no(share.nfs.is_none()), "clients keep no writes back where NFS writes beside them"),
        set("level2 oplocks", yes_or_no(share.nfs.is_none()), ""),
    ];
    if guests_only_read && !share.users.is_empty() {
        settings.push(set("write list", joined(&share.users, " "), "guests only read"));
    }
    match share.guests {
        Guests::Refused => {
            settings.push(set("valid users", valid_users(share, owner), "nobody else, whatever their password"))
        }
        Guests::Read | Guests::Write => {}
    }
    if share.has_extended_attributes {
        settings.push(set(
            "vfs objects",
            "catia fruit streams_xattr",
            "what Macs keep beside a file goes into its attributes",
        ));
        settings.push(set("fruit:metadata", "stream", ""));
        settings.push(set("fruit:encoding", "native", ""));
    } else {
        settings.push(set("store dos attributes", "no", "the file system has no attributes for them"));
        settings.push(set("ea support", "no", ""));
    }
    settings
}

/// Networks as Samba reads them: of three digits behind a slash it makes an address, so there is
/// written what it is to make of them.
fn hosts(networks: &[Network]) -> String {
    let host = |network: &Network| match (network.address(), network.prefix_bits()) {
        (IpAddr::V6(address), bits @ 100..) => format!("{address}/{}", Ipv6Addr::from_bits(u128::MAX << (128 - bits))),
        _ => network.to_string(),
    };
    joined(networks.iter().map(host), " ")
}

/// An empty list would mean everybody.
fn valid_users(share: &Share, owner: &str) -> String {
    if share.users.is_empty() { owner.to_owned() } else { joined(&share.users, " ") }
}
