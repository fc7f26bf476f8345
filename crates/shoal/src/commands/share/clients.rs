//! What to type on a client.

use std::net::IpAddr;

use shoal_share::Interface;

use super::ClientLine;
use crate::sharing::{Record, addresses};

/// Lines for every kind of client, with this machine's first address that they can reach.
pub(super) fn lines(record: &Record, interfaces: &[Interface]) -> Vec<ClientLine> {
    let networks = record.share(interfaces).map(|share| share.networks).unwrap_or_default();
    let Some(address) = addresses(interfaces, &networks).first().copied() else { return Vec::new() };
    let host = match address {
        IpAddr::V4(four) => four.to_string(),
        IpAddr::V6(six) => format!("[{six}]"),
    };
    let (name, user) = (&record.name, record.users.first().map_or("guest", String::as_str));
    let line = |system: &str, line: String| ClientLine { system: system.to_owned(), line };
    let mut lines = Vec::new();
    if record.smb {
        let who = if record.users.is_empty() { "guest".to_owned() } else { format!("username={user}") };
        lines.push(line("Linux, SMB", format!("mount -t cifs //{address}/{name} /mnt -o {who},uid=$(id -u)")));
        lines.push(line("Windows", format!("net use * \\\\{address}\\{name} /user:{user}")));
        lines.push(line("macOS, desktops", format!("smb://{user}@{host}/{name}")));
    }
    if record.nfs.is_some() {
        lines.push(line("Linux, NFS", format!("mount -t nfs4 {host}:/{name} /mnt")));
        if record.nfs_version_3 {
            let place = quoted(&format!("{host}:{}", record.directory.display()));
            lines.push(line("Linux, NFS 3", format!("mount -t nfs -o vers=3,nolock {place} /mnt")));
        }
    }
    if record.ftp {
        let who = if record.users.is_empty() { String::new() } else { format!("-u {user} ") };
        let tls = if record.tls_certificates.is_some() { "-e 'set ftp:ssl-force true' " } else { "" };
        lines.push(line("FTP", format!("lftp {tls}{who}{host}")));
    }
    lines
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/:._-[]".contains(character);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
