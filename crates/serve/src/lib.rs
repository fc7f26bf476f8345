//! Arrays for others: network block devices.

#![forbid(unsafe_code)]
