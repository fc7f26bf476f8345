//! A client of one export of an NBD server.

mod operation;

use std::path::Path;
use std::time::Duration;

pub use operation::{Ability, Answer, Done, Operation, TRANSFER_BYTES_MAX};

/// How to be a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// The export's name; empty for the server's first.
    pub export: String,
    /// How long one operation may take, with all that it takes to connect again.
    pub deadline: Duration,
    /// How many connections; more than one only where the server allows it.
    pub connections: u32,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there, or not to us.
    #[error("{server}: {source}: is the array served there?")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// See the module's documentation. Clones are the same client.
#[derive(Clone, Debug)]
pub struct Client {
    options: ClientOptions,
}

impl Client {
    /// Connects to the server at a Unix socket, and stays connected.
    pub fn connect(socket: &Path, options: &ClientOptions) -> Result<Self, ClientError> {
        let server = socket.display().to_string();
        let _ = options;
        Err(ClientError::Unreachable { server, source: std::io::ErrorKind::Unsupported.into() })
    }

    /// Bytes of content.
    pub fn size_bytes(&self) -> u64 {
        0
    }

    /// What operations should be multiples of, in bytes.
    pub fn block_bytes(&self) -> u32 {
        4096
    }

    /// Whether writes are refused.
    pub fn is_read_only(&self) -> bool {
        false
    }

    /// Whether the server can do this.
    pub fn can(&self, ability: Ability) -> bool {
        let _ = (ability, &self.options);
        false
    }

    /// Has something done. `done` is called exactly once, from a thread of the client's, and within the deadline; it must
    /// neither block nor submit. Waits while too much is under way.
    pub fn submit(&self, operation: Operation, done: Done) {
        let _ = operation;
        done(Err(rustix::io::Errno::IO));
    }
}
