//! The proposed superblocks, written to the members that need them.

use std::io;

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, OpenError};
use shoal_inventory::{ArrayInUse, Environment, hold, remember_anew, store};
use shoal_memory::StoreError;

use crate::changes::{changed, has_changed};
use crate::plan::{Group, RecoveryPlan};

/// Why a plan is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A member is not all there.
    #[error("{member}: it is cut off, and an array that runs needs all of it: copy it whole first, or use --save")]
    CutOff {
        /// The member.
        member: String,
    },
    /// Part of a member could not be copied.
    #[error(
        "{member}: {bytes} bytes of it could not be copied, and an array that runs would take the zeros there for content: copy \
         the rest, or give the other members without it if they are enough, or use --save; if it is whole by now, move its \
         mapfile away"
    )]
    Holes {
        /// The member.
        member: String,
        /// How much.
        bytes: u64,
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
            Self::CutOff { .. } | Self::Holes { .. } | Self::Changed { .. } => Fault::Refused,
            Self::InUse(error) => error.fault(),
            Self::Open(error) => error.fault(),
            Self::Io { .. } | Self::Memory(_) => Fault::Failed,
        }
    }
}

/// Refuses members of which a part is not there: an array that runs would give out zeros for it.
pub fn refuse_incomplete(plan: &RecoveryPlan) -> Result<(), ApplyError> {
    for (member, _) in plan.groups.iter().flat_map(Group::used) {
        if member.cut_off_bytes() > 0 {
            return Err(ApplyError::CutOff { member: member.name.clone() });
        }
        if member.hole_bytes() > 0 {
            return Err(ApplyError::Holes { member: member.name.clone(), bytes: member.hole_bytes() });
        }
    }
    Ok(())
}

/// Writes the proposed superblocks, if all drives can take them and are what they were.
pub fn apply(environment: &Environment, plan: &RecoveryPlan) -> Result<(), ApplyError> {
    refuse_incomplete(plan)?;
    if let Some(member) = changed(plan).into_iter().next() {
        return Err(ApplyError::Changed { member });
    }
    let mended = plan.mended();
    let mut arrays: Vec<_> = plan.groups.iter().map(|group| group.members[0].superblock.array_uuid).collect();
    arrays.sort();
    arrays.dedup();
    let held = hold(environment, &arrays)?;
    let mut drives = Vec::new();
    for (member, _) in &mended {
        let drive = Drive::open(&member.path, Access::Write)?;
        let is_other = has_changed(&drive, member);
        if is_other.map_err(|source| ApplyError::Io { member: member.name.clone(), source })? {
            return Err(ApplyError::Changed { member: member.name.clone() });
        }
        drives.push(drive);
    }
    for (drive, (member, superblock)) in drives.iter().zip(&mended) {
        let place = member.offset + superblock.super_offset_bytes();
        let written = drive.write_at(place, superblock.encode().as_slice()).and_then(|()| drive.sync());
        written.map_err(|source| ApplyError::Io { member: member.name.clone(), source })?;
    }
    drop(drives);
    let is_mended = |group: &&Group| group.used().iter().any(|(_, mended)| mended.is_some());
    let remembered = plan.groups.iter().filter(is_mended).try_for_each(|group| remember_applied(environment, group));
    drop(held);
    remembered
}

/// What this host has seen of it before would speak against what it was made to be now: its memory
/// begins with that. Of members that are not drives of their own nothing is known again, and
/// nothing remembered.
fn remember_applied(environment: &Environment, group: &Group) -> Result<(), ApplyError> {
    if group.members.iter().all(|member| member.offset == 0 && member.holes.is_empty()) {
        remember_anew(environment, &group.applied(), &group.spoilt());
        return Ok(());
    }
    let array = group.members[0].superblock.array_uuid;
    Ok(store(environment).map_or(Ok(()), |store| store.forget(array))?)
}
