//! What `shoal study` varies, from its arguments.

use shoal_study::model::DriveDescription;
use shoal_study::plan::Factors;
use shoal_volume::ArrayLevel;

use crate::args::FactorArgs;
use crate::exit::Failure;

const NS_PER_S: u64 = 1_000_000_000;
/// Of each drive, if nothing else is said: enough for the caches of most sticks, little enough for
/// an evening.
const DRIVE_BYTES_DEFAULT: u64 = 1 << 30;
/// Of each array, each time it is built.
const VERIFY_BYTES: u64 = 64 << 20;
/// Groups in arrays of arrays.
const GROUPS: usize = 2;

pub(super) fn from_args(args: &FactorArgs, drives: &[DriveDescription]) -> Result<Factors, Failure> {
    let mut levels = Vec::new();
    for level in &args.levels {
        levels.push(ArrayLevel::parse(level.trim(), None, GROUPS).map_err(Failure::usage)?);
    }
    if let Some(chunk) = args.chunks.iter().find(|chunk| !chunk.is_power_of_two() || **chunk < 4096) {
        return Err(Failure::Usage(format!(
            "a chunk of {chunk} bytes does not work: give powers of two of 4K or more"
        )));
    }
    let drive_count = u32::try_from(drives.len()).map_err(Failure::usage)?;
    let member_counts = match &args.members {
        Some(text) => member_counts(text)?,
        None => vec![drive_count],
    };
    let smallest = drives.iter().map(|drive| drive.size_bytes).min().unwrap_or(0);
    Ok(Factors {
        levels,
        chunk_bytes: args.chunks.clone(),
        member_counts,
        workloads: Factors::standard_workloads(args.seconds * NS_PER_S, NS_PER_S / 2),
        repeats: args.repeat,
        drive_bytes_limit: args.size.unwrap_or(DRIVE_BYTES_DEFAULT.min(smallest)),
        verify_bytes: VERIFY_BYTES,
        seed: args.seed.unwrap_or_else(crate::seed::fresh),
    })
}

/// `4`, `2,4,6` or `2..6`, both ends included.
fn member_counts(text: &str) -> Result<Vec<u32>, Failure> {
    let nonsense = || Failure::Usage(format!("`{text}` are no numbers of members: give 4, 2,4,6 or 2..6"));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| (1..=1920).contains(count));
    let mut counts = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((first, last)) => {
                let (first, last) = number(first).zip(number(last.trim_start_matches('='))).ok_or_else(nonsense)?;
                if first > last {
                    return Err(nonsense());
                }
                counts.extend(first..=last);
            }
            None => counts.push(number(part).ok_or_else(nonsense)?),
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_members_are_lists_and_ranges() {
        assert_eq!(member_counts("4").ok(), Some(vec![4]));
        assert_eq!(member_counts("2,4,6").ok(), Some(vec![2, 4, 6]));
        assert_eq!(member_counts("2..5").ok(), Some(vec![2, 3, 4, 5]));
        assert_eq!(member_counts("2..=3, 6").ok(), Some(vec![2, 3, 6]));
        for nonsense in ["", "x", "0", "5..2", "2..", "1..99999"] {
            assert!(member_counts(nonsense).is_err(), "{nonsense}");
        }
    }
}
