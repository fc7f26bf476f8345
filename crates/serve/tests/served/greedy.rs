//! Clients that ask without end for what costs them nothing.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use crate::client::{Answer, BLOCK_STATUS, Client, PATIENCE};
use crate::volume::{MemoryVolume, Served, exporter};

const REQUEST_BYTES: usize = 28;
/// What sockets, and what a server may keep of a client, come to at most.
const BYTES_MAX: usize = 16 << 20;

/// So many requests in a row, as bytes: for what the export has in its first block.
fn requests(count: usize) -> Vec<u8> {
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &0_u16.to_be_bytes(), &BLOCK_STATUS.to_be_bytes()].concat();
    let request = [&head[..], &7_u64.to_be_bytes(), &0_u64.to_be_bytes(), &4096_u32.to_be_bytes()].concat();
    request.repeat(count)
}

#[test]
fn a_client_that_takes_no_answers_is_asked_for_nothing_more() {
    let served = Served::start(61);
    let mut greedy = Client::open(&served, "pond", true);
    let bytes = requests(1000);
    greedy.stream.set_nonblocking(true).unwrap();
    let (mut sent, mut refused) = (0, 0);
    while refused < 2 {
        assert!(sent < BYTES_MAX, "the server takes whatever comes");
        match greedy.stream.write(&bytes[sent % REQUEST_BYTES..]) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                served.rest();
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let mut other = Client::open(&served, "pond", true);
    other.write(0, &[1; 4096]);
    greedy.stream.set_nonblocking(false).unwrap();
    greedy.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for _ in 0..sent / REQUEST_BYTES {
        assert_eq!(greedy.answer(0), (7, Answer::Extent(4096, 0)));
    }
    served.stop();
}

#[test]
fn requests_without_content_are_worked_off_in_turns() {
    const REQUESTS: usize = 3000;
    let (mut exporter, mut volume) = (exporter(), MemoryVolume::alone(62));
    let mut clients = [(); 4].map(|()| Client::open_at(&exporter.handshakes(), "pond"));
    while exporter.connections() < clients.len() {
        exporter.serve(&mut volume);
    }
    for client in &mut clients {
        client.stream.write_all(&requests(REQUESTS)).unwrap();
    }
    let patience = exporter.serve(&mut volume);
    assert_eq!(patience, Duration::ZERO, "the owner goes on for as long as clients do");
    for client in &mut clients {
        for _ in 0..REQUESTS {
            while !client.has_answer() {
                exporter.serve(&mut volume);
            }
            assert_eq!(client.answer(0), (7, Answer::Extent(4096, 0)));
        }
    }
}
