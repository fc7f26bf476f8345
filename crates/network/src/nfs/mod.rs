//! A client of NFS 4.0, as far as copying one file takes: it does what a kernel's client does for
//! `cp`, where there is no kernel with one, and where every write's stability and the number of
//! requests in flight have to be known.
//!
//! ```text
//! SETCLIENTID, SETCLIENTID_CONFIRM   who we are
//! PUTROOTFH, LOOKUP..., OPEN, GETFH  the file; OPEN_CONFIRM if the server wants it
//! PUTFH, WRITE | READ                a mebibyte each, which is what Linux asks for where the server grants it
//! PUTFH, COMMIT; PUTFH, CLOSE
//! ```
//!
//! What leaves whom when is the difference between the ways of mounting:
//!
//! | way | each write | in flight | at the end |
//! | --- | --- | --- | --- |
//! | [`Stability::EachWrite`], `mount -o sync` | FILE_SYNC: answered when it is durable | 1 | |
//! | [`Stability::AtEnd`], the usual mount | UNSTABLE | 16 | COMMIT |
//! | [`Stability::Never`], an `async` export | UNSTABLE | 16 | nothing: what the server holds is lost with its power |

mod operations;
mod wire;
mod xdr;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use operations::{
    CLOSE, COMMIT, GETFH, LOOKUP, OPEN, OPEN_CONFIRM, PUTFH, PUTROOTFH, READ, SETCLIENTID, SETCLIENTID_CONFIRM, WRITE,
};
use wire::{Wire, expect, results};
use xdr::{Reader, Writer};

/// What is read or written at once: the most that Linux asks for.
const BLOCK_BYTES: usize = 1 << 20;
/// How many such are in flight, unless each has to be durable: what Linux's client began with per
/// connection.
const IN_FLIGHT: usize = 16;
/// A server that is asked again later: it started a moment ago (NFS4ERR_GRACE), or has to look
/// first (NFS4ERR_DELAY).
const LATER: [u32; 2] = [10_013, 10_008];
/// For how long it is asked again.
const PATIENCE: Duration = Duration::from_secs(100);

/// Why a file could not be copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NfsError {
    /// The connection.
    #[error("NFS: {0}")]
    Connection(#[from] io::Error),
    /// The server said no.
    #[error("NFS: {operation} is answered with error {status} of RFC 7530")]
    Status {
        /// To what.
        operation: &'static str,
        /// With what.
        status: u32,
    },
    /// The server is not understood.
    #[error("NFS: the server sent {0}")]
    Malformed(&'static str),
    /// The server ended early.
    #[error("NFS: the file ends at {found} of {expected} bytes")]
    Short {
        /// What came.
        found: u64,
        /// What should have.
        expected: u64,
    },
}

/// When what is written has to be durable; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stability {
    /// Before each write is answered.
    EachWrite,
    /// When the file is closed.
    AtEnd,
    /// Some day.
    Never,
}

/// A file that is open.
#[derive(Debug)]
pub(crate) struct NfsFile {
    wire: Wire,
    handle: Vec<u8>,
    state: [u8; 16],
    sequence: u32,
}

impl NfsFile {
    /// Opens a file of an export: its name is the path's last part.
    pub(crate) fn open(stream: TcpStream, owner: (u32, u32), path: &[&str], create: bool) -> Result<Self, NfsError> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut wire = Wire::new(stream, owner.0, owner.1);
        let client = introduce(&mut wire)?;
        let start = Instant::now();
        loop {
            match open(&mut wire, client, path, create) {
                Err(NfsError::Status { status, .. }) if LATER.contains(&status) && start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => return Err(error),
                Ok(opened) => return Self::confirm(wire, opened),
            }
        }
    }

    /// Confirms an owner that the server does not know yet, if it wants that.
    fn confirm(mut wire: Wire, opened: Opened) -> Result<Self, NfsError> {
        let Opened { handle, state, confirm } = opened;
        if !confirm {
            return Ok(Self { wire, handle, state, sequence: 2 });
        }
        let mut call = put_handle(&handle);
        call.word(OPEN_CONFIRM).fixed(&state).word(2);
        let state = wire.call(2, &call.bytes, |reader| {
            expect(reader, PUTFH)?;
            expect(reader, OPEN_CONFIRM)?;
            reader.fixed().ok_or(NfsError::Malformed("half an OPEN_CONFIRM"))
        })?;
        Ok(Self { wire, handle, state, sequence: 3 })
    }

    /// Writes all of a local file.
    pub(crate) fn put(&mut self, source: &File, size_bytes: u64, stability: Stability) -> Result<(), NfsError> {
        let (in_flight, stable) = if stability == Stability::EachWrite { (1, 2) } else { (IN_FLIGHT, 0) };
        let mut block = vec![0; BLOCK_BYTES];
        let mut send = |file: &mut Self, offset: u64, length: usize| {
            source.read_exact_at(&mut block[..length], offset)?;
            let mut call = put_handle(&file.handle);
            call.word(WRITE).fixed(&file.state).double(offset).word(stable);
            call.word(u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?);
            file.wire.send(2, &call.bytes, &block[..length])
        };
        self.transfer(size_bytes, in_flight, &mut send, &mut |reader, _, length| {
            expect(reader, WRITE)?;
            let count = reader.word().ok_or(NfsError::Malformed("half a WRITE"))?;
            match usize::try_from(count) == Ok(length) {
                true => Ok(()),
                false => Err(NfsError::Malformed("a WRITE of a part")),
            }
        })?;
        if stability != Stability::AtEnd {
            return Ok(());
        }
        let mut call = put_handle(&self.handle);
        call.word(COMMIT).double(0).word(0);
        self.wire.call(2, &call.bytes, |reader| {
            expect(reader, PUTFH)?;
            expect(reader, COMMIT)
        })
    }

    /// Reads so much of it into a local file.
    pub(crate) fn get(&mut self, target: &File, size_bytes: u64) -> Result<(), NfsError> {
        let mut send = |file: &mut Self, offset: u64, length: usize| {
            let mut call = put_handle(&file.handle);
            call.word(READ).fixed(&file.state).double(offset);
            call.word(u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?);
            file.wire.send(2, &call.bytes, &[])
        };
        self.transfer(size_bytes, IN_FLIGHT, &mut send, &mut |reader, offset, length| {
            expect(reader, READ)?;
            let content = |reader: &mut Reader<'_>| {
                let _end = reader.word()?;
                // Borrowed from the answer, which outlives this.
                reader.opaque().map(<[u8]>::to_vec)
            };
            let content = content(reader).ok_or(NfsError::Malformed("half a READ"))?;
            if content.len() != length {
                return Err(NfsError::Short { found: offset + content.len() as u64, expected: size_bytes });
            }
            Ok(target.write_all_at(&content, offset)?)
        })
    }

    /// Keeps blocks in flight until all have been answered.
    fn transfer(
        &mut self,
        size_bytes: u64,
        in_flight: usize,
        send: &mut dyn FnMut(&mut Self, u64, usize) -> io::Result<u32>,
        done: &mut dyn FnMut(&mut Reader<'_>, u64, usize) -> Result<(), NfsError>,
    ) -> Result<(), NfsError> {
        let (mut next, mut waiting, mut answer) = (0, HashMap::new(), Vec::new());
        loop {
            while next < size_bytes && waiting.len() < in_flight {
                let length = usize::try_from(size_bytes - next).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
                waiting.insert(send(self, next, length)?, (next, length));
                next += length as u64;
            }
            if waiting.is_empty() {
                return Ok(());
            }
            let number = self.wire.receive(&mut answer)?;
            let unasked = NfsError::Malformed("an answer to no question");
            let (offset, length) = waiting.remove(&number).ok_or(unasked)?;
            let mut reader = results(&answer)?;
            expect(&mut reader, PUTFH)?;
            done(&mut reader, offset, length)?;
        }
    }

    /// Closes it.
    pub(crate) fn close(mut self) -> Result<(), NfsError> {
        let mut call = put_handle(&self.handle);
        call.word(CLOSE).word(self.sequence).fixed(&self.state);
        self.wire.call(2, &call.bytes, |reader| {
            expect(reader, PUTFH)?;
            expect(reader, CLOSE)
        })
    }
}

/// A compound that begins with a file.
fn put_handle(handle: &[u8]) -> Writer {
    let mut call = Writer::default();
    call.word(PUTFH).opaque(handle);
    call
}

/// Says who we are; returns what the server calls us.
fn introduce(wire: &mut Wire) -> Result<u64, NfsError> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty()).map_err(io::Error::from)?;
    let mut call = Writer::default();
    // Nobody is there for callbacks, so nothing is delegated to us.
    call.word(SETCLIENTID).fixed(&random).opaque(&[&b"shoal network "[..], &random].concat());
    call.word(0x4000_0000).opaque(b"tcp").opaque(b"0.0.0.0.0.0").word(0);
    let (client, confirmation): (u64, [u8; 8]) = wire.call(1, &call.bytes, |reader| {
        expect(reader, SETCLIENTID)?;
        let result = reader.double().zip(reader.fixed());
        result.ok_or(NfsError::Malformed("half a SETCLIENTID"))
    })?;
    let mut call = Writer::default();
    call.word(SETCLIENTID_CONFIRM).double(client).fixed(&confirmation);
    wire.call(1, &call.bytes, |reader| expect(reader, SETCLIENTID_CONFIRM))?;
    Ok(client)
}

/// What OPEN came to.
struct Opened {
    handle: Vec<u8>,
    state: [u8; 16],
    confirm: bool,
}

fn open(wire: &mut Wire, client: u64, path: &[&str], create: bool) -> Result<Opened, NfsError> {
    let Some((name, directories)) = path.split_last() else { return Err(NfsError::Malformed("no path")) };
    let mut call = Writer::default();
    call.word(PUTROOTFH);
    for directory in directories {
        call.word(LOOKUP).opaque(directory.as_bytes());
    }
    // Both directions, nothing denied to others, as the owner 1.
    call.word(OPEN).word(1).word(3).word(0).double(client).opaque(&[1]);
    match create {
        true => call.word(1).word(0).word(0).opaque(&[]), // UNCHECKED4, no attributes
        false => call.word(0),
    };
    call.word(0).opaque(name.as_bytes()).word(GETFH);
    let count = u32::try_from(directories.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))? + 3;
    wire.call(count, &call.bytes, |reader| {
        expect(reader, PUTROOTFH)?;
        for _ in directories {
            expect(reader, LOOKUP)?;
        }
        expect(reader, OPEN)?;
        let (state, confirm) = read_open(reader).ok_or(NfsError::Malformed("half an OPEN, or a delegation"))?;
        expect(reader, GETFH)?;
        let handle = reader.opaque().ok_or(NfsError::Malformed("half a GETFH"))?;
        Ok(Opened { handle: handle.to_vec(), state, confirm })
    })
}

/// The state and whether it has to be confirmed; nothing may have been delegated.
fn read_open(reader: &mut Reader<'_>) -> Option<([u8; 16], bool)> {
    let state = reader.fixed()?;
    let _change: [u8; 20] = reader.fixed()?;
    let flags = reader.word()?;
    reader.bitmap()?;
    (reader.word()? == 0).then_some((state, flags & 2 != 0))
}
