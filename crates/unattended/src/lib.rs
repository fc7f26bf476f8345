//! Arrays that nobody watches: assembled at boot and when drives are plugged in, watched over, and told of when their health changes.

#![forbid(unsafe_code)]
