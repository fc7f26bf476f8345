//! What commands, drives and what happens to them can make the process that runs an array keep:
//! each limit once, and how they go together.

/// Drives that may come to an array while it is open.
pub(crate) const MORE_DRIVES_MAX: u32 = 64;
/// How often members are looked for again that have changed until they were held.
pub(crate) const TRIES_MAX: usize = 5;

/// Clients at a time.
pub(crate) const CLIENTS_MAX: usize = 16;
/// Jobs taken in one go.
pub(crate) const JOBS_MAX: usize = 64;
/// No answer is longer: a state with all the places that are listed in it stays far below.
pub(crate) const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Places listed at most, of each kind; beyond, only bytes are counted.
pub(crate) const PLACES_MAX: usize = 1000;
/// News kept at most.
pub(crate) const NEWS_MAX: usize = 100;

// Everybody's next job is taken in one go.
const _: () = assert!(CLIENTS_MAX <= JOBS_MAX);
// A state with all that is listed can be sent: four kinds of places, of a hundred bytes each, and
// news of a kilobyte.
const _: () = assert!(((4 * PLACES_MAX * 100 + (NEWS_MAX << 10)) as u64) < ANSWER_BYTES_MAX);
