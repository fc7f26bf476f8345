//! How the process that runs an array ends.

use shoal_inventory::{Environment, RUNTIME_VARIABLE, STATE_VARIABLE};
use shoal_md::Uuid;
use shoal_memory::{FileKeeper, Hold, Keeper};
use shoal_volume::{HostMemory, OpenOptions, Trust};

use super::*;
use crate::rig::array_on_files;

/// An array on two files that this process holds.
fn host(environment: &Environment, directory: &Path) -> (Host, Uuid) {
    let options = OpenOptions::writable();
    let mut array = array_on_files(directory, &options);
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
