//! The published studies, played on simulated drives through the engine that ships.

#![forbid(unsafe_code)]
