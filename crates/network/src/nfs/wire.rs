//! Compounds of NFS version 4.0 (RFC 7530) over remote procedure calls (RFC 5531) on a TCP
//! connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::xdr::{Reader, Writer};
use super::{NfsError, operations};

/// NFS's number among programs.
const PROGRAM: u32 = 100_003;
/// A fragment that is the last one of its message.
const LAST_FRAGMENT: u32 = 1 << 31;
/// The largest answer that is taken: a read of a mebibyte, and what stands around it.
const ANSWER_BYTES_MAX: usize = (1 << 20) + (64 << 10);

/// A connection over which compounds go.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    user_id: u32,
    group_id: u32,
    next: u32,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, user_id: u32, group_id: u32) -> Self {
        Self { stream, user_id, group_id, next: 1 }
    }

    /// Sends a compound of some operations, and returns its number.
    pub(super) fn send(&mut self, count: u32, operations: &[u8], content: &[u8]) -> io::Result<u32> {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let mut call = Writer::default();
        call.word(number).word(0).word(2).word(PROGRAM).word(4).word(1); // a call: version 2, NFS 4, COMPOUND
        let mut who = Writer::default();
        who.word(0).opaque(b"client").word(self.user_id).word(self.group_id).word(0);
        call.word(1).opaque(&who.bytes).word(0).opaque(&[]); // AUTH_SYS, and no verifier
        call.opaque(&[]).word(0).word(count).fixed(operations); // no tag, minor version 0
        let padding = &[0; 3][..content.len().next_multiple_of(4) - content.len()];
        let length = call.bytes.len() + content.len() + padding.len();
        let length = u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        let head = [&(LAST_FRAGMENT | length).to_be_bytes(), &call.bytes[..]].concat();
        self.stream.write_all(&head)?;
        self.stream.write_all(content)?;
        self.stream.write_all(padding)?;
        Ok(number)
    }

    /// Waits for an answer, whichever comes: its number; what the operations came to is put into
    /// `answer`.
    pub(super) fn receive(&mut self, answer: &mut Vec<u8>) -> Result<u32, NfsError> {
        answer.clear();
        loop {
            let mut mark = [0; 4];
            self.stream.read_exact(&mut mark)?;
            let mark = u32::from_be_bytes(mark);
            let length = usize::try_from(mark & !LAST_FRAGMENT).unwrap_or(usize::MAX);
            if length > ANSWER_BYTES_MAX.saturating_sub(answer.len()) {
                return Err(NfsError::Malformed("an answer longer than any that was asked for"));
            }
            let before = answer.len();
            answer.resize(before + length, 0);
            self.stream.read_exact(&mut answer[before..])?;
            if mark & LAST_FRAGMENT != 0 {
                break;
            }
        }
        Reader { bytes: answer }.word().ok_or(NfsError::Malformed("an empty answer"))
    }

    /// A compound to its end: sent, and its answer checked by `read`, which gets what the
    /// operations came to.
    pub(super) fn call<T>(
        &mut self,
        count: u32,
        operations: &[u8],
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, NfsError>,
    ) -> Result<T, NfsError> {
        let number = self.send(count, operations, &[])?;
        let mut answer = Vec::new();
        if self.receive(&mut answer)? != number {
            return Err(NfsError::Malformed("an answer to another question"));
        }
        read(&mut results(&answer)?)
    }
}

/// The operations' results in an answer, the first of them next.
pub(super) fn results(answer: &[u8]) -> Result<Reader<'_>, NfsError> {
    let mut reader = Reader { bytes: answer };
    let head = |reader: &mut Reader<'_>| {
        let (_number, reply, denied) = (reader.word()?, reader.word()?, reader.word()?);
        let (_flavor, _verifier, accepted) = (reader.word()?, reader.opaque()?, reader.word()?);
        Some((reply, denied, accepted))
    };
    if head(&mut reader) != Some((1, 0, 0)) {
        return Err(NfsError::Malformed("a call that was not accepted"));
    }
    let body = |reader: &mut Reader<'_>| {
        let (_status, _tag) = (reader.word()?, reader.opaque()?);
        reader.word()
    };
    body(&mut reader).ok_or(NfsError::Malformed("an answer without results"))?;
    Ok(reader)
}

/// Takes an operation's head off its result.
pub(super) fn expect(reader: &mut Reader<'_>, operation: u32) -> Result<(), NfsError> {
    let (found, status) = (reader.word(), reader.word());
    match (found, status) {
        (Some(found), Some(0)) if found == operation => Ok(()),
        (Some(_), Some(status)) if status != 0 => {
            Err(NfsError::Status { operation: operations::name(operation), status })
        }
        _ => Err(NfsError::Malformed("a result of another operation")),
    }
}
