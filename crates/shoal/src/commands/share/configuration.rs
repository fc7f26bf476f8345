//! `--configuration-only`: configurations for servers that run already, and where they belong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_share::configuration::{exports, ganesha, samba, vsftpd};
use shoal_share::{Guests, HostName, Ports, Share, Site};

use super::{ConfigurationDocument, ConfigurationFile};
use crate::args::Cli;
use crate::exit::Failure;
use crate::output;
use crate::sharing::{NfsWord, Record, addresses, networks_of_machine, places_unmade};

/// Writes the files of one share.
pub(super) fn write(cli: &Cli, record: &Record, directory: &Path) -> Result<(), Failure> {
    let interfaces = networks_of_machine().map_err(Failure::Failed)?;
    let share = record.share(&interfaces).map_err(Failure::Failed)?;
    let mut plan = Plan { directory, files: Vec::new(), steps: Vec::new() };
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
            places: places_unmade().map_err(Failure::Failed)?,
            entry: shoal_share::Entry::default(),
            tls: record.tls().map_err(Failure::Failed)?,
        };
        plan.vsftpd(&share, &site)?;
    }
    let document = ConfigurationDocument { files: plan.files, steps: plan.steps };
    output::document(cli, &document, text)
}

/// What is written, and what is left to be done.
struct Plan<'a> {
    directory: &'a Path,
    files: Vec<ConfigurationFile>,
    steps: Vec<String>,
}

impl Plan<'_> {
    fn file(&mut self, name: String, belongs_at: PathBuf, content: &str) -> Result<(), Failure> {
        let path = self.directory.join(name);
        let at = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        fs::create_dir_all(self.directory).map_err(at)?;
        fs::write(&path, content).map_err(at)?;
        self.files.push(ConfigurationFile { path, belongs_at });
        Ok(())
    }

    fn step(&mut self, step: impl Into<String>) {
        self.steps.push(step.into());
    }

    fn samba(&mut self, share: &Share) -> Result<(), Failure> {
        let owner = account(share.owner.user_id)?;
        let name = format!("shoal-{}.conf", share.name);
        let place = PathBuf::from("/etc/samba").join(&name);
        self.file(name, place.clone(), &samba::section(share, &owner))?;
        self.step(format!("add to the end of /etc/samba/smb.conf: include = {}", place.display()));
        for user in &share.users {
            self.step(format!("smbpasswd -a {user} (who has to be a user of the machine: useradd --no-create-home --shell /usr/sbin/nologin {user})"));
        }
        self.step("testparm -s && smbcontrol all reload-config");
        Ok(())
    }

    fn exports(&mut self, share: &Share) -> Result<(), Failure> {
        let name = format!("shoal-{}.exports", share.name);
        let place = PathBuf::from("/etc/exports.d").join(&name);
        self.file(name, place, &exports::file(std::slice::from_ref(share), exports::Tree::Machine))?;
        self.step("exportfs -ra");
        Ok(())
    }

    fn ganesha(&mut self, share: &Share) -> Result<(), Failure> {
        let name = format!("shoal-{}.conf", share.name);
        let (name, place) = (format!("ganesha-{name}"), PathBuf::from("/etc/ganesha").join(name));
        self.file(name, place.clone(), &ganesha::export(share))?;
        self.step(format!("add to /etc/ganesha/ganesha.conf: %include \"{}\"", place.display()));
        self.step("systemctl reload nfs-ganesha");
        Ok(())
    }

    fn vsftpd(&mut self, share: &Share, site: &Site) -> Result<(), Failure> {
        if share.guests != Guests::Refused {
            return Err(Failure::Refused("guests of FTP need accounts that the machine's own vsftpd does not have: share by SMB, or without --guests".to_owned()));
        }
        let Some(&address) = site.addresses.first() else {
            return Err(Failure::Refused(
                "vsftpd needs an address to listen at: name a network that this machine is in".to_owned(),
            ));
        };
        let place = PathBuf::from("/etc").join(format!("vsftpd-{}", share.name));
        self.file(
            format!("vsftpd-{}.conf", share.name),
            place.join("vsftpd.conf"),
            &vsftpd::file(site, share, address, &place),
        )?;
        self.file(format!("vsftpd-{}.users", share.name), place.join("users"), &vsftpd::user_list(share))?;
        self.file(
            format!("vsftpd-{}.hosts.allow", share.name),
            "/etc/hosts.allow".into(),
            &vsftpd::hosts_allow(share),
        )?;
        self.step(format!("mkdir -p {0}/empty {0}/guests", place.display()));
        self.step("/etc/hosts.deny has to deny vsftpd to all others: vsftpd: ALL");
        self.step(format!(
            "its users have to be users of the machine, in a group that may write to {}",
            share.directory
        ));
        self.step(format!("start it: vsftpd {}", place.join("vsftpd.conf").display()));
        Ok(())
    }
}

/// The account with a number.
fn account(user_id: u32) -> Result<String, Failure> {
    let output = Command::new("id").args(["-un", "--", &user_id.to_string()]).output().map_err(Failure::failed)?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if output.status.success() && is_plain && !name.is_empty() {
        return Ok(name);
    }
    Err(Failure::Usage(format!(
        "user {user_id} has no account here: Samba wants files to belong to one; give --owner USER"
    )))
}

fn text(document: &ConfigurationDocument) -> String {
    let file = |file: &ConfigurationFile| format!("{} belongs at {}\n", file.path.display(), file.belongs_at.display());
    let files: String = document.files.iter().map(file).collect();
    let steps: String = (1..).zip(&document.steps).map(|(number, step)| format!("{number}. {step}\n")).collect();
    files + &steps
}
