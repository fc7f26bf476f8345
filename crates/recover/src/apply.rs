//! The proposed superblocks, written to the members that need them.

use std::io;

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, OpenError};
use shoal_inventory::{ArrayInUse, Environment, hold, remember, store};
use shoal_memory::StoreError;
use shoal_volume::Superblock;

use crate::plan::{Group, Plan};
use crate::search::Found;

/// Why a plan is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A member is not all there.
    #[error("{member}: it is cut off, and an array that runs needs all of it: copy it whole first, or use --save")]
    CutOff {
        /// The member.
        member: String,
    },
    /// Another process of this host has the array.
    #[error(transparent)]
    InUse(#[from] ArrayInUse),
    /// A member does not open for writing.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A member cannot be read or written.
    #[error("{member}: {source}")]
    Io {
        /// The member.
        member: String,
        /// Why not.
        source: io::Error,
    },
    /// A member is not what the plan was made of.
    #[error("{member} has changed while it was being looked at: start again")]
    Changed {
        /// The member.
        member: String,
    },
    /// What this host remembers of the array cannot be forgotten.
    #[error(transparent)]
    Memory(#[from] StoreError),
}

impl HasFault for ApplyError {
    fn fault(&self) -> Fault {
        match self {
            Self::CutOff { .. } | Self::Changed { .. } => Fault::Refused,
            Self::InUse(error) => error.fault(),
            Self::Open(error) => error.fault(),
            Self::Io { .. } | Self::Memory(_) => Fault::Failed,
        }
    }
}

/// Writes the proposed superblocks, if all drives can take them and are what they were.
pub fn apply(environment: &Environment, plan: &Plan) -> Result<(), ApplyError> {
    let mended = plan.mended();
    if let Some((member, _)) = mended.iter().find(|(member, _)| member.cut_off_bytes() > 0) {
        return Err(ApplyError::CutOff { member: member.name.clone() });
    }
    let mut arrays: Vec<_> = plan.groups.iter().map(|group| group.members[0].superblock.array_uuid).collect();
    arrays.sort();
    arrays.dedup();
    let held = hold(environment, &arrays)?;
    let mut drives = Vec::new();
    for (member, _) in &mended {
        let drive = Drive::open(&member.path, Access::Write)?;
        is_unchanged(&drive, member)?;
        drives.push(drive);
    }
    for (drive, (member, superblock)) in drives.iter().zip(&mended) {
        let place = member.offset + superblock.super_offset_bytes();
        let written = drive.write_at(place, superblock.encode().as_slice()).and_then(|()| drive.sync());
        written.map_err(|source| ApplyError::Io { member: member.name.clone(), source })?;
    }
    drop(drives);
    let is_mended = |group: &&Group| group.used().iter().any(|(_, mended)| mended.is_some());
    let remembered = plan.groups.iter().filter(is_mended).try_for_each(|group| remember_anew(environment, group));
    drop(held);
    remembered
}

/// What this host has seen of it before would speak against what it was made to be now: its memory
/// begins with that. Of members that are not drives of their own nothing is known again, and
/// nothing remembered.
fn remember_anew(environment: &Environment, group: &Group) -> Result<(), ApplyError> {
    if group.members.iter().all(|member| member.offset == 0 && member.holes.is_empty()) {
        remember(environment, &group.applied(), true);
        return Ok(());
    }
    let array = group.members[0].superblock.array_uuid;
    Ok(store(environment).map_or(Ok(()), |store| store.forget(array))?)
}

/// The member is still what the proposal was made of.
fn is_unchanged(drive: &Drive, member: &Found) -> Result<(), ApplyError> {
    let mut bytes = [0; shoal_md::SUPERBLOCK_BYTES];
    let place = member.offset + member.superblock.super_offset_bytes();
    drive.read_at(place, &mut bytes).map_err(|source| ApplyError::Io { member: member.name.clone(), source })?;
    let found: &Superblock = &member.superblock;
    if bytes == *found.encode() {
        return Ok(());
    }
    Err(ApplyError::Changed { member: member.name.clone() })
}
