//! The kernel's nbd driver, spoken to by generic netlink: one question for the family's number, and
//! three commands. Numbers are those of linux/netlink.h, linux/genetlink.h and linux/nbd-netlink.h.
//!
//! ```text
//!  length, type, flags, sequence, port │ command, version, 0 │ attributes: length, type, payload, padding to 4 bytes
//! ```

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with};

/// How long the kernel may take over an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than the kernel ever answers here.
const ANSWER_BYTES: usize = 16 << 10;

const NLMSG_ERROR: u16 = 2;
/// A request that is to be acknowledged.
const REQUEST_AND_ACK: u16 = 1 | 4;
const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// The attribute holds others.
const NESTED: u16 = 1 << 15;

/// Commands of the nbd family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Connect = 1,
    Disconnect = 2,
    Reconfigure = 3,
}

/// Attributes of its commands.
pub(super) const INDEX: u16 = 1;
pub(super) const SIZE_BYTES: u16 = 2;
pub(super) const BLOCK_SIZE_BYTES: u16 = 3;
pub(super) const TIMEOUT_S: u16 = 4;
pub(super) const SERVER_FLAGS: u16 = 5;
const SOCKETS: u16 = 7;
pub(super) const DEAD_CONNECTION_TIMEOUT_S: u16 = 8;
pub(super) const BACKEND_IDENTIFIER: u16 = 10;
const SOCKET_ITEM: u16 = 1;
const SOCKET_FILE: u16 = 1;

/// Attributes of a request, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes(Vec<u8>);

impl Attributes {
    pub(super) fn number(self, kind: u16, value: u64) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    pub(super) fn short(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    pub(super) fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Sockets that the kernel is to talk over.
    pub(super) fn sockets<'a>(self, files: impl IntoIterator<Item = BorrowedFd<'a>>) -> Self {
        let list = files.into_iter().fold(Self::default(), |list, file| {
            let number = u32::try_from(file.as_raw_fd()).expect("numbers of open files are not negative");
            list.bytes(NESTED | SOCKET_ITEM, &Self::default().short(SOCKET_FILE, number).0)
        });
        self.bytes(NESTED | SOCKETS, &list.0)
    }

    fn bytes(mut self, kind: u16, payload: &[u8]) -> Self {
        let length = u16::try_from(4 + payload.len()).expect("what is said to the kernel is short");
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(payload);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

/// The payload of the first attribute of a kind.
pub(super) fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some(head) = attributes.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let payload = attributes.get(4..length)?;
        if u16::from_ne_bytes([head[2], head[3]]) & !NESTED == wanted {
            return Some(payload);
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// A connection with the kernel's nbd driver.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    family: u16,
}

impl Netlink {
    /// `ENOENT` if the kernel has no nbd.
    pub(super) fn open() -> Result<Self, Errno> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::GENERIC))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        let mut this = Self { socket, sequence: 0, family: CONTROL_FAMILY };
        let answer = this.talk(GET_FAMILY, 2, &Attributes::default().text(FAMILY_NAME, "nbd"))?;
        let number = find(&answer, FAMILY_ID).and_then(|payload| payload.first_chunk());
        this.family = u16::from_ne_bytes(*number.ok_or(Errno::PROTO)?);
        Ok(this)
    }

    /// Gives a command: the attributes of the answer.
    pub(super) fn ask(&mut self, command: Command, attributes: &Attributes) -> Result<Vec<u8>, Errno> {
        self.talk(command as u8, 1, attributes)
    }

    fn talk(&mut self, command: u8, version: u8, attributes: &Attributes) -> Result<Vec<u8>, Errno> {
        self.sequence += 1;
        let length = u32::try_from(20 + attributes.0.len()).expect("what is said to the kernel is short");
        let mut message = length.to_ne_bytes().to_vec();
        message.extend_from_slice(&self.family.to_ne_bytes());
        message.extend_from_slice(&REQUEST_AND_ACK.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(&[command, version, 0, 0]);
        message.extend_from_slice(&attributes.0);
        send(self.socket.as_fd(), &message, SendFlags::empty())?;
        let mut answer = Vec::new();
        loop {
            let mut bytes = vec![0; ANSWER_BYTES];
            let (count, _) = recv(&self.socket, &mut bytes[..], RecvFlags::empty())?;
            if let Some(result) = take_in(&bytes[..count], self.sequence, &mut answer)? {
                return result.map(|()| answer);
            }
        }
    }
}

/// Goes over the messages of one datagram. The acknowledgement, if it is among them.
fn take_in(mut bytes: &[u8], sequence: u32, answer: &mut Vec<u8>) -> Result<Option<Result<(), Errno>>, Errno> {
    while let Some(head) = bytes.first_chunk::<16>() {
        let word = |at: usize| u32::from_ne_bytes(*head[at..].first_chunk().expect("it has 16 bytes"));
        let length = word(0) as usize;
        let message = bytes.get(16..length).ok_or(Errno::PROTO)?;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        // What is left of an earlier question is of no interest.
        if word(8) == sequence {
            if kind == NLMSG_ERROR {
                let code = i32::from_ne_bytes(*message.first_chunk().ok_or(Errno::PROTO)?);
                return Ok(Some(if code == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(code.wrapping_neg())) }));
            }
            *answer = message.get(4..).unwrap_or_default().to_vec();
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_as_they_were_written() {
        let attributes = Attributes::default().text(FAMILY_NAME, "nbd").number(SIZE_BYTES, 7).short(INDEX, 3);
        assert_eq!(attributes.0.len(), 8 + 12 + 8);
        assert_eq!(find(&attributes.0, INDEX), Some(&3_u32.to_ne_bytes()[..]));
        assert_eq!(find(&attributes.0, TIMEOUT_S), None);
    }

    #[test]
    fn an_answer_that_is_cut_short_is_none() {
        let mut answer = Vec::new();
        let mut message =
            [&36_u32.to_ne_bytes()[..], &NLMSG_ERROR.to_ne_bytes(), &[0, 0], &1_u32.to_ne_bytes()].concat();
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(&(-2_i32).to_ne_bytes());
        message.extend_from_slice(&[0; 16]);
        assert_eq!(take_in(&message, 1, &mut answer), Ok(Some(Err(Errno::NOENT))));
        assert_eq!(take_in(&message, 2, &mut answer), Ok(None));
        assert_eq!(take_in(&message[..30], 1, &mut answer), Err(Errno::PROTO));
        assert_eq!(find(&[200, 0, 1, 0], 1), None);
    }

    #[test]
    fn a_kernel_without_nbd_says_so() {
        match Netlink::open() {
            Ok(netlink) => assert!(netlink.family > CONTROL_FAMILY),
            Err(error) => assert_eq!(error, Errno::NOENT),
        }
    }
}
