//! Whether this machine can run arrays by its own md.

use std::path::Path;

use crate::error::KernelError;
use crate::tools;

/// A kernel that has md, reached by mdadm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What people call the engine: `Linux md 6.1.0-37-amd64`.
    pub name: String,
}

impl Kernel {
    /// Looks for all that is needed; if something is not there, says what, and what to do.
    pub fn find() -> Result<Self, KernelError> {
        let missing = |what, mend| Err(KernelError::Missing { what, mend });
        if !Path::new("/proc/mdstat").exists() {
            return missing("md in this kernel (/proc/mdstat)", "load it with `modprobe md_mod`");
        }
        if tools::program("mdadm").is_none() {
            return missing("the program mdadm", "install the package mdadm");
        }
        if tools::program("losetup").is_none() {
            return missing("the program losetup", "install the package util-linux");
        }
        if !rustix::process::geteuid().is_root() {
            return missing("the right to administer md", "run this as root");
        }
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self { name: format!("Linux md {}", release.trim()) })
    }
}
