//! Whether what is to be shared is there: the file system that holds it, mounted where it was.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_drive::Mount;

/// What has to be mounted, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Where.
    pub mount: PathBuf,
    /// Its kind, as the kernel calls it.
    pub kind: String,
    /// Its number among all file systems, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// The mount that holds a directory: of those above it the nearest, and of several at one place the
/// last.
pub fn home_of(directory: &Path, mounts: &[Mount]) -> Option<Mount> {
    let above = mounts.iter().filter(|mount| directory.starts_with(&mount.place));
    above.max_by_key(|mount| mount.place.components().count()).cloned()
}

impl FileSystem {
    /// What is mounted there; `None` for the machine's own root, which is always there.
    pub fn of(mount: &Mount) -> Option<Self> {
        let is_root = mount.place == Path::new("/");
        (!is_root).then(|| Self { mount: mount.place.clone(), kind: mount.kind.clone(), uuid: uuid_of(mount) })
    }

    /// Whether a mount is of this file system.
    pub fn is(&self, mount: &Mount) -> bool {
        match &self.uuid {
            Some(uuid) => uuid_of(mount).as_ref() == Some(uuid),
            None => self.kind == mount.kind,
        }
    }
}

/// The number of a file system on a device.
fn uuid_of(mount: &Mount) -> Option<String> {
    let device = Some(&mount.source).filter(|source| source.is_absolute())?;
    shoal_filesystem::identify(device).ok().flatten()?.uuid
}

/// What was found out of a mount, so that it is not asked again each second.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// The last mount that was looked at closely, and what came of it.
    seen: Option<(FileSystem, Mount, bool)>,
}

impl Presence {
    /// Whether a directory is there, on the file system that it should be on; if not, why not.
    pub(super) fn look(
        &mut self,
        directory: &Path,
        wanted: Option<&FileSystem>,
        mounts: &[Mount],
    ) -> Result<(), String> {
        if let Some(wanted) = wanted {
            let place = wanted.mount.display();
            let home = home_of(directory, mounts).filter(|home| home.place == wanted.mount);
            let home = home.ok_or_else(|| format!("{} is not mounted at {place}", wanted.kind))?;
            if !self.is_it(wanted, &home) {
                return Err(format!("another file system than the one that was shared is mounted at {place}"));
            }
        }
        if directory.is_dir() { Ok(()) } else { Err(format!("{} is no directory", directory.display())) }
    }

    fn is_it(&mut self, wanted: &FileSystem, home: &Mount) -> bool {
        match &self.seen {
            Some((file_system, mount, is_it)) if file_system == wanted && mount == home => *is_it,
            _ => {
                let is_it = wanted.is(home);
                self.seen = Some((wanted.clone(), home.clone(), is_it));
                is_it
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    fn mount(place: &str, kind: &str) -> Mount {
        Mount {
            number: "0:1".to_owned(),
            source: "none".into(),
            place: place.into(),
            kind: kind.to_owned(),
            options: "rw".to_owned(),
        }
    }

    #[test]
    fn a_directory_is_on_the_nearest_mount_above_it() {
        let mounts = [mount("/", "ext4"), mount("/mnt/pond", "xfs"), mount("/mnt/pond/deep", "tmpfs")];
        let home = |directory: &str| home_of(Path::new(directory), &mounts).map(|mount| mount.kind);
        assert_eq!(home("/mnt/pond/a").as_deref(), Some("xfs"));
        assert_eq!(home("/mnt/pond/deep/b").as_deref(), Some("tmpfs"));
        assert_eq!(home("/mnt/pondside").as_deref(), Some("ext4"));
    }

    #[test]
    fn what_is_not_mounted_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let wanted = FileSystem { mount: place.into(), kind: "tmpfs".to_owned(), uuid: None };
        let look = |mounts: &[Mount]| Presence::default().look(directory.path(), Some(&wanted), mounts);
        assert_eq!(look(&[mount("/", "ext4"), mount(place, "tmpfs")]), Ok(()));
        assert!(look(&[mount("/", "ext4")]).unwrap_err().contains("not mounted"));
        assert!(look(&[mount("/", "ext4"), mount(place, "xfs")]).unwrap_err().contains("another file system"));
        // The last mount at a place is the one that is seen.
        assert!(look(&[mount(place, "tmpfs"), mount(place, "xfs")]).is_err());
        assert_eq!(Presence::default().look(directory.path(), None, &[]), Ok(()));
    }
}
