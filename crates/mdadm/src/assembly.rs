//! Members go to md, are found there by another process, and come back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shoal_drive::{Access, Drive, Finding, survey};
use shoal_volume::{ArrayStatus, MemberState};

use crate::array::{KernelArray, Known};
use crate::choice::Choice;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::loops::LoopDevice;
use crate::patience::{LOOK_DISTANCE, patiently};
use crate::places::{
    MdDevice, backing_file, device_path, drive_behind, goes_by_itself, holder_of, kernel_name, same_drive,
};
use crate::status::member_states;
use crate::sysfs::Snapshot;
use crate::tools;

/// Those drives and no others, whatever the machine's configuration says; even if some are missing
/// that were there the last time; and nothing is written yet.
const ASSEMBLE_OPTIONS: [&str; 3] = ["--config=/dev/null", "--run", "--readonly"];
/// How long md may take over letting an array go: others may be looking at it.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// How long a process may take over closing the array's device.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

impl KernelArray {
    /// Hands the chosen drives over. Nothing is written before md has taken just those members for
    /// good that shoal chose.
    pub fn assemble(kernel: Kernel, choice: &Choice) -> Result<Self, KernelError> {
        let name = &choice.status.name;
        if let Some(why) = choice.objection() {
            return Err(KernelError::NotForKernel { name: name.clone(), why });
        }
        for drive in &choice.drives {
            refuse_in_use(drive)?;
        }
        let members = Members::prepare(&choice.drives, !choice.writable)?;
        let device = MdDevice::unused().ok_or_else(|| KernelError::Refused {
            what: format!("array {name}"),
            why: "all 128 numbers of md's devices are taken: stop an array that nobody needs",
        })?;
        let node = device.path();
        let mut line: Vec<&OsStr> = vec!["--assemble".as_ref(), node.as_os_str()];
        line.extend(ASSEMBLE_OPTIONS.map(OsStr::new));
        line.extend(choice.force.then_some(OsStr::new("--force")));
        line.extend(members.nodes.iter().map(|node| node.as_os_str()));
        let assembled = tools::run("mdadm", line);
        let checked = assembled.and_then(|_| check(&device, choice));
        let made_writable = checked.and_then(|()| if choice.writable { make_writable(&device) } else { Ok(()) });
        if let Err(error) = made_writable {
            // Whatever it has become by now, it is not what was asked for.
            let _ = device.let_go();
            return Err(error);
        }
        let array = Self::of(kernel, device.clone(), choice.status.clone(), members.known);
        array.inspect_err(|_| drop(device.let_go()))
    }

    /// Takes over an array that md runs already: whoever had it is gone, or it was assembled by
    /// somebody else. `status` is what its superblocks say; `names` are drives as people name them.
    /// It stays if what follows fails.
    pub fn take_over(
        kernel: Kernel,
        device: MdDevice,
        status: ArrayStatus,
        names: &[PathBuf],
        writable: bool,
    ) -> Result<Self, KernelError> {
        let mut array = Self::watch(kernel, device, status, names)?;
        if writable && array.snapshot().is_read_only() {
            make_writable(array.device())?;
            array.look()?;
        }
        // Held against others as they would be if they had been handed over by this process.
        array.lock_drives();
        Ok(array)
    }

    /// An array that md runs, to be looked at: it stays when this goes.
    pub fn watch(
        kernel: Kernel,
        device: MdDevice,
        status: ArrayStatus,
        names: &[PathBuf],
    ) -> Result<Self, KernelError> {
        let known = known(&device, names);
        let mut array = Self::of(kernel, device, status, known)?;
        array.is_held = false;
        Ok(array)
    }

    /// Has md let the array go, and waits until its members are free.
    pub(crate) fn release(&mut self) -> Result<(), KernelError> {
        let names = self.device().device_names();
        // Those that go by themselves; what others have set up is theirs to undo.
        let passing = names.into_iter().filter(|name| goes_by_itself(name));
        let passing: Vec<_> = passing.map(|name| (backing_file(&name), name)).collect();
        let node = self.device().path();
        // Whoever has just closed it may still be seen there for a moment.
        if patiently(CLOSE_PATIENCE, || refuse_in_use(&node).is_ok(), "").is_err() {
            return refuse_in_use(&node);
        }
        let start = Instant::now();
        loop {
            match self.device().let_go() {
                Ok(()) => break,
                Err(error) if start.elapsed() > STOP_PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(LOOK_DISTANCE),
            }
        }
        let directory = self.device().directory();
        patiently(STOP_PATIENCE, || !directory.exists(), "the array's device is still there")?;
        // They go when md has closed them, which it does in its own time.
        let is_gone = |(file, name): &(Option<PathBuf>, String)| backing_file(name) != *file;
        patiently(STOP_PATIENCE, || passing.iter().all(is_gone), "a loop device of a member is still there")?;
        self.forget_drives();
        self.read_superblock();
        self.is_held = false;
        Ok(())
    }
}

impl Drop for KernelArray {
    /// Whoever had it did not come to an orderly end, and there is nobody to tell what went wrong.
    fn drop(&mut self) {
        if self.is_held {
            let _ = self.release();
        }
    }
}

/// The devices of an array, named as people name them where that is known.
fn known(device: &MdDevice, names: &[PathBuf]) -> Vec<Known> {
    let known = |kernel_name: String| {
        let drive = drive_behind(&kernel_name);
        let path = names.iter().find(|name| same_drive(name, &drive)).unwrap_or(&drive).clone();
        Known { kernel_name, path, lock: None }
    };
    device.device_names().into_iter().map(known).collect()
}

/// Drives as md takes them: devices, and loop devices over files, which are held until md has them.
struct Members {
    nodes: Vec<PathBuf>,
    known: Vec<Known>,
    loops: Vec<LoopDevice>,
}

impl Members {
    fn prepare(drives: &[PathBuf], read_only: bool) -> Result<Self, KernelError> {
        let mut members = Self { nodes: Vec::new(), known: Vec::new(), loops: Vec::new() };
        for drive in drives {
            let (known, held) = prepare(drive, lock(drive, read_only)?)?;
            members.nodes.push(device_path(&known.kernel_name));
            members.known.push(known);
            members.loops.extend(held);
        }
        if !members.loops.is_empty() {
            members.stop_automatic()?;
        }
        Ok(members)
    }

    /// Where udev assembles every member that appears, it may have been faster: nobody uses what it
    /// has made of loop devices that are a moment old, and it has not been told which members are
    /// to be used.
    fn stop_automatic(&self) -> Result<(), KernelError> {
        if Path::new("/run/udev/control").exists() && tools::program("udevadm").is_some() {
            let _ = tools::run("udevadm", ["settle", "--timeout=10"]);
        }
        while let Some(device) = self.nodes.iter().find_map(|node| holder_of(node)) {
            device.let_go()?;
        }
        Ok(())
    }
}

/// A file, locked for as long as md has it; of a device nothing, as md claims it itself.
fn lock(drive: &Path, read_only: bool) -> Result<Option<Drive>, KernelError> {
    if !drive.is_file() {
        return Ok(None);
    }
    let in_use = |error: shoal_drive::OpenError| KernelError::InUse {
        drive: drive.display().to_string(),
        how: error.to_string(),
    };
    let access = if read_only { Access::Read } else { Access::Write };
    let mut opened = Drive::open(drive, access).map_err(in_use)?;
    opened.keep_writers_out().map_err(in_use)?;
    Ok(Some(opened))
}

/// Makes a drive one that md can take. What keeps a loop device alive meanwhile comes beside it.
pub(crate) fn prepare(drive: &Path, opened: Option<Drive>) -> Result<(Known, Option<LoopDevice>), KernelError> {
    if !drive.is_file() {
        // md wants to claim it itself.
        drop(opened);
        let kernel_name = kernel_name(drive).ok_or_else(|| not_there(drive))?;
        return Ok((Known { kernel_name, path: drive.to_owned(), lock: None }, None));
    }
    let lock = opened.map_or_else(|| lock(drive, false), |drive| Ok(Some(drive)))?;
    let held = LoopDevice::attach(drive)?;
    let kernel_name = kernel_name(held.path()).ok_or_else(|| not_there(drive))?;
    Ok((Known { kernel_name, path: drive.to_owned(), lock }, Some(held)))
}

fn not_there(drive: &Path) -> KernelError {
    KernelError::NotAMember { drive: drive.display().to_string() }
}

fn refuse_in_use(drive: &Path) -> Result<(), KernelError> {
    let findings = survey(drive).map(|survey| survey.findings).unwrap_or_default();
    let used = findings.into_iter().find_map(|finding| match finding {
        Finding::InUse { how } => Some(how),
        Finding::Signature { .. } => None,
    });
    used.map_or(Ok(()), |how| Err(KernelError::InUse { drive: drive.display().to_string(), how }))
}

/// Whether md has the members that shoal chose, each in its role.
fn check(device: &MdDevice, choice: &Choice) -> Result<(), KernelError> {
    let snapshot = Snapshot::read(&device.directory())?;
    let roles = |states: &[MemberState]| -> BTreeSet<usize> {
        let in_sync = states.iter().enumerate().filter(|(_, state)| **state == MemberState::InSync);
        in_sync.map(|(role, _)| role).collect()
    };
    let states: Vec<_> = choice.status.members.iter().map(|member| member.state).collect();
    let (chosen, taken) = (roles(&states), roles(&member_states(&snapshot, states.len())));
    if chosen == taken && !snapshot.is_inactive() {
        return Ok(());
    }
    let name = choice.status.name.clone();
    Err(KernelError::OtherMembers { name, taken: taken.len(), chosen: chosen.len() })
}

fn make_writable(device: &MdDevice) -> Result<(), KernelError> {
    tools::run("mdadm", ["--readwrite".as_ref(), device.path().as_os_str()]).map(drop)
}
