//! Finds the newest write of a log.

use super::{PPL_HEADER_BYTES, PplError, PplHeader};
use crate::Uuid;

/// A log write that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PplWrite {
    /// Its header.
    pub header: PplHeader,
    /// Where it lies, in bytes from the start of the area. The partial parity follows the header.
    pub offset_bytes: u64,
}

/// The newest write in an area of `area_bytes`, which `read` (offset in the area, bytes) reads.
/// `is_chain`: each lies behind the one before it, and each at a multiple of `block_bytes`. If the
/// first header is not believed, there is no other way to find one. `Err` is what `read` says.
pub fn newest_ppl<E>(
    area_bytes: u64,
    is_chain: bool,
    block_bytes: u32,
    array_uuid: Uuid,
    mut read: impl FnMut(u64, &mut [u8; PPL_HEADER_BYTES]) -> Result<(), E>,
) -> Result<Result<PplWrite, PplError>, E> {
    let mut newest = Err(PplError::Foreign);
    let mut offset_bytes = 0;
    while offset_bytes + PPL_HEADER_BYTES as u64 <= area_bytes && offset_bytes.is_multiple_of(u64::from(block_bytes)) {
        let mut bytes = [0; PPL_HEADER_BYTES];
        read(offset_bytes, &mut bytes)?;
        let header = match (PplHeader::parse(&bytes, array_uuid), &newest) {
            (Ok(header), Ok(PplWrite { header: before, .. })) if header.generation < before.generation => break,
            (Ok(header), _) => header,
            (Err(error), Err(_)) => return Ok(Err(error)),
            (Err(_), Ok(_)) => break,
        };
        let next = offset_bytes + header.write_bytes();
        newest = Ok(PplWrite { header, offset_bytes });
        if !is_chain {
            break;
        }
        offset_bytes = next;
    }
    Ok(newest)
}
