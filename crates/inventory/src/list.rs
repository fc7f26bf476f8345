//! Which arrays there are on this machine: those that drives carry, and those that this host
//! remembers and whose drives are not here.
//!
//! An array that is a member of another one is not listed by itself: an array of arrays is one.

use std::path::{Path, PathBuf};

use shoal_md::Uuid;

use crate::environment::Environment;
use crate::look::members;
use crate::places::usual_places;
use crate::search::{Group, SearchError, files_in, outer_superblock, put};

/// An array, or array of arrays, that drives carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The array, or the one around those that the drives are members of.
    pub array: Uuid,
    /// Its name, mostly with the host's before it; empty if it has none.
    pub name: String,
    /// The arrays that the drives are members of: this one, or those inside it.
    pub carried: Vec<Uuid>,
    /// The drives.
    pub paths: Vec<PathBuf>,
}

/// The arrays that carry superblocks at these places. What cannot be opened or read is no member.
pub fn listed(environment: &Environment, places: &[PathBuf]) -> Vec<Listed> {
    let (mut keys, mut groups) = (Vec::new(), Vec::<Group>::new());
    for seen in members(environment, places) {
        if !keys.contains(&seen.key) {
            keys.push(seen.key);
            put(&mut groups, seen);
        }
    }
    let mut arrays: Vec<Listed> = Vec::new();
    for group in groups {
        let around = outer_superblock(&group.paths).map(|around| (around.array_uuid, around.name()));
        let (array, name) = around.unwrap_or_else(|| (group.array, group.name()));
        match arrays.iter_mut().find(|known| known.array == array) {
            Some(known) => {
                known.carried.push(group.array);
                known.paths.extend(group.paths);
            }
            None => arrays.push(Listed { array, name, carried: vec![group.array], paths: group.paths }),
        }
    }
    arrays
}

/// The arrays of this name, whether the host's is before it or not, among the files of a directory,
/// or among the machine's drives and the files in which this host has seen members.
///
/// # Errors
/// The directory cannot be read.
pub fn arrays_named(environment: &Environment, name: &str, scan: Option<&Path>) -> Result<Vec<Uuid>, SearchError> {
    let places = scan.map_or_else(|| Ok(usual_places(environment)), files_in)?;
    let found = listed(environment, &places).into_iter();
    Ok(found.filter(|found| is_called(&found.name, name)).map(|found| found.array).collect())
}

/// Whether this is the name of an array, with its host's before it or without.
pub fn is_called(array_name: &str, name: &str) -> bool {
    array_name == name || own_name(array_name) == name
}

/// The name of an array without its host's.
pub fn own_name(array_name: &str) -> &str {
    array_name.split_once(':').map_or(array_name, |(_, own)| own)
}
