//! Which array to build or buy: what it holds, costs, does and survives, before anything is wiped.

#![forbid(unsafe_code)]
