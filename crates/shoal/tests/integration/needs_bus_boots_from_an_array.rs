//! A machine boots from an array of USB sticks that shoal made and filled: its kernel finds the
//! members by the line that shoal gives for mdadm's configuration, and what it writes while it
//! runs, shoal reads afterwards.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support;
use crate::support::{Bay, names, pattern};
use shoal_lab::usb::{Stick, UsbLab};

const STICK_BYTES: u64 = 24 << 20;
const ROOT_BYTES: u64 = 40 << 20;

/// The first process on the array: it says what it runs on, leaves a word, and switches the machine
/// off.
const INIT: &str = "#!/bin/busybox sh
PATH=/bin
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo \"root: $(busybox grep ' / ' /proc/mounts | busybox tail -n 1)\"
echo \"payload: $(busybox sha256sum /payload)\"
echo 'the machine was here' >/word && busybox sync && busybox mount -o remount,ro / && echo 'left in order'
busybox poweroff -f
";

#[test]
fn needs_bus_boots_from_an_array_striped_over_sticks_on_two_buses() {
    let Some(story) = Story::begin("--level 0 --chunk 64K", 4) else { return };
    let lines = story.boot(&[0, 1, 2, 3]);
    assert!(!lines.iter().any(|line| line.contains("missing")), "{lines:#?}");
    story.was_used(&lines, &names(0..4));
}

#[test]
fn needs_bus_boots_from_an_array_that_lacks_a_stick() {
    let Some(story) = Story::begin("--level 5 --chunk 64K --bitmap internal --assume-clean", 4) else { return };
    let lines = story.boot(&[0, 1, 3]);
    assert!(lines.iter().any(|line| line.contains("members are missing")), "{lines:#?}");
    story.was_used(&lines, &names([0, 1, 3]));
    // What the machine wrote without the stick is rebuilt on it, from the bitmap that the kernel
    // kept.
    let state = story.bay.json("re-add --drive d2 d0 d1 d3");
    assert_eq!(state["health"], "optimal", "{state}");
    let scrub = story.bay.json("scrub d0 d1 d2 d3");
    assert_eq!(scrub["mismatched_bytes"], 0, "{scrub}");
}

struct Story {
    lab: UsbLab,
    bay: Bay,
    payload_sum: String,
}

impl Story {
    /// An array with a small root file system in it.
    fn begin(shape: &str, members: usize) -> Option<Self> {
        let lab =
            UsbLab::find().map_err(|missing| eprintln!("SKIPPED: booting from an array: needs {missing}")).ok()?;
        if !support::has("mkfs.ext4") {
            eprintln!("SKIPPED: booting from an array: needs mkfs.ext4");
            return None;
        }
        let bay = Bay::with_sizes(&vec![STICK_BYTES; members]);
        bay.done(&format!("create --name pond {shape} {}", names(0..members)));
        let root = bay.path("root");
        make_root(&root);
        let image = bay.add("root.ext4", ROOT_BYTES);
        done(Command::new("mkfs.ext4").args(["-q", "-F", "-d"]).arg(&root).arg(&image));
        bay.write(&format!("write {}", names(0..members)), &fs::read(&image).unwrap());
        let sum = done(Command::new("sha256sum").arg(root.join("payload")));
        let payload_sum = sum.split(' ').next().unwrap().to_owned();
        Some(Self { lab, bay, payload_sum })
    }

    /// Starts a machine that has these sticks, and gives what it said until it switched itself off.
    fn boot(&self, sticks: &[usize]) -> Vec<String> {
        let drives = names(sticks.iter().copied());
        let conf = String::from_utf8(self.bay.done(&format!("service mdadm-conf {drives}")).stdout).unwrap();
        assert!(conf.starts_with("ARRAY /dev/md/pond UUID="), "{conf}");
        let stick =
            |&number: &usize| Stick { image: self.bay.path(&format!("d{number}")), bus: number % 2, limits: None };
        let sticks: Vec<_> = sticks.iter().map(stick).collect();
        self.lab.boot_from(&sticks, conf.trim_end(), "pond").unwrap_or_else(|error| panic!("{error}"))
    }

    /// The machine had its root on the array, found it as it was written, and left its word there.
    fn was_used(&self, lines: &[String], drives: &str) {
        let said = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start).map(str::to_owned));
        let root = said("root: ").unwrap_or_else(|| panic!("{lines:#?}"));
        assert!(root.starts_with("/dev/md") && root.contains(" ext4 rw"), "{root}");
        assert_eq!(said("payload: "), Some(format!("{}  /payload", self.payload_sum)), "{lines:#?}");
        assert!(lines.iter().any(|line| line == "left in order"), "{lines:#?}");
        let content = self.bay.done(&format!("read --length {ROOT_BYTES} {drives}")).stdout;
        let image = self.bay.path("after.ext4");
        fs::write(&image, content).unwrap();
        done(Command::new("e2fsck").args(["-f", "-n"]).arg(&image));
        let word = done(Command::new("debugfs").args(["-R", "cat /word"]).arg(&image));
        assert_eq!(word, "the machine was here\n");
    }
}

/// busybox, a few places, and something whose checksum is known.
fn make_root(root: &Path) {
    for directory in ["bin", "sbin", "dev", "proc", "sys"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let shell = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).is_file()).unwrap();
    fs::copy(shell, root.join("bin/busybox")).unwrap();
    let init = root.join("sbin/init");
    fs::write(&init, INIT).unwrap();
    fs::set_permissions(&init, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(root.join("payload"), pattern(20 << 20, 7)).unwrap();
}

fn done(command: &mut Command) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = command.env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
