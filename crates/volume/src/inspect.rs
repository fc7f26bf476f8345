//! Looks at arrays without running them: what they are, whatever is missing, and what they are
//! members of.
//!
//! Nothing is written. Where an array cannot run, its status is made of what its superblocks say.

use shoal_array::{Health, Role};
use shoal_drive::DriveId;
use shoal_md::{Assembly, ShapeUnknown, Superblock};
use shoal_memory::{Doubt, Keeper};

use crate::assemble::{OpenError, add_node, assemble_tree, candidates, probe, unused};
use crate::memory::GLANCE;
use crate::status::{array_status, member_status, outermost_status};
use crate::tree::{NodeId, Target, Tree};
use crate::world::World;
use crate::{ArrayStatus, BufferPlan, HostMemory, OpenOptions};

/// The status of the array that `drives` are members of, whether it could run or not.
pub fn inspect<W: World>(
    world: W,
    plan: BufferPlan,
    drives: &[DriveId],
    options: &OpenOptions,
) -> Result<ArrayStatus, OpenError> {
    inspect_in(&mut Tree::new(world, plan, options.parity), drives, options)
}

/// An array as it is, on a host that remembers its arrays.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// How it is by its superblocks.
    pub status: ArrayStatus,
    /// Why this host does not start it without a word from somebody, or an array inside it.
    pub doubt: Option<Doubt>,
    /// What people should know of what is remembered, a sentence each.
    pub remarks: Vec<String>,
}

/// The same on a host that remembers its arrays.
pub fn inspect_remembered<W: World>(
    world: W,
    plan: BufferPlan,
    drives: &[DriveId],
    options: &OpenOptions,
    memory: Option<HostMemory>,
) -> Result<Inspected, OpenError> {
    let mut tree = Tree::new(world, plan, options.parity).with_memory(memory);
    let status = inspect_in(&mut tree, drives, options)?;
    let (doubt, remarks) = tree.memory.as_mut().map(|it| (it.doubt(), it.take_remarks())).unwrap_or_default();
    Ok(Inspected { status, doubt, remarks })
}

/// An array that a host believes from now on.
#[derive(Clone, Debug)]
pub struct Believed {
    /// How it is.
    pub status: ArrayStatus,
    /// What was remembered and counts no more, a sentence each.
    pub given_up: Vec<String>,
    /// Why it is not remembered, if it is not.
    pub trouble: Option<String>,
}

/// Has a host remember the array that `drives` are members of, and those inside it, as md would put
/// them together, whatever it knew of them before, if `is_enough` says so. Nothing is written to
/// the drives.
pub fn believe<W: World>(
    world: W,
    plan: BufferPlan,
    drives: &[DriveId],
    options: &OpenOptions,
    keeper: Box<dyn Keeper>,
    is_enough: impl Fn(&ArrayStatus) -> bool,
) -> Result<Believed, OpenError> {
    let mut tree = Tree::new(world, plan, options.parity);
    let options = OpenOptions { writable: false, ..*options };
    let members = probe_all(&mut tree, drives)?;
    let targets = drives.iter().copied().map(Target::Drive).collect();
    let root = assemble_tree(&mut tree, targets, &options)?;
    let status = array_status(&tree, root);
    if !is_enough(&status) {
        return Ok(Believed { status, given_up: Vec::new(), trouble: None });
    }
    let found = tree.found(&members);
    let mut memory = HostMemory::begun_anew(keeper, &found);
    let given_up = memory.given_up(&found);
    // What cannot be read of the memory is begun anew, too.
    let _ = memory.take_remarks();
    let arrays = tree.nodes.iter().map(|node| node.facts.array_uuid);
    arrays.for_each(|array| memory.begin_anew(array));
    tree.memory = Some(memory);
    tree.remember_all();
    while !tree.has_remembered() {
        tree.world.sleep(GLANCE);
    }
    let remarks = tree.memory.as_mut().map(HostMemory::take_remarks).unwrap_or_default();
    Ok(Believed { status, given_up, trouble: remarks.into_iter().next() })
}

fn inspect_in<W: World>(
    tree: &mut Tree<W>,
    drives: &[DriveId],
    options: &OpenOptions,
) -> Result<ArrayStatus, OpenError> {
    let options = OpenOptions { writable: false, ..*options };
    let mut members = probe_all(tree, drives)?;
    let mut unattached = Vec::new();
    loop {
        let round = inspect_round(tree, &members, &options)?;
        let count = round.nodes.len() + round.shapeless.len();
        let (next, rest) = split_members(tree, &round.nodes);
        if next.is_empty() && count == 1 {
            let mut shapeless = round.shapeless.into_iter();
            let status = shapeless.next().unwrap_or_else(|| outermost_status(tree, round.nodes[0]));
            unattached.extend(status.unattached);
            return Ok(ArrayStatus { unattached, ..status });
        }
        let rest: Vec<_> = rest.into_iter().map(|node| array_status(tree, node)).chain(round.shapeless).collect();
        if next.is_empty() || rest.iter().any(|status| status.health != Health::Failed) {
            // Let md's own words say which arrays were mixed up.
            shoal_md::assemble(&candidates(tree, &members))?;
        }
        unattached.extend(rest);
        members = next;
    }
}

/// The superblock that the content of the array of `drives` carries: it is a member of an array
/// itself. None too if too little of it is there to be read.
pub fn superblock_in_content<W: World>(
    world: W,
    plan: BufferPlan,
    drives: &[DriveId],
    options: &OpenOptions,
) -> Option<Superblock> {
    let mut tree = Tree::new(world, plan, options.parity);
    let options = OpenOptions { writable: false, ..*options };
    let members = probe_all(&mut tree, drives).ok()?;
    let node = add_node(&mut tree, &members, &options).ok()?;
    probe(&mut tree, Target::Node(node)).ok()
}

fn probe_all<W: World>(tree: &mut Tree<W>, drives: &[DriveId]) -> Result<Vec<(Target, Superblock)>, OpenError> {
    let mut members = Vec::new();
    for &drive in drives {
        let target = Target::Drive(drive);
        members.push((target, probe(tree, target)?));
    }
    Ok(members)
}

/// Nodes whose content is a member of another array, with its superblock, and those whose content
/// is not.
pub(crate) fn split_members<W: World>(
    tree: &mut Tree<W>,
    nodes: &[NodeId],
) -> (Vec<(Target, Superblock)>, Vec<NodeId>) {
    let (mut members, mut rest) = (Vec::new(), Vec::new());
    for &node in nodes {
        match probe(tree, Target::Node(node)) {
            Ok(superblock) => members.push((Target::Node(node), superblock)),
            Err(_) => rest.push(node),
        }
    }
    (members, rest)
}

/// The arrays that members make: those with a shape as nodes, the others as what can be said of
/// them.
struct Round {
    nodes: Vec<NodeId>,
    shapeless: Vec<ArrayStatus>,
}

fn inspect_round<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    options: &OpenOptions,
) -> Result<Round, OpenError> {
    let mut round = Round { nodes: Vec::new(), shapeless: Vec::new() };
    for group in shoal_md::group_by_array(&candidates(tree, members)) {
        let members: Vec<_> = group.into_iter().map(|index| members[index].clone()).collect();
        match add_node(tree, &members, options) {
            Ok(node) => round.nodes.push(node),
            Err(OpenError::Shape(why)) => round.shapeless.push(shapeless_status(tree, &members, &why)?),
            Err(error) => return Err(error),
        }
    }
    Ok(round)
}

fn shapeless_status<W: World>(
    tree: &Tree<W>,
    members: &[(Target, Superblock)],
    why: &ShapeUnknown,
) -> Result<ArrayStatus, OpenError> {
    let candidates = candidates(tree, members);
    let assembly = shoal_md::assemble(&candidates)?;
    let name = |index: usize| tree.name(members[index].0);
    Ok(ArrayStatus {
        name: assembly.name(),
        uuid: assembly.superblock.array_uuid.to_string(),
        level: assembly.level,
        chunk_bytes: u32::try_from(assembly.superblock.chunk_bytes()).unwrap_or(0),
        capacity_bytes: 0,
        redundancy: assembly.level.redundancy(assembly.slots.len()),
        health: Health::Failed,
        consistency: None,
        needs_resync: false,
        events: assembly.superblock.events,
        update_time_unix_s: assembly.superblock.update_time.seconds(),
        members: seats(tree, members, &assembly),
        spares: assembly.spares().into_iter().map(name).collect(),
        left_out: unused(&candidates, &assembly),
        progress: None,
        write_back: None,
        traffic: None,
        problem: Some(why.to_string()),
        unattached: Vec::new(),
    })
}

fn seats<W: World>(tree: &Tree<W>, members: &[(Target, Superblock)], assembly: &Assembly) -> Vec<crate::MemberStatus> {
    let roles = (0..).map(Role).zip(&assembly.slots);
    let seat = roles.map(|(role, slot)| {
        let target = slot.candidate.map(|candidate| members[candidate].0);
        member_status(tree, role, slot.state, target)
    });
    seat.collect()
}
