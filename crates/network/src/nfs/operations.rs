//! NFS 4.0's operations that this client uses, by their numbers in RFC 7530, section 16.

pub(super) const CLOSE: u32 = 4;
pub(super) const COMMIT: u32 = 5;
pub(super) const GETFH: u32 = 10;
pub(super) const LOOKUP: u32 = 15;
pub(super) const OPEN: u32 = 18;
pub(super) const OPEN_CONFIRM: u32 = 20;
pub(super) const PUTFH: u32 = 22;
pub(super) const PUTROOTFH: u32 = 24;
pub(super) const READ: u32 = 25;
pub(super) const SETCLIENTID: u32 = 35;
pub(super) const SETCLIENTID_CONFIRM: u32 = 36;
pub(super) const WRITE: u32 = 38;

/// What it is called.
pub(super) fn name(operation: u32) -> &'static str {
    match operation {
        CLOSE => "CLOSE",
        COMMIT => "COMMIT",
        GETFH => "GETFH",
        LOOKUP => "LOOKUP",
        OPEN => "OPEN",
        OPEN_CONFIRM => "OPEN_CONFIRM",
        PUTFH => "PUTFH",
        PUTROOTFH => "PUTROOTFH",
        READ => "READ",
        SETCLIENTID => "SETCLIENTID",
        SETCLIENTID_CONFIRM => "SETCLIENTID_CONFIRM",
        WRITE => "WRITE",
        _ => "an operation",
    }
}
