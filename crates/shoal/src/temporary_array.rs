//! Arrays that are made for the time of one command.

use shoal_volume::{ArrayLevel, ConsistencyPolicy, CreateOptions, MinorVersion};

use crate::exit::Failure;

/// The chunk if nothing else is said, as the arguments of `shoal create` have it.
const CHUNK_BYTES: u32 = 512 << 10;
/// Groups in arrays of arrays.
const GROUPS: usize = 2;

/// An array for the time of one command: of simulated drives, which are blank, or one that is
/// measured and taken off its drives again. So its parity is taken as it is.
pub(crate) fn temporary_array(
    level: &str,
    layout: Option<&str>,
    chunk_bytes: Option<u32>,
) -> Result<CreateOptions, Failure> {
    Ok(CreateOptions {
        level: ArrayLevel::parse(level, layout, GROUPS).map_err(Failure::usage)?,
        chunk_bytes: chunk_bytes.unwrap_or(CHUNK_BYTES),
        spare_count: 0,
        name: "shoal".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    })
}
