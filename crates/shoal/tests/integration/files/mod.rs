//! File systems on arrays as people use them: made, mounted, under the loads of programs that
//! nobody here wrote, while the array's server is killed and a member is replaced.
//!
//! `SHOAL_LOADS=long` keeps each load going for minutes.

mod attachments;
mod directories;
mod formats;
mod fsx;
mod pond;
mod ponds;
mod postgres;
mod sqlite;

/// Whether loads are to last.
fn is_long() -> bool {
    std::env::var("SHOAL_LOADS").is_ok_and(|length| length == "long")
}
