//! Finding the kernel and its modules, and the command that starts it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::places::{modules_in_order, program};
use crate::{Guest, GuestError, Missing, SHARED, processor, registers};

/// Where Debian's package puts the modules.
const MODULES: &str = "/usr/lib/uml/modules";
/// What md and the drives need, by name; what these need in turn is found.
const WANTED: [&str; 8] = ["loop", "linear", "raid0", "raid1", "raid10", "raid456", "ext4", "nbd"];
/// Programs that scripts use.
const PROGRAMS: [&str; 5] = ["mdadm", "losetup", "mkfs.ext4", "insmod", "stty"];
/// The guest's memory: it caches what the loop devices read and write.
const MEMORY: &str = "384M";

/// Everything that a guest is made from.
#[derive(Clone, Debug)]
pub struct Lab {
    kernel: PathBuf,
    /// In the order in which they have to be loaded.
    modules: Vec<PathBuf>,
}

impl Lab {
    /// Finds all that is needed, or says what is missing.
    pub fn find() -> Result<Self, Missing> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Missing("User-Mode Linux on x86-64".to_owned()));
        }
        let kernel = program("linux.uml").ok_or_else(|| Missing("linux.uml (package user-mode-linux)".to_owned()))?;
        if let Some(name) = PROGRAMS.iter().find(|name| program(name).is_none()) {
            return Err(Missing((*name).to_owned()));
        }
        let modules = modules_of(&kernel).ok_or_else(|| Missing(format!("the kernel's modules in {MODULES}")))?;
        Ok(Self { kernel, modules })
    }

    /// Starts a guest that shares `directory`, an absolute path, and waits until it takes scripts.
    pub fn boot(&self, directory: &Path) -> Result<Guest, GuestError> {
        Guest::boot(self, directory)
    }

    /// Starts the process, which has its own process group, and `init` as the guest's first
    /// process.
    pub(crate) fn start(&self, directory: &Path, init: &Path) -> io::Result<Child> {
        let modules: Vec<_> = self.modules.iter().map(|path| path.display().to_string()).collect();
        let mut command = Command::new(&self.kernel);
        command
            .arg(format!("mem={MEMORY}"))
            .args([
                "quiet",
                "loglevel=1",
                "root=/dev/root",
                "rootfstype=hostfs",
                "rootflags=/",
                "ro",
                "con=null",
                "con0=fd:0,fd:1",
            ])
            .arg(format!("init={}", init.display()))
            .arg(format!("SHARED={SHARED}"))
            .arg(format!("FROM={}", directory.display()))
            .arg(format!("MODULES={}", modules.join(",")))
            .args(registers::PROGRAMS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        // Filter and processor stay with the thread that asks for them and with what that starts:
        // so the thread is a new one.
        std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                processor::keep_to_one()?;
                registers::hide_extended_state().map_err(io::Error::other)?;
                command.spawn()
            });
            starter.join().expect("it does not panic")
        })
    }
}

/// The modules that belong to the kernel.
fn modules_of(kernel: &Path) -> Option<Vec<PathBuf>> {
    let version = Command::new(kernel).arg("--version").output().ok()?.stdout;
    modules_in_order(&Path::new(MODULES).join(String::from_utf8(version).ok()?.trim()), &WANTED)
}
