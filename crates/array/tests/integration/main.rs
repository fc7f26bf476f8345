//! The engine: its geometry against tables of md's, and its stories against a flat array of bytes.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod engine_properties;
mod geometry;
mod geometry_tables;
mod rig;
mod scenarios;
mod streams;
