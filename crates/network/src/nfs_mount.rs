//! The kernel's NFS client: a mount on the client's host, for one transfer.

use std::path::{Path, PathBuf};

use crate::host::{IsolatedHost, run_to_end};
use crate::nfs_kind::Export;
use crate::pair::SERVER;

/// What every mount has. A server that is gone is an error after a minute and not for ever, as
/// nobody is there who could start it again.
const OPTIONS: &str = "vers=4.2,proto=tcp,sec=sys,soft,timeo=200,retrans=2";

/// An export that is mounted; unmounted when it is dropped, whatever becomes of what it holds.
#[derive(Debug)]
pub(crate) struct NfsMount<'a> {
    client: &'a IsolatedHost,
    /// As the client's host sees it.
    directory: PathBuf,
    is_mounted: bool,
}

impl<'a> NfsMount<'a> {
    /// Mounts an export below `place`.
    pub(crate) fn new(client: &'a IsolatedHost, place: &Path, export: Export, sync: bool) -> Result<Self, String> {
        let directory = place.join("mounted");
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut command = client.command("mount");
        command.args(["-t", "nfs4", "-o"]).arg(format!("{OPTIONS},{}", if sync { "sync" } else { "async" }));
        command.arg(format!("{SERVER}:/{}", export.name)).arg(&directory);
        run_to_end(&mut command).map_err(|error| error.to_string())?;
        Ok(Self { client, directory, is_mounted: true })
    }

    /// A file of it, as this process sees it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.client.path(&self.directory).join(name)
    }

    /// Ends it in order: what it still holds goes to the server.
    pub(crate) fn unmount(mut self) -> Result<(), String> {
        run_to_end(self.client.command("umount").arg(&self.directory)).map_err(|error| error.to_string())?;
        self.is_mounted = false;
        Ok(())
    }
}

impl Drop for NfsMount<'_> {
    fn drop(&mut self) {
        if self.is_mounted {
            // What does not go now goes with the host.
            let _ = run_to_end(self.client.command("umount").args(["--force", "--lazy"]).arg(&self.directory));
        }
    }
}
