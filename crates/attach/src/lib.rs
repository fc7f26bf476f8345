//! Arrays as block devices of this machine: a client of served arrays that outlives the server, and
//! what the kernel makes of it.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod client;
pub mod fuse;
pub mod kernel_nbd;
mod limits;
mod loop_device;
mod ranges;
mod reclaim;
pub mod records;
mod remote;
pub mod ublk;

pub use client::{
    Ability, Answer, Client, ClientError, ClientOptions, Done, HandshakeError, Operation, Terms, TermsError,
};
pub use limits::TRANSFER_BYTES_MAX;
pub use loop_device::{LoopDevice, LoopError, LoopOptions};
pub use reclaim::stay_out_of_reclaim;
pub use remote::Remote;
