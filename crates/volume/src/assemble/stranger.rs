//! Arrays that make no array together, as one of them is no member of anything.

use shoal_array::Health;
use shoal_md::Superblock;

use super::OpenError;
use crate::tree::{NodeId, Target, Tree};
use crate::world::World;

/// Refuses a node that could be read and carries no superblock, beside one that does. Nodes of
/// `members` are in `next` with the superblocks that they carry, or in `rest`.
///
/// It may be an array of its own. Or its superblock lay in the write hole: in a RAID5 that was
/// degraded when it stopped, a block of the missing member is lost if the parity beside it was
/// being written.
pub(super) fn refuse_stranger<W: World>(
    tree: &Tree<W>,
    members: &[(Target, Superblock)],
    next: &[(Target, Superblock)],
    rest: &[NodeId],
) -> Result<(), OpenError> {
    let is_read = |node: &&NodeId| tree.nodes[node.0].array.health() != Health::Failed;
    let (Some((member, outer)), Some(stranger)) = (next.first(), rest.iter().find(is_read)) else { return Ok(()) };
    let facts = &tree.nodes[stranger.0].facts;
    let own = members.iter().filter(|(_, superblock)| superblock.array_uuid == facts.array_uuid);
    Err(OpenError::Stranger {
        stranger: facts.name(),
        array_uuid: facts.array_uuid,
        drives: own.map(|(target, _)| tree.name(*target)).collect(),
        member: tree.name(*member),
        outer: outer.name(),
    })
}
