//! Arrays as block devices of this machine: a client of served arrays that outlives the server, and what the kernel makes of it.

#![forbid(unsafe_code)]

mod client;

pub use client::{Ability, Answer, Client, ClientError, ClientOptions, Done, Operation, TRANSFER_BYTES_MAX};
