//! A machine whose first process is systemd, in namespaces of this one: boots in seconds, and has
//! the kernel's devices, FUSE and udev's events. The scripts say what it shares with the host and
//! what not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Bay, has};

const CONTAINER: &str = include_str!("container.sh");
const MACHINE: &str = include_str!("machine.sh");
/// How long anything may take on a host that does much else.
const PATIENCE: Duration = Duration::from_secs(100);

/// A machine that runs. Dropping it cuts its power.
pub(crate) struct Machine {
    process: Child,
    /// Its first process, as the host numbers it.
    first: u32,
    console: PathBuf,
}

impl Machine {
    /// Whether this host can have one; says loudly if not.
    pub(crate) fn is_possible() -> bool {
        let programs = ["unshare", "nsenter", "setpriv", "losetup", "pivot_root", "mkfs.ext4", "journalctl", "udevadm"];
        let missing = programs.into_iter().find(|program| !has(program));
        let lack = match missing {
            _ if !rustix::process::geteuid().is_root() => Some("root"),
            None if !Path::new("/lib/systemd/systemd").exists() => Some("systemd"),
            None if !Path::new("/dev/fuse").exists() => Some("FUSE"),
            None if !fs::read_to_string("/proc/filesystems").unwrap().contains("cgroup2") => Some("cgroup2"),
            missing => missing,
        };
        if let Some(lack) = lack {
            println!("SKIPPED: {}: needs {lack}", std::thread::current().name().unwrap_or("a test"));
        }
        lack.is_none()
    }

    /// Starts one that has the bay at `/srv/bay`, what is in the bay's `etc` in its own, the
    /// program as `/opt/shoal`, and these loop devices. `prepare` is run in its root before systemd
    /// is.
    pub(crate) fn boot(bay: &Bay, devices: &[&Loop], prepare: &str) -> Self {
        let numbers: Vec<_> = devices.iter().map(|device| device.0.trim_start_matches("/dev/loop")).collect();
        let (root, console) = (bay.path("root"), bay.path("console"));
        fs::create_dir_all(&root).unwrap();
        let log = File::create(&console).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "sh", "-c", CONTAINER]);
        command.env("BAY", bay.path("")).env("STATE", bay.state()).env("ROOT", &root).env("DEVICES", numbers.join(" "));
        command.env("PROGRAM", env!("CARGO_BIN_EXE_shoal")).env("MACHINE", MACHINE).env("PREPARE", prepare);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let process = command.spawn().unwrap();
        let mut machine = Self { first: process.id(), process, console };
        machine.find_first();
        machine.until("systemd takes commands", || machine.tried("systemctl show --property Version").status.success());
        machine
    }

    /// The first process is what `unshare` has started, which is what the container's script has
    /// started, among others.
    fn find_first(&mut self) {
        let children = |parent: u32| {
            let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
            children.split_whitespace().map(|child| child.parse::<u32>().unwrap()).collect::<Vec<_>>()
        };
        let is_maker =
            |process: &u32| fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|it| it == "unshare\n");
        let script = self.first;
        let first = || children(script).into_iter().find(is_maker).and_then(|maker| children(maker).first().copied());
        self.until("it begins", || first().is_some());
        self.first = first().expect("it lives as long as the machine");
    }

    /// Runs a script in it.
    pub(crate) fn tried(&self, script: &str) -> Output {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--mount", "--pid", "--cgroup", "--uts", "--ipc", "--net"]);
        command.args(["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "sh", "-euc", script]);
        command.current_dir("/").stdin(Stdio::null()).output().unwrap()
    }

    /// The same, which has to succeed; gives what it prints.
    pub(crate) fn run(&self, script: &str) -> String {
        let output = self.tried(script);
        if !output.status.success() {
            self.complain(&format!("{script}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// A property of a unit.
    pub(crate) fn show(&self, unit: &str, property: &str) -> String {
        self.run(&format!("systemctl show --value --property {property} '{unit}'"))
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            if start.elapsed() > PATIENCE {
                self.complain(&format!("it never comes to this: {what}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Switches it off in order.
    pub(crate) fn powered_off(mut self) {
        self.run("systemctl poweroff");
        let start = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            if start.elapsed() > PATIENCE {
                self.complain("it does not end");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn complain(&self, what: &str) -> ! {
        let log = self
            .tried("journalctl --no-pager --lines 100; systemctl list-jobs --no-pager; systemctl --no-pager --failed");
        let console = fs::read_to_string(&self.console).unwrap_or_default();
        panic!("{what}\n{}\n{console}", String::from_utf8_lossy(&log.stdout));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.process.try_wait().unwrap().is_none() {
            // The script that made the namespaces goes on, and takes away what is left of them.
            let first = i32::try_from(self.first).ok().and_then(rustix::process::Pid::from_raw).unwrap();
            let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
        }
        let _ = self.process.wait();
    }
}

/// A drive: an image file under a loop device, which goes with this.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    /// Plugs a drive in.
    pub(crate) fn attach(image: &Path) -> Self {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "losetup: {}", String::from_utf8_lossy(&output.stderr));
        Self(String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
    }

    /// Its name in the kernel.
    pub(crate) fn name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}
