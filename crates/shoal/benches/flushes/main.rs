//! What a flush costs: a block of 4 KiB written and made durable, over and over, on arrays of image
//! files, by each way to them that needs no driver, and on a plain file beside them; rates, and
//! what was counted for each flush.
//!
//! `cargo bench -p shoal --bench flushes -- [--directory DIR] [--rounds N] [--mib M] [--only
//! WORD]`, as root
//!
//! All files lie in DIR, on one disk. RAID1 of two and RAID5 of three are attached once; then all
//! take turns, a few dozen blocks at a time, as a disk is another one a second later where others
//! use it too. What a block and its flush take is shown by its median and by the first tenth, which
//! is that of a quiet moment, both with their ratios to the plain file's. That is written through
//! the page cache, as SQLite and PostgreSQL do, and `fdatasync` follows.
//!
//! | way | what is between the load and the array |
//! | --- | --- |
//! | server | the client of the fronts, on the server's Unix socket: what ublk and the kernel's nbd are to the server |
//! | FUSE | the attached file: the kernel, the front, the server |
//! | loop | the kernel's loop device on that file, direct I/O |
//! | ext4 | a file of ext4 on that device, through the page cache, with `fdatasync` |
//!
//! What is counted comes from runs of its own: what all members were asked (`traffic` of
//! `shoal status --json`), and how often threads of the server (the kernel's workers on its behalf
//! too) and of the front went to sleep.

#[path = "../versus/mod.rs"]
mod versus;

mod attached;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

use attached::{Attached, COUNTED, Counts};
use target::{Spent, Target};
use versus::{Failure, Options, median, write_random};

/// Blocks in a turn.
const TURN: u32 = 32;
/// Blocks of a run that is counted.
const COUNTED_BLOCKS: u32 = 256;

/// Somebody who takes turns.
struct Contender<'a> {
    name: String,
    target: Target,
    /// None of the plain file.
    array: Option<&'a Attached>,
    blocks: Vec<Spent>,
}

fn main() -> ExitCode {
    let programs = [("mkfs.ext4", "e2fsprogs"), ("mount", "mount")];
    let (directory, only) = (PathBuf::from("target"), String::new());
    versus::run("flushes", &programs, Options { directory, rounds: 100, seconds: 1, mib: 64, only }, compare)
}

fn compare(options: &Options) -> Result<(), Failure> {
    let directory = tempfile::tempdir_in(&options.directory)?;
    let place = directory.path().canonicalize()?;
    write_random(&place.join("plain"), options.mib)?;
    let arrays = [("RAID1 of 2", "1", 2), ("RAID5 of 3", "5", 3)];
    let arrays = arrays.map(|(name, level, members)| Attached::new(name, level, members, &place, options.mib));
    let arrays = arrays.into_iter().collect::<Result<Vec<_>, _>>()?;
    println!("4 KiB written and flushed, {} rounds of {TURN}; us, and ratios to a plain file", options.rounds);
    println!(
        "{:18} {:>7} {:5} {:>7} {:5} {:>9} {:>9}  for each flush",
        "", "quiet", "ratio", "median", "ratio", "write", "flush"
    );
    // What ext4 is made on is written to by nobody else.
    for ways in [&["server", "FUSE", "loop"][..], &["ext4"]] {
        let mut contenders = vec![Contender::plain(&place)?];
        for way in ways.iter().filter(|way| way.contains(&options.only)) {
            for array in &arrays {
                contenders.push(Contender::new(way, array, options)?);
            }
        }
        if contenders.len() > 1 {
            take_turns(&mut contenders, options)?;
            contenders.iter().try_for_each(|contender| contender.print(&contenders[0]))?;
        }
    }
    Ok(())
}

fn take_turns(contenders: &mut [Contender<'_>], options: &Options) -> Result<(), Failure> {
    let blocks = options.mib * 256 / 2;
    for round in 0..=options.rounds {
        let count = contenders.len();
        for turn in 0..count {
            let contender = &mut contenders[(round + turn) % count];
            let spent = contender.target.write(TURN, blocks)?;
            // The first round wakes everybody up.
            contender.blocks.extend(spent.into_iter().filter(|_| round > 0));
        }
    }
    Ok(())
}

impl<'a> Contender<'a> {
    fn plain(place: &std::path::Path) -> Result<Self, Failure> {
        let target = Target::file(&place.join("plain"), false)?;
        Ok(Self { name: "plain file".to_owned(), target, array: None, blocks: Vec::new() })
    }

    fn new(way: &str, array: &'a Attached, options: &Options) -> Result<Self, Failure> {
        let target = match way {
            "server" => Target::server(&array.socket)?,
            "FUSE" => Target::file(&array.file, true)?,
            "loop" => Target::file(&array.device, true)?,
            _ => Target::file(&array.mount(options.mib)?, false)?,
        };
        Ok(Self { name: format!("{}, {way}", array.name), target, array: Some(array), blocks: Vec::new() })
    }

    fn print(&self, plain: &Self) -> Result<(), Failure> {
        let of = |contender: &Self, value: fn(&Spent) -> f64| contender.blocks.iter().map(value).collect::<Vec<_>>();
        let column = |typical: fn(Vec<f64>) -> f64| {
            let us = typical(of(self, Spent::us));
            format!("{us:7.0} {:5.2}", typical(of(plain, Spent::us)) / us)
        };
        let write_us = first_tenth(of(self, |spent| spent.write_us));
        let flush_us = first_tenth(of(self, |spent| spent.flush_us));
        let (quiet, median, counted) = (column(first_tenth), column(median), self.counted()?);
        println!("{:18} {quiet} {median} {write_us:9.0} {flush_us:9.0}  {counted}", self.name);
        Ok(())
    }

    /// What one flush is to the members and the processes, in words.
    fn counted(&self) -> Result<String, Failure> {
        let Some(array) = self.array else { return Ok(String::new()) };
        let before = array.counts()?;
        self.target.write(COUNTED_BLOCKS, 4096)?;
        let Counts(after) = array.counts()?;
        let each = after.iter().zip(before.0).map(|(after, before)| (after - before) / f64::from(COUNTED_BLOCKS));
        Ok(each.zip(COUNTED).map(|(each, what)| format!("{each:.1} {what}")).collect::<Vec<_>>().join(", "))
    }
}

/// A tenth of the values is no greater.
fn first_tenth(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 10]
}
