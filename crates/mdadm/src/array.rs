//! An array that md runs: how it is, and all that can be done to it meanwhile.
//!
//! What md does by itself when told (counting members out, filling spares) it does a moment later, in a thread of its own. So
//! a command waits until md has begun what follows from it: whoever asks next how things are is not told of a rest before
//! the work.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shoal_drive::{Access, Drive};
use shoal_volume::{ArrayStatus, Background, Event, Health, MemberState, News, Progress, ScrubMode, read_superblock};

use crate::assembly::{patiently, prepare, same_drive};
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::places::{MdDevice, device_path, drive_behind, is_buffered};
use crate::status::{array_status, health, member_states, progress};
use crate::sysfs::{Device, Snapshot};
use crate::{news, tools};

/// How long md may take to begin what follows from a command.
const BEGIN_PATIENCE: Duration = Duration::from_secs(5);
/// A scrub that is not seen to begin within this was over before anybody could see it.
const SCRUB_UNSEEN: Duration = Duration::from_millis(500);
/// How long md may take to let a device go that failed: I/O may be under way on it.
const REMOVE_PATIENCE: Duration = Duration::from_secs(20);

/// A device of the array's, as people name it.
#[derive(Debug)]
pub(crate) struct Known {
    /// As the kernel names it.
    pub(crate) kernel_name: String,
    /// As it was given.
    pub(crate) path: PathBuf,
    /// A file, kept open and locked against others.
    pub(crate) lock: Option<Drive>,
}

/// A scrub that was started or seen.
#[derive(Clone, Copy, Debug)]
struct Scrub {
    since: Instant,
    is_seen: bool,
    is_stopped: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct KernelArray {
    kernel: Kernel,
    device: MdDevice,
    base: ArrayStatus,
    known: Vec<Known>,
    snapshot: Snapshot,
    scrub: Option<Scrub>,
    news: Vec<News>,
    remarks: Vec<String>,
    /// Whether it is to be let go when this is dropped.
    pub(crate) is_held: bool,
}

impl KernelArray {
    pub(crate) fn of(
        kernel: Kernel,
        device: MdDevice,
        base: ArrayStatus,
        known: Vec<Known>,
    ) -> Result<Self, KernelError> {
        let snapshot = Snapshot::read(&device.directory())?;
        let base = ArrayStatus { capacity_bytes: device.size_bytes(), problem: None, ..base };
        Ok(Self {
            kernel,
            device,
            base,
            known,
            snapshot,
            scrub: None,
            news: Vec::new(),
            remarks: Vec::new(),
            is_held: true,
        })
    }

    /// The kernel that runs it.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// `/dev/mdN`
    pub fn device(&self) -> &MdDevice {
        &self.device
    }

    /// What was seen at the last look.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What it is, and how it was at the last look.
    pub fn status(&self) -> ArrayStatus {
        let status = array_status(&self.base, &self.snapshot, |name| self.name_of(name));
        ArrayStatus { progress: self.progress(), ..status }
    }

    /// What goes on in the background. A scrub that was ordered counts before it is seen to begin.
    pub fn progress(&self) -> Option<Progress> {
        let due = self.scrub.map(|_| Progress { done_bytes: 0, total_bytes: self.snapshot.component_bytes });
        progress(&self.snapshot).or(due)
    }

    /// What has happened since the last call.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// What people should know beside that, a sentence each.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Looks how the array is, and takes down what has happened.
    pub fn look(&mut self) -> Result<(), KernelError> {
        let now = Snapshot::read(&self.device.directory())?;
        let before = std::mem::replace(&mut self.snapshot, now);
        let mut events = news::events(&before, &self.snapshot, self.base.members.len());
        events.extend(self.scrub_end());
        self.remarks.extend(news::remarks(&before, &self.snapshot, |name| self.name_of(name)));
        if !events.is_empty() {
            self.read_superblock();
        }
        let array = &self.base.name;
        self.news.extend(events.into_iter().map(|event| News { array: array.clone(), event }));
        Ok(())
    }

    /// Whether the page cache stands between the array and the file behind any of its devices.
    pub fn is_buffered(&self) -> bool {
        self.snapshot.devices.iter().any(|device| is_buffered(&device.name))
    }

    /// Takes over what the superblocks say of their last update: sysfs does not.
    pub(crate) fn read_superblock(&mut self) {
        let newest = self.known.iter().filter_map(|known| {
            let drive = Drive::open(&known.path, Access::Read).ok()?;
            read_superblock(drive.size_bytes(), |offset, bytes| drive.read_at(offset, bytes)).ok()
        });
        let newest = newest.filter(|superblock| superblock.array_uuid.to_string() == self.base.uuid);
        if let Some(newest) = newest.max_by_key(|superblock| superblock.events) {
            self.base.events = newest.events;
            self.base.update_time_unix_s = newest.update_time.seconds();
        }
    }

    /// The end of the scrub under way, if it has come.
    fn scrub_end(&mut self) -> Option<Event> {
        if self.snapshot.action.is_scrub() {
            let new = Scrub { since: Instant::now(), is_seen: true, is_stopped: false };
            self.scrub.get_or_insert(new).is_seen = true;
            return None;
        }
        let over = self.scrub.filter(|scrub| scrub.is_seen || scrub.since.elapsed() > SCRUB_UNSEEN)?;
        self.scrub = None;
        let mismatched_bytes = self.snapshot.mismatched_bytes;
        Some(Event::ScrubFinished { mismatched_bytes, completed: !over.is_stopped })
    }

    /// Takes a member out, for good, or ends the filling of a replacement. Refused where data would be lost by it.
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
        let (known, held) = prepare(path, Some(opened))?;
        let node = device_path(&known.kernel_name);
        // What is left of other arrays, of any version; there may be nothing.
        let _ = tools::run("mdadm", ["--zero-superblock".as_ref(), node.as_os_str()]);
        self.manage(&["--add-spare".as_ref(), node.as_os_str()])?;
        drop(held);
        self.known.push(known);
        self.wait_until_begun()?;
        self.look()
    }

    /// Lets a drive go that failed, or a spare.
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
        let name = device.name.clone();
        self.remove_device(&name)?;
        self.look()
    }

    fn remove_device(&mut self, name: &str) -> Result<(), KernelError> {
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

    /// Copies a member to another drive, which takes its place: a spare that the array has, or one that comes along and
    /// whose content is lost.
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

    /// Takes a former member back; only what changed meanwhile is copied to it, by the array's bitmap. `opened` is the drive
    /// if it is not in the array any more.
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

    /// Starts to compare parity and mirrors with the data.
    pub fn scrub(&mut self, mode: ScrubMode) -> Result<(), KernelError> {
        self.look()?;
        let what = || format!("array {} cannot be scrubbed", self.base.name);
        if self.base.redundancy == 0 {
            return Err(KernelError::Unsupported { what: what(), why: "it has no redundancy to compare" });
        }
        if self.snapshot.is_read_only() {
            return Err(KernelError::Unsupported { what: what(), why: "it is open for reading only" });
        }
        if self.progress().is_some() {
            let why = "a rebuild or scrub is under way: wait for it, or stop it";
            return Err(KernelError::Unsupported { what: what(), why });
        }
        self.write("sync_action", if mode == ScrubMode::Repair { "repair" } else { "check" })?;
        self.scrub = Some(Scrub { since: Instant::now(), is_seen: false, is_stopped: false });
        self.look()
    }

    /// Ends that.
    pub fn stop_scrub(&mut self) -> Result<(), KernelError> {
        self.look()?;
        // Anything else would be stopped by it, too, and begin anew.
        if self.snapshot.action.is_scrub() {
            if let Some(scrub) = &mut self.scrub {
                scrub.is_stopped = true;
            }
            self.write("sync_action", "idle")?;
            let directory = self.device.directory();
            let is_over = || Snapshot::read(&directory).is_ok_and(|snapshot| !snapshot.action.is_scrub());
            patiently(BEGIN_PATIENCE, is_over, "the scrub still goes on")?;
        }
        self.look()
    }

    /// Changes the rates of background work, as far as the level has any.
    pub fn set_speed(&mut self, background: Background) -> Result<(), KernelError> {
        if self.base.redundancy == 0 {
            return Ok(());
        }
        // In KiB a second, as a positive signed number of 32 bits.
        let kib = |bytes_per_s: u64| (bytes_per_s / 1024).clamp(1, i32::MAX as u64).to_string();
        self.write("sync_speed_max", &kib(background.rate_max_bytes_per_s))?;
        self.write("sync_speed_min", &kib(background.rate_min_bytes_per_s))
    }

    /// Waits until md has begun what there is to do: no spare waits while a member is missing or to be replaced.
    fn wait_until_begun(&mut self) -> Result<(), KernelError> {
        let (directory, count) = (self.device.directory(), self.base.members.len());
        let has_begun = || {
            let Ok(snapshot) = Snapshot::read(&directory) else { return true };
            let states = member_states(&snapshot, count);
            let waits = snapshot.spares().next().is_some() && states.contains(&MemberState::Missing);
            let unfilled = states.iter().any(|state| matches!(state, MemberState::Rebuilding { .. }));
            progress(&snapshot).is_some() || !waits && !unfilled
        };
        // An array that has something else to do first, or too little to do it with, leaves it for later.
        let _ = patiently(BEGIN_PATIENCE, has_begun, "the rebuild has not begun");
        Ok(())
    }

    /// The array's device that a path leads to, or led to when it was given.
    fn device_at(&self, path: &Path) -> Option<&Device> {
        let known = self.known.iter().find(|known| same_drive(&known.path, path));
        self.snapshot.devices.iter().find(|device| match known {
            Some(known) => known.kernel_name == device.name,
            None => same_drive(&device_path(&device.name), path) || same_drive(&drive_behind(&device.name), path),
        })
    }

    /// What people call a device.
    fn name_of(&self, kernel_name: &str) -> String {
        let known = self.known.iter().find(|known| known.kernel_name == kernel_name);
        known.map_or_else(|| drive_behind(kernel_name), |known| known.path.clone()).display().to_string()
    }

    /// Whether a path leads to a device of the array.
    pub fn has(&self, path: &Path) -> bool {
        self.device_at(path).is_some()
    }

    fn take_lock(&mut self, kernel_name: &str) -> Option<Drive> {
        self.known.iter_mut().find(|known| known.kernel_name == kernel_name).and_then(|known| known.lock.take())
    }

    /// Nobody else may have them, as far as that is not so already.
    pub(crate) fn lock_drives(&mut self) {
        self.known.iter_mut().for_each(|known| known.lock = Drive::open(&known.path, Access::Write).ok());
    }

    /// Others may have them.
    pub(crate) fn forget_drives(&mut self) {
        self.known.iter_mut().for_each(|known| known.lock = None);
    }

    fn refuse_if_read_only(&self, what: &str) -> Result<(), KernelError> {
        if self.snapshot.is_read_only() {
            return Err(KernelError::Refused { what: what.to_owned(), why: "the array is open for reading only" });
        }
        Ok(())
    }

    fn manage(&self, arguments: &[&std::ffi::OsStr]) -> Result<(), KernelError> {
        let node = self.device.path();
        let line = ["--manage".as_ref(), node.as_os_str()].into_iter().chain(arguments.iter().copied());
        tools::run("mdadm", line).map(drop)
    }

    fn write(&self, name: &str, line: &str) -> Result<(), KernelError> {
        let path = self.device.directory().join(name);
        std::fs::write(&path, line).map_err(|source| KernelError::Attribute { path, source })
    }
}

fn not_a_member(drive: &Path) -> KernelError {
    KernelError::NotAMember { drive: drive.display().to_string() }
}
