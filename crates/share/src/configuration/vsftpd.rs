//! vsftpd.conf: users in their share and nowhere else.

use std::net::IpAddr;
use std::path::Path;

use super::{HEAD, Setting, lines, set};
use crate::{Guests, Network, Share, Site};

/// What a server has besides its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Belongings<'a> {
    /// With the list of users, the settings of guests, and an empty directory.
    pub directory: &'a Path,
    /// What it did.
    pub log: &'a Path,
    /// What it is to PAM: a name in `/etc/pam.d`.
    pub pam_service: &'a str,
}

/// The whole file, of a server at one of the site's addresses.
pub fn file(site: &Site, share: &Share, address: IpAddr, own: Belongings) -> String {
    let settings = [listening(site, address), people(share, own), content(share, own.log), tls(site)].concat();
    format!("{HEAD}{}", lines(&settings, "", "=", ""))
}

/// The list of those who may try to log in.
pub fn user_list(share: &Share) -> String {
    let users = share.users.iter().map(ToString::to_string);
    users.chain(guests(share).iter().map(|&guest| guest.to_owned())).map(|name| name + "\n").collect()
}

/// The names under which guests come in. To vsftpd they are users like others, only that PAM wants
/// no password of them: its own anonymous users could not share a directory with users, as they
/// must not own it.
pub fn guests(share: &Share) -> &'static [&'static str] {
    if share.guests == Guests::Refused { &[] } else { &["anonymous", "ftp"] }
}

/// What holds for guests alone.
pub fn guests_file(share: &Share) -> String {
    let may_write = if share.guests == Guests::Write && !share.read_only { "YES" } else { "NO" };
    format!("{HEAD}{}", lines(&[set("write_enable", may_write, "")], "", "=", ""))
}

/// Lines of `/etc/hosts.allow`: who is answered. `/etc/hosts.deny` denies the rest.
pub fn hosts_allow(share: &Share) -> Vec<String> {
    let hosts = |network: &Network| match network.address() {
        IpAddr::V4(_) => format!("vsftpd: {network}"),
        IpAddr::V6(address) => format!("vsftpd: [{address}]/{}", network.prefix_bits()),
    };
    share.networks.iter().map(hosts).collect()
}

/// `/etc/hosts.deny`.
pub const HOSTS_DENY: &str = "ALL: ALL\n";

fn listening(site: &Site, address: IpAddr) -> Vec<Setting> {
    let (listen, listen_6, key) = match address {
        IpAddr::V4(_) => ("YES", "NO", "listen_address"),
        IpAddr::V6(_) => ("NO", "YES", "listen_address6"),
    };
    let (first, last) = site.ports.ftp_passive;
    vec![
        set("listen", listen, ""),
        set("listen_ipv6", listen_6, ""),
        set(key, address.to_string(), "listens here and nowhere else"),
        set("listen_port", site.ports.ftp.to_string(), ""),
        set("tcp_wrappers", "YES", "answers the networks in hosts.allow and nobody else"),
        set("background", "NO", "stays the child of whoever started it"),
        set("connect_from_port_20", "NO", "content comes from ports that anybody may have"),
        set("pasv_min_port", first.to_string(), "few and fixed, so that a firewall can know them"),
        set("pasv_max_port", last.to_string(), ""),
        set("max_clients", "64", "nobody can take all of the machine"),
        set("max_per_ip", "16", ""),
    ]
}

fn people(share: &Share, own: Belongings) -> Vec<Setting> {
    let at = |name: &str| own.directory.join(name).display().to_string();
    let guests = (share.guests != Guests::Refused).then(|| set("user_config_dir", at("guests"), ""));
    let mut settings = vec![
        set("anonymous_enable", "NO", "guests are refused, or come in as users whom nobody asks for a password"),
        set("local_enable", "YES", ""),
        set("check_shell", "NO", "the accounts have none: they are for shares alone"),
        set("pam_service_name", own.pam_service, ""),
        set("userlist_enable", "YES", "only those on the list are asked for a password"),
        set("userlist_deny", "NO", ""),
        set("userlist_file", at("users"), ""),
        set("local_root", share.directory.to_string(), ""),
        set("chroot_local_user", "YES", "nobody sees more than the share"),
        set("allow_writeable_chroot", "YES", "the share's own directory is where people write"),
        set("secure_chroot_dir", at("empty"), ""),
        set("nopriv_user", "nobody", ""),
        set("ftp_username", "nobody", "never used"),
        set("seccomp_sandbox", "NO", "its list of system calls is older than today's C libraries, and kills sessions"),
    ];
    settings.extend(guests);
    settings
}

fn content(share: &Share, log: &Path) -> Vec<Setting> {
    vec![
        set("write_enable", if share.read_only { "NO" } else { "YES" }, ""),
        set("local_umask", "007", "owner and group may read and write, others nothing"),
        set("file_open_mode", "0660", ""),
        set("hide_ids", "YES", "all files belong to one user"),
        set("use_localtime", "YES", ""),
        set("xferlog_enable", "YES", ""),
        set("vsftpd_log_file", log.display().to_string(), ""),
    ]
}

fn tls(site: &Site) -> Vec<Setting> {
    let Some(tls) = &site.tls else { return Vec::new() };
    vec![
        set("ssl_enable", "YES", "passwords and content do not cross the network in the clear"),
        set("rsa_cert_file", tls.certificate.to_string(), ""),
        set("rsa_private_key_file", tls.key.to_string(), ""),
        set("force_local_logins_ssl", "YES", ""),
        set("force_local_data_ssl", "YES", ""),
        set("ssl_tlsv1", "YES", "the library under it takes 1.2 and later alone"),
        set("ssl_sslv2", "NO", ""),
        set("ssl_sslv3", "NO", ""),
        set(
            "ssl_ciphers",
            "ECDHE+AESGCM:ECDHE+CHACHA20",
            "with forward secrecy, whatever kind of key the certificate has",
        ),
        set("require_ssl_reuse", "NO", "today's clients resume sessions in ways that it does not know"),
    ]
}
