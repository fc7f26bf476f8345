//! What tests of several modules share: a real file system, loop devices, mounts. Everything is
//! undone when dropped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory on the file system that the test was built on: a real one, unlike a temporary
/// directory in memory.
pub(crate) fn beside_the_binary() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// Runs a tool. Its absence or refusal is told, loudly, by `None`.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    // mkfs and its kin are often outside an ordinary user's path.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    match Command::new(tool).args(arguments).env("PATH", path).output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            eprintln!("SKIPPED: this test needs `{tool} {}` to work: {}", arguments.join(" "), why.trim());
            None
        }
        Err(error) => {
            eprintln!("SKIPPED: this test needs {tool}: {error}");
            None
        }
    }
}

fn as_str(path: &Path) -> &str {
    path.to_str().expect("temporary files have plain names")
}

/// A loop device over a file.
pub(crate) struct LoopDevice(PathBuf);

impl LoopDevice {
    /// Needs root and loop devices; says so where there are none.
    pub(crate) fn attach(file: &Path, block_bytes: u32) -> Option<Self> {
        let block_bytes = block_bytes.to_string();
        let device = run("losetup", &["--find", "--show", "--sector-size", &block_bytes, as_str(file)])?;
        Some(Self(device.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        run("losetup", &["--detach", as_str(&self.0)]);
    }
}

/// A mounted file system.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Needs root; says so where it is not.
    pub(crate) fn mount(device: &Path, directory: &Path) -> Option<Self> {
        run("mount", &[as_str(device), as_str(directory)])?;
        Some(Self(directory.to_path_buf()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[as_str(&self.0)]);
    }
}
