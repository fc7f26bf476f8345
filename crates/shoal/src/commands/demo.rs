//! `shoal demo`: the whole tour, on image files in a temporary directory.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use shoal_study::bay::Bay;
use shoal_study::plan::{Factors, StudyPlan};
use shoal_text::format_size;
use shoal_volume::ArrayLevel;

use crate::args::{Cli, DemoArgs};
use crate::bay::PathBay;
use crate::commands::study::{announce, carry_out, cost, study_text};
use crate::exit::Failure;
use crate::output;
use crate::progress::interrupt_flag;
use crate::report::ReportFile;

const NS_PER_MS: u64 = 1_000_000;
/// The tour's levels and chunks.
const LEVELS: [&str; 4] = ["0", "5", "6", "10"];
const CHUNK_BYTES: [u32; 2] = [64 << 10, 512 << 10];
/// Short, so that the whole tour ends within two minutes; a study of real drives takes its time.
const DURATION_NS: u64 = 150 * NS_PER_MS;
const WARM_UP_NS: u64 = 50 * NS_PER_MS;
const REPEATS: u32 = 3;
/// Of each array, each time it is built.
const VERIFY_BYTES: u64 = 16 << 20;
/// What image files on a machine of today are taken to do.
const ASSUMED_BYTES_PER_S: u64 = 500_000_000;
/// Smaller images have no room for the tour's arrays.
const IMAGE_BYTES_MIN: u64 = 16 << 20;

/// Makes the images, studies them, fails and rebuilds a member, reports, and removes the images.
pub(crate) fn run(cli: &Cli, args: &DemoArgs) -> Result<(), Failure> {
    if args.size < IMAGE_BYTES_MIN {
        return Err(Failure::Usage(format!("images of {} are too small: give 16M or more", format_size(args.size))));
    }
    let page = ReportFile::open(&args.report)?;
    let interrupt = interrupt_flag()?;
    let directory = match &args.directory {
        Some(directory) => tempfile::tempdir_in(directory),
        None => tempfile::tempdir_in(default_directory()),
    };
    let directory = directory.map_err(|error| Failure::Failed(format!("temporary directory: {error}")))?;
    output::warn(&format!(
        "{} image files of {} in {}, removed afterwards; for your own drives: shoal study DRIVE...",
        args.drives,
        format_size(args.size),
        directory.path().display()
    ));
    let paths = make_images(directory.path(), args.drives, args.size)?;
    let bay = PathBay::new(cli.io_engine(), &paths)?;
    let plan = StudyPlan::new(factors(args)?, bay.drives()).map_err(Failure::usage)?;
    announce(&plan, &bay, ASSUMED_BYTES_PER_S, &cost(&plan, &bay, ASSUMED_BYTES_PER_S, true));
    let report = carry_out(cli, &plan, &bay, (ASSUMED_BYTES_PER_S, true), &interrupt, &mut |_, _| ())?;
    page.write(&report)?;
    output::document(cli, &report, study_text)?;
    if report.complete {
        return Ok(());
    }
    Err(Failure::Shown("the tour was not completed: what was measured is above, with the reason".to_owned()))
}

/// Not /tmp, which is often memory: the tour is to show a drive's speed.
fn default_directory() -> PathBuf {
    let candidates = [PathBuf::from("/var/tmp"), std::env::temp_dir()];
    candidates.into_iter().find(|path| path.is_dir()).unwrap_or_else(|| PathBuf::from("."))
}

fn factors(args: &DemoArgs) -> Result<Factors, Failure> {
    let levels: Result<_, _> = LEVELS.iter().map(|level| ArrayLevel::parse(level, None, 2)).collect();
    Ok(Factors {
        levels: levels.map_err(Failure::usage)?,
        chunk_bytes: CHUNK_BYTES.to_vec(),
        member_counts: (args.drives.saturating_sub(2).max(3)..=args.drives).collect(),
        workloads: Factors::standard_workloads(DURATION_NS, WARM_UP_NS),
        repeats: REPEATS,
        drive_bytes_limit: args.size,
        verify_bytes: VERIFY_BYTES,
        seed: args.seed.unwrap_or_else(crate::seed::fresh),
    })
}

/// Image files full of bytes: reads of holes would measure nothing.
fn make_images(directory: &Path, count: u32, bytes: u64) -> Result<Vec<PathBuf>, Failure> {
    let mut block = incompressible(1 << 20);
    let mut paths = Vec::new();
    for number in 1..=count {
        let path = directory.join(format!("drive{number}"));
        let write = |block: &mut [u8]| -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            let mut left = bytes;
            while left > 0 {
                let length = left.min(block.len() as u64) as usize;
                block[..8].copy_from_slice(&left.to_le_bytes());
                block[8] = number as u8;
                file.write_all(&block[..length])?;
                left -= length as u64;
            }
            file.sync_all()
        };
        write(&mut block).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Bytes without a pattern; what they are does not matter, as the study writes its own.
fn incompressible(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(bytes).collect()
}
