//! An array as a service of the machine: every file that makes it one, as text, from a description.
//!
//! # Who starts what
//!
//! ```text
//!  boot ─► shoal-array@UUID.service      runs the array: waits for its members, then serves it
//!            ▲                │ Type=notify: ready when clients can come
//!            │ starts         ▼
//!  udev ─► shoal-hot-plug@DEVICE    shoal-mount@UUID.service  attaches it and mounts it ─► local-fs.target
//!          hands the drive to the array that runs
//! ```
//!
//! - **Members are waited for by the process that wants them**, up to a time, after which an array
//!   is started that can do without what is missing. No unit waits for devices: their names follow
//!   from the order of plugging, and waiting for all of udev (`systemd-udev-settle`) waits for
//!   drives that do not matter, and not for those that come late.
//! - **The array comes before the mounts**: its units have no default dependencies, which would put
//!   them behind `sysinit.target`, and that behind `local-fs.target`. For the same reason they have
//!   no private `/tmp`: it would put them behind `systemd-tmpfiles-setup`, which is behind the
//!   mounts too.
//! - **A boot goes on without an array that is not there**: `local-fs.target` wants the mount and
//!   does not require it.
//! - **Who gives up says so.** A server that fails again and again is not started any more; then
//!   the manager starts `shoal-gone@UUID.service`, which tells whoever is told of the array's
//!   health.
//! - **A server that fails is started again, and nobody else is.** A unit that *requires* another
//!   is restarted with it; what is mounted must not be. Devices and mounts outlive their server,
//!   and carry on with the next one. So the mount only *wants* the array, comes after it, and
//!   asserts that it runs.
//! - **An array is stopped last**: what comes after another at the start, stops before it. The
//!   manager has a unit of its own for whatever is mounted, and unmounts it itself when the machine
//!   stops; so that unit, too, is told to come after ours.
//!
//! # Who owns an array
//!
//! mdadm has udev rules of its own, which give every member to the kernel. What it is not to touch
//! is told to it in its own configuration ([`crate::mdadm_conf`]). An initramfs with mdadm has a
//! copy of that, which a hook here puts right (`initramfs`).

mod initramfs;
mod install;
mod udev;
mod unit;

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_md::Uuid;

use crate::mdadm_conf::{ArrayName, left_alone};
pub use install::{InstallError, Standing, installed, owner_of, remove};

/// What is to become a service, and how.
#[derive(Clone, Debug)]
pub struct Service {
    /// The array; the last one, if it is made of arrays, which come before it.
    pub arrays: Vec<ArrayName>,
    /// The directory of its members, if they are image files. Devices lie in none.
    pub image_directory: Option<PathBuf>,
    /// The program, an absolute path.
    pub program: PathBuf,
    /// How long members are waited for.
    pub patience: Duration,
    /// Where its file system is to be mounted, if it has one.
    pub mount_point: Option<PathBuf>,
    /// Whether the process that keeps the machine's shares is to be a service too.
    pub shares: bool,
    /// Who is told when its health changes, an absolute path.
    pub alerts: Option<PathBuf>,
    /// Whose manager runs it.
    pub manager: Manager,
}

/// A service manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// The machine's: at boot.
    System,
    /// A user's own, with its directory of units: from login on, or from boot on if the user
    /// lingers.
    User(PathBuf),
}

/// A file that belongs to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFile {
    /// Where it goes.
    pub path: PathBuf,
    /// What it is.
    pub content: Content,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text; a program, if it begins as a script does.
    Text(String),
    /// A symbolic link, by which a target wants a unit.
    Link(PathBuf),
}

const SYSTEM_UNITS: &str = "/etc/systemd/system";
const UDEV_RULES: &str = "/etc/udev/rules.d";
/// The part of mdadm's configuration that is a directory.
const MDADM_CONFIGURATION: &str = "/etc/mdadm/mdadm.conf.d";

impl Manager {
    fn units(&self) -> &Path {
        match self {
            Self::System => Path::new(SYSTEM_UNITS),
            Self::User(directory) => directory,
        }
    }

    /// Where the units are named that a target wants. A user's manager has one target alone.
    fn wants(&self, target: &str) -> PathBuf {
        let target = if *self == Self::System { target } else { "default.target" };
        self.units().join(format!("{target}.wants"))
    }
}

impl Service {
    /// Every file of it, in the order in which they are written: what starts it comes last.
    pub fn files(&self) -> Vec<ServiceFile> {
        let uuid = &self.array().uuid;
        let text = |path: PathBuf, text: String| ServiceFile {
            path,
            content: Content::Text(install::MARK.to_owned() + &text),
        };
        let units = self.manager.units();
        let mut files = Vec::new();
        if self.manager == Manager::System {
            files.push(text(mdadm_path(uuid), self.mdadm_text()));
            files.push(ServiceFile { path: initramfs::HOOK.into(), content: Content::Text(initramfs::hook()) });
            files.push(text(units.join(HOT_PLUG_UNIT), unit::hot_plug(self)));
            files.push(text(udev::rules_path(uuid), udev::rules(self)));
            if let Some(mount_point) = &self.mount_point {
                let addition = |place: &Path| units.join(unit::mounted_unit(place) + ".d").join(mounted_file(uuid));
                files.push(text(addition(mount_point), unit::mounted(self)));
                files.push(text(addition(&unit::front_place(uuid)), unit::FRONT.to_owned()));
            }
        }
        if let Some(alerts) = &self.alerts {
            files.push(text(units.join(gone_unit(uuid)), unit::gone(self, alerts)));
        }
        let mut wanted = vec![("multi-user.target", array_unit(uuid), unit::array(self))];
        if let Some(mount_point) = &self.mount_point {
            wanted.push(("local-fs.target", mount_unit(uuid), unit::mount(self, mount_point)));
        }
        if self.shares {
            wanted.push(("multi-user.target", SHARES_UNIT.to_owned(), unit::shares(self)));
        }
        for (target, name, content) in wanted {
            let link =
                ServiceFile { path: self.manager.wants(target).join(&name), content: Content::Link(units.join(&name)) };
            files.extend([text(units.join(&name), content), link]);
        }
        files
    }

    /// What runs the array.
    pub fn array_unit(&self) -> String {
        array_unit(&self.array().uuid)
    }

    /// The array itself.
    fn array(&self) -> &ArrayName {
        self.arrays.last().expect("a service is one of an array")
    }

    /// The name as it may stand in a comment or description, which ends at the end of a line.
    fn plain_name(&self) -> String {
        let plain = |it: char| if it.is_ascii_graphic() && it != '%' { it } else { '_' };
        self.array().name.chars().map(plain).collect()
    }

    fn mdadm_text(&self) -> String {
        format!("# {} is run by shoal, and not by the kernel.\n{}", self.plain_name(), left_alone(&self.arrays))
    }
}

/// The unit that keeps shares, of all arrays.
const SHARES_UNIT: &str = "shoal-shares.service";
/// The template whose instances hand drives to arrays.
pub const HOT_PLUG_UNIT: &str = "shoal-hot-plug@.service";

/// The unit that runs the array with this UUID: printed as blkid does, since tools take a `:` for a
/// separator.
pub fn array_unit(uuid: &Uuid) -> String {
    format!("shoal-array@{}.service", udev::as_blkid_prints(uuid))
}

/// The unit that tells that nobody runs the array with this UUID.
pub(crate) fn gone_unit(uuid: &Uuid) -> String {
    format!("shoal-gone@{}.service", udev::as_blkid_prints(uuid))
}

/// What is added to the manager's unit for what is mounted, in that unit's directory.
fn mounted_file(uuid: &Uuid) -> String {
    format!("shoal-{}.conf", udev::as_blkid_prints(uuid))
}

fn mdadm_path(uuid: &Uuid) -> PathBuf {
    Path::new(MDADM_CONFIGURATION).join(format!("shoal-{}.conf", udev::as_blkid_prints(uuid)))
}

/// The unit that mounts what is on it.
pub fn mount_unit(uuid: &Uuid) -> String {
    format!("shoal-mount@{}.service", udev::as_blkid_prints(uuid))
}

#[cfg(test)]
mod tests;
