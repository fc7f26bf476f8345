//! Which arrays there are on this machine: those that drives carry, and those that this host
//! remembers and whose drives are not here.
//!
//! An array that is a member of another one is not listed by itself: an array of arrays is one.

use std::path::PathBuf;

use shoal_md::Uuid;

use crate::environment::Environment;
use crate::look::members;
use crate::search::{Group, machine_drives, outer_array, put};

/// An array, or array of arrays, that drives carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The array, or the one around those that the drives are members of.
    pub array: Uuid,
    /// The arrays that the drives are members of: this one, or those inside it.
    pub carried: Vec<Uuid>,
    /// The drives.
    pub paths: Vec<PathBuf>,
}

/// An array that this host remembers, and of which no drive is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absentee {
    /// The array.
    pub array: Uuid,
    /// Its members, as they were called when they were last seen.
    pub drives: Vec<String>,
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
        let array = outer_array(&group).unwrap_or(group.array);
        match arrays.iter_mut().find(|known| known.array == array) {
            Some(known) => {
                known.carried.push(group.array);
                known.paths.extend(group.paths);
            }
            None => arrays.push(Listed { array, carried: vec![group.array], paths: group.paths }),
        }
    }
    arrays
}

/// Where members of arrays may be: the machine's drives, and files in which this host has seen
/// members before.
pub fn usual_places(environment: &Environment) -> Vec<PathBuf> {
    let mut places = machine_drives();
    for absentee in remembered(environment) {
        let files = absentee.drives.iter().map(PathBuf::from).filter(|path| path.is_file());
        places.extend(files);
    }
    places.sort();
    places.dedup();
    places
}

/// All arrays that this host remembers, with the places of their members.
pub fn remembered(environment: &Environment) -> Vec<Absentee> {
    let Some(store) = environment.store() else { return Vec::new() };
    let book = |array| store.read(array).ok().flatten();
    let drives = |array| book(array).map(|book| book.members().iter().map(|it| it.drive.clone()).collect());
    store.arrays().into_iter().filter_map(|array| Some(Absentee { array, drives: drives(array)? })).collect()
}
