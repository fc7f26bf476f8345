//! What `shoal service install` writes, under a real systemd and a real udev, from boot to power
//! off.

mod machine;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Bay, names};
use machine::{Loop, Machine};

const DRIVE_BYTES: u64 = 24 << 20;
const CONTENT_BYTES: u64 = 40 << 20;

/// Something of the machine's that needs its local file systems, as most units do.
const NEEDS_FILES: &str = "[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/cp /srv/pond/word /run/word
";
/// Something that uses the file system all the time, and ends if that fails but once.
const USES_FILES: &str = "[Unit]
After=needs-files.service
Requires=needs-files.service
[Service]
ExecStart=/bin/sh -euc 'number=0; while :; do number=$((number + 1)); echo $number >>/srv/pond/log; sync /srv/pond/log; sleep 0.02; done'
";
struct Pond {
    bay: Bay,
    uuid: String,
    array: String,
    mount: String,
}

impl Pond {
    /// An array with a file system in it, and units that use it.
    fn new(shape: &str, members: usize) -> Self {
        let bay = Bay::with_sizes(&vec![DRIVE_BYTES; members]);
        let state = bay.json(&format!("create --name pond {shape} {}", names(0..members)));
        let uuid = state["uuid"].as_str().unwrap().to_owned();
        let files = bay.path("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("word"), "from the array\n").unwrap();
        let image = bay.add("pond.ext4", CONTENT_BYTES);
        done(Command::new("mkfs.ext4").args(["-q", "-F", "-d"]).arg(&files).arg(&image));
        bay.write(&format!("write {}", names(0..members)), &fs::read(&image).unwrap());
        let plain = uuid.replace(':', "");
        let name = [&plain[..8], &plain[8..12], &plain[12..16], &plain[16..20], &plain[20..]].join("-");
        let (array, mount) = (format!("shoal-array@{name}.service"), format!("shoal-mount@{name}.service"));
        let pond = Self { bay, uuid, array, mount };
        pond.file("systemd/system/needs-files.service", NEEDS_FILES);
        pond.file("systemd/system/uses-files.service", USES_FILES);
        pond.file(
            "systemd/system/multi-user.target.d/test.conf",
            "[Unit]\nWants=needs-files.service uses-files.service\n",
        );
        pond
    }

    /// What is different from the unit as it was written. Loops are no hardware, so it is said
    /// where they are, as for image files; the manager waits three minutes for a beat, and a test
    /// does not; what came of each server is written down.
    fn changes(&self) -> String {
        format!(
            "[Unit]\nStartLimitBurst=100\n[Service]\nExecStart=\nExecStart=/opt/shoal --quiet serve --uuid {} --scan /dev/drives --wait 600 --degraded\nWatchdogSec=20\n\
             ExecStopPost=/bin/sh -c 'echo $SERVICE_RESULT >>/run/shoal/results'\n",
            self.uuid
        )
    }

    /// Drives have a directory, and those of others are not looked into.
    fn udev_rules(&self) -> String {
        let images = self.bay.path("d*").display().to_string();
        format!(
            "SUBSYSTEM==\"block\", ATTR{{loop/backing_file}}==\"{images}\", SYMLINK+=\"drives/%k\"\n\
             SUBSYSTEM==\"block\", ATTR{{loop/backing_file}}!=\"{images}\", ENV{{UDEV_DISABLE_PERSISTENT_STORAGE_RULES_FLAG}}=\"1\"\n"
        )
    }

    /// A file of the machine's, below `/etc`.
    fn file(&self, path: &str, text: &str) {
        let path = self.bay.path("etc").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What the array's unit says of it, behind its name; the host that made it may stand before
    /// that.
    fn is_told(&self, machine: &Machine, state: &str) {
        let told = machine.show(&self.array, "StatusText");
        assert!(told.ends_with(&format!("pond: {state}")), "{told}");
    }

    fn status(&self, machine: &Machine) -> serde_json::Value {
        serde_json::from_str(&machine.run(&format!("/opt/shoal --json status --uuid {}", self.uuid))).unwrap()
    }

    fn health(&self, machine: &Machine) -> String {
        self.status(machine)["health"].as_str().unwrap().to_owned()
    }
}

#[test]
fn needs_root_systemd_runs_an_array_of_drives_from_boot_to_power_off() {
    if !Machine::is_possible() {
        return;
    }
    let pond = Pond::new("--level 5 --chunk 64K --bitmap internal --assume-clean", 3);
    let (first, second) = (Loop::attach(&pond.bay.path("d0")), Loop::attach(&pond.bay.path("d1")));
    // What udev does at boot with the drives that are there already: of these alone.
    let trigger =
        format!("[Service]\nExecStart=\nExecStart=/bin/udevadm trigger --action=add {} {}\n", first.0, second.0);
    pond.file("systemd/system/systemd-udev-trigger.service.d/test.conf", &trigger);
    pond.file("udev/rules.d/00-test.rules", &pond.udev_rules());
    pond.file(&format!("systemd/system/{}.d/test.conf", pond.array), &pond.changes());
    let prepare =
        format!("mkdir /srv/pond; /opt/shoal service install --mount /srv/pond --wait 600 {} {}", first.0, second.0);
    let machine = Machine::boot(&pond.bay, &[&first, &second], &prepare);
    let third = comes_up_when_its_last_drive_does(&pond, &machine);
    goes_on_when_its_server_is_killed_or_hangs(&pond, &machine);
    let third = takes_a_drive_back_that_is_plugged_in(&pond, &machine, third);
    stays_stopped_until_it_is_wanted(&pond, &machine);
    let lines = machine.run("wc -l </srv/pond/log");
    machine.run("systemctl start uses-files");
    machine.until("it is written to", || machine.run("wc -l </srv/pond/log") != lines);
    machine.powered_off();
    drop((first, second, third));
    was_left_in_order(&pond, &names(0..3));
}

/// As it was written, unit by unit; with one that tells people, which may do more than one that
/// does not.
#[test]
fn needs_root_systemd_runs_an_array_of_image_files_and_tells_people() {
    if !Machine::is_possible() {
        return;
    }
    let pond = Pond::new("--level 10 --chunk 64K --bitmap internal --assume-clean", 4);
    fs::create_dir(pond.bay.path("away")).unwrap();
    fs::rename(pond.bay.path("d3"), pond.bay.path("away/d3")).unwrap();
    pond.file("shoal/alerts.toml", "[[command]]\nprogram = \"/etc/shoal/tell\"\n");
    pond.file("shoal/tell", "#!/bin/sh\ncat >>/var/lib/told && echo >>/var/lib/told\n");
    let machine = Machine::boot(
        &pond.bay,
        &[],
        "mkdir /srv/pond; chmod 755 /etc/shoal/tell
         /opt/shoal service install --mount /srv/pond --wait 1 --alerts /etc/shoal/alerts.toml /srv/bay/d0 /srv/bay/d1 /srv/bay/d2",
    );
    machine.until("its user runs", || machine.show("uses-files.service", "ActiveState") == "active");
    pond.is_told(&machine, "raid10, degraded");
    let told = |kind: &str| machine.run(&format!("grep -c '\"kind\":\"{kind}\"' /var/lib/told || :"));
    machine.until("people are told", || told("array-degraded") == "1");
    // A crash before that is written down would have it told twice.
    let written = r#"grep -q '"waiting":\[\]' /var/lib/shoal/alerts-*.json"#;
    machine.until("that is written down", || machine.tried(written).status.success());
    let server = machine.show(&pond.array, "MainPID");
    machine.run(&format!("systemctl kill --kill-whom=main --signal=KILL '{}'", pond.array));
    machine.until("a new server runs", || {
        machine.show(&pond.array, "ActiveState") == "active" && machine.show(&pond.array, "MainPID") != server
    });
    machine.run("mv /srv/bay/away/d3 /srv/bay/d3; /opt/shoal hot-plug /srv/bay/d3");
    machine.until("it has all its members", || pond.health(&machine) == "optimal");
    machine.until("people are told that it is over", || told("array-recovered") == "1");
    assert_eq!(told("array-degraded"), "1", "a new server does not tell it again");
    machine.powered_off();
    was_left_in_order(&pond, &names(0..4));
}

/// The array waits for its members, the mount for the array, and everything else for the mount.
fn comes_up_when_its_last_drive_does(pond: &Pond, machine: &Machine) -> Loop {
    machine.until("the array waits", || machine.show(&pond.array, "StatusText").starts_with("waiting for members"));
    assert_eq!(machine.show(&pond.array, "ActiveState"), "activating");
    for unit in [&pond.mount, "local-fs.target", "needs-files.service"] {
        assert_eq!(machine.show(unit, "ActiveState"), "inactive", "{unit} comes after the array");
    }
    let third = Loop::attach(&pond.bay.path("d2"));
    machine.until("its user runs", || machine.show("uses-files.service", "ActiveState") == "active");
    assert_eq!(machine.run("cat /run/word"), "from the array");
    pond.is_told(machine, "raid5, optimal");
    assert!(machine.run("grep ' /srv/pond ' /proc/mounts").contains(" ext4 rw"));
    let order = [&pond.array, &pond.mount, "local-fs.target", "needs-files.service"];
    let moments = order.map(|unit| machine.show(unit, "ActiveEnterTimestampMonotonic").parse::<u64>().unwrap());
    assert!(moments.is_sorted() && moments[0] > 0, "{order:?}: {moments:?}");
    third
}

fn goes_on_when_its_server_is_killed_or_hangs(pond: &Pond, machine: &Machine) {
    let mount = machine.show(&pond.mount, "InvocationID");
    for (signal, result) in [("KILL", "signal"), ("STOP", "watchdog")] {
        let (server, lines) = (machine.show(&pond.array, "MainPID"), machine.run("wc -l </srv/pond/log"));
        machine.run(&format!("systemctl kill --kill-whom=main --signal={signal} '{}'", pond.array));
        machine.until(result, || machine.tried(&format!("grep -qx {result} /run/shoal/results")).status.success());
        machine.until("a new server runs", || {
            machine.show(&pond.array, "ActiveState") == "active" && machine.show(&pond.array, "MainPID") != server
        });
        machine.until("what is written goes on", || machine.run("wc -l </srv/pond/log") != lines);
        assert_eq!(machine.show(&pond.mount, "InvocationID"), mount, "what is mounted stays mounted");
        assert_eq!(machine.show("uses-files.service", "ActiveState"), "active");
    }
}

/// The kernel tells udev, udev the manager by the rule, the manager starts what hands the drive
/// over.
fn takes_a_drive_back_that_is_plugged_in(pond: &Pond, machine: &Machine, drive: Loop) -> Loop {
    let name = drive.0.clone();
    // The server was killed, so that parity is not yet known to agree with the data.
    machine.run(&format!("/opt/shoal rebuild --uuid {}", pond.uuid));
    machine.run(&format!("/opt/shoal fail --member {name} --uuid {}", pond.uuid));
    assert_eq!(pond.health(machine), "degraded");
    drop(drive);
    let lines = machine.run("wc -l </srv/pond/log");
    machine.until("it is written to meanwhile", || machine.run("wc -l </srv/pond/log") != lines);
    let drive = Loop::attach(&pond.bay.path("d2"));
    machine.until("it has all its members", || pond.health(machine) == "optimal");
    let hand = format!("shoal-hot-plug@{}.service", drive.name());
    machine.until("the drive was handed over", || machine.show(&hand, "ActiveState") == "inactive");
    assert_eq!(machine.show(&hand, "Result"), "success");
    drive
}

/// udev tells of every drive that was open for writing; that does not start an array again that
/// somebody has stopped.
fn stays_stopped_until_it_is_wanted(pond: &Pond, machine: &Machine) {
    machine.run("systemctl stop uses-files needs-files");
    // Servers were killed in the midst of writes, and no array is clean before that is made good.
    machine.until("parity is in step", || pond.status(machine)["needs_resync"] == false);
    machine.run(&format!("systemctl stop '{}' '{}'", pond.mount, pond.array));
    machine.run("udevadm settle");
    assert_eq!(machine.run("grep -c ' /srv/pond ' /proc/mounts || :"), "0");
    assert_eq!(machine.show(&pond.array, "ActiveState"), "inactive");
    assert_eq!(machine.run("tail -n 1 /run/shoal/results"), "success");
    machine.run(&format!("systemctl start '{}'", pond.mount));
    assert_eq!(machine.show(&pond.array, "ActiveState"), "active", "what is wanted is started");
    assert_eq!(pond.health(machine), "optimal");
}

/// The file system was unmounted before the array was stopped, and the array before the machine
/// was.
fn was_left_in_order(pond: &Pond, members: &str) {
    for member in members.split(' ') {
        let said = done(Command::new("mdadm").arg("--examine").arg(pond.bay.path(member)));
        assert!(said.contains("State : clean"), "{said}");
    }
    let state = pond.bay.json(&format!("status {members}"));
    assert_eq!(state["health"], "optimal", "{state}");
    let scrub = pond.bay.json(&format!("scrub {members}"));
    assert_eq!(scrub["mismatched_bytes"], 0, "{scrub}");
    let image = pond.bay.path("after.ext4");
    let content = pond.bay.done(&format!("read --length {CONTENT_BYTES} {members}")).stdout;
    fs::write(&image, content).unwrap();
    let header = done(Command::new("dumpe2fs").arg("-h").arg(&image));
    assert!(header.contains("Filesystem state:         clean\n") && !header.contains("needs_recovery"), "{header}");
    done(Command::new("e2fsck").args(["-f", "-n"]).arg(&image));
    is_counted_through(&image);
}

/// Every line is one more than the one before it, or the first of a new start.
fn is_counted_through(image: &Path) {
    let log = done(Command::new("debugfs").args(["-R", "cat /log"]).arg(image));
    let numbers: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
    let starts = numbers.iter().filter(|&&number| number == 1).count();
    assert!(starts > 0 && numbers[0] == 1, "{starts} starts");
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[1] == 1), "{log}");
}

fn done(command: &mut Command) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = command.env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
