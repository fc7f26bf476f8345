//! How the process that runs an array ends.

use std::fs::File;

use shoal_drive::Access;
use shoal_inventory::{Environment, RUNTIME_VARIABLE, STATE_VARIABLE, join_for, open_drives};
use shoal_md::Uuid;
use shoal_memory::{FileKeeper, Hold, Keeper};
use shoal_volume::{
    ArrayLevel, ArrayVolume, ConsistencyPolicy, CreateOptions, HostMemory, Level, MinorVersion, OpenOptions,
    Raid0Layout, Trust,
};

use super::*;
use crate::world::HostWorld;

/// An array on two files that this process holds.
fn host(environment: &Environment, directory: &Path) -> (Host, Uuid) {
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
    let options = OpenOptions::writable();
    let world = HostWorld::Real(Box::new(opened.world));
    let mut array = ArrayVolume::create(world, opened.plan, &opened.drives, &create, &options).unwrap();
    let uuid = array.status().uuid.parse().unwrap();
    let mut keeper = FileKeeper::new(environment.store().unwrap());
    keeper.hold(uuid, Hold::Alone).unwrap();
    array.remember_in(HostMemory::new(Box::new(keeper), Trust::Anything));
    (Host::of(environment, array, options.background), uuid)
}

#[test]
fn who_is_told_that_an_array_has_stopped_can_start_it() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let of_test = [STATE_VARIABLE, RUNTIME_VARIABLE].contains(&name);
        of_test.then(|| directory.path().join(name).into_os_string())
    };
    let environment = Environment::from_variables(place, |_| ());
    let (host, uuid) = host(&environment, directory.path());
    let mut jobs = None;
    let signals = |stopper: Stopper| {
        jobs = Some(stopper.0);
        Ok(())
    };
    let server = Server::start(host, None, None, None, signals).unwrap();
    let (jobs, store) = (jobs.unwrap(), environment.store().unwrap());
    let client = std::thread::spawn(move || {
        let (told, unanswered) = jobs.stop();
        told.unwrap();
        // The process ends no further until its client has the answer.
        let lock = store.lock(uuid, Hold::Alone);
        drop(unanswered);
        lock.map(drop)
    });
    server.run().unwrap();
    client.join().unwrap().unwrap();
}
