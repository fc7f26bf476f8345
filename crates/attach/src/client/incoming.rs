//! What a server answers, as a machine without hands: bytes go in; which request they are about,
//! and what of it, comes out.
//!
//! Nothing that a server says decides how much memory is taken: content goes where the client has
//! asked for it, and what is longer than that, or said of nobody's request, ends the connection.

use rustix::io::Errno;
use shoal_serve::protocol::{SIMPLE_REPLY, STRUCTURED_REPLY, chunk};

use crate::limits::ERROR_BYTES_MAX;

/// Bytes that are received in one go, if they are not content that knows where it belongs.
const BUFFER_BYTES: usize = 64 << 10;

/// Where content goes, and what is known of the request that it answers.
pub(crate) trait Requests {
    /// Whether this request is a read: its first byte and its length. None if there is no such
    /// request.
    fn shape(&self, cookie: u64) -> Option<Shape>;
    /// The content of a read, all of it, to be filled.
    fn content(&mut self, cookie: u64) -> &mut [u8];
    /// So much of the content has come.
    fn cover(&mut self, cookie: u64, bytes: u32);
    /// Something went wrong with it.
    fn fail(&mut self, cookie: u64, errno: Errno);
    /// The answer is complete.
    fn complete(&mut self, cookie: u64) -> Result<(), Nonsense>;
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Read { offset: u64, length: u32 },
    Other,
}

/// Why a server cannot be listened to any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server makes no sense: {0}")]
pub(crate) struct Nonsense(pub(crate) &'static str);

/// Bytes that were received, and what the next ones are.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    is_structured: bool,
    expected: Expected,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Head,
    /// Content of a read.
    Content {
        cookie: u64,
        at: usize,
        left: usize,
        is_last: bool,
    },
}

/// A run of content that is missing: where the next bytes belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) cookie: u64,
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

impl Incoming {
    pub(crate) fn new(is_structured: bool) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { buffer, start: 0, end: 0, is_structured, expected: Expected::Head }
    }

    /// Content that is better received straight into its place: only if nothing is left in the
    /// buffer.
    pub(crate) fn missing(&self) -> Option<Missing> {
        match self.expected {
            Expected::Content { cookie, at, left, .. } if self.start == self.end => {
                Some(Missing { cookie, at, bytes: left })
            }
            _ => None,
        }
    }

    /// So much of it was received into its place.
    pub(crate) fn received_content(&mut self, requests: &mut impl Requests, bytes: usize) -> Result<(), Nonsense> {
        let Expected::Content { cookie, at, left, is_last } = self.expected else { return Ok(()) };
        self.expected = Expected::Content { cookie, at: at + bytes, left: left - bytes, is_last };
        self.digest(requests)
    }

    /// Room for what else is received.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.buffer[self.end..]
    }

    /// So much was received into the room.
    pub(crate) fn received(&mut self, requests: &mut impl Requests, bytes: usize) -> Result<(), Nonsense> {
        self.end += bytes;
        self.digest(requests)
    }

    /// Understands what is there, as far as it goes.
    fn digest(&mut self, requests: &mut impl Requests) -> Result<(), Nonsense> {
        loop {
            match self.expected {
                Expected::Content { cookie, at, left, is_last } => {
                    let count = left.min(self.end - self.start);
                    let bytes = &self.buffer[self.start..self.start + count];
                    requests.content(cookie)[at..at + count].copy_from_slice(bytes);
                    self.start += count;
                    self.expected = Expected::Content { cookie, at: at + count, left: left - count, is_last };
                    if left > count {
                        return Ok(());
                    }
                    self.expected = Expected::Head;
                    if is_last {
                        requests.complete(cookie)?;
                    }
                }
                Expected::Head => {
                    let there = &self.buffer[self.start..self.end];
                    let Some(magic) = there.first_chunk::<4>() else { return Ok(()) };
                    let taken = match u32::from_be_bytes(*magic) {
                        SIMPLE_REPLY => self.simple(requests)?,
                        STRUCTURED_REPLY if self.is_structured => self.structured(requests)?,
                        _ => return Err(Nonsense("its answer begins as none does")),
                    };
                    match taken {
                        Some(taken) => self.start += taken,
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    /// An answer without structure: how long it is but for content, if it is there.
    fn simple(&mut self, requests: &mut impl Requests) -> Result<Option<usize>, Nonsense> {
        let Some(head) = self.buffer[self.start..self.end].first_chunk::<16>() else { return Ok(None) };
        let error = u32::from_be_bytes(*head[4..].first_chunk().expect("it has 16 bytes"));
        let cookie = u64::from_be_bytes(*head[8..].first_chunk().expect("it has 16 bytes"));
        let shape = requests.shape(cookie).ok_or(Nonsense("it answers what was not asked"))?;
        match shape {
            _ if error != 0 => {
                requests.fail(cookie, errno_of(error));
                requests.complete(cookie)?;
            }
            Shape::Other => requests.complete(cookie)?,
            Shape::Read { .. } if self.is_structured => return Err(Nonsense("content comes without its structure")),
            Shape::Read { length, .. } => {
                requests.cover(cookie, length);
                self.expected = Expected::Content { cookie, at: 0, left: length as usize, is_last: true };
            }
        }
        Ok(Some(head.len()))
    }

    /// A chunk of an answer with structure, but for content: how long it is, if it is there.
    fn structured(&mut self, requests: &mut impl Requests) -> Result<Option<usize>, Nonsense> {
        let there = &self.buffer[self.start..self.end];
        let Some((head, rest)) = there.split_first_chunk::<20>() else { return Ok(None) };
        let (flags, kind) = (u16::from_be_bytes([head[4], head[5]]), u16::from_be_bytes([head[6], head[7]]));
        let cookie = u64::from_be_bytes(*head[8..].first_chunk().expect("it has 20 bytes"));
        let length = u32::from_be_bytes(*head[16..].first_chunk().expect("it has 20 bytes")) as usize;
        let is_last = flags & chunk::FLAG_DONE != 0;
        let shape = requests.shape(cookie).ok_or(Nonsense("it answers what was not asked"))?;
        match (kind, shape) {
            (chunk::NONE, _) if is_last && length == 0 => requests.complete(cookie).map(|()| Some(20)),
            (chunk::OFFSET_DATA, Shape::Read { .. }) if length > 8 => {
                let Some(offset) = rest.first_chunk::<8>() else { return Ok(None) };
                let bytes = u32::try_from(length - 8).expect("it is less than a length");
                let at = place(shape, u64::from_be_bytes(*offset), bytes)?;
                requests.cover(cookie, bytes);
                self.expected = Expected::Content { cookie, at, left: length - 8, is_last };
                Ok(Some(28))
            }
            (chunk::OFFSET_HOLE, Shape::Read { .. }) if length == 12 => {
                let Some(hole) = rest.first_chunk::<12>() else { return Ok(None) };
                let bytes = u32::from_be_bytes(*hole[8..].first_chunk().expect("it has 12 bytes"));
                let at = place(shape, u64::from_be_bytes(*hole.first_chunk().expect("it has 12 bytes")), bytes)?;
                requests.content(cookie)[at..at + bytes as usize].fill(0);
                requests.cover(cookie, bytes);
                end_chunk(requests, cookie, is_last).map(|()| Some(32))
            }
            (kind, _) if kind & chunk::ERROR_BIT != 0 && (6..=ERROR_BYTES_MAX).contains(&length) => {
                if rest.len() < length {
                    return Ok(None);
                }
                let error = u32::from_be_bytes(*rest.first_chunk().expect("it has 6 bytes or more"));
                requests.fail(cookie, errno_of(error));
                end_chunk(requests, cookie, is_last).map(|()| Some(20 + length))
            }
            _ => Err(Nonsense("a chunk of its answer is none that was to be expected")),
        }
    }
}

fn end_chunk(requests: &mut impl Requests, cookie: u64, is_last: bool) -> Result<(), Nonsense> {
    if is_last { requests.complete(cookie) } else { Ok(()) }
}

/// Where in a read's content a run of it lies.
fn place(shape: Shape, offset: u64, bytes: u32) -> Result<usize, Nonsense> {
    let Shape::Read { offset: first, length } = shape else { return Err(Nonsense("content for what is no read")) };
    let at = offset.checked_sub(first).filter(|at| at.saturating_add(u64::from(bytes)) <= u64::from(length));
    let at = at.ok_or(Nonsense("content that was not asked for"))?;
    Ok(usize::try_from(at).expect("it lies within a read"))
}

/// The protocol's numbers are those of Linux; one that is not in its list means a request that was
/// not understood.
fn errno_of(error: u32) -> Errno {
    match error {
        1 => Errno::PERM,
        5 => Errno::IO,
        12 => Errno::NOMEM,
        28 => Errno::NOSPC,
        75 => Errno::OVERFLOW,
        95 => Errno::OPNOTSUPP,
        108 => Errno::SHUTDOWN,
        _ => Errno::INVAL,
    }
}
