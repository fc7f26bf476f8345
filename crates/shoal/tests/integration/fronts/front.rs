//! A front as a process: the program's own hidden command, which `shoal attach` starts.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::support::Bay;

/// A deadline that no request meets, however busy the machine is.
pub(crate) const LONG_S: u32 = 300;

/// A FUSE front in a directory of the bay's; killed, and its mount taken away, if the test ends
/// before it does.
pub(crate) struct Front {
    child: Option<Child>,
    directory: PathBuf,
    /// The file.
    pub(crate) file: PathBuf,
}

impl Front {
    pub(crate) fn start(bay: &Bay, deadline_s: u32) -> Self {
        Self::start_as(bay, deadline_s, None)
    }

    /// As another user.
    pub(crate) fn start_as(bay: &Bay, deadline_s: u32, user: Option<u32>) -> Self {
        let directory = bay.path("front");
        // The mount of one that was killed answers nothing, not even that it is there.
        let _ = std::fs::create_dir(&directory);
        let socket = bay.runtime().with_file_name("nbd.sock");
        let mut command = bay.command(["front", "--method=fuse", "--name=array", "--logical-block-bytes=512"]);
        command.arg(format!("--deadline-s={deadline_s}"));
        command.arg("--socket").arg(socket).arg("--directory").arg(&directory);
        if let Some(user) = user {
            std::os::unix::fs::chown(&directory, Some(user), Some(user)).unwrap();
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let file = PathBuf::from(line.trim_end_matches('\n'));
        let this = Self { child: Some(child), directory, file };
        assert!(this.file.starts_with(&this.directory), "the front tells no file, but \"{line}\"");
        this
    }

    pub(crate) fn path(&self) -> &str {
        self.file.to_str().unwrap()
    }

    /// Tells it to end, and waits until it has; the mount is gone then.
    pub(crate) fn stopped(self) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.ended();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(mut self) {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!is_mounted(&self.directory), "the mount is left");
    }

    /// Kills it, and leaves what it leaves.
    pub(crate) fn killed(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_mounted(&self.directory), "a mount outlives its process");
        // Not dropped: who comes next is to find it.
        std::mem::forget(self);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if is_mounted(&self.directory) {
            let _ = Command::new("umount").arg("--lazy").arg(&self.directory).status();
        }
    }
}

/// By the kernel's table: asking for the directory itself might wait for ever.
pub(crate) fn is_mounted(directory: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == directory.to_str())
}
