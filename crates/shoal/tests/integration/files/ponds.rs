//! Two arrays with file systems, whose attachments are tried.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::files::pond::{PATIENCE, lacks};
use crate::support::Bay;

/// Two arrays of two drives each, with a file system on each that holds a file of its array's name.
pub(crate) struct Ponds {
    pub(crate) bay: Bay,
    pub(crate) place: tempfile::TempDir,
}

/// A loop device of a file; let go of at the end.
pub(crate) struct Foreign(pub(crate) PathBuf);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

impl Ponds {
    pub(crate) fn new() -> Self {
        let bay = Bay::with_sizes(&[40 << 20; 4]);
        bay.done("create --level 1 --assume-clean --name left d0 d1");
        bay.done("create --level 1 --assume-clean --name right d2 d3");
        let place = tempfile::Builder::new().prefix("ponds").tempdir().unwrap();
        let ponds = Self { bay, place };
        for (name, drives) in [("left", "d0 d1"), ("right", "d2 d3")] {
            ponds.bay.done(&format!("format --fs ext4 {drives}"));
            ponds.bay.done(&format!("mount {drives} {}", ponds.directory()));
            std::fs::write(ponds.place.path().join(name), name).unwrap();
            ponds.bay.done(&format!("unmount {}", ponds.directory()));
        }
        ponds
    }

    pub(crate) fn directory(&self) -> String {
        self.place.path().canonicalize().unwrap().display().to_string()
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.place.path().join(name).exists()
    }

    /// The left array's loop device.
    pub(crate) fn attached(&self) -> PathBuf {
        self.bay.json("attach --as fuse -b d0 d1")["device"].as_str().unwrap().into()
    }

    /// A loop device with the left one's name on the content of the right one; none if somebody
    /// else was faster.
    pub(crate) fn take(&self, device: &Path) -> Option<Foreign> {
        let copy = self.bay.path("copy");
        let output = self.bay.command(["read", "d2", "d3"]).stdout(std::fs::File::create(&copy).unwrap()).status();
        assert!(output.unwrap().success());
        run("losetup", &["--detach".as_ref(), device]);
        let taken = Command::new("losetup").arg(device).arg(&copy).status().unwrap();
        taken.success().then(|| Foreign(device.to_owned()))
    }
}

impl Drop for Ponds {
    fn drop(&mut self) {
        let directory = self.directory();
        self.bay.run(&format!("unmount {directory}"));
        if std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&directory) {
            let _ = Command::new("umount").arg("--lazy").arg(&directory).status();
        }
        for drive in ["d0", "d2"] {
            self.bay.run(&format!("detach {drive}"));
            self.bay.run(&format!("stop --force {drive}"));
            self.bay.run(&format!("detach {drive}"));
        }
    }
}

pub(crate) fn run(program: &str, arguments: &[&Path]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Kills a process, and waits until it is no more.
pub(crate) fn kill(process: &serde_json::Value) {
    let number = process["process_id"].to_string();
    run("kill", &["-KILL".as_ref(), number.as_ref()]);
    let is_alive = || {
        let told = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let is_zombie = told.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'));
        // The first thread may be one while others still hold its files.
        let threads = std::fs::read_dir(format!("/proc/{number}/task")).map_or(0, Iterator::count);
        !is_zombie || threads > 1
    };
    let begun = Instant::now();
    while is_alive() {
        assert!(begun.elapsed() < PATIENCE, "process {number} does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn is_possible() -> bool {
    !lacks(&[("mkfs.ext4", "e2fsprogs"), ("losetup", "mount")], Some("ext4"))
}
