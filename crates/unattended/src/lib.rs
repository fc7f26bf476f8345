//! Arrays that nobody watches: assembled at boot and when drives are plugged in, watched over, and told of when their health changes.
//!
//! - [`heart`]: what the service manager hears of a running array.

#![forbid(unsafe_code)]

pub mod heart;

pub use heart::Heart;
