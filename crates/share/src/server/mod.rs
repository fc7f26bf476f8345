//! Servers that run: in the foreground, as children of whoever started them.
//!
//! What a server needs is a [`ServerPlan`](plan::ServerPlan): files, directories, daemons, and
//! commands before and after. A daemon dies with the thread that started it, whatever becomes of
//! that; so no server outlives whoever looks after it.

mod daemon;
mod kernel;
mod passwords;
mod plan;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::{NfsServer, Share, Site};
use daemon::Child;
pub use passwords::{has_password, set_password};
use plan::ServerPlan;

/// What a server speaks, and which server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Samba's `smbd`.
    Smb,
    /// One of the NFS servers.
    Nfs(NfsServer),
    /// vsftpd.
    Ftp,
}

impl Protocol {
    /// Whether a share wants to be had by it.
    pub fn is_of(self, share: &Share) -> bool {
        match self {
            Self::Smb => share.smb,
            Self::Nfs(server) => share.nfs.is_some_and(|nfs| nfs.server == server),
            Self::Ftp => share.ftp,
        }
    }

    /// Whether it asks for passwords.
    pub fn has_passwords(self) -> bool {
        !matches!(self, Self::Nfs(_))
    }

    /// All of them.
    pub const ALL: [Self; 4] = [Self::Smb, Self::Nfs(NfsServer::Kernel), Self::Nfs(NfsServer::Ganesha), Self::Ftp];
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its program is not there.
    #[error("{program} is not installed: install the package {package}")]
    Missing {
        /// Which program.
        program: &'static str,
        /// What Debian calls its package.
        package: &'static str,
    },
    /// A file or directory of the site's could not be made.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It ended, or never answered.
    #[error("{program} does not run: {reason}")]
    Failed {
        /// Which program.
        program: &'static str,
        /// What it said last.
        reason: String,
    },
    /// What is asked cannot be had.
    #[error("{0}")]
    Refused(String),
}

/// A server that runs. When it is dropped it is killed; `stop` lets it end in order.
#[derive(Debug)]
pub struct Running {
    protocol: Protocol,
    site: Site,
    plan: ServerPlan,
    children: Vec<Child>,
}

/// Writes a server's configuration for those of `shares` that want its protocol, starts it, and
/// waits until it answers.
///
/// # Errors
///
/// If its program is missing, its files cannot be written, or it ends before it answers.
pub fn start(protocol: Protocol, site: &Site, shares: &[Share]) -> Result<Running, ServerError> {
    let plan = plan::of(protocol, site, shares)?;
    plan.look_for_programs()?;
    plan.undo_the_last(site);
    plan.look_for_others(protocol, site)?;
    plan.forget()?;
    plan.write_files()?;
    plan.mark()?;
    // From here on whatever fails is undone by dropping this.
    let mut running = Running { protocol, site: site.clone(), plan, children: Vec::new() };
    for daemon in running.plan.daemons.clone() {
        let mut child = Child::start(&daemon, &site.entry)?;
        let ready = child.wait_until_ready();
        running.children.push(child);
        ready?;
    }
    for command in running.plan.then.clone() {
        // What a daemon says of its end is more to the point than that a command after it failed.
        command.run(&site.entry, b"").map_err(|error| running.ended().unwrap_or(error))?;
    }
    Ok(running)
}

impl Running {
    /// What it speaks.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The processes that were started.
    pub fn process_ids(&self) -> Vec<u32> {
        self.children.iter().map(Child::process_id).collect()
    }

    /// Why it no longer runs, if it does not.
    pub fn ended(&mut self) -> Option<ServerError> {
        self.children.iter_mut().find_map(Child::ended)
    }

    /// Makes it serve other shares, where it can do so without being started again: clients of
    /// shares that stay notice nothing. `Ok(false)` if it has to be started again.
    ///
    /// # Errors
    ///
    /// If its files cannot be written, or it cannot be told.
    pub fn change(&mut self, shares: &[Share]) -> Result<bool, ServerError> {
        let plan = plan::of(self.protocol, &self.site, shares)?;
        if !self.plan.can_become(&plan) {
            return Ok(false);
        }
        plan.write_files()?;
        let gone = self.plan.shares.iter().filter(|name| !plan.shares.contains(name));
        let commands: Vec<_> =
            plan.changed.iter().cloned().chain(gone.filter_map(|name| plan.dismissal(name))).collect();
        self.plan = plan;
        for command in commands {
            command.run(&self.site.entry, b"")?;
        }
        if self.plan.is_told_by_signal {
            self.children.iter().for_each(Child::hang_up);
        }
        Ok(true)
    }

    /// Lets the server write back what it holds, and end.
    ///
    /// # Errors
    ///
    /// If a part of it had to be killed.
    pub fn stop(mut self) -> Result<(), ServerError> {
        let results: Vec<_> = self.children.iter_mut().rev().map(Child::stop).collect();
        self.children.clear();
        results.into_iter().collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for mut child in self.children.drain(..).rev() {
            child.kill();
        }
        self.plan.undo_the_last(&self.site);
    }
}

/// Makes a directory and those above it; what is new is root's alone.
fn make_directory(path: &Path, mode: u32) -> Result<(), ServerError> {
    let failed = |error| ServerError::File { path: path.to_owned(), error };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Writes a file in one step: whoever reads it finds the old content or the new.
fn write_file(path: &Path, content: &str, mode: u32) -> Result<(), ServerError> {
    let failed = |error| ServerError::File { path: path.to_owned(), error };
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&new)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(failed)
}
