//! What a client is to be sent: answers, in the order in which they became ready, with content
//! straight from the buffers that it was read into.

use std::collections::VecDeque;

use rustix::io::Errno;
use shoal_volume::{Arena, Memory, SendPiece};

use crate::limits::{REPLIES_MAX, UNSENT_BYTES_MAX};
use crate::protocol::{Errno as NbdErrno, SIMPLE_REPLY, STRUCTURED_REPLY, chunk};
use crate::transport::Transport;

/// An answer, or a chunk of one.
#[derive(Debug)]
pub(crate) struct Reply {
    head: Vec<u8>,
    content: Option<Content>,
}

/// What was read, and the buffer that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) memory: Memory,
    pub(crate) buffer: u32,
}

impl Reply {
    /// An answer that is not structured.
    pub(crate) fn simple(cookie: u64, errno: Option<NbdErrno>, content: Option<Content>) -> Self {
        let error = errno.map_or(0, |errno| errno as u32);
        let head = [&SIMPLE_REPLY.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()].concat();
        Self { head, content }
    }

    /// More content of an answer that is not structured.
    pub(crate) fn more(content: Content) -> Self {
        Self { head: Vec::new(), content: Some(content) }
    }

    /// Content that begins at `offset` of the export.
    pub(crate) fn data(cookie: u64, is_last: bool, offset: u64, content: Content) -> Self {
        let mut head = chunk_head(cookie, is_last, chunk::OFFSET_DATA, 8 + content.memory.length);
        head.extend_from_slice(&offset.to_be_bytes());
        Self { head, content: Some(content) }
    }

    /// Zeros that begin at `offset` of the export.
    pub(crate) fn hole(cookie: u64, is_last: bool, offset: u64, length: u32) -> Self {
        let mut head = chunk_head(cookie, is_last, chunk::OFFSET_HOLE, 12);
        head.extend_from_slice(&offset.to_be_bytes());
        head.extend_from_slice(&length.to_be_bytes());
        Self { head, content: None }
    }

    /// One extent of a metadata context, of which nothing is known.
    pub(crate) fn extent(cookie: u64, context: u32, length: u32) -> Self {
        let mut head = chunk_head(cookie, true, chunk::BLOCK_STATUS, 12);
        [context, length, 0].iter().for_each(|field| head.extend_from_slice(&field.to_be_bytes()));
        Self { head, content: None }
    }

    /// An error, its place in the export if it has one, and a sentence for people; ends a
    /// structured answer.
    pub(crate) fn error(cookie: u64, errno: NbdErrno, offset: Option<u64>, why: &str) -> Self {
        let kind = if offset.is_some() { chunk::ERROR_OFFSET } else { chunk::ERROR };
        let text = u16::try_from(why.len()).expect("sentences are short");
        let length = 6 + u32::from(text) + if offset.is_some() { 8 } else { 0 };
        let mut head = chunk_head(cookie, true, kind, length);
        head.extend_from_slice(&(errno as u32).to_be_bytes());
        head.extend_from_slice(&text.to_be_bytes());
        head.extend_from_slice(why.as_bytes());
        head.extend(offset.into_iter().flat_map(u64::to_be_bytes));
        Self { head, content: None }
    }

    fn len_bytes(&self) -> usize {
        self.head.len() + self.content.map_or(0, |content| content.memory.length as usize)
    }
}

fn chunk_head(cookie: u64, is_last: bool, kind: u16, length: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(32);
    head.extend_from_slice(&STRUCTURED_REPLY.to_be_bytes());
    head.extend_from_slice(&(if is_last { chunk::FLAG_DONE } else { 0 }).to_be_bytes());
    head.extend_from_slice(&kind.to_be_bytes());
    head.extend_from_slice(&cookie.to_be_bytes());
    head.extend_from_slice(&length.to_be_bytes());
    head
}

/// The answers that are still to be sent to one client, in order, with the content that belongs to
/// them.
#[derive(Debug, Default)]
pub(crate) struct Output {
    replies: VecDeque<Reply>,
    /// Bytes of the first that are sent.
    sent: usize,
    /// Bytes of all that are not.
    unsent: usize,
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    /// Whether the client has so much to take that nothing more is to be read for it.
    pub(crate) fn is_full(&self) -> bool {
        self.unsent > UNSENT_BYTES_MAX || self.replies.len() >= REPLIES_MAX
    }

    pub(crate) fn push(&mut self, reply: Reply) {
        self.unsent += reply.len_bytes();
        self.replies.push_back(reply);
    }

    /// Sends what the client takes now, and appends the buffers that are free again. Returns
    /// whether anything was sent.
    pub(crate) fn send(
        &mut self,
        transport: &mut Transport,
        arena: &Arena,
        free: &mut Vec<u32>,
    ) -> Result<bool, Errno> {
        let mut has_moved = false;
        while !self.is_empty() {
            let pieces = self.pieces();
            let offered: usize = pieces.iter().map(SendPiece::len_bytes).sum();
            match transport.send(arena, &pieces) {
                Ok(sent) => {
                    has_moved = true;
                    self.advance(sent, free);
                    if sent < offered && transport.short_means_empty() {
                        break;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(has_moved)
    }

    /// The next of what is to be sent.
    fn pieces(&self) -> Vec<SendPiece<'_>> {
        let mut pieces = Vec::with_capacity((2 * self.replies.len()).min(SendPiece::AT_ONCE));
        let mut skip = self.sent;
        for reply in &self.replies {
            if pieces.len() + 2 > SendPiece::AT_ONCE {
                break;
            }
            let of_head = skip.min(reply.head.len());
            skip -= of_head;
            if of_head < reply.head.len() {
                pieces.push(SendPiece::Bytes(&reply.head[of_head..]));
            }
            if let Some(Content { memory, .. }) = reply.content {
                let length = memory.length - skip as u32;
                pieces.push(SendPiece::Memory(Memory { offset: memory.offset + skip, length }));
                skip = 0;
            }
        }
        pieces
    }

    fn advance(&mut self, sent: usize, free: &mut Vec<u32>) {
        self.sent += sent;
        self.unsent -= sent;
        while let Some(reply) = self.replies.front().filter(|reply| reply.len_bytes() <= self.sent) {
            self.sent -= reply.len_bytes();
            free.extend(reply.content.map(|content| content.buffer));
            self.replies.pop_front();
        }
    }

    /// Nobody wants it any more: the buffers.
    pub(crate) fn forget(&mut self) -> Vec<u32> {
        (self.sent, self.unsent) = (0, 0);
        self.replies.drain(..).filter_map(|reply| reply.content).map(|content| content.buffer).collect()
    }
}
