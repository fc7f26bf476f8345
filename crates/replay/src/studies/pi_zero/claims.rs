//! What is claimed of the figures of `pi-zero`.
//!
//! The study's tables name slots (`/dev/sda`), not sticks. Speed and p99.99 together tell the
//! sticks apart, and the order in the slots of the second run is the exact reverse of that of the
//! first, as its author says it was.

use super::{Stick, stick_in_slot};
use crate::Figure;
use crate::claim::{Claim, checked_input, computed, input, not_predicted, predicted};
use crate::outcomes::{Missing, Outcomes};

const WRITES: &str = "Write speed tests";
const SLOTS: &str = "Write speed experiment (slot order)";
const READS: &str = "Read speeds";
const LINEAR: &str = "dm-linear (omni_drive)";
const FAULTS: &str = "fault injection on dm-linear";
const SPEED: &str = "average * speed";
const TAIL: &str = "99.99th percentile latency";

/// Of 262144 requests, so many lie beyond the 99.99th percentile.
const NO_READ_PAUSES: &str = "some 26 reads of 262144 decide it: pauses of one or two milliseconds that the simulated drive does not have, \
                              and that differ from run to run; they may be the computer's own";

pub(crate) fn claims() -> Vec<Claim> {
    [setup(), writes(), slots(), reads(), linear(), linear_table(), faults()].into_iter().flatten().collect()
}

fn setup() -> Vec<Claim> {
    let partition = "a partition that the drive came with, or of the card with the system";
    vec![
        computed(
            ("setup", "first lsblk: sda", "size"),
            |_, _| Ok(gib(121_077_760)),
            "its sectors, as blockdev prints them",
        ),
        computed(
            ("setup", "first lsblk: sdb", "size"),
            |_, _| Ok(gib(483_321_640)),
            "its sectors, as blockdev prints them",
        ),
        computed(
            ("setup", "first lsblk: sdc", "size"),
            |_, _| Ok(gib(121_077_760)),
            "its sectors, as blockdev prints them",
        ),
        computed(
            ("setup", "first lsblk: sdd", "size"),
            |_, _| Ok(gib(121_077_761)),
            "its sectors, as blockdev prints them",
        ),
        input(("setup", "first lsblk: sdb1", "size"), partition),
        input(("setup", "first lsblk: sdb2", "size"), partition),
        input(("setup", "first lsblk: mmcblk0*", "size"), partition),
        input(("setup", "*drive*", "nominal capacity"), "what is printed on the sticks"),
        input(("setup", "fio", "*"), "how fio was run"),
    ]
}

fn gib(sectors: u64) -> f64 {
    sectors as f64 * 512.0 / f64::from(1 << 30)
}

fn writes() -> Vec<Claim> {
    let rate = "the rate at which the simulated stick programs is set so that fio measures this";
    let pauses = "how long the longer pauses of the simulated stick are";
    let again = "the same stick again: nothing in the model makes a second run differ from the first";
    let mut claims = Vec::new();
    for (first, second, third) in [
        ("/dev/sda run 1*", "/dev/sda run 2*", "/dev/sda run 3*"),
        ("/dev/sdb run 1*", "/dev/sdb run 2*", "/dev/sdb run 3*"),
        ("/dev/sdc run 1*", "/dev/sdc run 2*", "/dev/sdc run 3*"),
    ] {
        claims.push(checked_input((WRITES, first, SPEED), write_speed, rate));
        claims.push(checked_input((WRITES, first, TAIL), write_tail, pauses));
        for run in [second, third] {
            claims.push(predicted((WRITES, run, SPEED), write_speed, again));
            claims.push(predicted((WRITES, run, TAIL), write_tail, again));
        }
    }
    let longer = "from the other runs of this stick, and from how much longer the pauses of this run are";
    let state = "how long the longer pauses were in this run: the only one of this stick alone that had them";
    claims.extend([
        predicted((WRITES, "/dev/sdd run 1*", SPEED), write_speed, longer),
        checked_input((WRITES, "/dev/sdd run 1*", TAIL), write_tail, state),
        checked_input((WRITES, "/dev/sdd run 2*", SPEED), write_speed, rate),
        checked_input((WRITES, "/dev/sdd run 2*", TAIL), write_tail, pauses),
        predicted((WRITES, "/dev/sdd run 3*", SPEED), write_speed, again),
        predicted((WRITES, "/dev/sdd run 3*", TAIL), write_tail, again),
    ]);
    claims
}

fn slots() -> Vec<Claim> {
    let why = "the slot does not matter: the stick that was in it, alone on the bus";
    vec![predicted((SLOTS, "*", SPEED), write_speed, why), predicted((SLOTS, "*", TAIL), write_tail, why)]
}

fn reads() -> Vec<Claim> {
    let rate = "the rate at which the simulated stick reads is set so that fio measures this";
    let again = "the same stick again: nothing in the model makes a second run differ from the first";
    vec![
        checked_input((READS, "* run 1*", SPEED), read_speed, rate),
        predicted((READS, "* run 2*", SPEED), read_speed, again),
        predicted((READS, "* run 3*", SPEED), read_speed, again),
        not_predicted((READS, "*", TAIL), NO_READ_PAUSES),
    ]
}

fn linear() -> Vec<Claim> {
    vec![
        predicted(
            (LINEAR, "*seq write", SPEED),
            |outcomes, _| outcomes.of("linear, write"),
            "the first GiB lies on one stick, in the state with the longer pauses; a p99.99 says how long pauses are but not how many \
             lie beyond it, and some 50 more than the fewest would explain the rest",
        ),
        checked_input(
            (LINEAR, "*seq write", TAIL),
            |outcomes, _| outcomes.of("linear, write, p99.99"),
            "tells which stick comes first, and that it was in the state of its first run",
        ),
        predicted(
            (LINEAR, "*seq read", SPEED),
            |outcomes, _| outcomes.of("linear, read"),
            "the first GiB lies on one stick; what the mapping costs the processor is not in the model",
        ),
        not_predicted((LINEAR, "*seq read", TAIL), NO_READ_PAUSES),
    ]
}

fn linear_table() -> Vec<Claim> {
    let start = "where the segments before it end";
    vec![
        input((LINEAR, "blockdev*", "sectors"), "the sizes of the simulated sticks"),
        input((LINEAR, "table row *", "length"), "the size of the drive, as blockdev prints it"),
        computed((LINEAR, "table row *", "start sector"), start_sector, start),
        computed(
            (LINEAR, "omni_drive", "size"),
            |_, _| Ok(gib(3 * 121_077_760 + 1 + 483_321_640)),
            "the sum of the segments",
        ),
    ]
}

fn start_sector(_: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    let lengths = [121_077_760_u32, 121_077_760, 121_077_761, 483_321_640];
    let row = ["sda", "sdb", "sdc", "sdd"].iter().position(|&drive| figure.configuration.ends_with(drive));
    let row = row.ok_or_else(|| Missing(figure.configuration.clone()))?;
    Ok(f64::from(lengths[..row].iter().sum::<u32>()))
}

fn faults() -> Vec<Claim> {
    vec![
        predicted(
            (FAULTS, "sdc removed while mounted", "touch grass succeeds"),
            |outcomes, _| outcomes.of("third drive gone: write to the first"),
            "what touch writes lies on the first drive: only I/O that meets the dead one fails",
        ),
        predicted(
            (FAULTS, "sdc removed while mounted", "dm device still listed"),
            |outcomes, _| outcomes.of("third drive gone: read from the first"),
            "the device goes on answering for the drives that are there",
        ),
        predicted(
            (FAULTS, "sdc plugged back", "drive returns to the dm device"),
            |outcomes, _| outcomes.of("third drive back: read from it"),
            "the kernel gives it another node, and the table of the device names the old one",
        ),
        predicted(
            (FAULTS, "sda (first) removed", "touch hmm succeeds"),
            |outcomes, _| outcomes.of("first drive gone: write to the first"),
            "what touch writes lies on the first drive, which is dead",
        ),
        predicted(
            (FAULTS, "sda (first) removed", "ls still lists the files"),
            |outcomes, _| outcomes.of("first drive gone: what is cached"),
            "directories that were read before are in memory, and no I/O is needed",
        ),
    ]
}

fn write_speed(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&format!("{}, write", in_slot(figure)?.name()))
}

fn write_tail(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&format!("{}, write, p99.99", in_slot(figure)?.name()))
}

fn read_speed(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&format!("{}, read", in_slot(figure)?.name()))
}

fn in_slot(figure: &Figure) -> Result<Stick, Missing> {
    stick_in_slot(&figure.experiment, &figure.configuration).ok_or_else(|| Missing(figure.configuration.clone()))
}
