//! Fault hunting: a seed is a world of drives, faults and power cuts; checkers judge what an array makes of it.

#![forbid(unsafe_code)]
