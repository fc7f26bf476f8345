//! Drives that carry the array's superblock and take no part in it.

use shoal_array::Health;
use shoal_md::{Assembly, Candidate, Superblock, Verdict};
use shoal_memory::Suspicion;

use super::{OpenError, candidates, replacements};
use crate::bad_blocks::read_bad_blocks;
use crate::memory::Admitted;
use crate::tree::{Target, Tree};
use crate::world::World;

/// A drive, or inner array, that carries the array's superblock and is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What people call it.
    pub name: String,
    /// Why.
    pub cause: Cause,
}

/// Why a drive is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// By what the superblocks say.
    Verdict(Verdict),
    /// By what this host remembers.
    Suspicion(Suspicion),
    /// It says that it has bad blocks, and not which.
    BadBlocks {
        /// What is wrong with its list.
        problem: String,
    },
    /// It failed or was replaced while the array ran, which keeps it until it is removed.
    Out,
}

/// Leaves out members whose lists of bad blocks cannot be used: their content is not to be trusted.
///
/// # Errors
/// The array cannot do without them.
pub(crate) fn without_unlisted_blocks<W: World>(
    tree: &mut Tree<W>,
    mut admitted: Admitted,
) -> Result<Admitted, OpenError> {
    let mut unusable = None;
    let freshest = |members: &[(Target, Superblock)]| members.iter().map(|(_, own)| own.events).max().unwrap_or(0);
    let events = freshest(&admitted.members);
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (target, superblock) in std::mem::take(&mut admitted.members) {
        match read_bad_blocks(tree, target, &superblock) {
            Ok(_) => kept.push((target, superblock)),
            Err(OpenError::BadBlocks { drive, problem }) => {
                left_out.push(LeftOut { name: drive.clone(), cause: Cause::BadBlocks { problem: problem.clone() } });
                unusable.get_or_insert(OpenError::BadBlocks { drive, problem });
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = unusable {
        // Others that have missed updates would make it what it was then.
        let are_fresh = freshest(&kept) + 1 >= events;
        let rest = shoal_md::assemble(&candidates(tree, &kept));
        if !are_fresh || !rest.is_ok_and(|rest| rest.health() != Health::Failed) {
            return Err(error);
        }
    }
    admitted.left_out.extend(left_out);
    Ok(Admitted { members: kept, ..admitted })
}

/// Drives that belong to the array by their superblocks, and have no use by these.
pub(crate) fn unused(candidates: &[Candidate], assembly: &Assembly) -> Vec<LeftOut> {
    let filled: Vec<_> = replacements(assembly).map(|(_, replacement)| replacement.candidate).collect();
    let used = |index: &usize| {
        let verdict = assembly.verdicts[*index];
        matches!(verdict, Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare | Verdict::Journal)
            || filled.contains(index)
    };
    let out = (0..candidates.len()).filter(|index| !used(index));
    out.map(|index| LeftOut { name: candidates[index].drive.clone(), cause: Cause::Verdict(assembly.verdicts[index]) })
        .collect()
}
