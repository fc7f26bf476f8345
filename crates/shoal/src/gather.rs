//! Waits for an array's members to be there, and to be free, and no longer than is worth it.
//!
//! Drives on a hub come one after the other, for seconds after a machine has started. An array is waited for until all
//! members are there that its freshest one counts on, and this host has seen nothing newer of it, or the time is up; then it
//! is up to the array whether it can do without them.

use std::time::{Duration, Instant};

use shoal_memory::{Found, Store, judge};
use shoal_unattended::Heart;
use shoal_unattended::members::absent;

use crate::args::{ArrayArgs, UnattendedArgs};
use crate::exit::Failure;
use crate::look::{Seen, members};
use crate::output;
use crate::scan::member_paths;
use crate::state_directory::state_directory;

/// From one look to the next.
const DISTANCE: Duration = Duration::from_millis(500);
/// The longest that busy members are waited for; a service's time to start has room for it. After that the service manager
/// starts the process again.
const BUSY_PATIENCE: Duration = Duration::from_secs(60);

/// Waits, if that is asked for. What is missing in the end is told and is no failure.
pub(crate) fn wait_for_members(args: &UnattendedArgs, array: &ArrayArgs) -> Result<(), Failure> {
    let Some(patience) = args.wait.map(Duration::from_secs) else { return Ok(()) };
    let mut manager = Heart::of_this_process();
    let start = Instant::now();
    loop {
        let lack = lacking(array);
        let Some(lack) = lack else { return Ok(()) };
        if start.elapsed() >= patience {
            output::warn(&format!("waited {} s for members: {lack}", patience.as_secs()));
            return Ok(());
        }
        manager.is(&format!("waiting for members: {lack}"));
        std::thread::sleep(DISTANCE.min(patience.saturating_sub(start.elapsed())));
    }
}

/// Does what needs members that nobody else has: again and again while they are busy, if waiting is asked for. Whoever has
/// just looked at a drive, as udev does with every new one, lets it go in a moment.
pub(crate) fn when_free<T>(args: &UnattendedArgs, mut claim: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let patience = Duration::from_secs(args.wait.unwrap_or(0)).min(BUSY_PATIENCE);
    let mut manager = Heart::of_this_process();
    let (start, mut is_told) = (Instant::now(), false);
    loop {
        match claim() {
            Err(Failure::Busy(why)) if start.elapsed() < patience => {
                manager.is(&format!("waiting: {why}"));
                if !std::mem::replace(&mut is_told, true) {
                    output::warn(&format!("waiting for {} s at most: {why}", patience.as_secs()));
                }
                std::thread::sleep(DISTANCE.min(patience.saturating_sub(start.elapsed())));
            }
            claimed => return claimed,
        }
    }
}

/// What is missing, in a few words.
fn lacking(array: &ArrayArgs) -> Option<String> {
    let paths = match member_paths(array) {
        Ok(paths) => paths,
        Err(failure) => return Some(failure.to_string()),
    };
    let found: Vec<_> = members(&paths).iter().map(Seen::found).collect();
    if found.len() < paths.len() {
        return Some("not all that were found could be read".to_owned());
    }
    let candidates: Vec<_> = found.iter().map(|found| found.candidate.clone()).collect();
    shoal_md::group_by_array(&candidates).into_iter().find_map(|group| {
        let there: Vec<_> = group.iter().map(|&index| found[index].clone()).collect();
        let group: Vec<_> = group.into_iter().map(|index| candidates[index].clone()).collect();
        match absent(&group) {
            Ok(absent) if absent.is_empty() => in_doubt(&there),
            Ok(absent) => Some(format!("{} of {} are missing", absent.len(), absent.len() + group.len())),
            // What is wrong with it is for the array to tell when it is opened; another member may mend it.
            Err(error) => Some(error.to_string()),
        }
    })
}

/// What this host remembers of the array speaks against starting it with these: the right ones may be yet to come.
fn in_doubt(there: &[Found]) -> Option<String> {
    // What is wrong with a book is told when the array is opened.
    let book = state_directory().map(Store::new)?.read(there.first()?.candidate.superblock.array_uuid).ok()??;
    judge(Some(&book), there).doubt.map(|doubt| doubt.to_string())
}
