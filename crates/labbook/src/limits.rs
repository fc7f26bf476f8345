//! What a file can make the lab book keep, and how much of it is computed with: each limit once,
//! and how they go together.

/// The largest text or histogram that is taken out of a file, or put into one.
pub(crate) const VALUE_BYTES_MAX: i32 = 16 << 20;
/// More than any command measures in one run: beyond that a file is taken for made up.
pub(crate) const MEASUREMENTS_MAX: i64 = 100_000;
/// The same of the histograms and series of one run, as they are stored.
pub(crate) const SAMPLE_BYTES_MAX: i64 = 256 << 20;

/// The largest file that is imported: it is read as a whole.
pub(crate) const IMPORT_BYTES_MAX: u64 = 512 << 20;
/// The longest text in a run that is imported.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;
/// The most measurements in such a run, and the most bars and intervals in such a measurement.
pub(crate) const COUNT_MAX: usize = 100_000;

/// Where exact distributions are computed up to: so many values a group, so many points.
pub(crate) const EXACT_MAX: usize = 40;
/// Points of a tendency beyond which the oldest are left out: there are two million pairs of so
/// many.
pub(crate) const POINTS_MAX: usize = 2000;
/// Values of a group beyond which the others are left out: a million differences.
pub(crate) const VALUES_MAX: usize = 1000;

// What a run has can be exported, and imported elsewhere.
const _: () = assert!(MEASUREMENTS_MAX as u64 <= COUNT_MAX as u64);
const _: () = assert!(SAMPLE_BYTES_MAX as u64 <= IMPORT_BYTES_MAX);
// What is imported can be read again.
const _: () = assert!(TEXT_BYTES_MAX <= VALUE_BYTES_MAX as usize);
const _: () = assert!(VALUE_BYTES_MAX as i64 <= SAMPLE_BYTES_MAX);
// Nothing is left out where the distribution is exact.
const _: () = assert!(EXACT_MAX <= VALUES_MAX && EXACT_MAX <= POINTS_MAX);
