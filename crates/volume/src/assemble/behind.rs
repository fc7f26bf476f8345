//! Members that did not get the last update.

use shoal_array::Role;
use shoal_md::{Assembly, Candidate, Membership, Superblock};

/// Members one update behind, with the superblocks that bring them up to the others. Before them
/// those of the others that refused a flush in a former life, with the ones that they have: power
/// may take these from them, and if the others had the last update for good they would be two
/// behind.
pub(super) fn behind<T: Copy>(
    members: &[(T, Superblock)],
    assembly: &Assembly,
    candidates: &[Candidate],
    refused: &[Role],
) -> Vec<(T, Superblock)> {
    let levelled: Vec<_> = Membership::levelled(assembly, candidates);
    if levelled.is_empty() {
        return Vec::new();
    }
    let seated = refused.iter().filter_map(|role| assembly.slots[role.index()].candidate);
    let ahead = seated.filter(|index| levelled.iter().all(|(behind, _)| behind != index));
    let ahead = ahead.map(|index| members[index].clone());
    ahead.chain(levelled.iter().map(|(index, superblock)| (members[*index].0, superblock.clone()))).collect()
}
