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
        let (array, name) = around.unwrap_or((group.array, group.name));
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

/// The array of this name, whether the host's is before it or not, among the files of a directory,
/// or among the machine's drives and the files in which this host has seen members. None if there
/// is none.
///
/// # Errors
/// Several arrays have the name; the directory cannot be read.
pub fn array_named(environment: &Environment, name: &str, scan: Option<&Path>) -> Result<Option<Uuid>, SearchError> {
    let places = scan.map_or_else(|| Ok(usual_places(environment)), files_in)?;
    let is_named =
        |found: &Listed| found.name == name || found.name.split_once(':').is_some_and(|(_, own)| own == name);
    let arrays: Vec<_> = listed(environment, &places).into_iter().filter(is_named).map(|it| it.array).collect();
    match &arrays[..] {
        [] => Ok(None),
        [array] => Ok(Some(*array)),
        _ => Err(SearchError::SeveralNamed { name: name.to_owned(), arrays }),
    }
}
