//! The network study: a client and a server with a shaped link between them, on one machine.

#![forbid(unsafe_code)]
