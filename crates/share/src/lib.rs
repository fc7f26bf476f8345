//! Shares: directories for others in the local network, by the real servers: Samba, the kernel's
//! NFS server or NFS-Ganesha, and vsftpd.
//!
//! ```text
//!  Share... + Site ──pure──► files (smb.conf, ganesha.conf, exports, vsftpd.conf, accounts) ──► servers in the foreground
//!   what, for whom   where                      `configuration`                                     `server`
//! ```
//!
//! - **Nothing of the system's is changed.** Each server has a configuration, state and log of its
//!   own, below the directories of the [`Site`]. What a server insists on finding at one place
//!   (`/etc/passwd`, `/etc/pam.d/vsftpd`, `/etc/exports`) is laid over that place in a mount
//!   namespace that this server alone sees.
//! - **Users are the share's, not the machine's.** The accounts that servers want are in those
//!   files. All that is written belongs to one user, the [`Owner`] of the directory, whichever way
//!   it came: else what was copied by one protocol could not be changed by another.
//! - **Nothing but local networks.** Servers listen at the site's addresses, and answer the site's
//!   networks.
//! - **What a name may be is decided once**, when it is parsed ([`ShareName`], [`UserName`],
//!   [`PlainPath`]): what could mean something in a configuration file cannot be in one.
//! - **Ids are fixed.** A file handle that an NFS client holds is good after a restart of the
//!   server, as the file system's id in it follows from [`ShareId`], and not from the number of a
//!   device.

#![forbid(unsafe_code)]

pub mod configuration;
pub mod machine;
mod names;
mod networks;
mod server;
mod servers;
mod share;
mod site;

pub use names::{HostName, NameError, PlainPath, ShareName, UserName};
pub use networks::{Interface, Network, NetworkError, interfaces};
pub use server::{Protocol, Running, ServerError, has_password, set_password, start};
pub use servers::{News, Servers};
pub use share::{Durability, Guests, NfsServer, NfsShare, Owner, Share, ShareId};
pub use site::{Entry, Places, Ports, Site, TlsFiles};
