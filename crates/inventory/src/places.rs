//! Where members of arrays may be on this machine.

use std::path::{Path, PathBuf};

use shoal_md::Uuid;

use crate::environment::Environment;
use crate::look::Seen;

/// An array that this host remembers, and of which no drive is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absentee {
    /// The array.
    pub array: Uuid,
    /// Its members, as they were called when they were last seen.
    pub drives: Vec<String>,
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

/// The machine's drives and partitions: block devices with hardware behind them. Others are made by
/// programs, of this one too, and one whose program waits for its array answers nobody.
pub fn machine_drives() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/sys/class/block") else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(Result::ok).filter(|entry| is_hardware(&entry.path())).collect();
    paths.sort_by_key(std::fs::DirEntry::file_name);
    // Names with a `!` are those of devices in a directory.
    paths.iter().map(|entry| Path::new("/dev").join(entry.file_name().to_string_lossy().replace('!', "/"))).collect()
}

fn is_hardware(entry: &Path) -> bool {
    let Ok(place) = entry.canonicalize() else { return false };
    if place.join("partition").exists() {
        return place.parent().is_some_and(|disk| disk.join("device").exists());
    }
    // The end of a disk is the end of its last partition, and a superblock there is the
    // partition's.
    let is_partition = |inner: &std::fs::DirEntry| inner.path().join("partition").exists();
    let has_partitions =
        std::fs::read_dir(&place).is_ok_and(|inner| inner.filter_map(Result::ok).any(|it| is_partition(&it)));
    place.join("device").exists() && !has_partitions
}

/// Where a member may be: beside those that are given, or at the path by which it was last seen.
pub(crate) fn places(path: &Path, group: &[&Seen]) -> Vec<PathBuf> {
    let beside = group.iter().filter_map(|seen| Some(seen.path.parent()?.join(path.file_name()?)));
    let mut places: Vec<PathBuf> = Vec::new();
    for place in beside.chain([path.to_owned()]) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
