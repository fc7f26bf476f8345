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
use shoal_volume::{NEWEST, NOTHING_TO_LOSE};

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
    words.push(match array.write_back {
        Some(_) => format!("write-back=of-{}", process_start_ns()),
        None => format!("write-back={NOTHING_TO_LOSE}"),
    });
    words.sort();
    if let Some(newest) = newest_disk_sequence() {
        words.insert(0, format!("{NEWEST}={newest}"));
    }
    words.insert(0, format!("{}={}", process_name(), outages_word(outages)));
    words.join(",")
}

/// The same incarnation after so many outages, all else being as it was. No drive is asked.
pub(crate) fn with_outages(incarnation: &str, outages: u32) -> String {
    let is_other = |word: &&str| word.split_once('=').is_some_and(|(name, _)| name != process_name());
    let others = incarnation.split(',').filter(is_other).map(str::to_owned);
    let own = format!("{}={}", process_name(), outages_word(outages));
    [own].into_iter().chain(others).collect::<Vec<_>>().join(",")
}

fn process_name() -> String {
    format!("process-{}", std::process::id())
}

fn outages_word(outages: u32) -> String {
    format!("outages-{outages}")
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

#[cfg(test)]
mod tests {
    use shoal_volume::{Incarnation, Unflushed};

    use super::*;

    /// Who was away when a flush was refused hears of it when he comes again, and once.
    #[test]
    fn an_outage_more_is_another_incarnation_of_the_same_drives() {
        let begun = format!("{}={},{NEWEST}=7,a=1", process_name(), outages_word(0));
        let client = Unflushed::new(Incarnation::parse(&begun));
        client.answered();
        let refused = with_outages(&begun, 1);
        assert_eq!(refused, format!("{}=outages-1,{NEWEST}=7,a=1", process_name()));
        client.meet(&Incarnation::parse(&refused));
        assert!(client.flushed(client.mark()).is_err());
        client.meet(&Incarnation::parse(&with_outages(&refused, 1)));
        assert!(client.flushed(client.mark()).is_ok());
        assert_eq!(with_outages("", 2), format!("{}=outages-2", process_name()));
    }
}
