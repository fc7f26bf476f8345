//! Servers that run: in the foreground, as children of whoever started them.

use std::path::PathBuf;

use crate::{NfsServer, Share, Site, UserName};

/// What a server speaks, and which server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Samba's `smbd`.
    Smb,
    /// One of the NFS servers.
    Nfs(NfsServer),
    /// vsftpd.
    Ftp,
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
        error: std::io::Error,
    },
    /// It ended, or never answered.
    #[error("{server} does not run: {reason}")]
    Failed {
        /// Which server.
        server: &'static str,
        /// What its log says.
        reason: String,
    },
    /// What is asked cannot be had.
    #[error("{0}")]
    Refused(String),
}

/// A server that runs. When it is dropped it is killed; `stop` lets it end in order.
#[derive(Debug)]
pub struct Running {}

impl Running {
    /// Lets the server write back what it holds, and end.
    ///
    /// # Errors
    ///
    /// If it had to be killed.
    pub fn stop(self) -> Result<(), ServerError> {
        Ok(())
    }
}

/// Writes a server's configuration for those of `shares` that want its protocol, starts it, and waits until it answers.
///
/// # Errors
///
/// If its program is missing, its files cannot be written, or it ends before it answers.
pub fn start(protocol: Protocol, site: &Site, shares: &[Share]) -> Result<Running, ServerError> {
    let _ = (protocol, site, shares);
    Err(ServerError::Refused("no server can be started yet".to_owned()))
}

/// Gives a user of the site's servers a password, or another one, for SMB and FTP.
///
/// # Errors
///
/// If the password has no characters or control characters, or the databases cannot be written.
pub fn set_password(site: &Site, user: &UserName, password: &str) -> Result<(), ServerError> {
    let _ = (site, user, password);
    Err(ServerError::Refused("no password can be kept yet".to_owned()))
}
