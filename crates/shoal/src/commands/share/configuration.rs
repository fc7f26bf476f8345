//! `--configuration-only`: configurations for servers that run already, and what is to be done with
//! them.
//!
//! What is printed is a script for root's shell, to be read before it is run: each command after a
//! comment that says what for. A second run of it changes nothing.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_share::configuration::exports::{self, Tree};
use shoal_share::configuration::{accounts, ganesha, samba, vsftpd};
use shoal_share::machine::{NfsWord, Record, addresses, networks_of_machine};
use shoal_share::{Guests, HostName, Ports, Share, Site};
use shoal_text::shell_word;

use super::clients;
use super::document::{ClientLine, ConfigurationDocument, ConfigurationFile, Step};
use super::machine::machine;
use crate::args::Cli;
use crate::exit::Failure;
use crate::output;

/// Writes the files of one share.
pub(super) fn write(cli: &Cli, record: &Record, directory: &Path) -> Result<(), Failure> {
    let interfaces = networks_of_machine().map_err(Failure::failed)?;
    let share = record.share(&interfaces).map_err(Failure::failed)?;
    let directory = std::path::absolute(directory).map_err(Failure::failed)?;
    let mut plan = SharePlan { directory, files: Vec::new(), steps: Vec::new() };
    if record.smb || record.ftp {
        plan.accounts(&share);
    }
    if record.smb {
        plan.samba(&share)?;
    }
    match record.nfs {
        Some(NfsWord::Kernel) => plan.exports(&share)?,
        Some(NfsWord::Ganesha) => plan.ganesha(&share)?,
        None => {}
    }
    if record.ftp {
        let site = Site {
            host_name: HostName::of(""),
            addresses: addresses(&interfaces, &share.networks),
            ports: Ports::default(),
            places: machine()?.places_unmade().map_err(Failure::failed)?,
            entry: shoal_share::Entry::default(),
            tls: record.tls().map_err(Failure::failed)?,
        };
        plan.vsftpd(&share, &site)?;
    }
    let clients = clients::lines(record, &interfaces, Tree::Machine);
    output::document(cli, &ConfigurationDocument { files: plan.files, steps: plan.steps, clients }, text)
}

/// What is written, and what is left to be done.
struct SharePlan {
    directory: PathBuf,
    files: Vec<ConfigurationFile>,
    steps: Vec<Step>,
}

impl SharePlan {
    /// Writes a file, to be brought to where it belongs; what is there already is kept beside it.
    fn file(&mut self, name: String, belongs_at: PathBuf, content: &str) -> Result<(), Failure> {
        let path = self.directory.join(name);
        let at = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        fs::create_dir_all(&self.directory).map_err(at)?;
        fs::write(&path, content).map_err(at)?;
        let [from, to] = [&path, &belongs_at].map(|path| shell_word(&path.display().to_string()));
        self.step(
            "where it is looked for; a file that is there already is kept beside it",
            format!("cmp -s {from} {to} || install -D -m 644 --backup=numbered {from} {to}"),
        );
        self.files.push(ConfigurationFile { path, belongs_at });
        Ok(())
    }

    fn step(&mut self, purpose: &str, command: impl Into<String>) {
        self.steps.push(Step { purpose: purpose.to_owned(), command: command.into() });
    }

    /// A line at the end of a file of the machine's.
    fn line(&mut self, purpose: &str, line: &str, file: &str) {
        let (line, file) = (shell_word(line), shell_word(file));
        self.step(purpose, format!("grep -qsxF {line} {file} || echo {line} >>{file}"));
    }

    /// Both Samba and vsftpd take users of the machine's.
    fn accounts(&mut self, share: &Share) {
        for user in &share.users {
            let purpose = format!("{user} is an account of the machine, with which nobody can log in to it");
            self.step(
                &purpose,
                format!("id -u {user} >/dev/null 2>&1 || useradd --no-create-home --home-dir / --shell /usr/sbin/nologin {user}"),
            );
        }
    }

    fn samba(&mut self, share: &Share) -> Result<(), Failure> {
        let owner = account(share)?;
        let name = format!("shoal-{}.conf", share.name);
        let place = PathBuf::from("/etc/samba").join(&name);
        self.file(name, place.clone(), &samba::section(share, &owner))?;
        let include = format!("include = {}", place.display());
        self.line("the share is a part of Samba's configuration", &include, "/etc/samba/smb.conf");
        for user in &share.users {
            self.step("a password for SMB, which is asked for", format!("smbpasswd -a {user}"));
        }
        self.step("if Samba finds no fault, it takes it up", "testparm -s >/dev/null && smbcontrol all reload-config");
        Ok(())
    }

    fn exports(&mut self, share: &Share) -> Result<(), Failure> {
        let name = format!("shoal-{}.exports", share.name);
        let place = PathBuf::from("/etc/exports.d").join(&name);
        self.file(name, place, &exports::file(std::slice::from_ref(share), Tree::Machine))?;
        self.step("the kernel's NFS server takes it up", "exportfs -ra");
        Ok(())
    }

    fn ganesha(&mut self, share: &Share) -> Result<(), Failure> {
        let name = format!("shoal-{}.conf", share.name);
        let (name, place) = (format!("ganesha-{name}"), PathBuf::from("/etc/ganesha").join(name));
        self.file(name, place.clone(), &ganesha::export(share))?;
        let include = format!("%include \"{}\"", place.display());
        self.line("the share is a part of NFS-Ganesha's configuration", &include, "/etc/ganesha/ganesha.conf");
        self.step("NFS-Ganesha takes it up", "systemctl reload nfs-ganesha");
        Ok(())
    }

    /// A server has one directory, so this is the whole of its configuration.
    fn vsftpd(&mut self, share: &Share, site: &Site) -> Result<(), Failure> {
        if share.guests != Guests::Refused {
            return Err(Failure::Refused("guests of FTP need accounts that the machine's own vsftpd does not have: share by SMB, or without --guests".to_owned()));
        }
        let address = *site.addresses.iter().min_by_key(|address| IpAddr::is_ipv6(address)).ok_or_else(|| {
            Failure::Refused("vsftpd needs an address to listen at: name a network that this machine is in".to_owned())
        })?;
        let service = format!("vsftpd-{}", share.name);
        let place = PathBuf::from("/etc").join(&service);
        let log = Path::new("/var/log/vsftpd.log");
        let own = vsftpd::Belongings { directory: &place, log, pam_service: &service };
        let configuration = vsftpd::file(site, share, address, own);
        self.file(format!("{service}.pam"), PathBuf::from("/etc/pam.d").join(&service), &accounts::pam(&[]))?;
        self.file(format!("{service}.users"), place.join("users"), &vsftpd::user_list(share))?;
        self.step("where parts of vsftpd that need no file are shut in", format!("mkdir -p {}/empty", place.display()));
        for hosts in vsftpd::hosts_allow(share) {
            self.line("vsftpd answers this network", &hosts, "/etc/hosts.allow");
        }
        self.line("and nobody else", "vsftpd: ALL", "/etc/hosts.deny");
        self.writers(share)?;
        self.file(format!("{service}.conf"), "/etc/vsftpd.conf".into(), &configuration)?;
        self.step("vsftpd takes it up", "systemctl restart vsftpd");
        Ok(())
    }

    /// vsftpd works as the user who came in; so users share a group, to which files belong.
    fn writers(&mut self, share: &Share) -> Result<(), Failure> {
        let (group, directory) = (group(share)?, shell_word(&share.directory.to_string()));
        for user in &share.users {
            let purpose = "files of the share belong to its group, and those who come in by FTP are in it";
            self.step(purpose, format!("usermod --append --groups {group} {user}"));
            self.step("a password for FTP, which is asked for", format!("passwd {user}"));
        }
        self.step("new files belong to the group too", format!("chmod g+rwxs {directory}"));
        Ok(())
    }
}

/// The account to which files belong.
fn account(share: &Share) -> Result<String, Failure> {
    let user_id = share.owner.user_id;
    name_of("passwd", user_id).ok_or_else(|| {
        Failure::Usage(format!(
            "user {user_id} has no account here: Samba wants files to belong to one; give --owner USER"
        ))
    })
}

/// The group to which files belong.
fn group(share: &Share) -> Result<String, Failure> {
    let group_id = share.owner.group_id;
    name_of("group", group_id).filter(|_| group_id != 0).ok_or_else(|| {
        Failure::Usage(format!(
            "{} belongs to group {group_id}, which no user of FTP can be in: give it to another with chgrp",
            share.directory
        ))
    })
}

/// What a number is called in one of the machine's tables.
fn name_of(table: &str, id: u32) -> Option<String> {
    let output = Command::new("getent").args([table, &id.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = text.split(':').next().unwrap_or_default();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    (output.status.success() && is_plain && !name.is_empty()).then(|| name.to_owned())
}

fn text(document: &ConfigurationDocument) -> String {
    let step = |Step { purpose, command }: &Step| format!("# {purpose}\n{command}\n");
    let client = |ClientLine { system, line }: &ClientLine| format!("#   {system:<16} {line}\n");
    let steps: String = document.steps.iter().map(step).collect();
    let clients: String = document.clients.iter().map(client).collect();
    format!("{steps}# on a client:\n{clients}")
}
