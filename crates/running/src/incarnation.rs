//! By what a client that comes again knows whether a drive of the array has lost its power
//! meanwhile: for each member's drive a name that stays and the number that the kernel gave to the
//! disk when it appeared. `shoal_attach`'s client says what it makes of that.
//!
//! A server that was killed and started again says the same, of devices and of image files, which
//! have the number of the disk that they lie on. A drive of which the kernel tells no number
//! (simulated, in memory, over a network, before Linux 5.15) is left out, and so is one that does
//! not answer: who asks may be the owner of a running array, and waits for no drive.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shoal_documents::{ArrayDocument, MemberDocument};
use shoal_drive::newest_disk_sequence;
use shoal_inventory::{Look, Seen, look_within};
use shoal_volume::NEWEST;

/// How long drives may take to say who they are: they have answered just now.
const PATIENCE: Duration = Duration::from_secs(2);

/// Digits of a member's UUID by which it is known: enough to tell a handful apart.
const NAME_DIGITS: usize = 16;

/// Of an array and those inside it, as `NAME=NUMBER,NAME=NUMBER`, with the highest number of all
/// disks: a drive that comes to the array later, with a higher one, may have lost its power in
/// between. So many outages of its drives this process has lived through after which something may
/// have been lost: of drives without a number nothing else tells that.
pub fn incarnation(array: &ArrayDocument, outages: u32) -> String {
    let mut drives = Vec::new();
    add(array, &mut drives);
    let seen = look_within(&drives, PATIENCE).into_iter().filter_map(Look::member);
    let mut words: Vec<String> = seen.filter_map(|seen| word(&seen)).collect();
    if array.write_back.is_some() {
        words.push(format!("write-back=of-{}", process_start_ns()));
    }
    words.sort();
    if let Some(newest) = newest_disk_sequence() {
        words.insert(0, format!("{NEWEST}={newest}"));
    }
    words.insert(0, format!("process-{}=outages-{outages}", std::process::id()));
    words.join(",")
}

/// When this process first asked, in nanoseconds since 1970: no other process has the same.
fn process_start_ns() -> u128 {
    static START: OnceLock<u128> = OnceLock::new();
    *START.get_or_init(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()))
}

/// The drives of an array and of those inside it.
fn add(array: &ArrayDocument, drives: &mut Vec<PathBuf>) {
    for MemberDocument { drive, array, replacement, .. } in &array.members {
        let copied_to = replacement.as_ref().map(|it| &it.drive);
        drives.extend(drive.iter().chain(copied_to).map(PathBuf::from));
        if let Some(inner) = array {
            add(inner, drives);
        }
    }
}

fn word(seen: &Seen) -> Option<String> {
    let number = seen.disk_sequence?;
    let digits = seen
        .superblock
        .device_uuid
        .to_string()
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(NAME_DIGITS)
        .collect::<String>();
    Some(format!("{digits}={number}"))
}
