//! Clients that are slow, malformed, too many or gone: none costs the array or another client
//! anything.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::running::server::{Client, PATIENCE, Server};
use crate::support::{Bay, pattern};

fn array() -> (Bay, Server) {
    let bay = Bay::with_sizes(&[16 << 20; 3]);
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    (bay, server)
}

/// A client that behaves is served.
fn is_served(client: &mut Client, seed: u64) {
    let bytes = pattern(65536, seed);
    client.write(1 << 20, &bytes);
    assert!(client.read(1 << 20, 65536) == bytes);
    assert_eq!(client.status()["health"], "optimal");
}

/// A client that behaves is served while another misbehaves: before that one is sent away, which it
/// is in the end. On a machine that stood still for so long nothing is said by it, and it is tried
/// again.
fn is_unhurt_beside(server: &Server, client: &mut Client, seed: u64, misbehave: impl Fn(&mut Client)) -> Client {
    for _ in 0..5 {
        let mut hostile = server.client();
        misbehave(&mut hostile);
        is_served(client, seed);
        if is_connected(&hostile.stream) {
            return hostile;
        }
    }
    panic!("who behaves has waited until hostile client {seed} was sent away");
}

fn is_connected(stream: &UnixStream) -> bool {
    let mut it = [PollFd::new(stream, PollFlags::RDHUP)];
    poll(&mut it, Some(&Timespec::default())).unwrap();
    !it[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
}

/// Whether the connection is closed, whatever comes before that.
fn is_closed(stream: &mut UnixStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// A client that is let in; it may have to wait until others have gone or made room.
fn served_in_the_end(server: &Server) -> Client {
    let start = Instant::now();
    loop {
        let mut client = server.client();
        let asked = client.stream.write_all(b"{\"id\":1,\"command\":\"status\"}\n");
        if asked.is_ok() && client.answer().is_some_and(|answer| answer["state"].is_object()) {
            return client;
        }
        assert!(start.elapsed() < PATIENCE, "who asks is not let in");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn what_makes_no_sense_is_answered_and_harms_nobody() {
    let (_bay, server) = array();
    let mut good = server.client();
    let lines: [(&[u8], &str); 6] = [
        (b"\n", "this is no request"),
        (b"GET / HTTP/1.1\r\n\r\n", "this is no request"),
        (b"\xff\xfe\x00\x01\n", "this is no request"),
        (b"{\"id\":1}\n", "this is no request"),
        (&[b'['; 20_000], "at most"),
        (&[b'x'; 1 << 20], "at most"),
    ];
    for (number, (line, words)) in (0..).zip(lines) {
        let mut bad = server.client();
        // It may be closed before all is written.
        let _ = bad.stream.write_all(line);
        if let Some(answer) = bad.answer() {
            assert_eq!(answer["error"]["kind"], "usage");
            assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
        } else {
            assert!(line.len() > 100_000, "an answer to {:?}", String::from_utf8_lossy(line));
        }
        assert!(is_closed(&mut bad.stream));
        is_served(&mut good, number);
    }
}

#[test]
fn requests_that_cannot_be_done_are_refused_one_by_one() {
    let (bay, server) = array();
    let mut client = server.client();
    let path = bay.path("d0").display().to_string();
    let requests = [
        (json!({"id": 1, "command": "explode"}), "explode"),
        (json!({"id": 2, "command": "fail"}), "arguments"),
        (json!({"id": 3, "command": "fail", "arguments": {"member": "d0"}}), "no absolute path"),
        (json!({"id": 4, "command": "fail", "arguments": {"member": "/nowhere"}}), "no member"),
        (json!({"id": 5, "command": "add", "arguments": {"drive": "/dev/null", "force": true}}), "character device"),
        (json!({"id": 6, "command": "add", "arguments": {"drive": path, "force": true}}), "active member of array"),
        (json!({"id": 7, "command": "read", "arguments": {"offset": 0, "length": 0}}), "from 1 to"),
        (json!({"id": 8, "command": "read", "arguments": {"offset": 0, "length": 1_048_577}}), "from 1 to"),
        (json!({"id": 9, "command": "speed", "arguments": {"max_bytes_per_s": 0}}), "larger"),
        (json!({"id": 10, "command": "speed", "arguments": {"min_bytes_per_s": u64::MAX}}), ""),
        (json!({"id": 11, "command": "status", "arguments": {"more": 1}}), ""),
    ];
    for (request, words) in requests {
        let answer = client.call(&request);
        assert_eq!(answer["id"], request["id"]);
        if !words.is_empty() {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(words), "{request}: {answer}");
        }
    }
    for (offset, length, fault) in [
        (1, 512, json!("misaligned")),
        (512, 511, json!("misaligned")),
        (u64::MAX - 511, 512, json!("out-of-range")),
        (1 << 40, 512, json!("out-of-range")),
    ] {
        let arguments = json!({"offset": offset, "length": length});
        let read = client.call(&json!({"id": 1, "command": "read", "arguments": arguments}));
        assert_eq!(read["fault"], fault, "read {offset} {length}");
        client.send(&json!({"id": 2, "command": "write", "arguments": arguments}), &vec![7; length]);
        assert_eq!(client.answer().unwrap()["fault"], fault, "write {offset} {length}");
    }
    is_served(&mut client, 99);
}

#[test]
fn clients_that_stall_or_vanish_hold_nobody_up() {
    let (_bay, server) = array();
    let mut good = server.client();
    let read = |id: u64| json!({"id": id, "command": "read", "arguments": {"offset": 0, "length": 1 << 20}});
    let write = json!({"id": 1, "command": "write", "arguments": {"offset": 0, "length": 1 << 20}});
    // Begins a line, begins content, asks for much and takes nothing, closes one half.
    let begin_line = |it: &mut Client| it.stream.write_all(b"{\"id\":1,").unwrap();
    let half_line = is_unhurt_beside(&server, &mut good, 1, begin_line);
    let half_content = is_unhurt_beside(&server, &mut good, 2, |it| it.send(&write, &[1; 1000]));
    let _deaf = is_unhurt_beside(&server, &mut good, 3, |it| (0..40).for_each(|id| it.send(&read(id), &[])));
    let mut half_closed = server.client();
    half_closed.send(&read(5), &[]);
    half_closed.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(half_closed.answer().unwrap()["content"]["bytes"], 1 << 20);
    drop(half_closed.content(1 << 20));
    assert!(half_closed.answer().is_none());
    for id in 0..50 {
        let mut vanishing = server.client();
        let (request, content) = if id % 2 == 0 { (read(id), &[][..]) } else { (write.clone(), &[2; 5000][..]) };
        // It is turned away when there are too many others.
        let _ = vanishing.stream.write_all(&[format!("{request}\n").as_bytes(), content].concat());
    }
    // With so many others, who was silent for a while may have had to make room.
    let mut good = served_in_the_end(&server);
    is_served(&mut good, 4);
    // Whoever begins and does not end is sent away in the end.
    for mut stalled in [half_line, half_content] {
        assert!(is_closed(&mut stalled.stream));
    }
    is_served(&mut good, 5);
    assert_eq!(good.read(0, 4096), vec![0; 4096], "what was not sent in full is not written");
}

#[test]
fn the_silent_make_room_for_those_who_ask() {
    let (bay, server) = array();
    let silent: Vec<UnixStream> = (0..40).filter_map(|_| UnixStream::connect(&server.socket).ok()).collect();
    // They have to be silent for a moment before they make room.
    drop(served_in_the_end(&server));
    for _ in 0..12 {
        let start = Instant::now();
        while bay.run("--json status d0").code != 0 {
            assert!(start.elapsed() < PATIENCE, "who asks is not let in");
        }
    }
    drop(silent);
    let mut clients: Vec<Client> = (0..12).map(|_| served_in_the_end(&server)).collect();
    for (number, client) in (0..).zip(&mut clients) {
        is_served(client, number);
    }
}
