//! What a client, or a file of keys, can make the server keep or do: each limit once, and how they
//! go together.

/// The longest payload in either direction: what the protocol's document asks servers to take.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// The longest string: what the protocol's document asks for.
pub const STRING_BYTES_MAX: usize = 4096;
/// The longest option that is looked at: two strings of the greatest length, and queries in plenty.
pub(crate) const OPTION_BYTES_MAX: usize = 16 << 10;
/// Options that a client may take to come to a decision: even those who list and try everything
/// need a handful.
pub(crate) const OPTIONS_MAX: u32 = 256;

/// Clients that are served at a time.
pub const CLIENTS_MAX: usize = 32;
/// How many of them may come over the network: idle ones do not keep those of this machine out.
pub(crate) const NETWORK_CLIENTS_MAX: usize = 24;
/// The least number of request buffers that an exporter can work with: two that it keeps, and one
/// for each client.
pub const BUFFERS_MIN: u32 = 2 + CLIENTS_MAX as u32;
/// The least size of a request buffer: what a client may ask for in one piece, and the blocks at
/// its ends.
pub const BUFFER_BYTES_MIN: u32 = 128 << 10;
/// Clients that come to an agreement at a time.
pub(crate) const HANDSHAKES_MAX: usize = 32;

/// Requests of a connection that are under way at a time; the next ones wait in the socket.
pub(crate) const UNDER_WAY_MAX: u32 = 256;
/// Pieces of one request without payload that are under way at a time.
pub(crate) const PIECES_MAX: u32 = 8;
/// What is told to be of no use any more, in one piece.
pub(crate) const TRIM_BYTES_MAX: u32 = 64 << 20;
/// Requests that are no multiples of blocks and are mended at a time, however small the blocks.
pub(crate) const SLOTS_MAX: usize = 16;

/// Nothing more is read for a client that has so much to take. What lies there for long has left
/// the processor's cache, and is sent at less than half the speed.
pub(crate) const UNSENT_BYTES_MAX: usize = 512 << 10;
/// Nor for one that has so many answers to take, however short they are: each takes memory.
pub(crate) const REPLIES_MAX: usize = 1024;

/// The longest name that a client can send (GnuTLS has the same).
pub(crate) const NAME_BYTES_MAX: usize = 128;
/// The longest pre-shared key.
pub(crate) const KEY_BYTES_MAX: usize = 256;
/// Shorter ones can be guessed.
pub(crate) const KEY_BYTES_MIN: usize = 16;
/// A file of keys is no larger than this.
pub(crate) const KEY_FILE_BYTES_MAX: u64 = 1 << 20;

// Trims are cut more coarsely than content.
const _: () = assert!(TRIM_BYTES_MAX >= PAYLOAD_BYTES_MAX);
// The clients of this machine always find a place.
const _: () = assert!(NETWORK_CLIENTS_MAX < CLIENTS_MAX);
// The longest option that makes sense is looked at.
const _: () = assert!(OPTION_BYTES_MAX > 2 * (STRING_BYTES_MAX + size_of::<u32>()));
// Answers to all that is under way can be kept.
const _: () = assert!(UNDER_WAY_MAX as usize <= REPLIES_MAX);
// A name with its key, as hexadecimal digits, fits into a file of keys many times.
const _: () =
    assert!(64 * (NAME_BYTES_MAX + 2 * KEY_BYTES_MAX) as u64 <= KEY_FILE_BYTES_MAX && KEY_BYTES_MIN < KEY_BYTES_MAX);
