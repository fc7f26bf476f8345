//! Arrays as block devices of this machine: a client of served arrays that outlives the server, and what the kernel makes of it.

#![forbid(unsafe_code)]
