//! Which arrays there are on this machine: those that drives carry, and those that this host
//! remembers and whose drives are not here.
//!
//! An array that is a member of another one is not listed by itself: an array of arrays is one.

use std::path::PathBuf;

use shoal_md::Uuid;

use crate::environment::Environment;
use crate::look::members;
use crate::search::{Group, outer_array, put};

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
