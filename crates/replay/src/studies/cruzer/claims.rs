//! What is claimed of the figures of `cruzer`.

use super::{CHUNKS_KIB, DRIVES};
use crate::claim::{
    Claim, assumed, checked_input, computed, computed_assumed, fitted, input, not_predicted, predicted,
};
use crate::cost::published_cost;
use crate::outcomes::{Missing, Outcomes};

const ONE_BUS: &str = "RAID0, one USB bus";
const TWO_BUSES: &str = "RAID0, two USB buses";

pub(crate) fn claims() -> Vec<Claim> {
    [setup(), single_drive(), one_bus_reads(), one_bus_writes(), two_buses(), others()].into_iter().flatten().collect()
}

fn setup() -> Vec<Claim> {
    vec![
        input(("setup", "SanDisk Cruzer Titanium 2G", "drives in the array"), "how many sticks there were"),
        predicted(
            ("setup", "array of 6", "total capacity"),
            |outcomes, _| outcomes.of("capacity in GB"),
            "the size of the array that the engine makes of six such sticks; printed as six times 2 GB",
        ),
        input(("setup", "one drive", "street price"), "what a stick cost"),
        input(("setup", "one drive", "capacity (dmesg) [512-byte sectors]"), "the size of the simulated stick"),
        computed(
            ("setup", "one drive", "capacity (dmesg) [MB]"),
            |_, _| Ok(4_001_422.0 * 512.0 / 1e6),
            "its sectors, of 512 bytes each",
        ),
        input(("setup", "ICH9 82801I", "USB controllers"), "two buses of the topology"),
        input(
            ("setup", "Linux", "kernel version"),
            "decides which host is simulated: read-ahead and write-back of 2.6",
        ),
        input(("setup", "mdadm", "version"), "decides the default chunk, 64 KiB before 3.1"),
        input(("setup", "USB 2.0 Hi-Speed", "signalling rate [Mbit/s]"), "of the bus, by its standard"),
        computed(
            ("setup", "USB 2.0 Hi-Speed", "signalling rate [MB/s]"),
            |_, _| Ok(480.0 / 8.0),
            "480 Mbit/s, eight bits to a byte; packets leave 53 of it for data",
        ),
        computed(
            ("setup", "USB host controller", "maximum devices"),
            |_, _| Ok(f64::from((1_u32 << 7) - 1)),
            "addresses of seven bits, without address 0",
        ),
    ]
}

fn single_drive() -> Vec<Claim> {
    let at = "single drive";
    vec![
        not_predicted(
            (at, "1 drive, vendor claim", "*"),
            "a claim of the maker's: no method is named that could be played, and the measured range lies below it",
        ),
        checked_input(
            (at, "1 drive, dd on raw device", "sequential write,*"),
            |outcomes, _| outcomes.of("one bus, 1 drives, 64 KiB, write"),
            "the rate of the simulated stick is set so that dd measures 8 MB/s, the middle of the range",
        ),
        checked_input(
            (at, "1 drive, dd on raw device", "sequential read,*"),
            |outcomes, _| outcomes.of("one bus, 1 drives, 64 KiB, read"),
            "the rate of the simulated stick is set so that dd measures 19 MB/s, the middle of the range",
        ),
    ]
}

fn one_bus_reads() -> Vec<Claim> {
    vec![
        assumed(
            (ONE_BUS, "reads", "devices after which read speed is almost topped out"),
            |outcomes, _| saturation(|drives| outcomes.of(&format!("one bus, {drives} drives, 64 KiB, read"))),
            "the first number of drives at which one more adds less than a tenth of a drive; the tenth is ours",
        ),
        assumed(
            (ONE_BUS, "reads", "optimal chunk size, low end"),
            |outcomes, _| smallest_good_chunk(outcomes),
            "the smallest chunk that is within 8 % of the best for any number of drives; the 8 % are ours",
        ),
        not_predicted(
            (ONE_BUS, "reads", "optimal chunk size, high end"),
            "the model is flat above the low end: what makes larger chunks slower is not in it",
        ),
        fitted(
            (ONE_BUS, "up to 6 drives", "maximum read"),
            |outcomes, _| most(|drives| outcomes.of(&format!("one bus, {drives} drives, 64 KiB, read"))),
            "fixes what one poll of a waiting stick costs the bus",
        ),
    ]
}

fn one_bus_writes() -> Vec<Claim> {
    vec![
        computed(
            (ONE_BUS, "writes, theory", "devices giving gains, low"),
            |_, _| Ok((60.0_f64 / 9.0).floor()),
            "60 MB/s of the bus over the 9 MB/s that the maker claims for a stick, rounded down",
        ),
        computed(
            (ONE_BUS, "writes, theory", "devices giving gains, high"),
            |_, _| Ok((60.0_f64 / 9.0).ceil()),
            "60 MB/s of the bus over the 9 MB/s that the maker claims for a stick, rounded up",
        ),
        assumed(
            (ONE_BUS, "writes", "device from which bus penalties show"),
            |outcomes, _| first_penalty(|drives| outcomes.of(&format!("one bus, {drives} drives, 64 KiB, write"))),
            "the first drive that adds a tenth less than a drive; the tenth is ours, a twentieth would give the third",
        ),
        predicted(
            (ONE_BUS, "up to 6 drives", "maximum write"),
            |outcomes, _| most(|drives| outcomes.of(&format!("one bus, {drives} drives, 64 KiB, write"))),
            "the same bus: writers wait more of their time, and so are polled more",
        ),
    ]
}

fn two_buses() -> Vec<Claim> {
    vec![
        predicted(
            (TWO_BUSES, "6 drives, 3 per bus*", "read"),
            |outcomes, _| outcomes.of("two buses, 6 drives, 64 KiB, read"),
            "dd through md's read-ahead of two stripes; that this host loses nothing between windows, and that the chunk was md's default, is the \
             simplest reading of what is not printed",
        ),
        predicted(
            (TWO_BUSES, "6 drives, 3 per bus*", "write"),
            |outcomes, _| outcomes.of("two buses, 6 drives, 64 KiB, write"),
            "six times a stick of 8 MB/s, the middle of the measured 7 to 9: the range gives 42 to 53",
        ),
    ]
}

fn others() -> Vec<Claim> {
    vec![
        not_predicted(
            ("desktop use, reiser4", "saving a file in emacs", "*"),
            "what reiser4 writes when a file is saved is not published, and no file system is simulated",
        ),
        computed_assumed(
            ("price", "array against SSDs", "*"),
            published_cost,
            "printed as a bound, and kept: $10 a GB; that it was compared with SSDs at $23 a GB, as one report of 2008 has it, is \
             assumed",
        ),
    ]
}

/// The first number of drives at which one more adds less than a tenth of the first.
fn saturation<E>(rate: impl Fn(usize) -> Result<f64, E>) -> Result<f64, E> {
    for drives in 1..DRIVES {
        if rate(drives + 1)? - rate(drives)? < 0.1 * rate(1)? {
            return Ok(drives as f64);
        }
    }
    Ok(DRIVES as f64)
}

/// The first drive that adds less than nine tenths of what the first alone does.
fn first_penalty<E>(rate: impl Fn(usize) -> Result<f64, E>) -> Result<f64, E> {
    for drives in 2..=DRIVES {
        if rate(drives)? - rate(drives - 1)? < 0.9 * rate(1)? {
            return Ok(drives as f64);
        }
    }
    Ok((DRIVES + 1) as f64)
}

/// The highest of all numbers of drives.
fn most<E>(rate: impl Fn(usize) -> Result<f64, E>) -> Result<f64, E> {
    (1..=DRIVES).map(rate).try_fold(0.0, |most, rate| Ok(f64::max(most, rate?)))
}

/// The smallest chunk, in KiB, with which two to six drives on one bus are all read within 8 % of
/// their best.
fn smallest_good_chunk(outcomes: &Outcomes) -> Result<f64, Missing> {
    let mut smallest = 0;
    for drives in 2..=DRIVES {
        let rate = |chunk: u32| outcomes.of(&format!("one bus, {drives} drives, {chunk} KiB, read"));
        let rates: Result<Vec<_>, _> = CHUNKS_KIB.into_iter().map(|chunk| Ok((chunk, rate(chunk)?))).collect();
        let rates = rates?;
        let best = rates.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        let good = rates.into_iter().find(|&(_, rate)| rate >= 0.92 * best);
        smallest = smallest.max(good.map_or(0, |(chunk, _)| chunk));
    }
    Ok(f64::from(smallest))
}
