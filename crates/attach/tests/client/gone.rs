//! A server that is gone for longer than anybody waits, or comes back with drives that have lost
//! their power.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use shoal_attach::{Client, Operation, Terms};

use crate::served::{Medium, Server, socket};
use crate::{answer, eventually, options};

#[test]
fn a_flush_fails_once_when_drives_lost_their_power_with_what_was_answered() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let start = |incarnation| Server::start_incarnation(directory.path(), &medium, incarnation);
    let write = || Operation::Write { offset: 0, data: vec![7; 4096], fua: false };
    let read = || Operation::Read { offset: 0, length: 4096 };
    let server = start("a=1,b=1");
    let client = Client::connect(&socket(directory.path()), &options(120_000, 2)).unwrap();
    assert_eq!(answer(&client, write()), Ok(Vec::new()));
    server.kill();
    let server = start("a=1,b=1");
    assert_eq!(answer(&client, Operation::Flush), Ok(Vec::new()), "a server that was killed costs nothing");
    assert_eq!(answer(&client, write()), Ok(Vec::new()));
    server.kill();
    let server = start("a=1,b=2");
    // Both connections are there again.
    assert!(answer(&client, read()).is_ok() && answer(&client, read()).is_ok());
    assert_eq!(answer(&client, Operation::Flush), Err(Errno::IO), "what was answered may be lost");
    assert_eq!(answer(&client, Operation::Flush), Ok(Vec::new()), "it is told once");
    server.kill();
    let server = start("a=3,b=3");
    assert_eq!(answer(&client, Operation::Flush), Ok(Vec::new()), "nothing was answered that was not flushed");
    // One that takes its place knows no more than what it was told.
    let terms: Terms = client.terms().to_string().parse().unwrap();
    let next = Client::expect(&socket(directory.path()), terms, &options(120_000, 1)).unwrap();
    assert_eq!(answer(&next, Operation::Flush), Err(Errno::IO));
    server.kill();
}

#[test]
fn all_that_waits_for_a_server_that_is_gone_has_one_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let server = Server::start(directory.path(), &medium, 1);
    let client = Client::connect(&socket(directory.path()), &options(2_000, 1)).unwrap();
    let read = || Operation::Read { offset: 0, length: 4096 };
    assert!(answer(&client, read()).is_ok());
    server.kill();
    let start = Instant::now();
    for _ in 0..200 {
        assert_eq!(answer(&client, read()), Err(Errno::TIMEDOUT));
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(1_900) && took < Duration::from_secs(200), "{took:?}: each had its own");
    // A server that is there again has all of the time again.
    let server = Server::start(directory.path(), &medium, 1);
    eventually("it is not connected again", || client.trouble().is_none());
    assert!(answer(&client, read()).is_ok());
    server.kill();
}
