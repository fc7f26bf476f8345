//! The numbers of the NBD protocol, as its document names them (NetworkBlockDevice/nbd,
//! `doc/proto.md`). Clients use them too.

/// What a server says first.
pub const GREETING: u64 = 0x4e42_444d_4147_4943;
/// What announces newstyle negotiation, and begins every option.
pub const OPTION: u64 = 0x4948_4156_454f_5054;
/// Begins every answer to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// Begins every request.
pub const REQUEST: u32 = 0x2560_9513;
/// Begins an answer that is not structured.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// Begins each chunk of a structured answer.
pub const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// Bytes of a request before its payload.
pub const REQUEST_BYTES: usize = 28;

/// Asks, in `LIST_META_CONTEXT`, which incarnation of the content is served; the answer has a colon
/// and a word behind it.
pub const INCARNATION: &str = "x-shoal:incarnation";

/// Flags of both sides in the handshake; the client's have the same bits.
pub mod handshake {
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// What a client may ask for in the handshake.
pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

/// How an option is answered.
pub mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub const UNSUPPORTED: u32 = ERROR + 1;
    pub const POLICY: u32 = ERROR + 2;
    pub const INVALID: u32 = ERROR + 3;
    pub const TLS_REQUIRED: u32 = ERROR + 5;
    pub const UNKNOWN: u32 = ERROR + 6;
    pub const TOO_BIG: u32 = ERROR + 9;
}

/// What is told of an export.
pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod transmission {
    pub const HAS_FLAGS: u16 = 1 << 0;
    pub const READ_ONLY: u16 = 1 << 1;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub const SEND_DF: u16 = 1 << 7;
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    pub const SEND_CACHE: u16 = 1 << 10;
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Requests.
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;

    pub const FLAG_FUA: u16 = 1 << 0;
    pub const FLAG_NO_HOLE: u16 = 1 << 1;
    pub const FLAG_DF: u16 = 1 << 2;
    pub const FLAG_ONE: u16 = 1 << 3;
    pub const FLAG_FAST_ZERO: u16 = 1 << 4;
}

/// Chunks of structured answers.
pub mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const OFFSET_HOLE: u16 = 2;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR_BIT: u16 = 1 << 15;
    pub const ERROR: u16 = (1 << 15) + 1;
    pub const ERROR_OFFSET: u16 = (1 << 15) + 2;

    pub const FLAG_DONE: u16 = 1 << 0;
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    NotPermitted = 1,
    Io = 5,
    Invalid = 22,
    NoSpace = 28,
    Overflow = 75,
    NotSupported = 95,
    Shutdown = 108,
}
