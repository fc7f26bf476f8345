//! What an NBD client says in the transmission phase, to an exporter over a volume that holds
//! nothing.
#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use shoal_serve::{BUFFER_BYTES_MIN, BUFFERS_MIN, Export, Exporter, Exports};
use shoal_volume::{Arena, Command, Completion, Instant, Request, RequestError, Volume, VolumeError};

const SIZE: u64 = 1 << 20;
const BUFFERS: u32 = BUFFERS_MIN + 2;
/// Client's flags, structured replies, allocation, and the export: what comes before the input.
const HANDSHAKE: &[u8] =
    b"\0\0\0\x03IHAVEOPT\0\0\0\x08\0\0\0\0IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0f\
base:allocationIHAVEOPT\0\0\0\x01\0\0\0\0";
/// Turns until anything that can be said or done is over.
const TURNS: u32 = 20_000;

/// Bytes that are not answered for before the client has gone.
const FROZEN: std::ops::Range<u64> = 16 * 4096..17 * 4096;
/// What passes with each turn, and how long a request may take.
const TURN_NS: u64 = 100_000_000;
const DEADLINE: Duration = Duration::from_secs(2);

/// Answers the newest request first, but for those that touch frozen bytes.
struct FuzzedVolume {
    arena: Arena,
    queue: Vec<Request>,
    frozen: Vec<Request>,
    is_frozen: bool,
    now_ns: u64,
}

impl Volume for FuzzedVolume {
    fn size_bytes(&self) -> u64 {
        SIZE
    }

    fn logical_block_bytes(&self) -> u32 {
        4096
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn now(&self) -> Instant {
        Instant { ns: self.now_ns }
    }

    fn request_buffers(&self) -> u32 {
        BUFFERS
    }

    fn request_buffer_bytes(&self) -> u32 {
        BUFFER_BYTES_MIN
    }

    fn submit(&mut self, request: Request) {
        if let Command::Read { offset, span } | Command::Write { offset, span } = request.command {
            assert!(offset % 4096 == 0 && span.length % 4096 == 0 && offset + u64::from(span.length) <= SIZE);
            assert!(span.offset + span.length <= BUFFER_BYTES_MIN && span.buffer.0 < BUFFERS);
            let same = |other: &Request| match other.command {
                Command::Read { span: other, .. } | Command::Write { span: other, .. } => other.buffer == span.buffer,
                _ => false,
            };
            // The first buffer holds zeros, the second one the edges of a block, side by side.
            assert!(span.buffer.0 < 2 || !self.frozen.iter().any(same), "a buffer is used that is under way");
            if self.is_frozen && offset < FROZEN.end && FROZEN.start < offset + u64::from(span.length) {
                return self.frozen.push(request);
            }
        }
        self.queue.push(request);
    }

    fn poll(&mut self, _: usize, _: Option<Duration>, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        completions.extend(self.queue.pop().map(|Request { id, command }| {
            let fails = matches!(command, Command::Discard { .. });
            Completion { id, result: if fails { Err(RequestError::Unsupported) } else { Ok(()) } }
        }));
        Ok(())
    }
}

fn turn(exporter: &mut Exporter, volume: &mut FuzzedVolume) {
    let mut completions = Vec::new();
    volume.now_ns += TURN_NS;
    exporter.serve(volume);
    volume.poll(1, None, &mut completions).expect("it never fails");
    exporter.finish(volume, &mut completions);
}

/// Says the input, and takes what is answered, until nothing moves.
fn talk(exporter: &mut Exporter, volume: &mut FuzzedVolume, client: &mut UnixStream, mut left: &[u8]) {
    let mut answers = [0; 64 << 10];
    let mut quiet = 0;
    for _ in 0..TURNS {
        turn(exporter, volume);
        if exporter.connections() == 0 {
            return;
        }
        match client.write(left) {
            Ok(count) => left = &left[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        let heard = client.read(&mut answers).unwrap_or(0);
        quiet = if heard == 0 && left.is_empty() && volume.queue.is_empty() { quiet + 1 } else { 0 };
        if quiet > if volume.frozen.is_empty() { 3 } else { 40 } {
            return;
        }
    }
    panic!("there is no end to it");
}

fuzz_target!(|input: &[u8]| {
    static ARENA: OnceLock<Arena> = OnceLock::new();
    let arena = ARENA.get_or_init(|| Arena::new((BUFFERS * BUFFER_BYTES_MIN) as usize).expect("there is memory"));
    let exports = Exports::new(vec![Export::whole("pond", "", SIZE, false)], SIZE, 4096).expect("it is good");
    let mut exporter = Exporter::new(exports, 0..BUFFERS).expect("there are files").with_deadline(DEADLINE);
    let mut volume =
        FuzzedVolume { arena: arena.clone(), queue: Vec::new(), frozen: Vec::new(), is_frozen: true, now_ns: 0 };
    let (mut client, server) = UnixStream::pair().expect("there are sockets");
    client.write_all(HANDSHAKE).expect("it fits");
    exporter.handshakes().let_in(server, None);
    while exporter.connections() == 0 {
        std::thread::sleep(Duration::from_micros(20));
        turn(&mut exporter, &mut volume);
    }
    client.set_nonblocking(true).expect("it can be");
    talk(&mut exporter, &mut volume, &mut client, input);
    // Whatever was begun, nothing of it stays when its client has gone.
    drop(client);
    volume.is_frozen = false;
    let frozen = std::mem::take(&mut volume.frozen);
    volume.queue.extend(frozen);
    exporter.end();
    for _ in 0..TURNS {
        turn(&mut exporter, &mut volume);
        if exporter.has_ended() && exporter.connections() == 0 && !exporter.is_waiting_for_the_volume() {
            return;
        }
    }
    panic!("something stays of a client that has gone");
});
