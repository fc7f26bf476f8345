//! An array that md runs gets more members, another chunk or another layout, while it is used.
//!
//! What Linux cannot do, or not without a file of its own for what is being moved, is refused
//! before anything is touched. The rest is mdadm's: drives that come along become spares first, and
//! if it then does not grow they are let go again. md goes on with a reshape by itself; stopped or
//! cut off, it goes on when the array is assembled again, or by `shoal grow --continue`.

use std::ffi::OsString;
use std::path::PathBuf;

use shoal_drive::Drive;
use shoal_volume::{Health, Level};

use crate::array::KernelArray;
use crate::error::KernelError;
use crate::members::BEGIN_PATIENCE;
use crate::patience::patiently;
use crate::status::progress;
use crate::sysfs::Snapshot;
use crate::tools;

/// What an array is to become; what is not given stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Members of the complete array.
    pub raid_devices: Option<usize>,
    /// The chunk.
    pub chunk_bytes: Option<u32>,
    /// Where parity or copies go, by mdadm's name.
    pub layout: Option<String>,
}

impl KernelArray {
    /// Grows it by `added`, whose content is lost, and by spares that it has. Returns when md has
    /// begun.
    pub fn grow(&mut self, growth: &Growth, added: Vec<(PathBuf, Drive)>) -> Result<(), KernelError> {
        self.look()?;
        if let Some(why) = self.objection(growth, added.len()) {
            return Err(KernelError::Refused { what: format!("array {} cannot grow now", self.base.name), why });
        }
        let mut names = Vec::new();
        let grown = self.add_spares(added, &mut names).and_then(|()| tools::run("mdadm", self.line(growth)).map(drop));
        if let Err(error) = grown {
            // What keeps them from going is told less than what kept the array from growing.
            names.iter().for_each(|name| drop(self.remove_device(name)));
            self.look()?;
            return Err(error);
        }
        self.wait_until_growing();
        self.look()?;
        // A mirror's new members are to be filled.
        self.wait_until_begun()?;
        self.look()
    }

    /// Why it does not grow as asked, and the mend.
    fn objection(&self, growth: &Growth, added: usize) -> Option<&'static str> {
        let has = self.base.members.len();
        let more = growth.raid_devices.unwrap_or(has).checked_sub(has);
        let reshapes = growth.chunk_bytes.is_some() || growth.layout.is_some();
        let spares = self.snapshot.spares().count();
        let level = match self.base.level {
            Level::Linear => {
                Some("Linux joins drives to a linear array at rest: `shoal stop` it, and `shoal grow` it then")
            }
            Level::Raid0(_) => Some(
                "Linux makes a RAID4 of a RAID0 to reshape it, and back: stop it, and let mdadm --grow do that, then use shoal again",
            ),
            Level::Raid1 if reshapes => {
                Some("mirrors have no chunk or layout to change: leave --chunk and --layout out")
            }
            Level::Raid1 | Level::Raid4 | Level::Raid5(_) | Level::Raid6(_) | Level::Raid10(_) => None,
        };
        level.or(match (self.snapshot.consistency_policy.as_str(), more) {
            _ if self.snapshot.is_read_only() => Some("it is open for reading only"),
            _ if self.snapshot.is_reshaping() => Some("a reshape is under way: wait until `status` shows none"),
            ("ppl", _) => Some(
                "it has a partial parity log: stop it, take that away (mdadm --grow --consistency-policy=resync), and add it again later",
            ),
            ("journal", _) => Some("it has a write journal, which Linux does not keep in two shapes: take that away first"),
            _ if self.progress().is_some() => Some("a rebuild, resync or scrub is under way: wait for it, or stop it"),
            _ if self.status().health != Health::Optimal => Some("a member is missing or not in sync: rebuild it first"),
            (_, None) => Some("taking members away is not what shoal does: mdadm --grow does, then use shoal again"),
            (_, Some(more)) if more < added || more > added + spares => {
                Some("as many drives have to be added, beside its spares, as there are to be members more")
            }
            (_, Some(0)) if !reshapes => Some("it has that shape already"),
            _ => None,
        })
    }

    /// What is added is told by its names, also if not all of it could be.
    fn add_spares(&mut self, added: Vec<(PathBuf, Drive)>, names: &mut Vec<String>) -> Result<(), KernelError> {
        for (path, opened) in added {
            names.push(self.add_spare(&path, opened)?);
        }
        Ok(())
    }

    fn line(&self, growth: &Growth) -> Vec<OsString> {
        let mut line = vec!["--grow".into(), self.device.path().into_os_string()];
        line.extend(growth.raid_devices.map(|count| format!("--raid-devices={count}").into()));
        // In KiB.
        line.extend(growth.chunk_bytes.map(|bytes| format!("--chunk={}", bytes / 1024).into()));
        line.extend(growth.layout.as_ref().map(|name| format!("--layout={name}").into()));
        line
    }

    /// md begins a moment after it was told; a small array is done before that is seen.
    fn wait_until_growing(&self) {
        let directory = self.device.directory();
        let before = self.snapshot.shape;
        let has_begun = || {
            let Ok(now) = Snapshot::read(&directory) else { return true };
            now.shape != before && (!now.is_reshaping() || progress(&now).is_some())
        };
        let _ = patiently(BEGIN_PATIENCE, has_begun, "the reshape has not begun");
    }
}
