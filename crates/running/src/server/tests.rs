//! Who is let in by the process that runs an array, and how it ends.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use shoal_inventory::{Environment, Named, RUNTIME_VARIABLE, STATE_VARIABLE};
use shoal_md::Uuid;
use shoal_memory::{FileKeeper, Hold, Keeper};
use shoal_volume::{HostMemory, OpenOptions, Request, RequestId, Trust, Volume};

use super::*;
use crate::client::Client;
use crate::opening::ArrayAddress;
use crate::reach::reach_running;
use crate::rig::array_on_files;
use crate::session::FIRST_PATIENCE;

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

/// A host whose arrays are kept in a directory.
fn environment(directory: &Path) -> Environment {
    let place = |name: &str| {
        let of_test = [STATE_VARIABLE, RUNTIME_VARIABLE].contains(&name);
        of_test.then(|| directory.join(name).into_os_string())
    };
    Environment::from_variables(place, |_| ())
}

/// A server of the array, at the place that is named, and what stops it.
fn start(host: Host, named: Option<&Path>) -> (Server, Jobs) {
    let mut jobs = None;
    let signals = |stopper: Stopper| {
        jobs = Some(stopper.0);
        Ok(())
    };
    let server = Server::start(host, named, None, None, signals).unwrap();
    (server, jobs.unwrap())
}

/// Runs the array while a client does something.
fn run_beside(server: Server, jobs: Jobs, client: impl FnOnce() + Send + 'static) {
    let client = std::thread::spawn(move || {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(client));
        jobs.stop().0.unwrap();
        done
    });
    server.run().unwrap();
    client.join().unwrap().unwrap();
}

#[test]
fn idle_clients_keep_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let (server, jobs) = start(host(&environment, directory.path()).0, None);
    let socket = server.socket().to_owned();
    run_beside(server, jobs, move || {
        let _idle: Vec<_> = (0..80).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        for _ in 0..20 {
            assert!(Client::connect(&socket).unwrap().is_some());
        }
    });
}

#[test]
fn who_connects_and_says_nothing_is_let_go() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let (server, jobs) = start(host(&environment, directory.path()).0, None);
    let socket = server.socket().to_owned();
    run_beside(server, jobs, move || {
        let begun = Instant::now();
        let mut mute = UnixStream::connect(&socket).unwrap();
        mute.set_read_timeout(Some(12 * FIRST_PATIENCE)).unwrap();
        assert_eq!(mute.read(&mut [0]).unwrap(), 0);
        assert!(begun.elapsed() >= FIRST_PATIENCE, "it has that long");
    });
}

#[test]
fn who_answers_at_an_array_s_place_is_that_array_or_is_not_asked() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let [wanted, other] = ["wanted", "other"].map(|name| directory.path().join(name));
    [&wanted, &other].iter().for_each(|place| std::fs::create_dir(place).unwrap());
    let wanted_uuid = host(&environment, &wanted).1;
    let (host, other_uuid) = host(&environment, &other);
    place::make_directory(&environment).unwrap();
    let socket = place::socket_of(&environment, &wanted_uuid.to_string());
    let (server, jobs) = start(host, Some(&socket));
    run_beside(server, jobs, move || {
        let reach = |address: &ArrayAddress| reach_running(&environment, address).map(|handle| handle.is_some());
        let by_uuid = Named { uuid: Some(wanted_uuid), ..Named::default() };
        let by_drive = Named { drives: vec![wanted.join("a")], ..Named::default() };
        for named in [by_uuid, by_drive] {
            let said = reach(&ArrayAddress { named, socket: None }).unwrap_err().to_string();
            let words = [other_uuid.to_string(), wanted_uuid.to_string(), "shoal stop --socket".to_owned()];
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
        let named = Named { uuid: Some(other_uuid), ..Named::default() };
        assert!(reach(&ArrayAddress { named, socket: Some(socket) }).unwrap(), "it is there by its place");
    });
}

#[test]
fn who_is_told_that_an_array_has_stopped_can_start_it() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let (host, uuid) = host(&environment, directory.path());
    let (server, jobs) = start(host, None);
    let store = environment.store().unwrap();
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

#[test]
fn all_who_stop_an_array_at_the_same_time_are_told_that_it_has_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let (host, _) = host(&environment, directory.path());
    let (server, jobs) = start(host, None);
    // They are all there before the first is heard.
    let replies: Vec<_> = (0..4)
        .map(|_| {
            let ((result, came), (unanswered, answered)) = (sync_channel(1), sync_channel(1));
            assert!(jobs.hand_over(Job::Stop(Some(StopReply { result, answered }))));
            drop(unanswered);
            came
        })
        .collect();
    server.run().unwrap();
    for came in replies {
        came.recv().expect("everybody is told").unwrap();
    }
}

/// Whoever waits for what was submitted to a process that is gone is told each time: nothing of it
/// is ever answered.
#[test]
fn a_client_whose_server_is_gone_waits_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let environment = environment(directory.path());
    let (host, _) = host(&environment, directory.path());
    let (server, jobs) = start(host, None);
    let socket = server.socket().to_owned();
    let (sender, connected) = channel();
    run_beside(server, jobs, move || sender.send(Client::connect(&socket).unwrap().unwrap()).unwrap());
    let mut client = connected.recv().unwrap();
    let mut answers = Vec::new();
    for buffer in 0..4 {
        let span = client.request_span(buffer, 4096);
        let command = shoal_volume::Command::Write { offset: 0, span };
        client.submit(Request { id: RequestId::client(u64::from(buffer)), command });
    }
    for _ in 0..3 {
        client.poll(1, None, &mut answers).unwrap_err();
    }
    assert!(answers.is_empty());
}
