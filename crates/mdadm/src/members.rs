//! Devices fail, come and go in an array that md runs.
//!
//! What md does by itself when told (counting members out, filling spares) it does a moment later,
//! in a thread of its own. So a command waits until md has begun what follows from it: whoever asks
//! next how things are is not told of a rest before the work.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use shoal_drive::Drive;
use shoal_volume::{ArrayStatus, Health, MemberState};

use crate::array::KernelArray;
use crate::assembly::prepare;
use crate::error::KernelError;
use crate::patience::patiently;
use crate::places::{device_path, same_drive};
use crate::status::{health, member_states, progress};
use crate::sysfs::{Device, Snapshot};
use crate::tools;

/// How long md may take to begin what follows from a command.
pub(crate) const BEGIN_PATIENCE: Duration = Duration::from_secs(5);
/// How long md may take to let a device go that failed: I/O may be under way on it.
const REMOVE_PATIENCE: Duration = Duration::from_secs(60);

impl KernelArray {
    /// Takes a member out, for good, or ends the filling of a replacement. Refused where data would
    /// be lost by it.
    pub fn fail(&mut self, member: &Path) -> Result<(), KernelError> {
        self.look()?;
        let device = self.device_at(member).filter(|device| !device.is_faulty && device.slot.is_some());
        let device = device.ok_or_else(|| not_a_member(member))?;
        let refused =
            |why| Err(KernelError::Refused { what: format!("{} cannot be taken out", member.display()), why });
        if self.snapshot.is_read_only() {
            return refused("the array is open for reading only");
        }
        if !device.is_replacement && !self.survives_without(device) {
            return refused("the array has no redundancy for this, or the member holds the last copy of some data");
        }
        let (name, was) = (device.name.clone(), self.snapshot.clone());
        self.write(&format!("dev-{name}/state"), "faulty")?;
        if was.spares().next().is_some() {
            self.wait_until_begun()?;
        }
        self.look()
    }

    fn survives_without(&self, device: &Device) -> bool {
        let ArrayStatus { level, chunk_bytes, redundancy, .. } = self.base;
        let mut states = member_states(&self.snapshot, self.base.members.len());
        // A member that is being filled is not what the data depend on.
        if let Some(state) = device.slot.and_then(|slot| states.get_mut(usize::from(slot))) {
            *state = MemberState::Missing;
        }
        health(level, chunk_bytes, redundancy, &states) != Health::Failed
    }

    /// Adds a drive, whose content is lost: as a spare, or in the place of a missing member.
    pub fn add(&mut self, path: &Path, opened: Drive) -> Result<(), KernelError> {
        self.look()?;
        self.refuse_if_read_only("a drive cannot be added")?;
        self.add_spare(path, opened)?;
        self.wait_until_begun()?;
        self.look()
    }

    /// Hands a drive to md, to wait until it is needed; what it is called there.
    pub(crate) fn add_spare(&mut self, path: &Path, opened: Drive) -> Result<String, KernelError> {
        let (known, held) = prepare(path, Some(opened))?;
        let node = device_path(&known.kernel_name);
        // What is left of other arrays, of any version; there may be nothing.
        let _ = tools::run("mdadm", ["--zero-superblock".as_ref(), node.as_os_str()]);
        self.manage(&["--add-spare".as_ref(), node.as_os_str()])?;
        drop(held);
        let name = known.kernel_name.clone();
        self.known.push(known);
        Ok(name)
    }

    /// Lets a drive go that failed, or a spare, which loses its superblock: it holds nothing, and
    /// would be taken for a spare again.
    pub fn remove(&mut self, drive: &Path) -> Result<(), KernelError> {
        self.look()?;
        let Some(device) = self.device_at(drive) else { return self.forget_left_out(drive) };
        if !device.is_faulty && (device.slot.is_some() || device.is_journal) {
            let what = format!("{} is in use in the array", drive.display());
            return Err(KernelError::Unsupported {
                what,
                why: "let it fail first (`fail`), or replace it (`replace`)",
            });
        }
        let (name, is_spare) = (device.name.clone(), !device.is_faulty);
        self.remove_device(&name)?;
        if is_spare {
            // One that does not take that stays what it says.
            let _ = tools::run("mdadm", ["--zero-superblock".as_ref(), drive.as_os_str()]);
        }
        self.look()
    }

    pub(crate) fn remove_device(&mut self, name: &str) -> Result<(), KernelError> {
        let start = Instant::now();
        // It is busy until md has taken it out of its role, and all I/O on it has ended.
        while let Err(error) = self.write(&format!("dev-{name}/state"), "remove") {
            if start.elapsed() > REMOVE_PATIENCE {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let directory = self.device.directory().join(format!("dev-{name}"));
        patiently(REMOVE_PATIENCE, || !directory.exists(), "the device is still in the array")?;
        self.known.retain(|known| known.kernel_name != name);
        Ok(())
    }

    fn forget_left_out(&mut self, drive: &Path) -> Result<(), KernelError> {
        let place = self.base.left_out.iter().position(|left_out| same_drive(Path::new(&left_out.name), drive));
        self.base.left_out.remove(place.ok_or_else(|| not_a_member(drive))?);
        Ok(())
    }

    /// Copies a member to another drive, which takes its place: a spare that the array has, or one
    /// that comes along and whose content is lost.
    pub fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), KernelError> {
        self.look()?;
        let refused = |why| Err(KernelError::Refused { what: format!("{} cannot be replaced", member.display()), why });
        let device = self.device_at(member).filter(|device| !device.is_faulty && !device.is_replacement);
        let (Some(device), Some(role)) = (device, device.and_then(|device| device.slot)) else {
            return Err(not_a_member(member));
        };
        let old = device_path(&device.name);
        if self.snapshot.is_read_only() {
            return refused("the array is open for reading only");
        }
        if !device.is_in_sync {
            return refused("the member is being rebuilt");
        }
        if self.snapshot.replacement(role).is_some() {
            return refused("it is being replaced already");
        }
        if self.base.redundancy == 0 {
            return refused("Linux replaces members of levels with redundancy only: let shoal run the array for this");
        }
        if let Some(opened) = opened {
            self.add(spare, opened)?;
        }
        let spare = self.device_at(spare).map(|device| device_path(&device.name)).ok_or_else(|| not_a_member(spare))?;
        self.manage(&["--replace".as_ref(), old.as_os_str(), "--with".as_ref(), spare.as_os_str()])?;
        self.wait_until_begun()?;
        self.look()
    }

    /// Takes a former member back; only what changed meanwhile is copied to it, by the array's
    /// bitmap. `opened` is the drive if it is not in the array any more.
    pub fn re_add(&mut self, path: &Path, opened: Option<Drive>) -> Result<(), KernelError> {
        self.look()?;
        self.refuse_if_read_only("a drive cannot be taken back")?;
        let mut opened = opened;
        if let Some(device) = self.device_at(path) {
            if !device.is_faulty {
                let what = format!("{} is in use in the array", path.display());
                return Err(KernelError::Unsupported { what, why: "there is nothing to take back" });
            }
            let name = device.name.clone();
            opened = self.take_lock(&name);
            self.remove_device(&name)?;
        }
        let (known, held) = prepare(path, opened)?;
        let node = device_path(&known.kernel_name);
        if self.manage(&["--re-add".as_ref(), node.as_os_str()]).is_err() {
            let what = format!("{} cannot be re-added", path.display());
            let why =
                "the array's bitmap does not know what it missed: add it as a new drive, which rebuilds all of it";
            return Err(KernelError::Refused { what, why });
        }
        drop(held);
        self.base.left_out.retain(|left_out| !same_drive(Path::new(&left_out.name), path));
        self.known.push(known);
        self.wait_until_begun()?;
        self.look()
    }

    /// Waits until md has begun what there is to do: no spare waits while a member is missing or to
    /// be replaced.
    pub(crate) fn wait_until_begun(&mut self) -> Result<(), KernelError> {
        let (directory, count) = (self.device.directory(), self.base.members.len());
        let has_begun = || {
            let Ok(snapshot) = Snapshot::read(&directory) else { return true };
            let states = member_states(&snapshot, count);
            let waits = snapshot.spares().next().is_some() && states.contains(&MemberState::Missing);
            let unfilled = states.iter().any(|state| matches!(state, MemberState::Rebuilding { .. }));
            progress(&snapshot).is_some() || !waits && !unfilled
        };
        // An array that has something else to do first, or too little to do it with, leaves it for
        // later.
        let _ = patiently(BEGIN_PATIENCE, has_begun, "the rebuild has not begun");
        Ok(())
    }

    fn take_lock(&mut self, kernel_name: &str) -> Option<Drive> {
        self.known.iter_mut().find(|known| known.kernel_name == kernel_name).and_then(|known| known.lock.take())
    }

    fn refuse_if_read_only(&self, what: &str) -> Result<(), KernelError> {
        if self.snapshot.is_read_only() {
            return Err(KernelError::Refused { what: what.to_owned(), why: "the array is open for reading only" });
        }
        Ok(())
    }

    fn manage(&self, arguments: &[&OsStr]) -> Result<(), KernelError> {
        let node = self.device.path();
        let line = ["--manage".as_ref(), node.as_os_str()].into_iter().chain(arguments.iter().copied());
        tools::run("mdadm", line).map(drop)
    }
}

fn not_a_member(drive: &Path) -> KernelError {
    KernelError::NotAMember { drive: drive.display().to_string() }
}
