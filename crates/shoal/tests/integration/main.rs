//! The whole program, as people and other programs meet it. One program holds all its tests, as
//! each would have to be linked.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod arrays;
mod attached;
mod bad_input;
mod check;
mod files;
mod fronts;
mod help;
mod json;
mod lab_book;
mod lists;
mod memory;
mod needs_bus_boots_from_an_array;
mod needs_bus_pulled;
mod needs_bus_reality;
mod needs_kernel_bitmap;
mod needs_kernel_engine;
mod needs_kernel_filesystems;
mod needs_kernel_grow;
mod needs_kernel_journal;
mod needs_kernel_matrix;
mod needs_kernel_power_cuts;
mod needs_kernel_ppl;
mod needs_kernel_states;
mod needs_root_systemd;
mod network;
mod newcomers;
mod overwriting;
mod plan;
mod recover;
mod rename;
mod running;
mod scrubs;
mod serve;
mod share;
mod simulated;
mod stories;
mod support;
mod unattended;
mod wipe;
mod words;
