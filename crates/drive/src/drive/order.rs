//! In which order a drive is to be given writes: whether its queue can be trusted with several at a
//! time.
//!
//! A drive that has a deep queue of its own (NVMe, SATA, SAS) sorts what waits there, and is made
//! for many at a time. Cheap flash has neither, and most ways to it change the order: Linux hands
//! what was submitted together to a queue without a scheduler last in, first out (5.16 to 6.12),
//! and USB bridges, virtio, nbd and ublk servers work on many at a time and end them in any order.
//!
//! | device | told by | writes |
//! | --- | --- | --- |
//! | a file, and a loop device over one | | in any order: what is below has a cache or a scheduler of its own |
//! | device mapper, md | `slaves` | as any of the devices below |
//! | NVMe | its name | in any order |
//! | not on USB, holds more than one command | `device/queue_depth` | in any order |
//! | any other: USB, memory cards, virtio, nbd, ublk, one that does not say | | one at a time, ascending |

use std::path::Path;

/// In which order a drive is to be given writes that are under way at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// As they come, many at a time: it has a queue, and sorts.
    Any,
    /// Ascending, and one at a time, in requests of up to so many bytes.
    Ascending {
        /// The most that one request may be put together to.
        request_bytes: u32,
    },
}

/// Where a scheduler sorts what the kernel has to split. A megabyte is an eighth of a second for a
/// slow stick, and hides its turns.
const REQUEST_BYTES: u32 = 1 << 20;
/// Each piece of memory may be a page by itself.
const SEGMENT_BYTES: u64 = 4096;
const LEAST_BYTES: u64 = 64 << 10;

impl WriteOrder {
    /// Reads a block device's directory in sysfs; a partition is asked for its disk.
    pub(super) fn of_device(directory: &Path) -> Self {
        let Ok(mut disk) = directory.canonicalize() else { return Self::Ascending { request_bytes: REQUEST_BYTES } };
        if disk.join("partition").exists() {
            disk.pop();
        }
        let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("dm-") || name.starts_with("md") {
            return Self::of_those_below(&disk.join("slaves"));
        }
        let device = disk.join("device").canonicalize().unwrap_or_else(|_| disk.clone());
        let is_on_usb = device.ancestors().any(|ancestor| ancestor.join("idVendor").exists());
        let depth = number(&disk.join("device/queue_depth")).unwrap_or(1);
        if name.starts_with("nvme") || name.starts_with("loop") || (depth > 1 && !is_on_usb) {
            return Self::Any;
        }
        Self::Ascending { request_bytes: request_bytes(&disk.join("queue")) }
    }

    /// Of a device that is made of others: the first of these that is to be given one at a time
    /// decides.
    fn of_those_below(slaves: &Path) -> Self {
        let Ok(below) = std::fs::read_dir(slaves) else { return Self::Any };
        let orders = below.filter_map(Result::ok).map(|device| Self::of_device(&device.path()));
        orders.into_iter().find(|order| *order != Self::Any).unwrap_or(Self::Any)
    }
}

/// What the kernel does not split, where nothing would put the halves in order again.
fn request_bytes(queue: &Path) -> u32 {
    let scheduler = std::fs::read_to_string(queue.join("scheduler")).unwrap_or_default();
    let is_sorted = scheduler.contains('[') && !scheduler.contains("[none]");
    let limit = |name: &str, unit: u64| number(&queue.join(name)).map(|count| count.saturating_mul(unit));
    let limits = limit("max_sectors_kb", 1024).into_iter().chain(limit("max_segments", SEGMENT_BYTES));
    let whole = limits.min().filter(|_| !is_sorted).map_or(u64::from(REQUEST_BYTES), |bytes| bytes.max(LEAST_BYTES));
    u32::try_from(whole).unwrap_or(REQUEST_BYTES).min(REQUEST_BYTES)
}

fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of a device whose directory has these files.
    fn order(name: &str, files: &[(&str, &str)]) -> WriteOrder {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("port").join(name);
        for (path, text) in files {
            let path = disk.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(&disk).unwrap();
        WriteOrder::of_device(&disk)
    }

    fn ascending(kib: u32) -> WriteOrder {
        WriteOrder::Ascending { request_bytes: kib << 10 }
    }

    #[test]
    fn drives_with_deep_queues_of_their_own_take_writes_in_any_order() {
        assert_eq!(order("nvme0n1", &[]), WriteOrder::Any);
        assert_eq!(order("loop3", &[]), WriteOrder::Any);
        assert_eq!(order("sda", &[("device/queue_depth", "32\n")]), WriteOrder::Any);
    }

    #[test]
    fn sticks_cards_and_devices_of_which_nothing_is_known_take_one_at_a_time() {
        assert_eq!(order("sda", &[("device/queue_depth", "1\n")]), ascending(1024));
        // A USB bridge with a deep queue.
        assert_eq!(order("sda", &[("device/queue_depth", "30\n"), ("device/idVendor", "0781\n")]), ascending(1024));
        assert_eq!(order("mmcblk0", &[]), ascending(1024));
        assert_eq!(order("vda", &[("queue/rotational", "1\n")]), ascending(1024));
    }

    #[test]
    fn devices_made_of_others_take_writes_as_those_do() {
        let root = tempfile::tempdir().unwrap();
        for (made, below) in [("dm-0", "loop1"), ("dm-1", "mmcblk0"), ("md127", "nvme0n1")] {
            let [slaves, device] = [root.path().join(made).join("slaves"), root.path().join(below)];
            std::fs::create_dir_all(&slaves).unwrap();
            std::fs::create_dir_all(&device).unwrap();
            std::os::unix::fs::symlink(&device, slaves.join(below)).unwrap();
        }
        let order = |name: &str| WriteOrder::of_device(&root.path().join(name));
        assert_eq!([order("dm-0"), order("md127")], [WriteOrder::Any; 2]);
        assert_eq!(order("dm-1"), ascending(1024));
    }

    #[test]
    fn requests_are_no_longer_than_what_the_kernel_would_split_unless_a_scheduler_sorts_the_halves() {
        let limits = [("queue/max_sectors_kb", "1280\n"), ("queue/max_segments", "126\n")];
        let with = |scheduler| order("vda", &[limits[0], limits[1], ("queue/scheduler", scheduler)]);
        assert_eq!(with("[none] mq-deadline\n"), ascending(504));
        assert_eq!(with("none [mq-deadline]\n"), ascending(1024));
        assert_eq!(order("nbd0", &[("queue/max_sectors_kb", "4\n")]), ascending(64));
    }
}
