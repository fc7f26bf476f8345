//! File systems on arrays: how each is made to fit the array below it, made, and mounted.

#![forbid(unsafe_code)]
