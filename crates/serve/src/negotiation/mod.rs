//! The handshake, as a machine without hands: what the client sends goes in, what it is to be sent
//! comes out.
//!
//! ```text
//!  greeting ──► flags ──► option ─┬─► GO, EXPORT_NAME ──► transmission
//!                          ▲      ├─► STARTTLS ──► TLS, and all over again but for the flags
//!                          └──────┼── LIST, INFO, STRUCTURED_REPLY, ..._META_CONTEXT, unknown ones
//!                                 └─► ABORT, or what the protocol has no answer for ──► end
//! ```
//!
//! Whatever comes, at most one option of [`OPTION_BYTES_MAX`] is kept; a longer one is passed over
//! and answered as too big. Who waits how long for which bytes is decided elsewhere.

mod option;

use crate::export::Exports;
use crate::limits::{OPTION_BYTES_MAX, OPTIONS_MAX};
use crate::protocol::{GREETING, OPTION, OPTION_REPLY, handshake, option as number, reply};

/// Magic, number and length.
const OPTION_HEADER_BYTES: usize = 16;

/// Whether TLS has to be, or can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsStage {
    /// There is none here.
    Absent,
    /// Nothing is told before it.
    Required,
    /// It is there.
    Established,
}

/// What comes after the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Which of the exports.
    pub export: usize,
    /// Whether answers are structured.
    pub structured: bool,
    /// Whether the client may ask which blocks are allocated.
    pub block_status: bool,
}

/// What is to be done after the replies have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To receive more.
    Receive,
    /// To begin TLS, and to go on over it.
    StartTls,
    /// To begin transmission.
    Transmit(Agreement),
    /// To close the connection.
    End,
}

/// The server's side of the handshake with one client. It does no I/O: bytes go in, and answers
/// come out.
#[derive(Debug)]
pub struct Negotiation<'a> {
    exports: &'a Exports,
    tls: TlsStage,
    /// What was received and not yet understood.
    input: Vec<u8>,
    /// Bytes of an option that is too long, still to come.
    to_skip: u64,
    has_flags: bool,
    no_zeroes: bool,
    structured: bool,
    /// The export for which `base:allocation` was chosen.
    allocation_of: Option<usize>,
    options: u32,
}

impl<'a> Negotiation<'a> {
    /// With a client who has just connected.
    pub fn new(exports: &'a Exports, tls: TlsStage) -> Self {
        Self {
            exports,
            tls,
            input: Vec::new(),
            to_skip: 0,
            has_flags: false,
            no_zeroes: false,
            structured: false,
            allocation_of: None,
            options: 0,
        }
    }

    /// What the client is told first.
    pub fn greeting() -> Vec<u8> {
        let flags = handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES;
        [&GREETING.to_be_bytes()[..], &OPTION.to_be_bytes(), &flags.to_be_bytes()].concat()
    }

    /// TLS has been established: nothing that was agreed on without it counts.
    pub fn is_secured(&mut self) {
        (self.tls, self.structured, self.allocation_of) = (TlsStage::Established, false, None);
    }

    /// Takes in what was received; appends what is to be sent.
    pub fn receive(&mut self, mut bytes: &[u8], replies: &mut Vec<u8>) -> Step {
        loop {
            let skipped = usize::try_from(self.to_skip).unwrap_or(usize::MAX).min(bytes.len());
            self.to_skip -= skipped as u64;
            bytes = &bytes[skipped..];
            let room = (OPTION_HEADER_BYTES + OPTION_BYTES_MAX).saturating_sub(self.input.len());
            let taken = room.min(bytes.len());
            self.input.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            match self.advance(replies) {
                Some(step) => {
                    self.input.extend_from_slice(bytes);
                    // What follows in the clear must not pass for something that was said under
                    // TLS.
                    return if step == Step::StartTls && !self.input.is_empty() { Step::End } else { step };
                }
                None if bytes.is_empty() => return Step::Receive,
                None => {}
            }
        }
    }

    /// What was received beyond the handshake: the first requests of a client in a hurry.
    pub fn into_rest(self) -> Vec<u8> {
        self.input
    }

    /// Goes on with what is there; nothing if that is not enough.
    fn advance(&mut self, replies: &mut Vec<u8>) -> Option<Step> {
        if !self.has_flags {
            let flags = u32::from_be_bytes(*self.input.first_chunk()?);
            self.input.drain(..4);
            if !self.take_flags(flags) {
                return Some(Step::End);
            }
        }
        while self.to_skip == 0 {
            let header: [u8; OPTION_HEADER_BYTES] = *self.input.first_chunk()?;
            let [magic, number, length] = split_header(&header);
            self.options += 1;
            if magic != OPTION || self.options > OPTIONS_MAX {
                return Some(Step::End);
            }
            let (number, length) = (number as u32, length as usize);
            if length > OPTION_BYTES_MAX {
                // This one has no way to say no.
                if number == number::EXPORT_NAME {
                    return Some(Step::End);
                }
                self.pass_over(length);
                let why = format!("an option has at most {OPTION_BYTES_MAX} bytes here");
                answer(replies, number, reply::TOO_BIG, why.as_bytes());
                continue;
            }
            if self.input.len() < OPTION_HEADER_BYTES + length {
                // It is told again when it is complete.
                self.options -= 1;
                return None;
            }
            let data: Vec<u8> = self.input.drain(..OPTION_HEADER_BYTES + length).skip(OPTION_HEADER_BYTES).collect();
            if let Some(step) = self.option(number, &data, replies) {
                return Some(step);
            }
        }
        None
    }

    /// Drops an option that is too long, what is there of it and what is to come.
    fn pass_over(&mut self, length: usize) {
        let there = (self.input.len() - OPTION_HEADER_BYTES).min(length);
        self.input.drain(..OPTION_HEADER_BYTES + there);
        self.to_skip = (length - there) as u64;
    }

    /// The client's flags are there: whether they are such as can be served.
    fn take_flags(&mut self, flags: u32) -> bool {
        let [fixed, no_zeroes] = [handshake::FIXED_NEWSTYLE, handshake::NO_ZEROES].map(u32::from);
        (self.has_flags, self.no_zeroes) = (true, flags & no_zeroes != 0);
        flags & !(fixed | no_zeroes) == 0 && flags & fixed != 0
    }
}

/// Magic, number and length of an option.
fn split_header(header: &[u8; OPTION_HEADER_BYTES]) -> [u64; 3] {
    let magic = u64::from_be_bytes(*header.first_chunk().expect("it has 16 bytes"));
    let rest = u64::from_be_bytes(*header.last_chunk().expect("it has 16 bytes"));
    [magic, rest >> 32, rest & u64::from(u32::MAX)]
}

/// Appends one reply to an option.
fn answer(replies: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    let length = u32::try_from(data.len()).expect("replies are short");
    replies.extend_from_slice(&OPTION_REPLY.to_be_bytes());
    for field in [option, kind, length] {
        replies.extend_from_slice(&field.to_be_bytes());
    }
    replies.extend_from_slice(data);
}

#[cfg(test)]
mod tests;
