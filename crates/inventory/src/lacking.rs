//! What is missing of an array before it is worth while to start it.

use shoal_memory::{Found, judge};
use shoal_unattended::members::absent;

use crate::environment::Environment;
use crate::look::{Seen, members};
use crate::search::{Named, member_paths};

/// What is missing of an array, in a few words; none if all members are there that its freshest one
/// counts on, and this host has seen nothing newer of it.
pub fn lacking(environment: &Environment, named: &Named) -> Option<String> {
    let paths = match member_paths(environment, named) {
        Ok(paths) => paths,
        Err(error) => return Some(error.to_string()),
    };
    let found: Vec<_> = members(environment, &paths).iter().map(Seen::found).collect();
    if found.len() < paths.len() {
        return Some("not all that were found could be read".to_owned());
    }
    let candidates: Vec<_> = found.iter().map(|found| found.candidate.clone()).collect();
    shoal_md::group_by_array(&candidates).into_iter().find_map(|group| {
        let there: Vec<_> = group.iter().map(|&index| found[index].clone()).collect();
        let group: Vec<_> = group.into_iter().map(|index| candidates[index].clone()).collect();
        match absent(&group) {
            Ok(absent) if absent.is_empty() => in_doubt(environment, &there),
            Ok(absent) => Some(format!("{} of {} are missing", absent.len(), absent.len() + group.len())),
            // What is wrong with it is for the array to tell when it is opened; another member may
            // mend it.
            Err(error) => Some(error.to_string()),
        }
    })
}

/// What this host remembers of the array speaks against starting it with these: the right ones may
/// be yet to come.
fn in_doubt(environment: &Environment, there: &[Found]) -> Option<String> {
    // What is wrong with a book is told when the array is opened.
    let book = environment.store()?.read(there.first()?.candidate.superblock.array_uuid).ok()??;
    judge(Some(&book), there).doubt.map(|doubt| doubt.to_string())
}
