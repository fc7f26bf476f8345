//! A client that speaks the protocol word by word, and never more than it is told to.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use shoal_serve::Handshakes;

use crate::volume::Served;

/// What takes longer hangs, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;
pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;

/// Somebody in the transmission phase.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    structured: bool,
    /// Of answers that are not whole yet.
    parts: HashMap<u64, Vec<Part>>,
}

/// Where content begins, the content, or nothing for a hole, and how long it is.
pub(crate) type Part = (u64, Option<Vec<u8>>, u32);

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Content(Vec<Part>),
    Error(u32),
    Extent(u32, u32),
}

impl Client {
    /// Connects, and opens an export with structured replies or without.
    pub(crate) fn open(served: &Served, export: &str, structured: bool) -> Self {
        Self::connect(served, structured).agree(export)
    }

    /// The same with structured replies, where these handshakes lead.
    pub(crate) fn open_at(handshakes: &Handshakes, export: &str) -> Self {
        let (stream, theirs) = UnixStream::pair().unwrap();
        Self::greeted(handshakes, stream, theirs.into(), true).agree(export)
    }

    /// The same over TCP.
    pub(crate) fn open_over_tcp(served: &Served, export: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        // A socket is a socket.
        Self::greeted(&served.handshakes, UnixStream::from(OwnedFd::from(stream)), theirs.into(), true).agree(export)
    }

    fn agree(self, export: &str) -> Self {
        let structured = self.structured;
        let mut client = self;
        client.stream.write_all(&3_u32.to_be_bytes()).unwrap();
        let option = |number: u32, data: &[u8]| {
            [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
        };
        let mut expected = 10;
        if structured {
            let name = [&(export.len() as u32).to_be_bytes()[..], export.as_bytes()].concat();
            let context = [&name[..], &[0, 0, 0, 1, 0, 0, 0, 15], b"base:allocation"].concat();
            client.stream.write_all(&[option(8, &[]), option(10, &context)].concat()).unwrap();
            expected += 20 + 20 + 4 + 15 + 20;
        }
        client.stream.write_all(&option(1, export.as_bytes())).unwrap();
        client.receive(expected);
        client
    }

    /// How large an export is told to be.
    pub(crate) fn size(served: &Served, export: &str) -> u64 {
        let mut client = Self::connect(served, false);
        let option = [b"IHAVEOPT", &1_u32.to_be_bytes()[..], &(export.len() as u32).to_be_bytes(), export.as_bytes()];
        client.stream.write_all(&[&3_u32.to_be_bytes()[..], &option.concat()].concat()).unwrap();
        u64::from_be_bytes(*client.receive(10).first_chunk().unwrap())
    }

    /// Connects, and hears the greeting.
    pub(crate) fn connect(served: &Served, structured: bool) -> Self {
        let (stream, theirs) = UnixStream::pair().unwrap();
        Self::greeted(&served.handshakes, stream, theirs.into(), structured)
    }

    fn greeted(handshakes: &Handshakes, stream: UnixStream, theirs: OwnedFd, structured: bool) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        handshakes.let_in(theirs, None);
        let mut client = Self { stream, structured, parts: HashMap::new() };
        assert_eq!(&client.receive(18)[..16], b"NBDMAGICIHAVEOPT");
        client
    }

    pub(crate) fn request(&mut self, flags: u16, kind: u16, cookie: u64, offset: u64, length: u32, payload: &[u8]) {
        let head = [&0x2560_9513_u32.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes()].concat();
        let rest = [&cookie.to_be_bytes()[..], &offset.to_be_bytes(), &length.to_be_bytes(), payload].concat();
        self.stream.write_all(&[head, rest].concat()).unwrap();
    }

    pub(crate) fn receive(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Whether the server has sent anything that was not received yet.
    pub(crate) fn has_answer(&self) -> bool {
        let mut it = [PollFd::new(&self.stream, PollFlags::IN)];
        poll(&mut it, Some(&Timespec::default())).unwrap() > 0
    }

    /// Whether the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        // A connection that is reset is closed too.
        self.stream
            .read(&mut [0])
            .map_or_else(|error| error.kind() != std::io::ErrorKind::WouldBlock, |count| count == 0)
    }

    /// The next answer, whole; `read_bytes` of content follow one that is not structured and no
    /// error.
    pub(crate) fn answer(&mut self, read_bytes: usize) -> (u64, Answer) {
        let mut content = Vec::new();
        loop {
            let magic = self.receive(4);
            let field = |bytes: &[u8], at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().unwrap());
            let long = |bytes: &[u8], at: usize| u64::from_be_bytes(*bytes[at..].first_chunk().unwrap());
            if magic == 0x6744_6698_u32.to_be_bytes() {
                let head = self.receive(12);
                let answer = match field(&head, 0) {
                    0 if read_bytes > 0 => {
                        assert!(!self.structured);
                        Answer::Content(vec![(0, Some(self.receive(read_bytes)), read_bytes as u32)])
                    }
                    0 => Answer::Done,
                    error => Answer::Error(error),
                };
                return (long(&head, 4), answer);
            }
            assert_eq!((magic, self.structured), (0x668e_33ef_u32.to_be_bytes().to_vec(), true));
            let head = self.receive(16);
            let (is_last, kind, cookie) = (head[1] & 1 != 0, u16::from_be_bytes([head[2], head[3]]), long(&head, 4));
            let payload = self.receive(field(&head, 12) as usize);
            match kind {
                1 => content.push((long(&payload, 0), Some(payload[8..].to_vec()), payload.len() as u32 - 8)),
                2 => content.push((long(&payload, 0), None, field(&payload, 8))),
                5 => return (cookie, Answer::Extent(field(&payload, 4), field(&payload, 8))),
                0x8001 | 0x8002 => return (cookie, Answer::Error(field(&payload, 0))),
                other => panic!("a chunk of type {other}"),
            }
            if is_last {
                content.sort();
                return (cookie, Answer::Content(content));
            }
        }
    }

    /// The next answer that is whole, where chunks of several may come by turns.
    pub(crate) fn answer_of_many(&mut self) -> (u64, Answer) {
        loop {
            let head = self.receive(20);
            assert_eq!(head[..4], 0x668e_33ef_u32.to_be_bytes());
            let (is_last, kind) = (head[5] & 1 != 0, u16::from_be_bytes([head[6], head[7]]));
            let cookie = u64::from_be_bytes(*head[8..].first_chunk().unwrap());
            let payload = self.receive(u32::from_be_bytes(*head[16..].first_chunk().unwrap()) as usize);
            let offset = u64::from_be_bytes(*payload.first_chunk().unwrap());
            assert_eq!(kind, 1, "there is neither a hole nor an error");
            let parts = self.parts.entry(cookie).or_default();
            parts.push((offset, Some(payload[8..].to_vec()), payload.len() as u32 - 8));
            if is_last {
                let mut parts = self.parts.remove(&cookie).unwrap();
                parts.sort();
                return (cookie, Answer::Content(parts));
            }
        }
    }

    pub(crate) fn call(&mut self, flags: u16, kind: u16, offset: u64, length: u32, payload: &[u8]) -> Answer {
        self.request(flags, kind, 42, offset, length, payload);
        let expected = if kind == READ { length as usize } else { 0 };
        let (cookie, answer) = self.answer(expected);
        assert_eq!(cookie, 42);
        answer
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert_eq!(self.call(0, WRITE, offset, bytes.len() as u32, bytes), Answer::Done);
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        match self.call(0, READ, offset, length, &[]) {
            Answer::Content(parts) => join(offset, &parts, self.structured),
            other => panic!("{other:?}"),
        }
    }
}

/// Content out of its parts, which have to cover it.
pub(crate) fn join(offset: u64, parts: &[Part], structured: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, data, length) in parts {
        assert!(!structured || *at == offset + bytes.len() as u64, "a gap before {at}");
        match data {
            Some(data) => bytes.extend_from_slice(data),
            None => bytes.resize(bytes.len() + *length as usize, 0),
        }
    }
    bytes
}
