//! Finds the superblock on a drive, wherever a version may have put it.

use shoal_md::{MetadataVersion, SECTOR_BYTES, SUPERBLOCK_BYTES, Superblock, SuperblockError, Unverified};

/// Why there is no superblock to use.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError<E> {
    /// There is none, or a damaged one.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// The place cannot be read.
    #[error("the superblock's place cannot be read: {0}")]
    Read(E),
}

/// Reads the superblock from whatever `read` (offset, bytes) reads and is `size_bytes` long. If
/// there are several, the array that was created last counts, as for mdadm.
pub fn read_superblock<E>(
    size_bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<Superblock, ProbeError<E>> {
    let mut found: Option<Superblock> = None;
    let (mut problem, mut unreadable) = (SuperblockError::NoMagic, None);
    for (version, offset) in superblock_places(size_bytes) {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        if let Err(error) = read(offset, &mut bytes) {
            unreadable = Some(error); // a place that this drive's superblock may not even be at
            continue;
        }
        match Unverified::parse_and_verify(&bytes, version, size_bytes) {
            Ok(superblock) => {
                let created = superblock.creation_time.seconds();
                if found.as_ref().is_none_or(|found| found.creation_time.seconds() < created) {
                    found = Some(superblock);
                }
            }
            Err(SuperblockError::NoMagic) => {}
            Err(error) if problem == SuperblockError::NoMagic => problem = error,
            Err(_) => {}
        }
    }
    match (found, unreadable) {
        (Some(superblock), _) => Ok(superblock),
        (None, Some(error)) if problem == SuperblockError::NoMagic => Err(ProbeError::Read(error)),
        (None, _) => Err(ProbeError::Superblock(problem)),
    }
}

/// Where superblocks may lie, in bytes.
pub(crate) fn superblock_places(size_bytes: u64) -> impl Iterator<Item = (MetadataVersion, u64)> {
    let place = move |version: MetadataVersion| {
        let sector = version.superblock_sector(size_bytes / SECTOR_BYTES)?;
        let offset = sector * SECTOR_BYTES;
        (offset + SUPERBLOCK_BYTES as u64 <= size_bytes).then_some((version, offset))
    };
    MetadataVersion::ALL.into_iter().filter_map(place)
}
