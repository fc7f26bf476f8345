//! The analysis of studies, the schema of their document, and the report in a browser.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod analysis;
mod browser;
mod needs_browser_report_renders;
mod sample;
mod schema;
