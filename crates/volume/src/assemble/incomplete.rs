//! Arrays that have lost more members than their level survives.

use shoal_array::{Health, MemberState};
use shoal_drive::DriveId;
use shoal_md::{Choice, propose};

use super::{OpenError, WayOut, candidates, probe};
use crate::VolumeError;
use crate::status::array_status;
use crate::tree::{Duty, NodeId, Target, Tree};
use crate::world::World;

/// Refuses such an array, and says what `recover` would do with the drives that were given.
pub(crate) fn refuse_incomplete<W: World>(
    tree: &mut Tree<W>,
    root: NodeId,
    drives: &[DriveId],
) -> Result<(), OpenError> {
    if array_status(tree, root).health != Health::Failed {
        return Ok(());
    }
    let lost = lost_array(tree, root);
    let status = array_status(tree, lost);
    let missing = status.members.iter().filter(|member| member.state != MemberState::InSync).count();
    let way_out = way_out(tree, lost, drives)?;
    Err(OpenError::Incomplete { name: status.name, missing, members: status.members.len(), way_out })
}

/// The array that lacks members: this one, or one inside it that it counts on.
fn lost_array<W: World>(tree: &Tree<W>, array: NodeId) -> NodeId {
    let inside = tree.nodes[array.0].slots.iter().filter_map(|slot| match (slot.duty, slot.place.target) {
        (Duty::Member(_), Target::Node(inside)) => Some(inside),
        _ => None,
    });
    let is_lost = |inside: &NodeId| tree.nodes[inside.0].array.health() == Health::Failed;
    inside.filter(is_lost).map(|inside| lost_array(tree, inside)).next().unwrap_or(array)
}

fn way_out<W: World>(tree: &mut Tree<W>, array: NodeId, drives: &[DriveId]) -> Result<WayOut, VolumeError> {
    let array_uuid = tree.nodes[array.0].facts.array_uuid;
    let mut members = Vec::new();
    for &drive in drives {
        match probe(tree, Target::Drive(drive)) {
            Ok(superblock) if superblock.array_uuid == array_uuid => members.push((Target::Drive(drive), superblock)),
            Err(OpenError::Volume(broken)) => return Err(broken),
            // A member of an array inside, or not to be read any more.
            Ok(_) | Err(_) => {}
        }
    }
    let candidates = candidates(tree, &members);
    let Some(proposal) = propose(&candidates).ok().filter(|proposal| proposal.health != Health::Failed) else {
        return Ok(WayOut::None);
    };
    let choices = candidates.iter().zip(&proposal.choices);
    let forced = choices.filter(|(_, choice)| matches!(choice, Choice::Force { .. }));
    let forced: Vec<_> = forced.map(|(candidate, _)| candidate.drive.clone()).collect();
    // None: md would start it. It is for what else is known of the drives that it does not.
    Ok(if forced.is_empty() { WayOut::None } else { WayOut::TakeIn(forced) })
}
