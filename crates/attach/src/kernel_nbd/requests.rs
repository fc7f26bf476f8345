//! One of the sockets that the kernel talks over: its requests become the client's operations, and
//! answers go back.
//!
//! ```text
//!  kernel ──► reader (thread) ──► Client ─── done ──► channel ──► writer (thread) ──► kernel
//! ```
//!
//! The reader waits while the client has no room; the writer while the kernel does not read, which
//! it always does. So neither waits for the other, and the client's thread for none of them.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use rustix::io::Errno;
use shoal_serve::protocol::{REQUEST, REQUEST_BYTES, SIMPLE_REPLY, command};

use crate::ranges::{Change, Ranges};
use crate::{Answer, Client, Operation, TRANSFER_BYTES_MAX};

const BUFFER_BYTES: usize = 128 << 10;

/// Starts the threads of a socket; `ended` hears when the kernel has left it.
pub(super) fn start(socket: UnixStream, client: Client, ended: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (answers, to_answer) = channel();
    let output = socket.try_clone()?;
    let ranges = Ranges::start(client.clone())?;
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("shoal-nbd-answers").spawn(move || {
        // A kernel that does not listen any more gets its answers from nobody.
        let _ = give(&output, &to_answer);
        let _ = output.shutdown(std::net::Shutdown::Both);
    })?;
    thread("shoal-nbd-requests").spawn(move || {
        // However it ends, the kernel's end sees the end of the connection.
        let _ = take(&socket, &client, &ranges, &answers);
        let _ = socket.shutdown(std::net::Shutdown::Both);
        ended();
    })?;
    Ok(())
}

/// Takes requests until the kernel leaves.
fn take(socket: &UnixStream, client: &Client, ranges: &Ranges, answers: &Sender<(u64, Answer)>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, socket);
    loop {
        let mut head = [0; REQUEST_BYTES];
        input.read_exact(&mut head)?;
        let long = |at: usize| u64::from_be_bytes(*head[at..].first_chunk().expect("it has 28 bytes"));
        let word = |at: usize| u32::from_be_bytes(*head[at..].first_chunk().expect("it has 28 bytes"));
        let (flags, kind) = (u16::from_be_bytes([head[4], head[5]]), u16::from_be_bytes([head[6], head[7]]));
        let (cookie, offset, length) = (long(8), long(16), word(24));
        if word(0) != REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let answers = answers.clone();
        // Nobody is left to hear it if the writer has gone.
        let done = Box::new(move |answer| drop(answers.send((cookie, answer))));
        let operation = match kind {
            command::TRIM => {
                // The driver discards up to 4 GiB at a time.
                ranges.change(Change::Discard, offset, length.into(), done);
                continue;
            }
            command::READ => Operation::Read { offset, length },
            command::WRITE if length <= TRANSFER_BYTES_MAX => {
                let mut data = vec![0; length as usize];
                input.read_exact(&mut data)?;
                Operation::Write { offset, data, fua: flags & command::FLAG_FUA != 0 }
            }
            command::FLUSH => Operation::Flush,
            command::DISC => return Ok(()),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        client.submit(operation, done);
    }
}

/// Gives answers until nobody is left who could have some.
fn give(socket: &UnixStream, answers: &Receiver<(u64, Answer)>) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, socket);
    loop {
        let (cookie, answer) = match answers.try_recv() {
            Ok(next) => next,
            Err(TryRecvError::Disconnected) => return output.flush(),
            Err(TryRecvError::Empty) => {
                output.flush()?;
                let Ok(next) = answers.recv() else { return Ok(()) };
                next
            }
        };
        let error = answer.as_ref().err().map_or(0, |&errno| error_of(errno));
        output.write_all(&SIMPLE_REPLY.to_be_bytes())?;
        output.write_all(&error.to_be_bytes())?;
        output.write_all(&cookie.to_be_bytes())?;
        output.write_all(&answer.unwrap_or_default())?;
    }
}

/// The protocol's number for an error.
fn error_of(errno: Errno) -> u32 {
    match errno {
        Errno::PERM | Errno::ROFS => 1,
        Errno::NOMEM => 12,
        Errno::INVAL => 22,
        Errno::NOSPC => 28,
        Errno::OPNOTSUPP => 95,
        _ => 5,
    }
}
