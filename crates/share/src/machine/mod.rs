//! Shares of this machine: what is written down of them, and the process that keeps their servers.
//!
//! ```text
//!  shoal share ──► record (STATE/shares/NAME.json) ──► keeper: `shoal share --serve`, one process ──► smbd, nfsd, vsftpd
//!                                                        ▲        │ status (RUNTIME/sharing/status.json)
//!                        /proc/self/mountinfo, addresses ┘        ▼
//! ```
//!
//! The records are all there is: the keeper makes the servers be what follows from them, from what
//! is mounted and from this machine's addresses at that moment. So there is one way by which a
//! server is started, stopped or told of a change, whether somebody typed a command, a file system
//! vanished, or the machine came up:
//!
//! - A share whose file system is not mounted where it should be is not served; when it is mounted,
//!   it is. What is shared is never the empty directory below.
//! - The order is array, mount, servers; and the reverse to stop. A keeper that is started first
//!   waits for the mount; and `shoal unmount` has it let go first.
//! - Servers die with the keeper, and the next keeper starts from the records.

mod directories;
mod error;
mod keeper;
mod leaving;
mod presence;
mod record;

pub use directories::Machine;
pub use error::{MachineError, RecordFault};
pub use keeper::Keeper;
pub use leaving::Leaving;
pub use presence::{FileSystem, home_of};
pub use record::{GuestsWord, NfsWord, Record, ShareStatus, State, addresses, networks_of_machine, parse_id};
