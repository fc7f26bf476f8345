//! What memory a server takes: as little as a small machine has to spare.

use super::served::Served;
use super::{names, pond};

/// What an array that nobody uses may have, beside the program's own pages and those of libraries.
const AT_REST_BYTES_MAX: u64 = 8 << 20;
/// With sixteen small requests at a time: half of what all buffers would take.
const SMALL_REQUESTS_BYTES_MAX: u64 = 28 << 20;

/// Memory that belongs to a process alone, pinned or not.
fn own_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn an_array_that_rests_or_answers_small_requests_takes_little_memory() {
    let (bay, _) = pond("5");
    let served = Served::start(&bay, &names(0..4));
    let at_rest = own_bytes(served.process());
    assert!(at_rest < AT_REST_BYTES_MAX, "{at_rest} bytes at rest");
    bay.done(&format!("bench {} --random --block-size 4K --depth 16 --seconds 1", served.uri("")));
    let after_load = own_bytes(served.process());
    println!("own memory: {at_rest} bytes at rest, {after_load} after small requests");
    assert!(after_load < SMALL_REQUESTS_BYTES_MAX, "{after_load} bytes after small requests");
    served.stopped();
}
