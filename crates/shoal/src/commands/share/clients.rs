//! What to type on a client.

use std::net::IpAddr;

use shoal_share::Interface;
use shoal_share::configuration::exports::Tree;
use shoal_share::machine::{NfsWord, Record, addresses};
use shoal_text::shell_word;

use super::document::ClientLine;

/// Lines for every kind of client, with this machine's first address that they can reach. `tree` is
/// where its kernel's NFS server has shares.
pub(super) fn lines(record: &Record, interfaces: &[Interface], tree: Tree) -> Vec<ClientLine> {
    let networks = record.share(interfaces).map(|share| share.networks).unwrap_or_default();
    let addresses = addresses(interfaces, &networks);
    let Some(&address) = addresses.iter().min_by_key(|address| address.is_ipv6()) else { return Vec::new() };
    // A path of Windows has no colons: an address of version 6 is written as a name there.
    let (host, windows) = match address {
        IpAddr::V4(four) => (four.to_string(), four.to_string()),
        IpAddr::V6(six) => (format!("[{six}]"), format!("{}.ipv6-literal.net", six.to_string().replace(':', "-"))),
    };
    let (name, user) = (&record.name, record.users.first().map_or("guest", String::as_str));
    let line = |system: &str, line: String| ClientLine { system: system.to_owned(), line };
    let place = shell_word(&format!("{host}:{}", record.directory.display()));
    let mut lines = Vec::new();
    if record.smb {
        let who = if record.users.is_empty() { "guest".to_owned() } else { format!("username={user}") };
        lines.push(line("Linux, SMB", format!("mount -t cifs //{address}/{name} /mnt -o {who},uid=$(id -u)")));
        lines.push(line("Windows", format!("net use * \\\\{windows}\\{name} /user:{user}")));
        lines.push(line("macOS, desktops", format!("smb://{user}@{host}/{name}")));
    }
    if let Some(server) = record.nfs {
        let is_at_its_path = server == NfsWord::Kernel && tree == Tree::Machine;
        let exported = if is_at_its_path { place.clone() } else { shell_word(&format!("{host}:/{name}")) };
        lines.push(line("Linux, NFS", format!("mount -t nfs4 {exported} /mnt")));
        if record.nfs_version_3 {
            lines.push(line("Linux, NFS 3", format!("mount -t nfs -o vers=3,nolock {place} /mnt")));
        }
    }
    if record.ftp {
        let who = if record.users.is_empty() { String::new() } else { format!("-u {user} ") };
        let tls = match &record.tls_certificates {
            Some(directory) if directory.join("ca-cert.pem").exists() => {
                "-e 'set ftp:ssl-force true; set ssl:ca-file ca-cert.pem' "
            }
            Some(_) => "-e 'set ftp:ssl-force true' ",
            None => "",
        };
        lines.push(line("FTP", format!("lftp {tls}{who}{}", shell_word(&host))));
    }
    lines
}
