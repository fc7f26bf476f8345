//! A machine of the test's own, and another at the far end of its one cable: addresses and mounts
//! that nobody else sees. All of it vanishes with the test.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Mounts spread to namespaces that are made later, as where systemd is the first process. The
/// other machine is a namespace of addresses alone.
const CABLE: &str = "
mount --make-rshared /
unshare --net sh -c 'echo $$ >far.new; mv far.new far.pid; exec sleep 600' >/dev/null 2>&1 </dev/null &
until [ -e far.pid ]; do sleep 0.05; done
ip link add near type veth peer name far netns $(cat far.pid)
for each in '' far; do
    $each ip link set lo up
    $each ip link set ${each:-near} up
done
ip address add 10.77.0.1/24 dev near
far ip address add 10.77.0.2/24 dev far
";

/// `far COMMAND`: at the other machine.
const FAR: &str = "far() { nsenter --net=/proc/$(cat far.pid)/ns/net \"$@\"; }";

/// What is left to be done where a story broke off.
const TIDY: &str = "
set +e
timeout 60 shoal unshare --all
umount --lazy pond
losetup --list --noheadings --output NAME,BACK-FILE | grep $PWD | while read device rest; do losetup --detach $device; done
";

/// Namespaces, held by a process, and a directory.
pub(crate) struct Machine {
    holder: Child,
    directory: tempfile::TempDir,
}

impl Machine {
    /// `None`, and a line that says so, where this cannot be had.
    pub(crate) fn start(programs: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: shares need root");
            return None;
        }
        let always = ["unshare", "nsenter", "setpriv", "ip", "losetup", "mkfs.ext4"];
        let there = |program: &&&str| {
            ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|it| Path::new(it).join(program).exists())
        };
        if let Some(program) = programs.iter().chain(&always).find(|program| !there(program)) {
            eprintln!("SKIPPED: shares need {program}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::File::create(directory.path().join("img")).unwrap().set_len(64 << 20).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_shoal"), directory.path().join("shoal")).unwrap();
        // When the first process of a process namespace ends, all others do; and so do its mounts.
        let unshare = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sleep", "3600"];
        let holder = Command::new("unshare").args(unshare).stdin(Stdio::null()).spawn().unwrap();
        let machine = Self { holder, directory };
        machine.until("ip -oneline link show 2>&1 | wc -l; readlink /proc/1/exe", "sleep");
        machine.done(CABLE);
        Some(machine)
    }

    /// Runs a script, with its exit status and all that it printed.
    pub(crate) fn run(&self, script: &str) -> (i32, String) {
        let children = format!("/proc/{0}/task/{0}/children", self.holder.id());
        let first = std::fs::read_to_string(children).unwrap_or_default();
        let place = self.directory.path().display().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--target", first.trim(), "--net", "--mount", "--pid", "--", "sh", "-c"]);
        command.arg(format!("cd {place}; exec 2>&1; set -e\n{FAR}\n{script}")).stdin(Stdio::null());
        command.env("PATH", format!("{place}:/usr/sbin:/usr/bin:/sbin:/bin"));
        command
            .env("SHOAL_STATE_DIRECTORY", format!("{place}/state"))
            .env("SHOAL_RUNTIME_DIRECTORY", format!("{place}/runtime"));
        let output = command.output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a script that has to do what it is told.
    pub(crate) fn done(&self, script: &str) -> String {
        let (status, text) = self.run(script);
        assert_eq!(status, 0, "{script}\nprinted:\n{text}");
        text
    }

    /// Runs a script until it prints something.
    pub(crate) fn until(&self, script: &str, wanted: &str) {
        let mut text = String::new();
        for _ in 0..1800 {
            text = self.run(script).1;
            if text.contains(wanted) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("`{wanted}` never came of {script}\nwhich printed:\n{text}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Loop devices are everybody's, and would outlive the namespaces.
            let _ = self.run(TIDY);
        }
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
    }
}
