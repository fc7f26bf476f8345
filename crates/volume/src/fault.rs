//! What the system's errors mean to an array.
//!
//! | I/O | error | meaning |
//! | --- | --- | --- |
//! | read | EIO, EILSEQ, ENODATA, EBADMSG, EREMOTEIO, ETIMEDOUT | this range cannot be read: heal it from redundancy |
//! | discard | EOPNOTSUPP, ENOTTY, EINVAL | the drive cannot discard |
//! | any | any other | the drive is gone, or takes no more writes |
//!
//! A drive that fell off its bus often answers reads with EIO for a moment. Healing then writes,
//! the write fails too, and the member fails: one step later, with the same end.

use std::io;

use rustix::io::Errno;
use shoal_array::{Fault, RequestError};
use shoal_drive::IoKind;

/// What an error of member I/O means to the engine.
pub(crate) fn member_fault(kind: IoKind, error: &io::Error) -> Fault {
    match (kind, errno(error)) {
        (
            IoKind::Read(_),
            Some(Errno::IO | Errno::ILSEQ | Errno::NODATA | Errno::BADMSG | Errno::REMOTEIO | Errno::TIMEDOUT),
        ) => Fault::Unreadable,
        (IoKind::Discard(_), Some(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL)) => Fault::Unsupported,
        _ => Fault::Gone,
    }
}

/// What a failed request on an inner array means to the array around it. One that has lost some of
/// its content may have the rest: reads find out.
pub(crate) fn nested_fault(is_read: bool, error: RequestError) -> Fault {
    match error {
        RequestError::Unsupported => Fault::Unsupported,
        _ if is_read => Fault::Unreadable,
        _ => Fault::Gone,
    }
}

/// What a failed request on a member and its replacement means to their array: what a drive by
/// itself would have answered. If both are gone nobody asks for every single block.
pub(crate) fn mirrored_fault(is_read: bool, error: RequestError) -> Fault {
    match error {
        RequestError::Lost { .. } => Fault::Gone,
        _ => nested_fault(is_read, error),
    }
}

/// What an error of I/O on a plain drive means to whoever asked.
pub(crate) fn request_error(error: &io::Error) -> RequestError {
    match errno(error) {
        Some(Errno::OPNOTSUPP | Errno::NOTTY) => RequestError::Unsupported,
        Some(Errno::IO | Errno::ILSEQ | Errno::NODATA | Errno::BADMSG | Errno::REMOTEIO | Errno::TIMEDOUT) => {
            RequestError::Unreadable { offset: 0 }
        }
        _ => RequestError::Failed,
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}
