//! Waits for an array's members to be there, and no longer than is worth it.
//!
//! Drives on a hub come one after the other, for seconds after a machine has started. An array is waited for until all
//! members are there that its freshest one counts on, or the time is up; then it is up to the array whether it can do
//! without them.

use std::path::Path;
use std::time::{Duration, Instant};

use shoal_drive::{Access, Drive};
use shoal_md::Candidate;
use shoal_unattended::{Heart, members};

use crate::args::{ArrayArgs, UnattendedArgs};
use crate::drives::probe;
use crate::exit::Failure;
use crate::output;
use crate::scan::member_paths;

/// From one look to the next.
const DISTANCE: Duration = Duration::from_millis(500);

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

/// What is missing, in a few words.
fn lacking(array: &ArrayArgs) -> Option<String> {
    let paths = match member_paths(array) {
        Ok(paths) => paths,
        Err(failure) => return Some(failure.to_string()),
    };
    let candidates: Vec<_> = paths.iter().filter_map(|path| candidate(path)).collect();
    if candidates.len() < paths.len() {
        return Some("not all that were found could be read".to_owned());
    }
    shoal_md::group_by_array(&candidates).into_iter().find_map(|group| {
        let group: Vec<_> = group.into_iter().map(|index| candidates[index].clone()).collect();
        match members::absent(&group) {
            Ok(absent) if absent.is_empty() => None,
            Ok(absent) => Some(format!("{} of {} are missing", absent.len(), absent.len() + group.len())),
            // What is wrong with it is for the array to tell when it is opened; another member may mend it.
            Err(error) => Some(error.to_string()),
        }
    })
}

fn candidate(path: &Path) -> Option<Candidate> {
    let drive = Drive::open(path, Access::Read).ok()?;
    let superblock = probe(&drive).ok()?;
    Some(Candidate { drive: path.display().to_string(), superblock })
}
