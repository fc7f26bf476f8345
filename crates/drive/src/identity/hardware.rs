//! By what a drive is known again wherever it is plugged in.

use std::fs::File;
use std::path::PathBuf;

use rustix::fs::{AtFlags, StatxFlags};
use shoal_topology::attribute::text as attribute;

use super::Identity;
use crate::drive::DeviceNumber;

/// What a block device says of itself, and which partition of it this is; none if it has neither
/// serial number nor world-wide identifier.
pub(crate) fn of_device(number: DeviceNumber) -> Option<String> {
    let partition = attribute(&PathBuf::from(format!("/sys/dev/block/{number}")), "partition");
    of_identity(&Identity::of_device(number), partition.as_deref())
}

fn of_identity(identity: &Identity, partition: Option<&str>) -> Option<String> {
    let number = identity.serial.as_deref().or(identity.wwid.as_deref())?;
    let maker = [identity.vendor.as_deref(), identity.model.as_deref()];
    let mut words: Vec<_> = maker.into_iter().flatten().chain([number]).map(str::to_owned).collect();
    words.extend(partition.map(|partition| format!("partition {partition}")));
    Some(words.join(" "))
}

/// File systems that may number their files anew at each mount: FAT, exFAT, those in user space,
/// those of other machines (9P, SMB 1 and 2). By `f_type` of statfs(2).
const NUMBERED_ANEW: [i128; 6] = [0x4d44, 0x2011_bab0, 0x6573_5546, 0x0102_1997, 0xff53_4d42, 0xfe53_4d42];

/// What of a file stays when it is moved or written, and no copy has: its number, where that is
/// kept, and when it was made, if its file system knows. None if nothing does.
pub(crate) fn of_file(file: &File) -> Option<String> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    let is_kept = !NUMBERED_ANEW.contains(&i128::from(rustix::fs::fstatfs(file).ok()?.f_type));
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let made = has_birth.then(|| format!("made {}.{:09}", stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec));
    of_numbers(is_kept.then_some(stat.stx_ino), made)
}

fn of_numbers(inode: Option<u64>, made: Option<String>) -> Option<String> {
    let words: Vec<_> = inode.map(|inode| inode.to_string()).into_iter().chain(made).collect();
    (!words.is_empty()).then(|| format!("file {}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_its_numbers_alone() {
        let named = |text: &str| Some(text.to_owned());
        let stick = Identity { vendor: named("SanDisk"), model: named("Cruzer"), ..Identity::default() };
        assert_eq!(of_identity(&stick, Some("1")), None, "a whole batch is called so");
        let stick = Identity { wwid: named("naa.5000"), ..stick };
        assert_eq!(of_identity(&stick, None).as_deref(), Some("SanDisk Cruzer naa.5000"));
        let stick = Identity { serial: named("4C53"), ..stick };
        assert_eq!(of_identity(&stick, Some("2")).as_deref(), Some("SanDisk Cruzer 4C53 partition 2"));
    }

    #[test]
    fn a_file_is_known_by_what_its_file_system_keeps() {
        let made = || Some("made 7.5".to_owned());
        assert_eq!(of_numbers(Some(12), made()).as_deref(), Some("file 12 made 7.5"));
        assert_eq!(of_numbers(Some(12), None).as_deref(), Some("file 12"));
        assert_eq!(of_numbers(None, made()).as_deref(), Some("file made 7.5"), "FAT");
        assert_eq!(of_numbers(None, None), None, "a file system in user space");
    }

    #[test]
    fn a_file_stays_itself_when_it_is_moved_and_its_copy_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
        let hardware = |path: &PathBuf| of_file(&File::open(path).unwrap()).unwrap();
        std::fs::write(&one, "content").unwrap();
        let known = hardware(&one);
        std::fs::copy(&one, &two).unwrap();
        assert_ne!(hardware(&two), known);
        std::fs::rename(&one, &two).unwrap();
        std::fs::write(&two, "other content").unwrap();
        assert_eq!(hardware(&two), known);
    }
}
