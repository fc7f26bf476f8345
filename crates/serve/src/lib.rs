//! Arrays for others: network block devices.

#![forbid(unsafe_code)]

mod bell;

pub use bell::Bell;
