//! Arrays that nobody watches: assembled at boot and when drives are plugged in, watched over, and
//! told of when their health changes.
//!
//! - [`alert`]: who is told when an array's health changes.
//! - [`service_manager`]: what the service manager hears of a running array.
//! - [`service`]: units and rules that make an array a service of the machine, as text.
//! - [`mdadm_conf`]: who runs an array, shoal or the kernel.
//! - [`members`]: whether there is anything to wait for.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

pub mod alert;
pub mod mdadm_conf;
pub mod members;
pub mod service;
pub mod service_manager;

pub use mdadm_conf::ArrayName;
pub use service_manager::ServiceManager;
