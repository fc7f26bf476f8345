//! What this crate reads and writes, held against what mdadm and Linux wrote.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod golden;
mod golden_legacy;
mod golden_logs;
mod golden_states;
mod golden_versions;
mod mdadm_examine;
