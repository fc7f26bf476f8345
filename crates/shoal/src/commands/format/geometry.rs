//! What a file system has to know of an array, gathered from the array, its members' superblocks
//! and their drives.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use shoal_documents::{ArrayDocument, StateDocument};
use shoal_drive::{Access, Drive};
use shoal_filesystem::{Geometry, Level, Nesting, Stripes, erase_unit_of_device};
use shoal_inventory::{SimulatedDrives, outer_superblock, probe};
use shoal_md::{ConsistencyPolicy, CreateRequest, MinorVersion, NewMember, Timestamp, Uuid, plan_creation};
use shoal_sim::{DriveModel, Medium};
use shoal_volume::Level as ArrayLevel;

use crate::exit::Failure;

/// An array's geometry. `erase_unit_bytes` is what the user knows of its drives.
pub(crate) fn geometry(
    state: &StateDocument,
    logical_block_bytes: u32,
    size_bytes: u64,
    erase_unit_bytes: Option<u64>,
) -> Result<Geometry, Failure> {
    let simulated = state.simulated.as_ref().map(|it| PathBuf::from(&it.drives));
    let simulated = simulated.map(|notation| SimulatedDrives::named(&[notation])).transpose()?.flatten();
    let drives = drives_of(&state.array);
    let known = match &simulated {
        Some(models) => erase_unit_of_models(models),
        None => drives.iter().filter_map(|drive| erase_unit_of(drive)).max(),
    };
    let nesting = nesting(&state.array);
    let is_nested = state.array.members.iter().any(|member| member.array.is_some());
    let data_offset_bytes = match (&simulated, nesting) {
        // What the memory of another process says of outer arrays is not told.
        (Some(_), _) if is_nested => None,
        (Some(models), _) => placed_by_us(&state.array, models),
        (None, None) if is_nested => None,
        (None, None) => as_recorded(&drives),
        (None, Some(nesting)) => as_recorded(&drives).and_then(|inner| nesting.data_offset_bytes(inner)),
    };
    Ok(Geometry {
        stripes: stripes(&state.array),
        nesting,
        erase_unit_bytes: erase_unit_bytes.or(known),
        data_offset_bytes,
        logical_block_bytes,
        size_bytes,
    })
}

/// Where the data of an array of arrays begin in those, by the superblock that lies there.
fn nesting(array: &ArrayDocument) -> Option<Nesting> {
    let inner: Vec<_> = array.members.iter().filter_map(|member| member.array.as_deref()).collect();
    let offset = |inner: &&ArrayDocument| outer_superblock(&drives_of(inner)).map(|it| it.data_offset_bytes());
    // All of them at a multiple of this; what is not there says nothing.
    let outer_offset_bytes = inner.iter().filter_map(offset).reduce(greatest_common_divisor)?;
    Some(Nesting { outer_offset_bytes, inner: stripes(inner.first()?) })
}

/// The stripes of an array, and of the arrays that are its members.
fn stripes(array: &ArrayDocument) -> Option<Stripes> {
    let own = Stripes::of(level(array), array.chunk_bytes.unwrap_or(0), array.members.len() as u64);
    let inner = array.members.iter().find_map(|member| member.array.as_deref());
    match inner {
        Some(inner) => Stripes::nested(own, stripes(inner)),
        None => own,
    }
}

fn level(array: &ArrayDocument) -> Level {
    match array.level {
        ArrayLevel::Raid0(_) => Level::Striped { parity_members: 0 },
        ArrayLevel::Raid4 | ArrayLevel::Raid5(_) => Level::Striped { parity_members: 1 },
        ArrayLevel::Raid6(_) => Level::Striped { parity_members: 2 },
        ArrayLevel::Raid10(layout) => Level::StripedMirrors { near_copies: layout.near.into() },
        ArrayLevel::Raid1 => Level::Mirror,
        ArrayLevel::Linear => Level::Linear,
    }
}

/// All drives, those of arrays that are members too.
fn drives_of(array: &ArrayDocument) -> Vec<PathBuf> {
    let of_member = |member: &shoal_documents::MemberDocument| match &member.array {
        Some(inner) => drives_of(inner),
        None => member.drive.iter().map(PathBuf::from).collect(),
    };
    array.members.iter().flat_map(of_member).collect()
}

fn erase_unit_of(drive: &Path) -> Option<u64> {
    let metadata = drive.metadata().ok().filter(|metadata| metadata.file_type().is_block_device())?;
    let number = metadata.rdev();
    erase_unit_of_device(rustix::fs::major(number), rustix::fs::minor(number))
}

/// What a model's controller keeps open for writing is what it erases at a time, or several of
/// those.
fn erase_unit_of_models(drives: &SimulatedDrives) -> Option<u64> {
    let unit = |medium: &Medium| match medium {
        Medium::Flash(flash) => flash.allocation.as_ref().map(|units| units.unit_bytes),
        Medium::Disk(_) => None,
    };
    drives.media().filter_map(unit).max()
}

/// Where the members' data begin by their superblocks: all of them at a multiple of this.
fn as_recorded(drives: &[PathBuf]) -> Option<u64> {
    let offset = |path: &PathBuf| {
        let superblock = probe(&Drive::open(path, Access::Read).ok()?).ok()?;
        Some(superblock.data_offset_bytes())
    };
    let offsets = drives.iter().map(offset).collect::<Option<Vec<u64>>>()?;
    offsets.into_iter().reduce(greatest_common_divisor)
}

/// The same of simulated drives, whose superblocks are in the memory of the process that made the
/// array of them: what it writes there follows from level and sizes.
fn placed_by_us(array: &ArrayDocument, drives: &SimulatedDrives) -> Option<u64> {
    let member =
        |model: &DriveModel| NewMember { drive: model.name.clone(), size_bytes: model.size_bytes, uuid: Uuid([0; 16]) };
    let creation = plan_creation(&CreateRequest {
        minor: MinorVersion::Start4K,
        level: array.level,
        chunk_bytes: array.chunk_bytes.and_then(|bytes| bytes.try_into().ok()),
        members: drives.drives().map(|(_, model, _)| member(model)).collect(),
        spares: Vec::new(),
        name: String::new(),
        homehost: None,
        array_uuid: Uuid([0; 16]),
        creation_time: Timestamp::from_seconds(0),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    });
    let superblocks = creation.ok()?.superblocks;
    superblocks.iter().map(shoal_md::Superblock::data_offset_bytes).reduce(greatest_common_divisor)
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_common_and_greatest() {
        assert_eq!(greatest_common_divisor(1 << 20, 3 << 20), 1 << 20);
        assert_eq!(greatest_common_divisor(0, 5), 5);
    }
}
