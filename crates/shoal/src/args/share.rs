//! Arguments of `shoal share` and `shoal unshare`.

use std::path::PathBuf;

use clap::{Arg, Args};
use shoal_share::{Network, ShareName, UserName};

use super::arrays::ArrayArgs;

/// `shoal share`
#[derive(Args, Debug)]
#[command(
    group = clap::ArgGroup::new("mode").args(["status", "serve", "configuration_only"]),
    mut_arg("drives", |drives| directory_or(drives).required_unless_present_any(["status", "serve"]))
)]
pub(crate) struct ShareArgs {
    /// By SMB, for Windows, Macs and Linux, from Samba.
    #[arg(long)]
    pub(crate) smb: bool,
    /// By NFS, version 4. It knows no passwords: every machine in the networks may do what the
    /// share allows.
    #[arg(long)]
    pub(crate) nfs: bool,
    /// By FTP, from vsftpd; without --tls-certificates passwords and content cross the network in
    /// the clear.
    #[arg(long)]
    pub(crate) ftp: bool,
    /// Who may come in (SMB, FTP), with a password of their own. May be given several times; no
    /// account of the machine is needed or made.
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<UserName>,
    /// Lines of NAME:PASSWORD, `-` for standard input. What is not in it is asked for at the
    /// terminal.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Let those in who have no password (SMB, FTP): to read, or also to write.
    #[arg(long, value_name = "MAY", num_args = 0..=1, require_equals = true, default_missing_value = "read")]
    pub(crate) guests: Option<GuestsChoice>,
    /// Nobody may write.
    #[arg(long, short)]
    pub(crate) read_only: bool,
    /// Who is answered, as 192.168.1.0/24; may be given several times. If left out, all private
    /// networks that this machine is in.
    #[arg(long = "network", value_name = "NETWORK")]
    pub(crate) networks: Vec<Network>,
    /// Answer networks that are not private: anybody on the internet may be in them.
    #[arg(long, requires = "networks")]
    pub(crate) allow_public: bool,
    /// To whom all files are to belong, on this machine: USER, or numbers as UID:GID. If left out,
    /// to whom the directory belongs.
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
    /// What clients call it; if left out, as the directory is called, or the array.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<ShareName>,
    /// Which NFS server; if left out, the kernel's if it has one, else NFS-Ganesha.
    #[arg(long, value_name = "SERVER")]
    pub(crate) nfs_server: Option<NfsServerChoice>,
    /// By version 3 of NFS too; needs rpcbind, and NFS-Ganesha.
    #[arg(long, requires = "nfs")]
    pub(crate) nfs_version_3: bool,
    /// Demand TLS of FTP's clients, with server-cert.pem and server-key.pem in this directory.
    #[arg(long, value_name = "DIR", requires = "ftp")]
    pub(crate) tls_certificates: Option<PathBuf>,
    /// Start nothing: write configurations into this directory, for servers that run already, and
    /// say where they belong.
    #[arg(long, value_name = "DIR")]
    pub(crate) configuration_only: Option<PathBuf>,
    /// Show all shares, and how they are.
    #[arg(long)]
    pub(crate) status: bool,
    /// Keep the servers of all shares in this process until it is stopped: for a service manager.
    #[arg(long)]
    pub(crate) serve: bool,
    /// What is shared: a directory, or an array that is mounted.
    #[command(flatten)]
    pub(crate) what: ArrayArgs,
}

/// `shoal unshare`
#[derive(Args, Debug)]
#[command(mut_arg("drives", |drives| directory_or(drives).required_unless_present("all")))]
pub(crate) struct UnshareArgs {
    /// All shares.
    #[arg(long)]
    pub(crate) all: bool,
    /// What is not to be shared any more: a directory, a share's name, or an array.
    #[command(flatten)]
    pub(crate) what: ArrayArgs,
}

/// Where an array's members are named, a directory may be.
fn directory_or(drives: Arg) -> Arg {
    drives
        .value_name("DIRECTORY|DRIVE")
        .help("A directory; or an array that is mounted, by its members, or any one of them and --scan DIR")
}

/// What guests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GuestsChoice {
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// Servers of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NfsServerChoice {
    /// The kernel's.
    Kernel,
    /// NFS-Ganesha.
    Ganesha,
}
