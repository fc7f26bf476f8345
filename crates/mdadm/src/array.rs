//! An array that md runs: how it is, and all that can be done to it meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shoal_drive::{Access, Drive};
use shoal_volume::{
    ArrayStatus, Background, Event, JobProgress, MemberState, MemberStatus, News, Role, ScrubMode, Superblock,
    read_superblock,
};

use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::news;
use crate::patience::patiently;
use crate::places::{MdDevice, device_path, drive_behind, is_buffered, same_drive};
use crate::status::{array_status, progress, redundancy};
use crate::sysfs::{Device, Snapshot};

/// How long md may take to end a scrub.
const END_PATIENCE: Duration = Duration::from_secs(60);
/// A scrub that is not seen to begin within this was over before anybody could see it.
const SCRUB_UNSEEN: Duration = Duration::from_secs(2);

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

/// A running md device and its state in sysfs. Its commands are mdadm's.
#[derive(Debug)]
pub struct KernelArray {
    pub(crate) kernel: Kernel,
    pub(crate) device: MdDevice,
    pub(crate) base: ArrayStatus,
    pub(crate) known: Vec<Known>,
    pub(crate) snapshot: Snapshot,
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
    pub fn progress(&self) -> Option<JobProgress> {
        let due = self.scrub.map(|_| JobProgress { done_bytes: 0, total_bytes: self.snapshot.component_bytes });
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
        if before.shape != self.snapshot.shape {
            self.take_over_shape();
        }
        // It grows at the end of a reshape, a moment before or after that is seen.
        self.base.capacity_bytes = self.device.size_bytes();
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

    /// What the array's members say now, each with its path.
    pub fn superblocks(&self) -> Vec<(PathBuf, Superblock)> {
        let found = self.known.iter().filter_map(|known| {
            let drive = Drive::open(&known.path, Access::Read).ok()?;
            let superblock = read_superblock(drive.size_bytes(), |offset, bytes| drive.read_at(offset, bytes)).ok()?;
            Some((known.path.clone(), superblock))
        });
        found.filter(|(_, superblock)| superblock.array_uuid.to_string() == self.base.uuid).collect()
    }

    /// Takes over what the superblocks say of their last update: sysfs does not.
    pub(crate) fn read_superblock(&mut self) {
        let newest = self.superblocks().into_iter().map(|(_, superblock)| superblock);
        if let Some(newest) = newest.max_by_key(|superblock| superblock.events) {
            self.base.events = newest.events;
            self.base.update_time_unix_s = newest.update_time.seconds();
        }
    }

    /// The array is to be what it is becoming: whoever looks at it sees the members that it has
    /// now.
    fn take_over_shape(&mut self) {
        let Some(shape) = self.snapshot.shape else { return };
        let member = |role| MemberStatus {
            role: Role(role),
            state: MemberState::Missing,
            on: None,
            replacement: None,
            suspect: false,
        };
        self.base.level = shape.level;
        self.base.chunk_bytes = shape.chunk_bytes;
        self.base.redundancy = redundancy(&shape).unwrap_or(self.base.redundancy);
        self.base.members = (0..shape.members).map(member).collect();
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
            return Err(KernelError::Busy { what: what() });
        }
        self.write("sync_action", if mode == ScrubMode::Repair { "repair" } else { "check" })?;
        self.scrub = Some(Scrub { since: Instant::now(), is_seen: false, is_stopped: false });
        self.look()
    }

    /// Whether that goes on, or is due.
    pub fn is_scrubbing(&self) -> bool {
        self.scrub.is_some()
    }

    /// Ends it.
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
            patiently(END_PATIENCE, is_over, "the scrub still goes on")?;
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

    /// The array's device that a path leads to, or led to when it was given.
    pub(crate) fn device_at(&self, path: &Path) -> Option<&Device> {
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

    /// Nobody else may have them, as far as that is not so already.
    pub(crate) fn lock_drives(&mut self) {
        self.known.iter_mut().for_each(|known| known.lock = Drive::open(&known.path, Access::Write).ok());
    }

    /// Others may have them.
    pub(crate) fn forget_drives(&mut self) {
        self.known.iter_mut().for_each(|known| known.lock = None);
    }

    pub(crate) fn write(&self, name: &str, line: &str) -> Result<(), KernelError> {
        let path = self.device.directory().join(name);
        std::fs::write(&path, line).map_err(|source| KernelError::Attribute { path, source })
    }
}
