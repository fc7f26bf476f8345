//! The argument of commands that keep arrays running.

use clap::Args;
use shoal_text::parse_small_size;

/// The write-back window of an array that is kept running.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct WriteBackArgs {
    /// Answer writes from a window of so much memory, as drives with a volatile cache do, and write
    /// whole rows: many times faster on sticks and cards; 0: none. What no flush covers is lost if
    /// the process is killed; the client's next flush fails then. [default: 32M for arrays with
    /// copies or parity on sticks, cards and other drives that take one write at a time, else 0]
    #[arg(long = "write-back", value_parser = parse_small_size, value_name = "SIZE")]
    pub(crate) size: Option<u32>,
}
