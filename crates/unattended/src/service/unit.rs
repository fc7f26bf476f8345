//! systemd's units, as text.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use shoal_md::Uuid;

use super::{Manager, Service, array_unit, gone_unit, mount_unit};

/// How long the manager waits for a beat of the array's loop. A drive that hangs does not hang the
/// loop; an administrator's command may, for as long as the kernel tries to reach a drive again
/// (some 30 s a time).
const WATCHDOG: &str = "3min";
/// What is still in drives' caches when an array is stopped may take sticks a while.
const STOP_PATIENCE: &str = "5min";
/// How much longer than it waits for its members a server may take to be ready: to replay a log,
/// and write superblocks.
const START_MARGIN: Duration = Duration::from_secs(120);

/// What keeps the process that runs an array to what it needs: its drives, its sockets, its state.
/// No private `/tmp`: see [`super`]. `ProtectClock` and other options that allow single devices
/// would forbid all others, hence the list.
const CONFINEMENT: &str = "\
DevicePolicy=closed
DeviceAllow=block-* rw
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
";

/// Files and rights. Who is told of news by mail or command needs what these need: a mail system
/// keeps its queue below `/var`, and works under a user of its own.
fn rights(service: &Service) -> &'static str {
    match service.alerts {
        None => "ProtectSystem=strict\nCapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_IPC_LOCK CAP_SYS_NICE\n",
        Some(_) => {
            "ProtectSystem=full\nCapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_IPC_LOCK CAP_SETGID CAP_SETUID CAP_SYS_NICE\n"
        }
    }
}

/// Runs the array.
pub(super) fn array(service: &Service) -> String {
    let start = service.patience + START_MARGIN;
    let alerts = service.alerts.as_ref().map_or(String::new(), |path| format!(" --alerts {}", quoted(path)));
    let mut text = header(service, &format!("Array {}, run by shoal", service.plain_name()), "shoal-serve");
    if service.manager == Manager::System {
        // Device nodes come from udev; waiting for them is the process's own task.
        text += "Wants=systemd-udevd.service\nAfter=systemd-udevd.service\n";
    }
    if let Some(directory) = &service.image_directory {
        text += &format!("RequiresMountsFor={}\n", quoted(directory));
    }
    if service.alerts.is_some() {
        text += &format!("OnFailure={}\n", gone_unit(&service.array().uuid));
    }
    text += "StartLimitIntervalSec=10min\nStartLimitBurst=5\n\n[Service]\nType=notify\nNotifyAccess=main\n";
    text += &format!(
        "ExecStart={} --quiet serve --uuid {}{} --wait {} --degraded{alerts}\n",
        quoted(&service.program),
        service.array().uuid,
        scan(service),
        service.patience.as_secs()
    );
    text += &format!("WatchdogSec={WATCHDOG}\nTimeoutStartSec={}\nTimeoutStopSec={STOP_PATIENCE}\n", start.as_secs());
    // Wrong usage, and what was refused for safety, will be so again. A drive that is in use (4)
    // may be free then.
    text += "Restart=on-failure\nRestartSec=2\nRestartPreventExitStatus=2 3\nLimitMEMLOCK=infinity\n";
    if service.manager == Manager::System {
        // A process that is killed for memory takes an array's content away from everybody.
        text +=
            "OOMScoreAdjust=-900\nRuntimeDirectory=shoal\nRuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes\n";
        text += "StateDirectory=shoal\nStateDirectoryMode=0700\n";
        text += CONFINEMENT;
        text += rights(service);
        if let Some(directory) = &service.image_directory {
            text += &format!("ReadWritePaths={}\n", quoted(directory));
        }
    }
    text + &install(service, "multi-user.target")
}

/// Tells people that nobody runs the array any more: the manager has given up. Who could not even
/// begin has told so by itself.
pub(super) fn gone(service: &Service, alerts: &Path) -> String {
    let array = service.array();
    let text = format!("[Unit]\nDescription=Tell that nobody runs array {}\n", service.plain_name());
    // As the array's own: it may be told before all is mounted.
    let early = if service.manager == Manager::System { "DefaultDependencies=no\n" } else { "" };
    let text = text + "Documentation=man:shoal-alert(1)\n" + early;
    let program = quoted(&service.program);
    text + &format!(
        "\n[Service]\nType=oneshot\nExecStart={program} alert --gone {} {}\nTimeoutStartSec=5min\n",
        array.uuid,
        quoted(alerts)
    )
}

/// Mounts its file system. Not confined: a mount in a namespace of its own would be nobody's.
pub(super) fn mount(service: &Service, mount_point: &Path) -> String {
    let uuid = service.array().uuid;
    let array = array_unit(&uuid);
    let description = format!("File system of array {}", service.plain_name());
    let mut text = header(service, &description, "shoal-mount");
    text += &format!("Wants={array}\nAfter={array}\nRequiresMountsFor={}\n", quoted(parent(mount_point)));
    if service.manager == Manager::System {
        text +=
            &format!("Before=local-fs.target\nAfter=local-fs-pre.target\nAssertPathExists=/run/shoal/{uuid}.sock\n");
    }
    let program = quoted(&service.program);
    text += &format!(
        "\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart={program} mount --uuid {uuid} {}\n",
        quoted(mount_point)
    );
    // By the array: that somebody has unmounted it already is no failure, and what served it is
    // still to be taken down.
    text += &format!("ExecStop={program} unmount --uuid {uuid}\nTimeoutSec=5min\n");
    text + &install(service, "local-fs.target")
}

/// What is added to the manager's own unit for whatever is mounted there. The manager unmounts
/// everything when the machine stops; without an order it would do so while what serves the file
/// system is stopped too.
pub(super) fn mounted(service: &Service) -> String {
    format!("[Unit]\nAfter={}\n", mount_unit(&service.array().uuid))
}

/// Where a front that goes through FUSE shows the array as a file, on which a loop device lies,
/// which is what is mounted.
pub(super) fn front_place(uuid: &Uuid) -> PathBuf {
    PathBuf::from(format!("/run/shoal/{uuid}.file"))
}

/// What is added to the manager's unit for that: it is taken down with the mount, and the manager
/// could only fail to.
pub(super) const FRONT: &str = "[Unit]\nDefaultDependencies=no\n";

/// The manager's name for what is mounted at a path (`systemd-escape --path`).
pub(super) fn mounted_unit(mount_point: &Path) -> String {
    let path = mount_point.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    let mut name = String::new();
    for (number, part) in path.enumerate() {
        name += if number > 0 { "-" } else { "" };
        for &byte in part {
            let is_plain = byte.is_ascii_alphanumeric() || b":_.".contains(&byte) && !(name.is_empty() && byte == b'.');
            if is_plain { name.push(byte.into()) } else { name += &format!("\\x{byte:02x}") }
        }
    }
    if name.is_empty() { "-.mount".to_owned() } else { name + ".mount" }
}

/// Hands one drive to its array. It may have to wait until that is ready.
pub(super) fn hot_plug(service: &Service) -> String {
    let mut text = header(service, "Hand drive %i to its array", "shoal-hot-plug");
    text += &format!("\n[Service]\nType=oneshot\nExecStart={} hot-plug /dev/%i\n", quoted(&service.program));
    text += &format!("TimeoutStartSec={}\n", (service.patience + START_MARGIN * 2).as_secs());
    text
}

/// Keeps the servers of all shares, which stop and start with what is mounted. Not confined: Samba
/// and the others are services of their own kind.
pub(super) fn shares(service: &Service) -> String {
    let mut text = "[Unit]\nDescription=Shares, kept by shoal\nDocumentation=man:shoal-share(1)\n".to_owned();
    text += "Wants=network-online.target\nAfter=network-online.target local-fs.target remote-fs.target\n";
    text += &format!("\n[Service]\nType=exec\nExecStart={} --quiet share --serve\n", quoted(&service.program));
    text += "Restart=on-failure\nRestartSec=5\nTimeoutStopSec=2min\n";
    text + &install(service, "multi-user.target")
}

/// What all of them begin with. A user's manager has none of the machine's targets, and nothing is
/// before it.
fn header(service: &Service, description: &str, manual: &str) -> String {
    let text = format!("[Unit]\nDescription={description}\nDocumentation=man:{manual}(1)\n");
    match service.manager {
        Manager::System => text + "DefaultDependencies=no\nConflicts=shutdown.target\nBefore=shutdown.target\n",
        Manager::User(_) => text,
    }
}

fn install(service: &Service, target: &str) -> String {
    let target = if service.manager == Manager::System { target } else { "default.target" };
    format!("\n[Install]\nWantedBy={target}\n")
}

/// Image files are looked for where they lay; devices, everywhere.
fn scan(service: &Service) -> String {
    service.image_directory.iter().map(|directory| format!(" --scan {}", quoted(directory))).collect()
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A word of a unit file: systemd takes `%`, `$`, `\` and quotes for something else.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/-_.:+@,=".contains(it);
    if path.chars().all(is_plain) {
        return path;
    }
    let mut word = String::from("\"");
    for character in path.chars() {
        match character {
            '%' | '$' => word.extend([character, character]),
            '"' | '\\' => word.extend(['\\', character]),
            '\n' => word.push_str("\\n"),
            _ => word.push(character),
        }
    }
    word + "\""
}
