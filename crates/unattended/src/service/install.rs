//! Puts a service's files where they belong, and takes them away again. Only what was written here
//! is ever changed.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shoal_md::Uuid;
use thiserror::Error;

use super::{
    Content, HOT_PLUG_UNIT, Manager, SHARES_UNIT, Service, ServiceFile, array_unit, gone_unit, initramfs, mount_unit,
    mounted_file, udev,
};

/// What begins a script.
const INTERPRETER: &str = "#!/bin/sh\n";

/// The first line of every file, or of a script's the second, by which it is known again.
pub(super) const MARK: &str = "# Written by `shoal service install`; `shoal service remove` takes it away.\n";

/// How a file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not there.
    New,
    /// It is as it should be.
    Same,
    /// It was written here, and is different.
    Changed,
    /// Somebody else wrote it.
    Foreign,
}

/// Why a service is not as it should be.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The system says no.
    #[error("{}: {source}", path.display())]
    System {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It belongs to somebody else.
    #[error("{} was not written by shoal: move it away first", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    |source| InstallError::System { path, source }
}

/// Whether a file was written here.
fn is_ours(text: &str) -> bool {
    text.strip_prefix(INTERPRETER).unwrap_or(text).starts_with(MARK)
}

/// A path below another root than `/`.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl ServiceFile {
    /// How it is now, below `root`.
    pub fn standing(&self, root: &Path) -> Result<Standing, InstallError> {
        let path = below(root, &self.path);
        let there = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::New),
            there => there.map_err(at(&path))?,
        };
        Ok(match &self.content {
            Content::Link(target) if there.is_symlink() => {
                match std::fs::read_link(&path).map_err(at(&path))? == *target {
                    true => Standing::Same,
                    false => Standing::Foreign,
                }
            }
            Content::Text(text) if there.is_file() => {
                let now = std::fs::read_to_string(&path).map_err(at(&path))?;
                match (now == *text, is_ours(&now)) {
                    (true, _) => Standing::Same,
                    (false, true) => Standing::Changed,
                    (false, false) => Standing::Foreign,
                }
            }
            _ => Standing::Foreign,
        })
    }
}

impl Service {
    /// Writes every file below `root`; refused, before anything is written, if one is somebody
    /// else's.
    pub fn install(&self, root: &Path) -> Result<(), InstallError> {
        let files = self.files();
        for file in &files {
            if file.standing(root)? == Standing::Foreign {
                return Err(InstallError::Foreign { path: below(root, &file.path) });
            }
        }
        files.iter().try_for_each(|file| write(root, file))
    }
}

/// Replaces a file: a manager that looks meanwhile sees the old one or the new one.
fn write(root: &Path, file: &ServiceFile) -> Result<(), InstallError> {
    let path = below(root, &file.path);
    let directory = path.parent().unwrap_or(root);
    std::fs::create_dir_all(directory).map_err(at(directory))?;
    match &file.content {
        Content::Link(target) => match std::os::unix::fs::symlink(target, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(at(&path)),
        },
        Content::Text(text) => {
            // With a dot in front nobody takes it for a unit, a rule or a configuration.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let temporary = directory.join(format!(".{name}.new"));
            let mode = if text.starts_with(INTERPRETER) { 0o755 } else { 0o644 };
            let written = std::fs::File::create(&temporary).and_then(|mut to| {
                to.write_all(text.as_bytes())?;
                to.set_permissions(Permissions::from_mode(mode))?;
                to.sync_all()
            });
            written.and_then(|()| std::fs::rename(&temporary, &path)).map_err(at(&path))
        }
    }
}

/// The files of the service of an array that are there, below `root`: in the order in which they
/// are taken away, what is started first going last.
pub fn installed(root: &Path, manager: &Manager, uuid: &Uuid) -> Result<Vec<PathBuf>, InstallError> {
    let (array, mount) = (array_unit(uuid), mount_unit(uuid));
    let units = manager.units();
    let mut paths = vec![
        manager.wants("local-fs.target").join(&mount),
        manager.wants("multi-user.target").join(&array),
        units.join(&mount),
        units.join(&array),
        units.join(gone_unit(uuid)),
    ];
    if *manager == Manager::System {
        for name in names(&below(root, units))?.into_iter().filter(|name| name.ends_with(".mount.d")) {
            paths.push(units.join(name).join(mounted_file(uuid)));
        }
        paths.push(udev::rules_path(uuid));
        paths.push(super::mdadm_path(uuid));
        if !has_others(&below(root, units), &array)? {
            paths.push(manager.wants("multi-user.target").join(SHARES_UNIT));
            paths.extend([HOT_PLUG_UNIT, SHARES_UNIT].map(|unit| units.join(unit)));
            paths.push(initramfs::HOOK.into());
        }
    }
    paths.retain(|path| below(root, path).symlink_metadata().is_ok());
    Ok(paths)
}

/// Whether units run arrays beside this one.
fn has_others(units: &Path, own: &str) -> Result<bool, InstallError> {
    Ok(names(units)?.into_iter().any(|name| name.starts_with("shoal-array@") && name != own))
}

/// What is in a directory; nothing, if it is not there.
fn names(directory: &Path) -> Result<Vec<String>, InstallError> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(at(directory))?,
    };
    Ok(entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Takes files away, of which none may be somebody else's.
pub fn remove(root: &Path, paths: &[PathBuf]) -> Result<(), InstallError> {
    for path in paths {
        let path = below(root, path);
        let is_link = path.symlink_metadata().map_err(at(&path))?.is_symlink();
        if !is_link && !is_ours(&std::fs::read_to_string(&path).map_err(at(&path))?) {
            return Err(InstallError::Foreign { path });
        }
    }
    for path in paths {
        let path = below(root, path);
        std::fs::remove_file(&path).map_err(at(&path))?;
        // A directory for additions to one unit; it stays if somebody else's are there.
        if let Some(directory) = path.parent().filter(|it| it.to_string_lossy().ends_with(".mount.d")) {
            let _ = std::fs::remove_dir(directory);
        }
    }
    Ok(())
}

/// The array whose service wants the members of the array with this UUID: itself, or one that is
/// made of it. Who enables an instance of a package's unit has a service of that array, too.
pub fn owner_of(root: &Path, uuid: &Uuid) -> Option<Uuid> {
    let enabled = Path::new(super::SYSTEM_UNITS).join("multi-user.target.wants").join(array_unit(uuid));
    if below(root, &enabled).is_symlink() {
        return Some(*uuid);
    }
    let rules = below(root, Path::new(super::UDEV_RULES));
    let entries = std::fs::read_dir(rules).ok()?;
    entries.filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("63-shoal-")?.strip_suffix(".rules")?.parse().ok()?;
        let text = std::fs::read_to_string(entry.path()).ok()?;
        text.contains(&udev::as_blkid_prints(uuid)).then_some(owner)
    })
}
