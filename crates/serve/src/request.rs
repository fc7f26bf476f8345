//! Requests of the transmission phase: bytes to types, and which of them are refused at once.

use crate::export::Export;
use crate::limits::PAYLOAD_BYTES_MAX;
use crate::negotiation::Agreement;
use crate::protocol::{Errno, REQUEST, REQUEST_BYTES, command};

/// A request as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    flags: u16,
    kind: u16,
    /// The client's name for it.
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// What is to be done, with a range that lies in the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    Write {
        durable: bool,
    },
    Flush,
    Trim {
        durable: bool,
    },
    WriteZeroes {
        durable: bool,
        /// Whether the room may be given up.
        may_discard: bool,
        /// Whether it is not to be done at all if content had to be written for it.
        is_fast: bool,
    },
    /// There is no cache to be filled, so nothing is to be done.
    Cache,
    BlockStatus,
}

impl RequestKind {
    /// Whether bytes follow the request.
    pub(crate) fn brings_payload(self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// Why a request is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: Errno,
    pub(crate) why: &'static str,
}

const fn refusal(errno: Errno, why: &'static str) -> Refusal {
    Refusal { errno, why }
}

/// Why zeros are refused that are not to take as long as other content.
const SLOW_ZEROS: &str = "zeros that keep their room are written, which is no faster than other bytes";

impl Header {
    /// Nothing if it is no request: then nobody can tell what follows.
    pub(crate) fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let u16_at = |at: usize| u16::from_be_bytes(*bytes[at..].first_chunk().expect("within a request"));
        let u32_at = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("within a request"));
        let u64_at = |at: usize| u64::from_be_bytes(*bytes[at..].first_chunk().expect("within a request"));
        let header =
            Self { flags: u16_at(4), kind: u16_at(6), cookie: u64_at(8), offset: u64_at(16), length: u32_at(24) };
        (u32_at(0) == REQUEST).then_some(header)
    }

    /// Whether the client says that it goes.
    pub(crate) fn is_goodbye(&self) -> bool {
        self.kind == command::DISC
    }

    /// Bytes that follow; nothing if they are more than anybody is let send.
    pub(crate) fn payload_bytes(&self) -> Option<u32> {
        match self.kind {
            command::WRITE => (self.length <= PAYLOAD_BYTES_MAX).then_some(self.length),
            _ => Some(0),
        }
    }

    /// What to do, or why not. `unsplit_bytes_max` is the longest read that can be sent in one
    /// piece.
    pub(crate) fn judge(
        &self,
        export: &Export,
        agreement: Agreement,
        unsplit_bytes_max: u32,
    ) -> Result<RequestKind, Refusal> {
        let order = self.order(agreement)?;
        if let RequestKind::Flush = order {
            return Ok(order);
        }
        let writes =
            matches!(order, RequestKind::Write { .. } | RequestKind::Trim { .. } | RequestKind::WriteZeroes { .. });
        if writes && export.read_only {
            return Err(refusal(Errno::NotPermitted, "the export is read-only"));
        }
        if self.length == 0 {
            return Err(refusal(Errno::Invalid, "the request is for no bytes at all"));
        }
        if self.offset.checked_add(u64::from(self.length)).is_none_or(|end| end > export.size_bytes) {
            let grows = matches!(order, RequestKind::Write { .. } | RequestKind::WriteZeroes { .. });
            let errno = if grows { Errno::NoSpace } else { Errno::Invalid };
            return Err(refusal(errno, "the range ends beyond the export"));
        }
        if order == RequestKind::Read && self.length > PAYLOAD_BYTES_MAX {
            return Err(refusal(Errno::Overflow, "the read is longer than the block size information allows"));
        }
        if self.has(command::FLAG_DF) && self.length > unsplit_bytes_max {
            return Err(refusal(Errno::Overflow, "the read is too long to be sent in one piece"));
        }
        if matches!(order, RequestKind::WriteZeroes { is_fast: true, may_discard: false, .. }) {
            return Err(refusal(Errno::NotSupported, SLOW_ZEROS));
        }
        Ok(order)
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn order(&self, agreement: Agreement) -> Result<RequestKind, Refusal> {
        let durable = self.has(command::FLAG_FUA);
        let unfragmented = if agreement.structured { command::FLAG_DF } else { 0 };
        let (order, flags) = match self.kind {
            command::READ => (RequestKind::Read, unfragmented),
            command::WRITE => (RequestKind::Write { durable }, 0),
            command::FLUSH => (RequestKind::Flush, 0),
            command::TRIM => (RequestKind::Trim { durable }, 0),
            command::CACHE => (RequestKind::Cache, 0),
            command::WRITE_ZEROES => {
                let (no_hole, fast) = (command::FLAG_NO_HOLE, command::FLAG_FAST_ZERO);
                let (may_discard, is_fast) = (!self.has(no_hole), self.has(fast));
                (RequestKind::WriteZeroes { durable, may_discard, is_fast }, no_hole | fast)
            }
            command::BLOCK_STATUS if agreement.block_status => (RequestKind::BlockStatus, command::FLAG_ONE),
            command::BLOCK_STATUS => {
                return Err(refusal(Errno::Invalid, "no metadata context was agreed on for this export"));
            }
            _ => return Err(refusal(Errno::Invalid, "this server does not know the command")),
        };
        // FUA may be set on everything, the others only where they mean something.
        if self.flags & !(flags | command::FLAG_FUA) != 0 {
            return Err(refusal(Errno::Invalid, "the command does not take such a flag"));
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STRUCTURED: Agreement = Agreement { export: 0, structured: true, block_status: true };
    const SIMPLE: Agreement = Agreement { export: 0, structured: false, block_status: false };

    fn header(kind: u16, flags: u16, offset: u64, length: u32) -> Header {
        Header { flags, kind, cookie: 7, offset, length }
    }

    fn judge(header: Header, read_only: bool, agreement: Agreement) -> Result<RequestKind, Errno> {
        let export = Export::whole("pond", "", 1 << 30, read_only);
        header.judge(&export, agreement, 256 << 10).map_err(|refusal| refusal.errno)
    }

    /// Kind, flags, offset, length, read-only; and what comes of it where replies are structured,
    /// and where not.
    type Row = (u16, u16, u64, u32, bool, Result<RequestKind, Errno>, Result<RequestKind, Errno>);

    #[test]
    fn every_command_and_flag_is_judged_by_the_table() {
        use command as c;
        let end = 1_u64 << 30;
        let (invalid, write) = (Err(Errno::Invalid), Ok(RequestKind::Write { durable: false }));
        let zeroes = Ok(RequestKind::WriteZeroes { durable: true, may_discard: false, is_fast: false });
        let hole = Ok(RequestKind::WriteZeroes { durable: false, may_discard: true, is_fast: true });
        #[rustfmt::skip]
        let table: &[Row] = &[
            (c::READ, 0, 0, 1, true, Ok(RequestKind::Read), Ok(RequestKind::Read)),
            (c::READ, c::FLAG_FUA, end - 1, 1, false, Ok(RequestKind::Read), Ok(RequestKind::Read)),
            (c::READ, 0, end, 1, false, invalid, invalid),
            (c::READ, 0, u64::MAX, 1, false, invalid, invalid),
            (c::READ, 0, 0, 0, false, invalid, invalid),
            (c::READ, 0, 0, 32 << 20, false, Ok(RequestKind::Read), Ok(RequestKind::Read)),
            (c::READ, 0, 0, (32 << 20) + 1, false, Err(Errno::Overflow), Err(Errno::Overflow)),
            (c::READ, c::FLAG_DF, 0, 65_536, false, Ok(RequestKind::Read), invalid),
            (c::READ, c::FLAG_DF, 0, 1 << 20, false, Err(Errno::Overflow), invalid),
            (c::READ, c::FLAG_ONE, 0, 1, false, invalid, invalid),
            (c::WRITE, 0, 5, 7, false, write, write),
            (c::WRITE, 0, 5, 7, true, Err(Errno::NotPermitted), Err(Errno::NotPermitted)),
            (c::WRITE, 0, end, 7, false, Err(Errno::NoSpace), Err(Errno::NoSpace)),
            (c::WRITE, c::FLAG_NO_HOLE, 0, 7, false, invalid, invalid),
            (c::FLUSH, c::FLAG_FUA, 0, 0, true, Ok(RequestKind::Flush), Ok(RequestKind::Flush)),
            (c::TRIM, c::FLAG_FUA, 0, 7, false, Ok(RequestKind::Trim { durable: true }), Ok(RequestKind::Trim { durable: true })),
            (c::TRIM, 0, end, 7, false, invalid, invalid),
            (c::TRIM, 0, 0, 7, true, Err(Errno::NotPermitted), Err(Errno::NotPermitted)),
            (c::CACHE, 0, 0, 7, true, Ok(RequestKind::Cache), Ok(RequestKind::Cache)),
            (c::CACHE, c::FLAG_DF, 0, 7, true, invalid, invalid),
            (c::WRITE_ZEROES, c::FLAG_FUA | c::FLAG_NO_HOLE, 0, 1 << 29, false, zeroes, zeroes),
            (c::WRITE_ZEROES, c::FLAG_FAST_ZERO, 0, 7, false, hole, hole),
            (c::WRITE_ZEROES, c::FLAG_FAST_ZERO | c::FLAG_NO_HOLE, 0, 7, false, Err(Errno::NotSupported), Err(Errno::NotSupported)),
            (c::BLOCK_STATUS, c::FLAG_ONE, 0, 1 << 30, true, Ok(RequestKind::BlockStatus), invalid),
            (c::DISC + 100, 0, 0, 7, false, invalid, invalid),
        ];
        for (number, &(kind, flags, offset, length, read_only, structured, simple)) in table.iter().enumerate() {
            let header = header(kind, flags, offset, length);
            assert_eq!(judge(header, read_only, STRUCTURED), structured, "row {number}: {header:?}");
            assert_eq!(judge(header, read_only, SIMPLE), simple, "row {number}: {header:?}");
        }
    }

    #[test]
    fn a_request_without_its_magic_is_none() {
        assert_eq!(Header::parse(&[0; REQUEST_BYTES]), None);
    }

    proptest! {
        #[test]
        fn what_is_judged_good_lies_in_the_export(
            kind in 0_u16..10, flags in 0_u16..40, offset in any::<u64>(), near in 0_u64..(2 << 30), is_near in any::<bool>(),
            length in any::<u32>(), structured in any::<bool>(),
        ) {
            let offset = if is_near { near } else { offset };
            let fields = [&flags.to_be_bytes()[..], &kind.to_be_bytes(), &9_u64.to_be_bytes(), &offset.to_be_bytes()];
            let bytes = [&REQUEST.to_be_bytes()[..], &fields.concat(), &length.to_be_bytes()].concat();
            let parsed = Header::parse(bytes.first_chunk().unwrap()).unwrap();
            prop_assert_eq!(parsed, Header { cookie: 9, ..header(kind, flags, offset, length) });
            let agreement = if structured { STRUCTURED } else { SIMPLE };
            if let Ok(order) = judge(parsed, false, agreement) {
                prop_assert!(order == RequestKind::Flush || (length > 0 && offset + u64::from(length) <= 1 << 30));
            }
        }
    }
}
