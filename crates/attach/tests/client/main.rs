//! The client against a real server that is killed, stands still, or is another one; and against
//! servers that make no sense.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod gone;
mod served;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use served::{Medium, SIZE, Server, socket};
use shoal_attach::{Ability, Answer, Client, ClientOptions, Operation, Remote, Terms};
use shoal_serve::Address;
use shoal_volume::{Command, Completion, Request, RequestError, RequestId, Volume};

/// What takes longer hangs, however busy the machine is.
const SLACK: Duration = Duration::from_secs(180);

fn options(deadline_ms: u64, connections: u32) -> ClientOptions {
    ClientOptions { export: "pond".to_owned(), deadline: Duration::from_millis(deadline_ms), connections }
}

fn ask(client: &Client, operation: Operation) -> Receiver<Answer> {
    let (sender, answer) = channel();
    client.submit(operation, Box::new(move |answer| drop(sender.send(answer))));
    answer
}

fn answer(client: &Client, operation: Operation) -> Answer {
    ask(client, operation).recv_timeout(SLACK).expect("every operation is answered")
}

/// Waits until it is so.
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SLACK, "{what}");
    }
}

fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(length).collect()
}

#[test]
fn content_of_any_size_and_place_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let server = Server::start(directory.path(), &medium, 1);
    for connections in [1, 3] {
        let client = Client::connect(&socket(directory.path()), &options(30_000, connections)).unwrap();
        assert_eq!((client.size_bytes(), client.is_read_only(), client.block_bytes()), (SIZE, false, 4096));
        assert!(client.can(Ability::Fua) && client.can(Ability::Discard));
        for (offset, length) in [(0_u64, 1_usize), (5, 4096), (4096, 131_072), (1, 3_000_000), (0, SIZE as usize)] {
            let data = pattern(length, offset + length as u64);
            let write = Operation::Write { offset, data: data.clone(), fua: length % 2 == 0 };
            assert_eq!(answer(&client, write), Ok(Vec::new()));
            let read = answer(&client, Operation::Read { offset, length: length as u32 });
            assert!(read == Ok(data), "{length} bytes at {offset}");
        }
        let zeroes = Operation::WriteZeroes { offset: 10, length: 1_000_000, may_discard: false };
        assert_eq!(answer(&client, zeroes), Ok(Vec::new()));
        assert!(answer(&client, Operation::Read { offset: 10, length: 1_000_000 }) == Ok(vec![0; 1_000_000]));
        assert_eq!(answer(&client, Operation::Flush), Ok(Vec::new()));
        assert!(medium.flushes.load(Ordering::Relaxed) > 0);
    }
    server.kill();
}

#[test]
fn an_export_is_a_volume() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &Medium::new(), 1);
    let client = Client::connect(&socket(directory.path()), &options(30_000, 1)).unwrap();
    let mut volume = Remote::new(client, 3, 65_536).unwrap();
    assert_eq!((volume.size_bytes(), volume.logical_block_bytes()), (SIZE, 512));
    let data = pattern(65_536, 5);
    volume.arena().write(volume.request_memory(1), &data);
    let (from, to) = (volume.request_span(1, 65_536), volume.request_span(2, 65_536));
    let beyond = Command::Read { offset: SIZE, span: volume.request_span(0, 512) };
    for (command, expected) in [
        (Command::Write { offset: 1 << 20, span: from }, Ok(())),
        (Command::Flush, Ok(())),
        (Command::Read { offset: 1 << 20, span: to }, Ok(())),
        (beyond, Err(RequestError::OutOfRange)),
    ] {
        volume.submit(Request { id: RequestId::client(7), command });
        let mut completions = Vec::new();
        volume.poll(1, Some(SLACK), &mut completions).unwrap();
        assert_eq!(completions, [Completion { id: RequestId::client(7), result: expected }], "{command:?}");
    }
    let mut read = vec![0; 65_536];
    volume.arena().read(volume.request_memory(2), &mut read);
    assert!(read == data);
    let mut completions = Vec::new();
    volume.poll(1, None, &mut completions).unwrap();
    assert!(completions.is_empty(), "with nothing under way it returns at once");
    server.kill();
}

#[test]
fn zeros_are_made_by_discarding_where_that_can_be_done() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let server = Server::start(directory.path(), &medium, 1);
    let client = Client::connect(&socket(directory.path()), &options(30_000, 1)).unwrap();
    assert!(client.can(Ability::FastZeroes));
    let fill = || medium.content.lock().unwrap().fill(9);
    let is_zero = |range: std::ops::Range<usize>| {
        let content = medium.content.lock().unwrap();
        let zeros = content[range.clone()].iter().all(|&byte| byte == 0);
        zeros && content[..range.start].iter().chain(&content[range.end..]).all(|&byte| byte == 9)
    };
    let discarded = || medium.discarded_bytes.swap(0, Ordering::Relaxed);
    let half = SIZE as u32 / 2;

    // The half that can; its ends lie within blocks, which are written.
    fill();
    assert_eq!(answer(&client, Operation::FastZeroes { offset: 100, length: half - 200 }), Ok(Vec::new()));
    assert!(is_zero(100..half as usize - 100) && discarded() > u64::from(half) / 2);
    // The half that cannot.
    fill();
    let refused = answer(&client, Operation::FastZeroes { offset: u64::from(half), length: half });
    assert_eq!(refused, Err(Errno::OPNOTSUPP));
    assert_eq!(discarded(), 0);
    // All of it, however; and all of it with its room.
    for (may_discard, expected) in [(true, 1), (false, 0)] {
        fill();
        let zeroes = Operation::WriteZeroes { offset: 1, length: SIZE as u32 - 1, may_discard };
        assert_eq!(answer(&client, zeroes), Ok(Vec::new()));
        assert!(is_zero(1..SIZE as usize));
        assert_eq!(discarded().min(1), expected, "may discard: {may_discard}");
    }
    server.kill();
}

#[test]
fn a_client_follows_another_whose_server_is_away() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let server = Server::start(directory.path(), &medium, 1);
    let path = socket(directory.path());
    let terms = Client::connect(&path, &options(30_000, 1)).unwrap().terms().to_string().parse::<Terms>().unwrap();
    server.kill();
    // Nobody is there, and nobody comes.
    let client = Client::expect(&path, terms.clone(), &options(200, 1)).unwrap();
    assert_eq!((client.size_bytes(), client.description()), (SIZE, "array 1:2:3:4"));
    assert_eq!(answer(&client, Operation::Read { offset: 0, length: 4096 }), Err(Errno::TIMEDOUT));
    // Another array comes, and then the one that is expected.
    let client = Client::expect(&path, terms, &options(30_000, 1)).unwrap();
    let asked = ask(&client, Operation::Write { offset: 0, data: vec![7; 4096], fua: false });
    let (address, other) = (Address::Unix(path), Medium::new());
    let stranger = Server::start_at(&address, &other, 1, "array 5:6:7:8");
    while client.trouble().is_none_or(|trouble| !trouble.contains("another array")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    stranger.kill();
    let server = Server::start(directory.path(), &medium, 1);
    assert_eq!(asked.recv_timeout(SLACK), Ok(Ok(Vec::new())));
    assert!(other.content.lock().unwrap().iter().all(|&byte| byte == 0), "it was written to");
    assert!(medium.content.lock().unwrap()[..4096].iter().all(|&byte| byte == 7));
    server.kill();
}

#[test]
fn what_cannot_be_done_is_refused_here() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &Medium::new(), 1);
    let client = Client::connect(&socket(directory.path()), &options(30_000, 1)).unwrap();
    let write = |offset, length| Operation::Write { offset, data: vec![1; length], fua: false };
    for operation in [
        Operation::Read { offset: SIZE, length: 1 },
        Operation::Read { offset: u64::MAX, length: 4096 },
        Operation::Read { offset: 0, length: 0 },
        Operation::Discard { offset: SIZE - 1, length: 2 },
        write(SIZE - 4096, 4097),
    ] {
        assert_eq!(answer(&client, operation), Err(Errno::INVAL));
    }
    server.kill();
    let error = Client::connect(&socket(directory.path()), &options(1000, 1)).unwrap_err().to_string();
    assert!(error.contains("is the array served there?"), "{error}");
}

/// Writers, each with its own part of the content, write and read it back while the server is
/// killed and started again.
#[test]
fn a_server_that_is_killed_again_and_again_costs_no_byte_and_no_answer() {
    const WRITERS: u64 = 4;
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let mut server = Some(Server::start(directory.path(), &medium, 1));
    let client = Client::connect(&socket(directory.path()), &options(60_000, 2)).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (client, is_over) = (&client, &is_over);
                scope.spawn(move || {
                    let (part, mut round) = (SIZE / WRITERS, 0);
                    while !is_over.load(Ordering::Relaxed) || round == 0 {
                        write_and_read_back(client, number * part, part, round * WRITERS + number + 1);
                        round += 1;
                    }
                    round
                })
            })
            .collect();
        for kill in 0..12 {
            std::thread::sleep(Duration::from_millis(30 + kill * 7 % 40));
            server.take().unwrap().kill();
            std::thread::sleep(Duration::from_millis(kill * 13 % 60));
            server = Some(Server::start(directory.path(), &medium, kill));
        }
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>()
    });
    assert!(rounds >= WRITERS);
    server.take().unwrap().kill();
}

/// Many writes at a time to a part of the content, a flush, and the comparison of all of it.
fn write_and_read_back(client: &Client, first: u64, bytes: u64, seed: u64) {
    const RUN: usize = 40_000;
    let data = pattern(bytes as usize, seed);
    let asked: Vec<_> = data
        .chunks(RUN)
        .enumerate()
        .map(|(number, run)| {
            let offset = first + (number * RUN) as u64;
            ask(client, Operation::Write { offset, data: run.to_vec(), fua: number % 9 == 0 })
        })
        .collect();
    for answer in asked {
        assert_eq!(answer.recv_timeout(SLACK), Ok(Ok(Vec::new())));
    }
    assert_eq!(answer(client, Operation::Flush), Ok(Vec::new()));
    for (number, run) in data.chunks(RUN).enumerate() {
        let offset = first + (number * RUN) as u64;
        let read = answer(client, Operation::Read { offset, length: run.len() as u32 });
        assert!(read == Ok(run.to_vec()), "{offset}: what was written is not what is there");
    }
}

#[test]
fn whoever_is_not_answered_in_time_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let medium = Medium::new();
    let mut server = Some(Server::start(directory.path(), &medium, 1));
    let client = Client::connect(&socket(directory.path()), &options(400, 1)).unwrap();
    for stands_still in [true, false] {
        let begun = Instant::now();
        if stands_still {
            server.as_ref().unwrap().stand_still();
        } else {
            server.take().unwrap().kill();
        }
        let asked: Vec<_> = (0..300)
            .map(|number| match number % 3 {
                0 => Operation::Flush,
                1 => Operation::Read { offset: 0, length: 4096 },
                _ => Operation::Write { offset: 4096, data: vec![1; 4096], fua: true },
            })
            .map(|operation| ask(&client, operation))
            .collect();
        for answer in asked {
            assert_eq!(answer.recv_timeout(SLACK), Ok(Err(Errno::TIMEDOUT)));
        }
        // Three hundred are more than there is room for: the last ones have waited for the first
        // ones' answers.
        assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
        if stands_still {
            server.as_ref().unwrap().go_on();
        } else {
            server = Some(Server::start(directory.path(), &medium, 2));
        }
        let is_back = || answer(&client, Operation::Read { offset: 0, length: 4096 }).is_ok();
        eventually("the client does not find the server again", is_back);
    }
    server.unwrap().kill();
}

#[test]
fn another_array_at_the_same_place_is_not_taken_for_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let (medium, other) = (Medium::new(), Medium::new());
    let server = Server::start(directory.path(), &medium, 1);
    let address = server.address.clone();
    let client = Client::connect(&socket(directory.path()), &options(700, 1)).unwrap();
    server.kill();
    let stranger = Server::start_at(&address, &other, 1, "array 9:9:9:9");
    let write = || Operation::Write { offset: 0, data: vec![7; 4096], fua: false };
    eventually("the client does not see whom it has met", || {
        assert_eq!(answer(&client, write()), Err(Errno::TIMEDOUT));
        client.trouble().is_some_and(|trouble| trouble.contains("another array"))
    });
    stranger.kill();
    assert!(other.content.lock().unwrap().iter().all(|&byte| byte == 0), "it was written to");
    let server = Server::start(directory.path(), &medium, 1);
    eventually("the client does not find the first one again", || answer(&client, write()).is_ok());
    assert_eq!(client.trouble(), None);
    server.kill();
}

#[test]
fn over_tcp_nothing_is_asked_again() {
    let medium = Medium::new();
    let address = "tcp:127.0.0.1:0".parse().unwrap();
    let server = Server::start_at(&address, &medium, 1, "array 1:2:3:4");
    let address = server.address.clone();
    let client = Client::open(&address, &options(30_000, 1)).unwrap();
    assert!(answer(&client, Operation::Read { offset: 0, length: 4096 }).is_ok());
    server.stand_still();
    let asked = ask(&client, Operation::Write { offset: 0, data: vec![7; 4096], fua: false });
    server.kill();
    assert_eq!(asked.recv_timeout(SLACK), Ok(Err(Errno::IO)));
    assert_eq!(answer(&client, Operation::Read { offset: 0, length: 4096 }), Err(Errno::IO));
}

#[test]
fn whoever_drops_the_client_is_still_answered() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &Medium::new(), 1);
    let client = Client::connect(&socket(directory.path()), &options(30_000, 1)).unwrap();
    server.stand_still();
    let asked = ask(&client, Operation::Write { offset: 0, data: vec![7; 4096], fua: false });
    drop(client);
    server.go_on();
    assert_eq!(asked.recv_timeout(SLACK), Ok(Ok(Vec::new())));
    server.kill();
}

/// Servers that come to terms and then say anything: as the kernel would, the client only ever ends
/// the connection.
#[test]
fn servers_that_make_no_sense_cost_time_and_nothing_else() {
    let structured = |kind: u16, cookie: u64, length: u32, rest: &[u8]| {
        let head = [&0x668e_33ef_u32.to_be_bytes()[..], &1_u16.to_be_bytes(), &kind.to_be_bytes()].concat();
        [&head[..], &cookie.to_be_bytes(), &length.to_be_bytes(), rest].concat()
    };
    let data = |offset: u64, bytes: usize| [&offset.to_be_bytes()[..], &vec![9; bytes]].concat();
    let replies = [
        vec![0; 64],
        structured(0, 99, 0, &[]),
        // Content that nobody asked for, too much of it, too little, or without end.
        structured(1, 0, 8 + 16, &data(1 << 20, 16)),
        structured(1, 0, 8 + 8192, &data(0, 8192)),
        structured(1, 0, 8 + 16, &data(0, 16)),
        structured(1, 0, u32::MAX, &data(0, 4096)),
        structured(2, 0, 12, &[&0_u64.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat()),
        structured(0x8001, 0, u32::MAX, &[0; 64]),
        structured(0x8001, 0, 2, &[0; 2]),
        structured(7, 0, 0, &[]),
        [&0x6744_6698_u32.to_be_bytes()[..], &[0; 12], &[1; 4096]].concat(),
        pattern(5000, 3),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (number, reply) in replies.into_iter().enumerate() {
        let path = directory.path().join(number.to_string());
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let reply = reply.clone();
                std::thread::spawn(move || come_to_terms(&mut stream).and_then(|()| stream.write_all(&reply)));
            }
        });
        let client = Client::connect(&path, &options(300, 1)).unwrap();
        let read = answer(&client, Operation::Read { offset: 0, length: 4096 });
        assert_eq!(read, Err(Errno::TIMEDOUT), "reply {number}");
    }
}

/// The handshake of a server with 2 MiB, and the first request.
fn come_to_terms(stream: &mut std::os::unix::net::UnixStream) -> std::io::Result<()> {
    let answer = |option: u32, kind: u32, data: &[u8]| {
        let head = [&0x0003_e889_0455_65a9_u64.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes()].concat();
        [&head[..], &(data.len() as u32).to_be_bytes(), data].concat()
    };
    stream.write_all(&[&b"NBDMAGICIHAVEOPT"[..], &3_u16.to_be_bytes()].concat())?;
    let mut said = [0; 4 + 16 + (16 + 4 + 4 + 4 + 4 + 19) + 16 + 4 + 4 + 6];
    stream.read_exact(&mut said)?;
    let export = [&0_u16.to_be_bytes()[..], &(2_u64 << 20).to_be_bytes(), &0x6d_u16.to_be_bytes()].concat();
    stream.write_all(&[answer(8, 1, &[]), answer(7, 3, &export), answer(7, 1, &[])].concat())?;
    stream.read_exact(&mut [0; 28])
}
