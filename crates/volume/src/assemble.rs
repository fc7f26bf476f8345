//! Puts an array together from the drives of a world, and arrays from arrays.
//!
//! Assembly goes up in rounds. A round groups what it is given (first the drives) by the array that their superblocks
//! name, and makes a node of each group. If a node's content carries a superblock again, it is a member itself, and the
//! nodes go through another round; if not, and there is only one, it is the array. An inner array that has failed counts
//! as missing.

mod error;

use shoal_array::{
    Array, BadBlocks, Config, Fault, Geometry, Health, Instant, MemberState, Regions, Resync, Role, Scratch, Shape,
};
use shoal_md::{Assembly, Candidate, Membership, Replacement, Superblock, Verdict};

use crate::bad_blocks::read_bad_blocks;
use crate::bitmap::{KeptBitmap, guided_engine, kept_bitmap};
use crate::inspect::split_members;
use crate::journal::{open_journal, settle_journal};
use crate::ppl::{has_logs, open_logs};
use crate::superblocks::{ProbeError, read_superblock};
use crate::tree::{Activity, BitmapCopy, Checkpoint, Duty, Logs, Node, NodeId, Place, Recorder, Slot, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

pub use error::OpenError;

/// A drive, or inner array, that carries the array's superblock and is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What people call it.
    pub name: String,
    /// Why.
    pub verdict: Verdict,
}

/// Makes nodes of all that `targets` belong to, up to the one that belongs to nothing.
pub(crate) fn assemble_tree<W: World>(
    tree: &mut Tree<W>,
    targets: Vec<Target>,
    options: &OpenOptions,
) -> Result<NodeId, OpenError> {
    let mut members = Vec::new();
    for target in targets {
        members.push((target, probe(tree, target)?));
    }
    loop {
        let nodes = assemble_round(tree, &members, options)?;
        let (next, rest) = split_members(tree, &nodes);
        if next.is_empty() && nodes.len() == 1 {
            return Ok(nodes[0]);
        }
        let failed = |node: &NodeId| tree.nodes[node.0].array.health() == Health::Failed;
        let of_drives = members.iter().all(|(target, _)| matches!(target, Target::Drive(_)));
        let may_be_missing = of_drives && rest.iter().all(failed);
        if next.is_empty() || !rest.is_empty() && !may_be_missing {
            // Let md's own words say which arrays were mixed up.
            shoal_md::assemble(&candidates(tree, &members))?;
        }
        if let Some(&dead) = rest.first() {
            // An array around it may do without it, as if none of its drives were there.
            let uuid = tree.nodes[dead.0].facts.array_uuid;
            let living = members.into_iter().filter(|(_, superblock)| superblock.array_uuid != uuid);
            let targets = living.map(|(target, _)| target).collect();
            tree.forget_nodes()?;
            return assemble_tree(tree, targets, options);
        }
        members = next;
    }
}

/// The superblock that a target carries.
pub(crate) fn probe<W: World>(tree: &mut Tree<W>, target: Target) -> Result<Superblock, OpenError> {
    let mut broken = None;
    let size_bytes = tree.size_bytes(target);
    let probed = read_superblock(size_bytes, |offset, bytes| match tree.read_small(target, offset, bytes) {
        Ok(result) => result.map_err(|_: Fault| "I/O error"),
        Err(error) => {
            broken = Some(error);
            Err("the I/O loop broke")
        }
    });
    if let Some(error) = broken {
        return Err(error.into());
    }
    probed.map_err(|problem: ProbeError<&str>| OpenError::NoMember {
        drive: tree.name(target),
        problem: problem.to_string(),
    })
}

pub(crate) fn candidates<W: World>(tree: &Tree<W>, members: &[(Target, Superblock)]) -> Vec<Candidate> {
    let candidate = |(target, superblock): &(Target, Superblock)| Candidate {
        drive: tree.name(*target),
        superblock: superblock.clone(),
    };
    members.iter().map(candidate).collect()
}

fn assemble_round<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    options: &OpenOptions,
) -> Result<Vec<NodeId>, OpenError> {
    let candidates = candidates(tree, members);
    let mut nodes = Vec::new();
    for group in shoal_md::group_by_array(&candidates) {
        let members: Vec<_> = group.into_iter().map(|index| members[index].clone()).collect();
        match add_node(tree, &members, options) {
            Ok(node) => nodes.push(node),
            // Too little of one array, and something else beside it: the mix-up is the better explanation.
            Err(OpenError::Shape(_)) if members.len() < candidates.len() => {
                shoal_md::assemble(&candidates)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(nodes)
}

/// Makes a node of the members of one array.
pub(crate) fn add_node<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    options: &OpenOptions,
) -> Result<NodeId, OpenError> {
    let candidates = candidates(tree, members);
    let assembly = shoal_md::assemble(&candidates)?;
    let shape = assembly.shape()?;
    check_writable(&assembly, options)?;
    let journal = open_journal(tree, members, &assembly, &shape, options)?;
    let bitmap = kept_bitmap(tree, members, &assembly, &shape, options)?;
    let slots = slots(tree, members, &assembly, bitmap.as_ref())?;
    let engine = open_engine(tree, members, &assembly, &shape, &slots, bitmap.as_ref(), options)?;
    let kept = bitmap.filter(|_| options.writable);
    let intent = kept.map(|kept| kept.into_intent(&assembly, tree.world.now()));
    let node = NodeId(tree.nodes.len());
    tree.nodes.push(Node {
        activity: activity(&assembly, &engine.array, tree.world.now()),
        logical_block_bytes: logical_block_bytes(tree, &slots),
        array: engine.array,
        slots,
        mirrors: Vec::new(),
        membership: Membership::of_assembly(&assembly, &candidates),
        left_out: left_out(&candidates, &assembly),
        behind: behind(members, &assembly, &candidates),
        facts: assembly.superblock.clone(),
        safe_mode_delay: options.safe_mode_delay,
        recorder: Recorder::default(),
        logs: engine.logs,
        intent,
        scratch: engine.scratch,
        background: options.background,
        checkpoint: Checkpoint::default(),
        scrub: None,
        writable: options.writable,
    });
    resume_replacements(tree, node, &assembly)?;
    journal.filter(|_| options.writable).map_or(Ok(()), |journal| settle_journal(tree, node, journal))?;
    Ok(node)
}

/// An engine that is ready to run, and what it was given.
struct Engine {
    array: Array,
    scratch: Scratch,
    logs: Logs,
}

/// Makes the engine of an array, with all that its members' logs say.
fn open_engine<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    shape: &Shape,
    slots: &[Slot],
    bitmap: Option<&KeptBitmap>,
    options: &OpenOptions,
) -> Result<Engine, OpenError> {
    let scratch = scratch(tree, shape.member_bytes.len())?;
    let logs = open_logs(tree, slots, assembly, shape, options)?;
    let resync = if logs.is_in_sync { None } else { resync(assembly, shape, bitmap, options) };
    let config = Config {
        logical_block_bytes: logical_block_bytes(tree, slots),
        background: options.background,
        writable: options.writable,
        partial_parity_log: logs.room,
        bad_blocks: bad_blocks(slots, members, assembly),
        resync,
        ..Config::new(shape.clone(), assembly.member_states(), scratch)
    };
    let array = guided_engine(config, assembly, bitmap, tree.world.now());
    let array = array.map_err(|cause| OpenError::Geometry { name: assembly.name(), cause })?;
    Ok(Engine { array, scratch, logs: logs.logs })
}

/// One that was active, and has nothing to resync, is yet to be marked clean.
fn activity(assembly: &Assembly, array: &Array, now: Instant) -> Activity {
    let is_settled = assembly.superblock.is_clean() || array.resync_position().is_some();
    if is_settled { Activity::Clean } else { Activity::Active { changed_at: now } }
}

/// The largest block size of those that an array lies on.
fn logical_block_bytes<W: World>(tree: &Tree<W>, slots: &[Slot]) -> u32 {
    slots.iter().map(|slot| tree.logical_block_bytes(slot.place.target)).max().unwrap_or(512)
}

/// Members one update behind, with the superblocks that bring them up to the others.
fn behind(
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    candidates: &[Candidate],
) -> Vec<(Target, Superblock)> {
    let levelled = Membership::levelled(assembly, candidates).into_iter();
    levelled.map(|(index, superblock)| (members[index].0, superblock)).collect()
}

/// Brings superblocks that are one update behind up to the others, before anything else is written.
pub(crate) fn level_superblocks<W: World>(tree: &mut Tree<W>) -> Result<(), VolumeError> {
    for index in 0..tree.nodes.len() {
        for (target, superblock) in tree.nodes[index].behind.clone() {
            if tree.nodes[index].writable {
                // A drive that does not take it fails at the next record run, with the engine's knowledge.
                let _ = tree.write_small(target, superblock.super_offset_bytes(), superblock.encode().as_slice())?;
            }
        }
        tree.nodes[index].behind.clear();
    }
    Ok(())
}

fn check_writable(assembly: &Assembly, options: &OpenOptions) -> Result<(), OpenError> {
    if !options.writable {
        return Ok(());
    }
    if let Some(&reason) = assembly.read_only.first() {
        return Err(OpenError::ReadOnly { name: assembly.name(), reason });
    }
    // Logs can save it; they are looked at later.
    if assembly.is_dirty_and_degraded() && !options.force && !has_logs(assembly) {
        return Err(OpenError::DirtyDegraded { name: assembly.name() });
    }
    Ok(())
}

/// Replacements that are being filled for members in sync.
fn replacements(assembly: &Assembly) -> impl Iterator<Item = (Role, Replacement)> {
    let of_role = |(role, slot): (Role, &shoal_md::Slot)| {
        let replacement = slot.replacement.filter(|_| slot.state == MemberState::InSync)?;
        Some((role, replacement))
    };
    (0..).map(Role).zip(&assembly.slots).filter_map(of_role)
}

/// Goes on filling replacements where that stood.
fn resume_replacements<W: World>(tree: &mut Tree<W>, node: NodeId, assembly: &Assembly) -> Result<(), OpenError> {
    let now = tree.world.now();
    for (role, replacement) in replacements(assembly) {
        let slots = &tree.nodes[node.0].slots;
        let slot = slots.iter().position(|slot| slot.duty == Duty::Replacement(role)).expect("it got one");
        // Where writes were under way in a crash, the two may differ.
        let position_bytes = if assembly.superblock.is_clean() { replacement.position_bytes } else { 0 };
        let started = tree.start_replacement(now, node, role, slot, Some(position_bytes));
        started.ok_or(OpenError::TooManyNodes { nodes: tree.nodes.len() + 1 })?;
    }
    Ok(())
}

/// Members in role order, then spares, then replacements.
fn slots<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    bitmap: Option<&KeptBitmap>,
) -> Result<Vec<Slot>, OpenError> {
    let roles = (0..).map(Role).zip(&assembly.slots);
    let seated = roles.filter_map(|(role, slot)| Some((slot.candidate?, Duty::Member(role))));
    let spares = assembly.spares().into_iter().map(|index| (index, Duty::Spare));
    let replacements =
        replacements(assembly).map(|(role, replacement)| (replacement.candidate, Duty::Replacement(role)));
    let journal = assembly.journal().map(|index| (index, Duty::Journal));
    let used: u32 = tree.nodes.iter().map(|node| u32::try_from(node.slots.len()).expect("few")).sum();
    let mut slots = Vec::new();
    // Buffer 0 is for small reads and writes outside record runs.
    for (buffer, (index, duty)) in (1 + used..).zip(seated.chain(spares).chain(replacements).chain(journal)) {
        let (target, superblock) = &members[index];
        let place = Place::of(*target, superblock);
        let bitmap = bitmap.map_or(BitmapCopy::Due, |kept| kept.copy(index));
        let bad_blocks = read_bad_blocks(tree, *target, superblock)?;
        slots.push(Slot { place, dev_number: superblock.dev_number, duty, buffer, bad_blocks, bitmap });
    }
    Ok(slots)
}

/// What the engine is to know of the members' bad blocks, in role order.
fn bad_blocks(slots: &[Slot], members: &[(Target, Superblock)], assembly: &Assembly) -> Vec<BadBlocks> {
    let of_role = |(role, candidate): (Role, &shoal_md::Slot)| {
        let slot = slots.iter().find(|slot| slot.duty == Duty::Member(role));
        let superblock = candidate.candidate.map(|index| &members[index].1);
        slot.zip(superblock).map_or_else(BadBlocks::default, |(slot, own)| slot.bad_blocks.for_engine(own))
    };
    (0..).map(Role).zip(&assembly.slots).map(of_role).collect()
}

/// What is to be resynced, if there is anything: from the checkpoint on, and what a bitmap says.
fn resync(assembly: &Assembly, shape: &Shape, bitmap: Option<&KeptBitmap>, options: &OpenOptions) -> Option<Resync> {
    let geometry = Geometry::new(shape.clone()).ok()?;
    let position = assembly.resync_position_bytes()?.min(geometry.sync_bytes());
    let out_of_sync = assembly.slots.iter().filter(|slot| slot.state != MemberState::InSync).count();
    let is_forced = options.force && assembly.is_dirty_and_degraded() && out_of_sync >= geometry.redundancy();
    let resync = Resync { position, only: bitmap.and_then(KeptBitmap::out_of_sync) };
    match geometry.redundancy() {
        0 => None,
        redundancy if is_forced => forced_resync(resync, assembly, redundancy, geometry.sync_bytes()),
        _ => Some(resync),
    }
}

/// Regions that tell which part of an array a forced one resyncs.
const FORCED_REGIONS: u64 = 1 << 16;

/// Who forces an array of which nothing more may be lost takes its parity as it is, for there is nothing that it could be
/// made from. Only where members that are being rebuilt hold so much already that some parity is not needed it is made from
/// that; the rebuild does not come by there any more, and would leave stripes whose parity does not agree with the data.
fn forced_resync(
    Resync { position, only }: Resync,
    assembly: &Assembly,
    redundancy: usize,
    sync_bytes: u64,
) -> Option<Resync> {
    let rebuilt = |slot: &shoal_md::Slot| match slot.state {
        MemberState::InSync => None,
        // One that is filled by the bitmap is filled in all regions that are out of sync.
        MemberState::Rebuilding { position } if !slot.by_bitmap => Some(position),
        MemberState::Rebuilding { .. } | MemberState::Missing => Some(0),
    };
    let mut rebuilt: Vec<_> = assembly.slots.iter().filter_map(rebuilt).collect();
    rebuilt.sort_unstable_by(|left, right| right.cmp(left));
    let rebuilt = *rebuilt.get(rebuilt.len().checked_sub(redundancy)?)?;
    let region_bytes = sync_bytes.div_ceil(FORCED_REGIONS).next_multiple_of(4096);
    let mut only = only.unwrap_or_else(|| {
        let mut all = Regions::new(region_bytes, sync_bytes);
        all.set_all();
        all
    });
    only.remove(rebuilt..sync_bytes);
    (position < rebuilt && only.touches(position..rebuilt)).then_some(Resync { position, only: Some(only) })
}

/// The next free scratch buffers: enough for several stripes in flight, the least that works if few are left.
fn scratch<W: World>(tree: &Tree<W>, member_count: usize) -> Result<Scratch, OpenError> {
    let least = Scratch::least_count(member_count);
    let wanted = least.max(8 * u32::try_from(member_count).expect("members are counted in 16 bits"));
    tree.free_scratch(least, wanted).ok_or(OpenError::TooManyNodes { nodes: tree.nodes.len() + 1 })
}

pub(crate) fn left_out(candidates: &[Candidate], assembly: &Assembly) -> Vec<LeftOut> {
    let filled: Vec<_> = replacements(assembly).map(|(_, replacement)| replacement.candidate).collect();
    let used = |index: &usize| {
        let verdict = assembly.verdicts[*index];
        matches!(verdict, Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare | Verdict::Journal)
            || filled.contains(index)
    };
    let out = (0..candidates.len()).filter(|index| !used(index));
    out.map(|index| LeftOut { name: candidates[index].drive.clone(), verdict: assembly.verdicts[index] }).collect()
}
