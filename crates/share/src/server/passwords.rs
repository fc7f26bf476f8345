//! Passwords of users: Samba's own database, and crypt(5) hashes for FTP. They never stand on a
//! command line or in the environment.

use std::collections::BTreeSet;
use std::fs;

use super::daemon::{Command, Overlay, is_installed};
use super::{Protocol, ServerError, make_directory, write_file};
use crate::configuration::{accounts, samba};
use crate::{Entry, Places, Site, UserName};

/// Gives a user of the site's servers a password, or another one, for those of SMB and FTP whose
/// programs are installed.
///
/// # Errors
///
/// If the password is empty or has control characters, or the databases cannot be written.
pub fn set_password(site: &Site, user: &UserName, password: &str) -> Result<(), ServerError> {
    if password.is_empty() || password.chars().any(char::is_control) {
        return Err(ServerError::Refused(format!(
            "the password of {user} is empty, or has characters that nobody can type"
        )));
    }
    let [smb, ftp] = [is_installed("smbpasswd"), is_installed("vsftpd")];
    if smb {
        let program = smbpasswd(site, user, "smbpasswd", &["-s", "-a", &user.to_string()])?;
        program.run(&Entry::default(), format!("{password}\n{password}\n").as_bytes())?;
    }
    if ftp {
        set_hash(&site.places, user, &hash(password)?)?;
    }
    if smb || ftp { Ok(()) } else { Err(ServerError::Missing { program: "smbd", package: "samba" }) }
}

/// Whether a user has a password for a protocol.
pub fn has_password(site: &Site, protocol: Protocol, user: &UserName) -> bool {
    match protocol {
        Protocol::Smb => {
            let listed = smbpasswd(site, user, "pdbedit", &["-L", "-u", &user.to_string()]);
            listed.and_then(|command| command.run(&Entry::default(), b"")).is_ok()
        }
        Protocol::Ftp => hashes(&site.places).lines().any(|line| is_of(line, user)),
        Protocol::Nfs(_) => true,
    }
}

/// A program of Samba's over the site's database, in which the user is an account.
fn smbpasswd(site: &Site, user: &UserName, program: &'static str, arguments: &[&str]) -> Result<Command, ServerError> {
    // Directories of its own: what number an account has here must not get about among the servers.
    let directory = site.places.runtime().join("passwords");
    for inner in ["samba/lock", "samba/cache", "samba/pid", "samba/ncalrpc", "samba/dns"] {
        make_directory(&directory.join(inner), 0o755)?;
    }
    for inner in ["samba/private", "samba/state"] {
        make_directory(&site.places.state().join(inner), 0o700)?;
    }
    let places =
        Places::new(site.places.state(), &directory).map_err(|error| ServerError::Refused(error.to_string()))?;
    let (owners, users) = (BTreeSet::new(), BTreeSet::from([user.clone()]));
    let [configuration, passwd, group] = ["smb.conf", "passwd", "group"].map(|name| directory.join(name));
    write_file(&configuration, &samba::file(&Site { places, ..site.clone() }, &[]), 0o600)?;
    write_file(&passwd, &accounts::passwd(&owners, &users, &[accounts::GUEST], accounts::Numbering::Distinct), 0o644)?;
    write_file(&group, &accounts::group(&owners), 0o644)?;
    let mut all = vec![if program == "smbpasswd" { "-c" } else { "-s" }.into(), configuration.into()];
    all.extend(arguments.iter().map(Into::into));
    let overlays = vec![Overlay::Bind(passwd, "/etc/passwd".into()), Overlay::Bind(group, "/etc/group".into())];
    Ok(Command { program, package: "samba", arguments: all, overlays })
}

/// The crypt(5) hash of a password: SHA-512, with salt of its own.
fn hash(password: &str) -> Result<String, ServerError> {
    if !is_installed("openssl") {
        return Err(ServerError::Missing { program: "openssl", package: "openssl" });
    }
    let arguments = ["passwd", "-6", "-stdin"].map(Into::into).to_vec();
    let openssl = Command { program: "openssl", package: "openssl", arguments, overlays: Vec::new() };
    let hash = openssl.run(&Entry::default(), format!("{password}\n").as_bytes())?.trim().to_owned();
    let is_hash = hash.starts_with("$6$") && !hash.contains([':', '\n']);
    if is_hash {
        Ok(hash)
    } else {
        Err(ServerError::Failed { program: "openssl", reason: "it made no hash".to_owned() })
    }
}

/// The lines of `/etc/shadow` for some users.
pub(super) fn hashes_of(places: &Places, users: &[UserName]) -> String {
    let all = hashes(places);
    let wanted = |line: &&str| users.iter().any(|user| is_of(line, user));
    all.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

/// Where the hashes are kept, as in `/etc/shadow`.
fn hashes_path(places: &Places) -> std::path::PathBuf {
    places.state().join("ftp/shadow")
}

fn hashes(places: &Places) -> String {
    fs::read_to_string(hashes_path(places)).unwrap_or_default()
}

fn is_of(line: &str, user: &UserName) -> bool {
    line.split_once(':').is_some_and(|(name, _)| name == user.to_string())
}

fn set_hash(places: &Places, user: &UserName, hash: &str) -> Result<(), ServerError> {
    make_directory(&places.state().join("ftp"), 0o700)?;
    let others: String =
        hashes(places).lines().filter(|line| !is_of(line, user)).map(|line| format!("{line}\n")).collect();
    write_file(&hashes_path(places), &(others + &accounts::shadow_line(user, hash)), 0o600)
}
