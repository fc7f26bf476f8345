//! What is claimed of the figures of `rally2`.

use crate::claim::{Claim, assumed, checked_input, computed, fitted, input, not_predicted, predicted};

const SINGLE: &str = "single drive";
const ARRAY: &str = "RAID0 of two";
const SYNC: &str = "RAID0 of two, mount -o sync";
const SLOWER_MEMORY: &str = "the speed of the host's memory, no drive takes part; at under a third of the 1778 MiB/s of before, this \
                             was another machine, or one that saved power";

pub(crate) fn claims() -> Vec<Claim> {
    [single_reads(), single_seeks(), single_others(), array_reads(), array_seeks(), array_writes()]
        .into_iter()
        .flatten()
        .collect()
}

fn single_reads() -> Vec<Claim> {
    vec![
        input(("setup", "OCZ Rally2", "capacity"), "the size of the simulated stick"),
        input(("setup", "author's older stick", "capacity"), "a stick that no figure is about"),
        input((SINGLE, "Rally2, hdparm -T", "cached reads"), "the speed of the host's memory"),
        checked_input(
            (SINGLE, "Rally2, hdparm -t", "buffered sequential read"),
            |outcomes, _| outcomes.of("single, hdparm -t"),
            "the rate of the simulated stick is set so that hdparm -t measures this",
        ),
        not_predicted(
            (SINGLE, "Rally2, vendor claim", "maximum speed"),
            "a claim of the maker's: no method is named that could be played",
        ),
        computed(
            (SINGLE, "laptop hard disk, hdparm -T", "cached reads"),
            |_, _| Ok(1777.98),
            "the same host's memory as under the stick: cached reads do not reach a drive",
        ),
        checked_input(
            (SINGLE, "laptop hard disk, hdparm -t", "buffered sequential read"),
            |outcomes, _| outcomes.of("laptop disk, hdparm -t"),
            "the rate of the simulated disk is set so that hdparm -t measures this",
        ),
    ]
}

fn single_seeks() -> Vec<Claim> {
    vec![
        checked_input(
            (SINGLE, "Rally2 on laptop, seeker", "random access time"),
            |outcomes, _| outcomes.of("single, seeker, ms"),
            "what a command that does not continue the last costs the simulated stick is set so that seeker measures this",
        ),
        assumed(
            (SINGLE, "laptop hard disk, seeker", "random access time"),
            |outcomes, _| outcomes.of("laptop disk, seeker, ms"),
            "the disk is not named: 7200 rpm and a mean seek of 11 ms are assumed; a slower one, or the system at work on it, would explain \
             the rest",
        ),
        not_predicted(
            (SINGLE, "Rally2 on desktop, seeker", "random access time"),
            "the same stick on another machine: what that host does differently is not published, and access time \
             depends on it by almost half",
        ),
        assumed(
            (SINGLE, "Rally2 against laptop disk", "access-time ratio*"),
            |outcomes, _| Ok(outcomes.of("laptop disk, seeker, ms")? / outcomes.of("single, seeker, ms")?),
            "printed as \"nearly three times\": the study's own 18.43 over 6.63 is 2.78, and the disk's time is assumed",
        ),
    ]
}

fn single_others() -> Vec<Claim> {
    vec![
        computed(
            (SINGLE, "dd bs=1024 count=1000000", "bytes written"),
            |_, _| Ok(1024.0 * 1e6),
            "block size times count",
        ),
        checked_input(
            (SINGLE, "Rally2, dd 1 GB to file", "sequential write"),
            |outcomes, _| outcomes.of("single, dd write"),
            "the rate of the simulated stick is set so that dd, which leaves dirty pages behind, measures this",
        ),
        input(
            (SINGLE, "laptop hard disk, dd", "sequential write"),
            "a disk with a system on it; nothing else is made from it",
        ),
        predicted(
            ("use case", "RAID0 of two", "database size recommended below"),
            |outcomes, _| outcomes.of("capacity in GB"),
            "the size of the array that the engine makes of two such sticks",
        ),
    ]
}

fn array_reads() -> Vec<Claim> {
    let read = "buffered sequential read";
    vec![
        not_predicted((ARRAY, "hdparm -T", "cached reads"), SLOWER_MEMORY),
        fitted(
            (ARRAY, "hdparm -t, default read-ahead", read),
            |outcomes, _| outcomes.of("array, hdparm -t, 512 sectors"),
            "fixes what the host loses between two read-ahead windows",
        ),
        fitted(
            (ARRAY, "hdparm -t, default read-ahead", "gain in buffered reads*"),
            |outcomes, _| gain(outcomes.of("array, hdparm -t, 512 sectors")?, outcomes.of("single, hdparm -t")?),
            "follows from the fitted figure; printed as \"approximately\", where the study's own figures give 60 %",
        ),
        predicted(
            (ARRAY, "default", "read-ahead setting*"),
            |outcomes, _| outcomes.of("array, default read-ahead in sectors"),
            "md's rule: two stripes, of two chunks of 64 KiB, which was mdadm's default",
        ),
        predicted(
            (ARRAY, "hdparm -a1024", read),
            |outcomes, _| outcomes.of("array, hdparm -t, 1024 sectors"),
            "half as many windows lose the same time each",
        ),
        not_predicted(
            (ARRAY, "hdparm -a2048", "cached reads"),
            "an outlier: cached reads do not depend on read-ahead, and the study has 495 MiB/s for them elsewhere",
        ),
        predicted(
            (ARRAY, "hdparm -a2048", read),
            |outcomes, _| outcomes.of("array, hdparm -t, 2048 sectors"),
            "a quarter as many windows lose the same time each",
        ),
        predicted(
            (ARRAY, "hdparm -a2048", "gain over single drive*"),
            |outcomes, _| gain(outcomes.of("array, hdparm -t, 2048 sectors")?, outcomes.of("single, hdparm -t")?),
            "printed as \"almost\": the study's own 42.65 over 23.38 is 82 %",
        ),
    ]
}

fn array_seeks() -> Vec<Claim> {
    let why = "one request at a time waits for one stick, so striping cannot shorten it; that it did, by 15 %, must be the host: the \
               array's cached reads show another machine or clock, and the same stick needs 3.79 ms on another machine";
    vec![
        predicted((ARRAY, "seeker", "random reads"), |outcomes, _| outcomes.of("array, seeker, seeks/s"), why),
        predicted((ARRAY, "seeker", "random access time"), |outcomes, _| outcomes.of("array, seeker, ms"), why),
        predicted(
            (ARRAY, "average 7200 rpm disk*", "random access time"),
            |outcomes, _| outcomes.of("7200 rpm disk, seeker, ms"),
            "a desktop disk of its time, 8.9 ms for a mean seek and half a turn; the 12 ms are printed as a bound (\"in excess of\"), and kept",
        ),
    ]
}

fn array_writes() -> Vec<Claim> {
    let dirty = "dd without fsync ends while a tenth of memory is still dirty (vm_dirty_ratio 10); that the laptop had 2 GiB is assumed";
    let sync = "each page is written, and waited for, before the next: that the mount's sync works by the page is assumed; what dd's four calls for a \
                page and the waking up after it cost, some 50 us, is the processor's, which is not simulated";
    vec![
        computed(
            (ARRAY, "dd bs=1024 count=4000000", "bytes copied"),
            |_, _| Ok(1024.0 * 4e6 / 1e9),
            "block size times count",
        ),
        assumed((ARRAY, "dd bs=1024 count=4000000", "elapsed"), |outcomes, _| outcomes.of("array, dd write, s"), dirty),
        assumed((ARRAY, "dd, XFS", "sequential write"), |outcomes, _| outcomes.of("array, dd write"), dirty),
        assumed(
            (ARRAY, "dd, XFS", "gain over single drive*"),
            |outcomes, _| gain(outcomes.of("array, dd write")?, outcomes.of("single, dd write")?),
            "printed as \"roughly 50 %\": the study's own 23.1 over 14 is 65 %; memory size assumed as for the array's dd",
        ),
        computed(
            (SYNC, "dd", "bytes copied"),
            |_, _| Ok(1024.0 * 1e6 / 1e9),
            "block size times count, as on one stick",
        ),
        assumed((SYNC, "dd", "elapsed"), |outcomes, _| outcomes.of("array, sync write, s"), sync),
        assumed((SYNC, "dd", "sequential write"), |outcomes, _| outcomes.of("array, sync write"), sync),
    ]
}

/// By how many percent.
fn gain<E>(rate: f64, over: f64) -> Result<f64, E> {
    Ok((rate / over - 1.0) * 100.0)
}
