//! The machine that QEMU emulates: finding its parts, and the command line that starts it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Stick;
use super::archive::Archive;
use crate::places::{modules_in_order, program};
use crate::{Guest, GuestError, Missing};

/// A kernel for x86-64 that a machine may run.
pub(crate) struct Kernel {
    /// Where `scripts/setup test` unpacks Debian's, and where one is that was installed.
    places: [&'static str; 2],
    /// The modules that tests need, by file name; what these need in turn is found. Checksums are
    /// asked for by name only.
    wanted: &'static [&'static str],
    /// The one of them without which it is not the kernel that is wanted.
    proof: &'static str,
    what: &'static str,
}

/// The one with USB 2.0 sticks and md.
pub(super) const USB: Kernel = Kernel {
    places: [concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/usb-kernel"), "/"],
    wanted: &[
        "crc32c_generic",
        "crct10dif_generic",
        "ehci-pci",
        "usb-storage",
        "sd_mod",
        "linear",
        "raid0",
        "raid1",
        "raid10",
        "raid456",
        "ext4",
    ],
    proof: "ehci-pci.ko",
    what: "a kernel for x86-64 with EHCI and md as modules",
};

/// The one with ublk.
pub(crate) const UBLK: Kernel = Kernel {
    places: [concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/ublk-kernel"), "/"],
    wanted: &["crc32c_generic", "crct10dif_generic", "ublk_drv", "ext4"],
    proof: "ublk_drv.ko",
    what: "Linux 6.4 or later for x86-64 with ublk as a module",
};

const EMULATOR: &str = "qemu-system-x86_64";
const SHELL: &str = "busybox";
const INIT: &str = include_str!("init.sh");
const MEMORY: &str = "1G";
/// A guest is started so often at most.
const BOOTS_MAX: u32 = 3;

/// What a machine is made from.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    emulator: PathBuf,
    kernel: PathBuf,
    shell: PathBuf,
    /// In the order in which they have to be loaded.
    modules: Vec<PathBuf>,
}

impl Parts {
    pub(crate) fn find(wanted: &Kernel) -> Result<Self, Missing> {
        let part =
            |name: &str, package: &str| program(name).ok_or_else(|| Missing(format!("{name} (package {package})")));
        part("setpriv", "util-linux")?;
        let emulator = part(EMULATOR, "qemu-system-x86")?;
        let shell = part(SHELL, "busybox-static")?;
        let (kernel, modules) = wanted
            .places
            .iter()
            .find_map(|root| wanted.find_below(Path::new(root)))
            .ok_or_else(|| Missing(wanted.what.to_owned()))?;
        Ok(Self { emulator, kernel, shell, modules })
    }

    /// The guest's root, with programs of the host at their own places.
    pub(crate) fn root(&self, programs: &[PathBuf], sticks: usize) -> io::Result<Vec<u8>> {
        self.root_with(INIT, programs, sticks)
    }

    /// The same, with another first process than the one that takes scripts.
    pub(crate) fn root_with(&self, init: &str, programs: &[PathBuf], sticks: usize) -> io::Result<Vec<u8>> {
        let mut root = Archive::default();
        root.add_file(Path::new("/bin/busybox"), &self.shell)?;
        root.add_link(Path::new("/bin/sh"), "busybox");
        let mut modules = Vec::new();
        for module in &self.modules {
            let place = Path::new("/modules").join(module.file_name().expect("a module is a file"));
            root.add_file(&place, module)?;
            modules.push(place.display().to_string());
        }
        let (first, rest) = init.split_once('\n').expect("a script has lines");
        let settings = format!("{first}\nSTICKS={sticks} MODULES='{}'\n{rest}", modules.join(" "));
        root.add_bytes(Path::new("/init"), settings.as_bytes());
        let mut libraries = Vec::new();
        for program in programs {
            root.add_file(program, program)?;
            libraries.extend(libraries_of(program)?);
        }
        libraries.sort();
        libraries.dedup();
        for library in libraries {
            root.add_file(&library, &library)?;
        }
        Ok(root.finish())
    }

    /// Starts it as [`Self::start`] does, and waits until it takes scripts. A kernel that dies
    /// before, as emulated ones now and then do on a busy host, is started anew.
    pub(crate) fn boot(
        &self,
        directory: &Path,
        buses: usize,
        sticks: &[Stick],
        prelude: &'static str,
    ) -> Result<Guest, GuestError> {
        let mut earlier = String::new();
        for _ in 0..BOOTS_MAX {
            match Guest::over_console(self.start(directory, buses, sticks)?, prelude) {
                Err(GuestError::Lost { output, .. }) => {
                    let said = std::fs::read_to_string(directory.join("kernel.log")).unwrap_or_default();
                    earlier += &format!("{output}{said}\n");
                }
                started => return started,
            }
        }
        Err(GuestError::Lost { what: "dies each time", script: "starting".to_owned(), output: earlier })
    }

    /// Starts it, in a process group of its own, with its console as standard input and output.
    /// `directory` holds its root, what the kernel says, and the control socket.
    pub(crate) fn start(&self, directory: &Path, buses: usize, sticks: &[Stick]) -> io::Result<Child> {
        // It has no end of its own: it goes with the thread that starts it, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.emulator);
        // Two processors, so that the one that measures is not the one that answers interrupts.
        command
            .args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", MEMORY])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
            .args(["-serial", "file:kernel.log", "-serial", "stdio", "-qmp", "unix:control,server=on,wait=off"])
            .arg("-kernel")
            .arg(&self.kernel)
            // On a host that does much else timers seem broken to the guest's kernel, which gives
            // up then unless told not to look.
            .args([
                "-initrd",
                "root",
                "-append",
                "console=ttyS0 quiet loglevel=1 panic=-1 random.trust_cpu=on no_timer_check",
            ]);
        for bus in 0..buses {
            command.arg("-device").arg(format!("usb-ehci,id=bus{bus}"));
        }
        for (number, stick) in sticks.iter().enumerate() {
            for (option, value) in stick.options(number) {
                command.arg(option).arg(value);
            }
        }
        command.current_dir(directory).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()
    }
}

impl Stick {
    /// Its limits, its content and the device. The content stays when the device is pulled.
    fn options(&self, number: usize) -> [(&'static str, String); 3] {
        let Self { image, limits, .. } = self;
        let limits = limits.map_or(String::new(), |limits| {
            format!(r#""bps-read":{},"bps-write":{}"#, limits.read_bytes_per_s, limits.write_bytes_per_s)
        });
        // The host may cache what is written, and never syncs: its own disk is not to be measured.
        let file = format!(
            r#"{{"driver":"raw","cache":{{"no-flush":true}},"file":{{"driver":"file","filename":"{}"}}}}"#,
            image.display()
        );
        [
            ("-object", format!(r#"{{"qom-type":"throttle-group","id":"limits{number}","limits":{{{limits}}}}}"#)),
            (
                "-blockdev",
                format!(
                    r#"{{"driver":"throttle","node-name":"content{number}","throttle-group":"limits{number}","file":{file}}}"#
                ),
            ),
            ("-device", self.device(number)),
        ]
    }

    /// The device alone, as an object.
    pub(super) fn device(&self, number: usize) -> String {
        format!(
            r#"{{"driver":"usb-storage","id":"stick{number}","bus":"bus{}.0","drive":"content{number}","serial":"{}"}}"#,
            self.bus,
            Self::serial(number)
        )
    }
}

impl Kernel {
    /// The kernel and its modules in Debian's places below `root`.
    fn find_below(&self, root: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
        let versions = std::fs::read_dir(root.join("lib/modules")).ok()?;
        versions.filter_map(Result::ok).find_map(|version| {
            let kernel = root.join("boot").join(format!("vmlinuz-{}", version.file_name().to_str()?));
            std::fs::File::open(&kernel).ok()?;
            let modules = modules_in_order(&version.path(), self.wanted)?;
            modules.iter().any(|module| module.ends_with(self.proof)).then_some((kernel, modules))
        })
    }
}

/// The shared libraries of a program, and what loads them.
fn libraries_of(program: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = Command::new("ldd").arg(program).output()?;
    // "libc.so.6 => /lib/libc.so.6 (0x...)"; a static program has no such line.
    let words = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(words
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .collect())
}
