//! Arrays that run: engine, members and event loop put together, behind one interface.

mod interface;

pub use interface::{Volume, VolumeError};
pub use shoal_array::{Command, Completion, Request, RequestError, RequestId};
pub use shoal_drive::{Arena, Memory};
