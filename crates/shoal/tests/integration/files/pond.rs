//! A RAID5 of image files with a file system on it, mounted through whatever this kernel has, and
//! what befalls it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Bay, has};

/// However slow a machine is, by then all is done, or it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// An array that is mounted; unmounted, detached and stopped when it is dropped, however the test
/// ends.
pub(crate) struct Pond {
    pub(crate) bay: Bay,
    place: tempfile::TempDir,
    /// The server that took over from one that was killed.
    server: Option<Child>,
}

/// Runs a load in a thread of its own while a story is told, and then tells it to stop; also if the
/// story breaks off.
pub(crate) fn meanwhile<R: Send>(load: impl FnOnce(&AtomicBool) -> R + Send, story: impl FnOnce()) -> R {
    struct StopAtTheEnd<'a>(&'a AtomicBool);
    impl Drop for StopAtTheEnd<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load(&stop));
        let end = StopAtTheEnd(&stop);
        story();
        drop(end);
        load.join().unwrap()
    })
}

/// Says what a test lacks here; nothing if it has all.
pub(crate) fn lacks(programs: &[(&str, &str)], kernel_file_system: Option<&str>) -> bool {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let mut lacking: Vec<String> = Vec::new();
    let missing = programs.iter().filter(|(program, _)| !has(program));
    lacking.extend(missing.map(|(program, package)| format!("{program} ({package})")));
    if let Some(kind) = kernel_file_system {
        if !rustix::process::geteuid().is_root() {
            lacking.push("root".to_owned());
        }
        let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !listed.lines().any(|line| line.trim() == kind) {
            lacking.push(format!("a kernel with {kind}"));
        }
        if !Path::new("/dev/fuse").exists() || !Path::new("/dev/loop-control").exists() {
            lacking.push("FUSE and loop devices".to_owned());
        }
    }
    if !lacking.is_empty() {
        println!("SKIPPED: {test} needs {}", lacking.join(", "));
    }
    !lacking.is_empty()
}

impl Pond {
    /// Three drives with parity, and a fourth to take the place of one that fails.
    pub(crate) fn new(kind: &str, drive_bytes: u64) -> Self {
        let bay = Bay::with_sizes(&[drive_bytes; 4]);
        bay.done("create --level 5 --chunk 64K --assume-clean --bitmap internal --name pond d0 d1 d2");
        bay.done(&format!("format --fs {kind} d0 d1 d2"));
        let place = tempfile::Builder::new().prefix("pond").tempdir().unwrap();
        let pond = Self { bay, place, server: None };
        pond.mount("d0 d1 d2");
        pond
    }

    pub(crate) fn mount(&self, drives: &str) {
        self.bay.done(&format!("mount {drives} {}", self.directory().display()));
        // Whoever is let in by the directory may come through it.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(self.place.path(), open).unwrap();
    }

    pub(crate) fn unmount(&self) {
        self.bay.done(&format!("unmount {}", self.directory().display()));
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap()
    }

    /// Whoever runs the array is killed, and somebody else takes over after a while.
    pub(crate) fn kill_the_server(&mut self) {
        let process = self.bay.json("status d0")["running"]["process_id"].as_u64().unwrap();
        assert!(Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(500));
        let mut command = self.bay.command(["serve", "d0", "d1", "d2"]);
        self.server = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        self.wait_until("the array runs again", |state| state["running"].is_object());
    }

    /// Once the others can stand for it: after the server was killed, parity is not yet known to
    /// agree with the data.
    pub(crate) fn fail_a_member(&self) {
        // Unless told, a resync leaves a load nearly all of the drives.
        self.bay.done("speed --min 1G d0");
        self.bay.done("rebuild d0");
        self.bay.done("fail --member d1 d0");
        assert_eq!(self.bay.json("status d0")["health"], "degraded");
    }

    pub(crate) fn add_a_spare(&self) {
        self.bay.done("add --drive d3 --no-rebuild d0");
        self.wait_until("the array is whole again", |state| state["health"] == "optimal");
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&serde_json::Value) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ran = self.bay.run("--json status d0");
            if ran.code == 0 && is_so(&ran.json()) {
                return;
            }
            assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}: {}", ran.stderr);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// All that can happen to an array that is used, with `breath` between one thing and the next.
    pub(crate) fn befall(&mut self, breath: Duration) {
        let pause = || std::thread::sleep(breath);
        pause();
        self.kill_the_server();
        pause();
        self.fail_a_member();
        pause();
        self.add_a_spare();
        pause();
    }

    /// Takes it all down, and holds what the members say against each other.
    pub(crate) fn is_consistent(&mut self) {
        self.unmount();
        self.stop();
        assert_eq!(self.bay.json("scrub d0 d2 d3")["mismatched_bytes"], 0);
    }

    /// The array is stopped by whoever runs it: detaching has, or the one that took over has to be
    /// told.
    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            self.bay.run("stop d0");
            server.wait().unwrap();
        }
    }
}

impl Drop for Pond {
    fn drop(&mut self) {
        let directory = self.directory();
        self.bay.run(&format!("unmount {}", directory.display()));
        // After a test that failed in the middle.
        let quietly = |program: &str, argument: &str| {
            let _ = Command::new(program).arg(argument).arg(&directory).stderr(Stdio::null()).status();
        };
        if std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(directory.to_str().unwrap()) {
            quietly("umount", "--lazy");
        }
        self.bay.run("detach d0");
        self.bay.run("stop d0");
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
