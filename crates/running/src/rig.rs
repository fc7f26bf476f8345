//! What unit tests of this crate run: an array without redundancy on two files.

use std::fs::File;
use std::path::Path;

use shoal_drive::Access;
use shoal_inventory::{join_for, open_drives};
use shoal_volume::{
    ArrayLevel, ArrayVolume, ConsistencyPolicy, CreateOptions, Level, MinorVersion, OpenOptions, Raid0Layout,
};

use crate::world::HostWorld;

/// The array, new and open, on `a` and `b` in a directory.
pub(crate) fn array_on_files(directory: &Path, options: &OpenOptions) -> ArrayVolume<HostWorld> {
    let paths = ["a", "b"].map(|name| directory.join(name));
    paths.iter().for_each(|path| File::create(path).unwrap().set_len(8 << 20).unwrap());
    let opened = join_for(None, open_drives(&paths, Access::Write).unwrap(), (2, 64 << 10)).unwrap();
    let create = CreateOptions {
        level: ArrayLevel::Plain(Level::Raid0(Raid0Layout::Original)),
        chunk_bytes: 64 << 10,
        spare_count: 0,
        name: "pond".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let world = HostWorld::Real(Box::new(opened.world));
    ArrayVolume::create(world, opened.plan, &opened.drives, &create, options).unwrap()
}
