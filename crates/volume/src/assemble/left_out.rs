//! Drives that carry the array's superblock and take no part in it.

use shoal_md::{Assembly, Candidate, Verdict};
use shoal_memory::Suspicion;

use super::replacements;

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
