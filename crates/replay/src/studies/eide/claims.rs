//! What is claimed of the figures of `eide`.

use crate::claim::{Claim, assumed, checked_input, computed, input, not_predicted, predicted};
use crate::cost::published_cost;

const SOFTWARE: &str = "software RAID5, 8 disks";
const HARDWARE: &str = "hardware RAID";
const NETWORK: &str = "Gigabit network to software RAID5";
const CONCLUSIONS: &str = "recommendations and conclusions";
const PROCESSOR: &str = "what processors cost is not simulated: they take no time on the virtual clock";

pub(crate) fn claims() -> Vec<Claim> {
    let parts = [tables(), cost(), other_costs(), setup(), arrays(), software(), hardware(), network(), conclusions()];
    parts.into_iter().flatten().collect()
}

fn tables() -> Vec<Claim> {
    vec![
        input(("Table 1: large EIDE disks", "*", "*"), "what disks were on sale, and for how much"),
        input(("Table 2: commodity hardware RAID arrays", "*", "*"), "what arrays were on sale, and for how much"),
    ]
}

fn cost() -> Vec<Claim> {
    let at = "cost";
    vec![
        computed(
            (at, "IDE disks (less than)", "price"),
            published_cost,
            "printed as a bound, and kept: the middle of table 1, of whose six disks only the largest is above it",
        ),
        computed(
            (at, "commodity IDE arrays", "parts cost"),
            published_cost,
            "what the larger of the two arrays that were built cost; printed as a round number",
        ),
        input((at, "base system", "cost"), "what the computer cost"),
        input((at, "*RAID5, * disks", "cost over base"), "what disks and controllers cost"),
        computed((at, "software RAID5, 8 disks", "total cost"), published_cost, "base and what comes on top"),
        computed(
            (at, "software RAID5, 8 disks", "cost per TB"),
            published_cost,
            "$3700 for eight disks of 250 GB, all of them counted: of what RAID5 leaves it would be $2114",
        ),
        computed((at, "hardware RAID5, 12 disks", "total cost"), published_cost, "base and what comes on top"),
        computed(
            (at, "hardware RAID5, 12 disks", "cost per TB"),
            published_cost,
            "$5200 for the eleven of twelve disks of 250 GB that RAID5 leaves",
        ),
    ]
}

fn other_costs() -> Vec<Claim> {
    let at = "cost";
    vec![
        input((at, "FC-AL PCI card", "price"), "what other hardware cost"),
        input((at, "16-port fabric switch", "*"), "what other hardware cost"),
        computed(
            (at, "commercial systems, low", "*"),
            published_cost,
            "the cheapest array of the table, per GB, over the $2000 a TB of the study's own",
        ),
        computed(
            (at, "commercial systems, high (over)", "*"),
            published_cost,
            "the dearest array of the table, per GB, over the $2000 a TB of the study's own",
        ),
    ]
}

fn setup() -> Vec<Claim> {
    let at = "setup";
    let host = "the computer that was used";
    vec![
        input((at, "system disk", "capacity"), host),
        input((at, "CPU", "*"), host),
        input((at, "memory", "*"), host),
        input((at, "second supply at 12 V", "*"), host),
        input((at, "whole system at startup", "*"), "measured at the plug; supplies and boards are not simulated"),
        input((at, "EIDE cables", "*"), host),
        input((at, "CPU-intensive jobs", "*"), "of the processors, which are not simulated; nothing is made from it"),
        input((at, "commodity switch", "ports"), host),
    ]
}

fn arrays() -> Vec<Claim> {
    let at = "setup";
    let array = "the disks of the simulated array";
    vec![
        input((at, "software RAID5", "disks"), array),
        computed(
            (at, "software RAID5", "Promise Ultra133 cards used"),
            |_, _| Ok(8.0 / 4.0),
            "eight disks, four to a card",
        ),
        input((at, "software RAID5", "Promise cards first planned"), "a plan that was given up"),
        input((at, "one Promise card", "*"), array),
        input((at, "software RAID5", "disk size*"), array),
        input((at, "hardware RAID", "disks (3ware 7506-12)"), array),
        input(
            (at, "Linux 2.4 and 3ware 7506-12", "largest disk"),
            "why there are two arrays of six; decides that the one over both ran under 2.6",
        ),
        input((at, "hardware RAID50", "*sub-a*"), array),
        predicted(
            (at, "one sub-array of six", "size"),
            |outcomes, _| outcomes.of("RAID5 of six, TB"),
            "the size of the array that the engine makes of six disks of 250 GB; printed with the last digit cut off",
        ),
        predicted(
            (at, "hardware RAID50", "size"),
            |outcomes, _| outcomes.of("RAID50 of twelve, TB"),
            "the size of the array that the engine makes of twelve disks of 250 GB; printed with the last digit cut off",
        ),
        input((at, "test file", "size"), "how much is written"),
    ]
}

fn software() -> Vec<Claim> {
    vec![
        checked_input(
            (SOFTWARE, "one writer (base)", "write"),
            |outcomes, _| outcomes.of("software RAID5, one writer"),
            "the pace of this host's page cache and file system; disks and PCI alone would allow four times as much, so it is not the \
             array that was measured",
        ),
        assumed(
            (SOFTWARE, "two concurrent writers", "write (total)"),
            |outcomes, _| outcomes.of("software RAID5, two writers"),
            "write-back of 2.4 takes 500 blocks of 4 KiB of one file, then of the other; the stripes at the ends of a batch have to be \
             read first, after a seek; that the files lie one behind the other is assumed",
        ),
        assumed(
            (SOFTWARE, "two concurrent writers", "overhead"),
            |outcomes, _| loss(outcomes.of("software RAID5, two writers")?, outcomes.of("software RAID5, one writer")?),
            "from the two speeds: a small difference, of which the study rounds both sides; and shoal reads for the stripes at the ends \
             while it writes the others, and keeps each drive's order, where the RAID of the day lost more",
        ),
        not_predicted(
            (SOFTWARE, "file copied to the system disk", "read"),
            "the rate of the system disk under its file system is not published; a disk of its time takes 45 MB/s at most",
        ),
        input(
            (SOFTWARE, "file copied back to the array", "write"),
            "the pace of this host when a file is copied, for copies over the network",
        ),
        not_predicted((SOFTWARE, "one writer", "CPU overhead, *"), PROCESSOR),
    ]
}

fn hardware() -> Vec<Claim> {
    vec![
        input((HARDWARE, "RAID5 of nine disks", "disks"), "the disks of the array"),
        not_predicted(
            (HARDWARE, "RAID5 of nine disks, one writer (base)", "write"),
            "the host sets the pace, as with software RAID5, but parity no longer crosses its bus, and what that is worth is not known",
        ),
        checked_input(
            (HARDWARE, "RAID50*, one writer (base)", "write"),
            |outcomes, _| outcomes.of("RAID50, one writer"),
            "the pace of this host and controller: slower than RAID5 on the same disks, for which drives and buses give no cause",
        ),
        assumed(
            (HARDWARE, "RAID50, two concurrent writers", "write (total)"),
            |outcomes, _| outcomes.of("RAID50, two writers"),
            "write-back of 2.6 takes 1024 pages of one file, then of the other; the stripes at the ends of a batch have to be \
             read first, after a seek; that the files lie one behind the other is assumed",
        ),
        assumed(
            (HARDWARE, "RAID50, two concurrent writers", "overhead"),
            |outcomes, _| loss(outcomes.of("RAID50, two writers")?, outcomes.of("RAID50, one writer")?),
            "from the two speeds: a small difference, of which the study rounds both sides; and shoal reads for the stripes at the ends \
             while it writes the others, and keeps each drive's order, where the RAID of the day lost more",
        ),
        assumed(
            (HARDWARE, "one RAID5 of six, file copied back", "write"),
            |_, _| Ok(33.0),
            "that the system disk and the host set the pace, and not the array, as with software RAID5, is assumed",
        ),
        not_predicted(
            (HARDWARE, "RAID5 of six to the other RAID5 of six, copy", "copy"),
            "below what was written to one such array, 41 MB/s; how reading and writing share this host is not known",
        ),
        not_predicted((HARDWARE, "one writer", "CPU overhead, *"), PROCESSOR),
    ]
}

fn network() -> Vec<Claim> {
    let turn = "that the answer to each 8 KiB comes after another 100 us is assumed, and how the server gathered writes is not published";
    let hop = "stored and forwarded: the time of a byte on the wire, known from FTP, and its time in the array";
    let slow = "as the copy, at the pace of a program that writes; that program lost more to NFS than cp did, 21 ns a byte against 13, for \
                which the study has no cause";
    vec![
        assumed((NETWORK, "synchronous NFS", "write"), |outcomes, _| outcomes.of("synchronous NFS"), turn),
        predicted((NETWORK, "asynchronous NFS", "write"), |outcomes, _| outcomes.of("asynchronous NFS"), slow),
        predicted((NETWORK, "NFS, copy", "write"), |outcomes, _| outcomes.of("NFS copy"), hop),
        input((NETWORK, "internal, base (repeated)", "write"), "the base write speed above, repeated"),
        input((NETWORK, "internal, copy (repeated)", "write"), "the speed of the copy above, repeated"),
        predicted(
            (NETWORK, "asynchronous NFS", "network and NFS overhead"),
            |outcomes, _| loss(outcomes.of("asynchronous NFS")?, 29.0),
            "from the speed of asynchronous NFS, and off for the same reason: what that program lost to NFS beside the wire",
        ),
        predicted(
            (NETWORK, "NFS, copy", "network and NFS overhead"),
            |outcomes, _| loss(outcomes.of("NFS copy")?, 33.0),
            "from the speed of the copy over NFS, and off as that is: a third of what is lost is the difference of two rounded speeds",
        ),
        checked_input(
            (NETWORK, "FTP", "write"),
            |outcomes, _| outcomes.of("FTP"),
            "with the copy within the computer it gives the rate of the network path, 66 MB/s",
        ),
        input((NETWORK, "FTP", "network overhead"), "from two inputs: 22 over 33"),
    ]
}

fn conclusions() -> Vec<Claim> {
    let why = "said of the world: nothing here is made from it";
    vec![
        input((CONCLUSIONS, "last 3 years", "*"), "how many disks the failures are of"),
        input((CONCLUSIONS, "within 3 years", "*"), "the failure rate of such disks, as the planner has it"),
        input((CONCLUSIONS, "FC-AL*", "*"), why),
        not_predicted((CONCLUSIONS, "journaling file systems", "overhead"), "no file system is simulated"),
        not_predicted((CONCLUSIONS, "software against hardware RAID5", "overhead"), PROCESSOR),
        input((CONCLUSIONS, "BABAR", "*"), why),
        input((CONCLUSIONS, "ATLAS and CMS", "*"), why),
        input((CONCLUSIONS, "recommended CPU", "*"), why),
    ]
}

/// By how many percent a rate is below another.
fn loss<E>(rate: f64, below: f64) -> Result<f64, E> {
    Ok((1.0 - rate / below) * 100.0)
}
