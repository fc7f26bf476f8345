//! How an array is to be attached.

use std::time::Duration;

use shoal_attach::records::Method;

/// How long a request waits for a server that is gone, if nobody says otherwise. A file system that
/// is told of an error is of no use until it is mounted again, so it is long enough for somebody to
/// come and start the server.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// What is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttachOptions {
    /// No other method.
    pub method: Option<Method>,
    /// A file will not do.
    pub block_device: bool,
    /// Nobody is to write.
    pub read_only: bool,
    /// Run the array though it is degraded and was not shut down cleanly.
    pub force: bool,
    /// Run it without members that are missing.
    pub degraded: bool,
    /// It is attached to be mounted, and is to be detached when it is unmounted.
    pub until_unmounted: bool,
    /// After so long a request that nobody answered fails; [`DEADLINE`] if left out.
    pub deadline: Option<Duration>,
    /// Bytes of the write-back window; what suits the array if left out.
    pub write_back: Option<u32>,
}
