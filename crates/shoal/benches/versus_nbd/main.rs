//! shoal's RAID0 and RAID5 of six files over NBD against a plain file over NBD, as nbdkit and
//! qemu-nbd export it: rates and the servers' CPU time, in interleaved rounds.
//!
//! `cargo bench -p shoal --bench versus_nbd -- [--directory DIR] [--rounds N] [--seconds S] [--mib
//! M] [--only WORD]`
//!
//! # What is equal
//!
//! All servers run at the same time, on files in one directory that hold random bytes: six members
//! of an array, or one file, of the same content size. One of them is used at a time; they take
//! turns within each round, and the first one of a round is another each time. They listen at Unix
//! sockets, and are met by the same clients: nbdcopy for sequential copies (its four connections,
//! 64 requests of 256 KiB on each), fio's nbd engine for 4 KiB at random places. What is copied in
//! lies in memory, and ends with a flush.
//!
//! # Where the content is
//!
//! DIR on tmpfs: it is in memory for everybody, and the path through the server is what is
//! measured. DIR on a disk: shoal does direct I/O, as it always does. qemu-nbd is told to do the
//! same (`--cache=none --aio=io_uring`); nbdkit cannot, and is told to leave nothing in the page
//! cache (`cache=none`). Before each run the page cache lets go of all files, so nobody reads from
//! memory what another reads from the disk.
//!
//! # What is counted
//!
//! Bytes that the client says it moved, over the time it took. CPU time is what the system bills to
//! the server's process, the kernel's workers on its behalf included, in hundredths of a second: so
//! runs are repeated until they last long enough. A ratio is that of one round; the median of the
//! rounds' ratios is shown, against the better of the two peers in that round.

#[path = "../versus/mod.rs"]
mod versus;

mod clients;
mod servers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clients::{Load, Run};
use servers::{Contender, Kind, Server};
use versus::{Failure, Options, median};

/// What is moved, and who takes part beside shoal's RAID0 and the peers.
struct Point {
    name: &'static str,
    load: Load,
    /// RAID5 reads as RAID0 does. Its writes bring parity, which a plain file has not.
    is_fair_to_raid5: bool,
}

const POINTS: [Point; 6] = [
    Point { name: "nbdcopy out", load: Load::CopyOut, is_fair_to_raid5: true },
    Point { name: "4 KiB read, depth 1", load: Load::Random { writes: false, depth: 1 }, is_fair_to_raid5: true },
    Point { name: "4 KiB read, depth 32", load: Load::Random { writes: false, depth: 32 }, is_fair_to_raid5: true },
    Point { name: "nbdcopy in", load: Load::CopyIn, is_fair_to_raid5: false },
    Point { name: "4 KiB write, depth 1", load: Load::Random { writes: true, depth: 1 }, is_fair_to_raid5: false },
    Point { name: "4 KiB write, depth 32", load: Load::Random { writes: true, depth: 32 }, is_fair_to_raid5: false },
];

fn main() -> ExitCode {
    let programs = [("fio", "fio"), ("nbdcopy", "libnbd-bin"), ("nbdkit", "nbdkit"), ("qemu-nbd", "qemu-utils")];
    let (directory, only) = (PathBuf::from("/dev/shm"), String::new());
    versus::run("versus_nbd", &programs, Options { directory, rounds: 5, seconds: 3, mib: 768, only }, compare)
}

fn compare(options: &Options) -> Result<(), Failure> {
    let directory = tempfile::tempdir_in(&options.directory)?;
    let contenders = [
        Contender::array("RAID0", "0", 6),
        Contender::array("RAID5", "5", 5),
        Contender::peer("nbdkit", Kind::Nbdkit),
        Contender::peer("qemu-nbd", Kind::Qemu),
    ];
    let servers =
        contenders.iter().map(|it| Server::start(it, directory.path(), options.mib)).collect::<Result<Vec<_>, _>>()?;
    // What is copied in is in memory whatever DIR is.
    let source = tempfile::Builder::new().tempfile_in("/dev/shm")?;
    versus::write_random(source.path(), options.mib)?;
    println!(
        "{} MiB in {}, {} rounds of {} s, medians; ratio to the better of nbdkit and qemu-nbd",
        options.mib,
        options.directory.display(),
        options.rounds,
        options.seconds
    );
    println!("{:22} {:>9} {:>10} {:>7} {:>15}", "", "", "MB/s", "ratio", "CPU ns per KiB");
    for point in POINTS.iter().filter(|point| point.name.contains(&options.only)) {
        let taking_part: Vec<&Server> =
            servers.iter().filter(|it| point.is_fair_to_raid5 || it.contender.name != "RAID5").collect();
        let rounds = play(point, &taking_part, source.path(), options)?;
        print_point(point, &taking_part, &rounds);
    }
    Ok(())
}

/// Runs of all servers, round by round, in the servers' order.
fn play(point: &Point, servers: &[&Server], source: &Path, options: &Options) -> Result<Vec<Vec<Run>>, Failure> {
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        let mut runs = vec![None; servers.len()];
        for turn in 0..servers.len() {
            // Who goes first takes turns, so that a drift of the machine's speed favours nobody.
            let number = (round + turn) % servers.len();
            runs[number] = Some(clients::run(&point.load, servers[number], source, options.seconds)?);
        }
        rounds.push(runs.into_iter().flatten().collect());
    }
    Ok(rounds)
}

fn print_point(point: &Point, servers: &[&Server], rounds: &[Vec<Run>]) {
    let is_peer = |number: usize| matches!(servers[number].contender.kind, Kind::Nbdkit | Kind::Qemu);
    for (number, server) in servers.iter().enumerate() {
        let of = |value: &dyn Fn(&Vec<Run>) -> f64| median(rounds.iter().map(value).collect());
        let best_peer = |runs: &Vec<Run>| {
            let peers = runs.iter().enumerate().filter(|(other, _)| is_peer(*other));
            peers.map(|(_, run)| run.bytes_per_s).fold(0.0, f64::max)
        };
        let ratio = of(&|runs| runs[number].bytes_per_s / best_peer(runs));
        println!(
            "{:22} {:>9} {:10.0} {:>7} {:15.0}",
            if number == 0 { point.name } else { "" },
            server.contender.name,
            of(&|runs| runs[number].bytes_per_s / 1e6),
            if is_peer(number) { String::new() } else { format!("{ratio:.2}") },
            of(&|runs| runs[number].cpu_ns_per_byte * 1024.0),
        );
    }
}
