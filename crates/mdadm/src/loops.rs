//! Loop devices for image files, which the kernel removes by itself.
//!
//! A loop device whose file is detached while it is in use goes when its last user does. So each is
//! detached as soon as this process has it open: from then on md keeps it, or this process, and
//! whatever becomes of either, it does not stay behind.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::KernelError;
use crate::tools;

/// A loop device, held open.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    path: PathBuf,
    _held: File,
}

impl LoopDevice {
    /// Puts a device over a file; past the page cache if the file system can do that.
    pub(crate) fn attach(file: &Path) -> Result<Self, KernelError> {
        let name = tools::run("losetup", ["--find".as_ref(), "--show".as_ref(), file.as_os_str()])?;
        let path = PathBuf::from(&name);
        let held = File::open(&path).map_err(|source| KernelError::Attribute { path: path.clone(), source });
        // Where it could not be opened, nobody holds it, and it goes at once.
        tools::run("losetup", ["--detach", &name])?;
        let it = Self { path, _held: held? };
        // It costs a copy where it cannot be had, and nothing else: flushes reach the file either
        // way.
        let _ = tools::run("losetup", ["--direct-io=on", &name]);
        Ok(it)
    }

    /// `/dev/loopN`
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
