//! Puts an array together from the drives of a world, and arrays from arrays.
//!
//! Assembly goes up in rounds. A round groups what it is given (first the drives) by the array that their superblocks
//! name, and makes a node of each group. If a node's content carries a superblock again, it is a member itself, and the
//! nodes go through another round; if not, and there is only one, it is the array. An inner array that has failed counts
//! as missing.

use shoal_array::{BufferId, Config, Fault, Health, MemberState, Role, Scratch};
use shoal_md::{Assembly, Candidate, Features, Membership, ReadOnlyReason, ShapeUnknown, Superblock, Verdict};

use crate::bitmap::{BitmapProblem, KeptBitmap, guided_engine, kept_bitmap};
use crate::inspect::split_members;
use crate::ppl::{has_logs, open_logs};
use crate::superblocks::{ProbeError, read_superblock};
use crate::tree::{Activity, BitmapCopy, Duty, Intent, Node, NodeId, Place, Recorder, Slot, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

/// Why there is no array to run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A drive is no member of anything.
    #[error("{drive}: {problem}: leave it out, or create an array first")]
    NoMember {
        /// The drive.
        drive: String,
        /// What is wrong.
        problem: String,
    },
    /// The members do not make an array.
    #[error(transparent)]
    Assemble(#[from] shoal_md::AssembleError),
    /// What the members say of the array's shape does not work.
    #[error(transparent)]
    Shape(#[from] ShapeUnknown),
    /// The engine refuses the shape.
    #[error("array {name}: {cause}: its superblocks are damaged")]
    Geometry {
        /// The array.
        name: String,
        /// What is wrong.
        cause: shoal_array::ShapeError,
    },
    /// Writing would harm it.
    #[error("array {name} can only be read: {reason}: let Linux run it")]
    ReadOnly {
        /// The array.
        name: String,
        /// Why.
        reason: ReadOnlyReason,
    },
    /// Writing would go past the write-intent bitmap.
    #[error("array {name} can only be read: {problem}")]
    Bitmap {
        /// The array.
        name: String,
        /// What is wrong with it.
        problem: BitmapProblem,
    },
    /// Degraded, and not shut down cleanly.
    #[error(
        "array {name} is degraded and was not shut down cleanly: blocks of the missing member that were being written \
         may be wrong; give the missing drive too, or use --force to go on all the same"
    )]
    DirtyDegraded {
        /// The array.
        name: String,
    },
    /// A partial parity log that nothing can be written to.
    #[error("{drive}: its partial parity log has no room: let Linux run the array")]
    LogRoom {
        /// The drive.
        drive: String,
    },
    /// More engines than the buffers are planned for.
    #[error("too many arrays in one: {nodes}")]
    TooManyNodes {
        /// How many.
        nodes: usize,
    },
    /// The world broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

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
            tree.nodes.clear();
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
    let mut assembly = shoal_md::assemble(&candidates)?;
    unseat_members_with_bad_blocks(&mut assembly, &candidates);
    let shape = assembly.shape()?;
    check_writable(&assembly, options)?;
    let bitmap = kept_bitmap(tree, members, &assembly, &shape, options)?;
    let slots = slots(tree, members, &assembly, bitmap.as_ref());
    let targets = slots.iter().map(|slot| slot.place.target);
    let logical_block_bytes = targets.map(|target| tree.logical_block_bytes(target)).max().unwrap_or(512);
    let scratch = scratch(tree, shape.member_bytes.len())?;
    let logs = open_logs(tree, &slots, &assembly, &shape, options)?;
    let config = Config {
        logical_block_bytes,
        background: options.background,
        writable: options.writable,
        partial_parity_log: logs.room,
        ..Config::new(shape, assembly.member_states(), scratch)
    };
    let array = guided_engine(config, &assembly, bitmap.as_ref(), tree.world.now());
    let array = array.map_err(|cause| OpenError::Geometry { name: assembly.name(), cause })?;
    let clean = assembly.superblock.is_clean() || array.geometry().redundancy() == 0;
    let needs_resync = !clean && !logs.is_in_sync;
    let intent = bitmap.filter(|_| options.writable).map(|kept| {
        let is_announced = kept.is_announced(&assembly);
        Intent::new(tree.world.now(), kept.bitmap, is_announced)
    });
    tree.nodes.push(Node {
        array,
        slots,
        membership: Membership::of_assembly(&assembly, &candidates),
        left_out: left_out(&candidates, &assembly),
        behind: behind(members, &assembly, &candidates),
        facts: assembly.superblock,
        activity: if clean { Activity::Clean } else { Activity::Active { changed_at: tree.world.now() } },
        safe_mode_delay: options.safe_mode_delay,
        recorder: Recorder::default(),
        logs: logs.logs,
        intent,
        scratch_count: scratch.count,
        logical_block_bytes,
        needs_resync,
        scrub: None,
        writable: options.writable,
    });
    Ok(NodeId(tree.nodes.len() - 1))
}

/// A member that lists blocks which it could not store would give back something else there.
fn unseat_members_with_bad_blocks(assembly: &mut Assembly, candidates: &[Candidate]) {
    for slot in &mut assembly.slots {
        let has_any = |index: usize| candidates[index].superblock.features.any_of(Features::BAD_BLOCKS);
        if slot.candidate.is_some_and(has_any) {
            slot.candidate = None;
            slot.state = MemberState::Missing;
        }
    }
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
        for (target, superblock) in std::mem::take(&mut tree.nodes[index].behind) {
            if tree.nodes[index].writable {
                // A drive that does not take it fails at the next record run, with the engine's knowledge.
                let _ = tree.write_small(target, superblock.super_offset_bytes(), superblock.encode().as_slice())?;
            }
        }
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

/// Members in role order, then spares.
fn slots<W: World>(
    tree: &Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    bitmap: Option<&KeptBitmap>,
) -> Vec<Slot> {
    let roles = (0..).map(Role).zip(&assembly.slots);
    let seated = roles.filter_map(|(role, slot)| Some((slot.candidate?, Duty::Member(role))));
    let spares = assembly.spares().into_iter().map(|index| (index, Duty::Spare));
    let used: u32 = tree.nodes.iter().map(|node| u32::try_from(node.slots.len()).expect("few")).sum();
    let slot = |(number, (index, duty)): (u32, (usize, Duty))| {
        let (target, superblock) = &members[index];
        let place = Place::of(*target, superblock);
        let bitmap = bitmap.map_or(BitmapCopy::Due, |kept| kept.copy(index));
        // Buffer 0 is for small reads and writes outside record runs.
        Slot { place, dev_number: superblock.dev_number, duty, buffer: 1 + used + number, bitmap }
    };
    (0..).zip(seated.chain(spares)).map(slot).collect()
}

/// The next free scratch buffers: enough for several stripes in flight, the least that works if few are left.
fn scratch<W: World>(tree: &Tree<W>, member_count: usize) -> Result<Scratch, OpenError> {
    let plan = &tree.plan;
    let used: u32 = tree.nodes.iter().map(|node| node.scratch_count).sum();
    let left = plan.scratch_count.saturating_sub(used);
    let least = Scratch::least_count(member_count);
    let wanted = least.max(8 * u32::try_from(member_count).expect("members are counted in 16 bits"));
    let count = wanted.min(left);
    if count < least {
        return Err(OpenError::TooManyNodes { nodes: tree.nodes.len() + 1 });
    }
    Ok(Scratch { first: BufferId(plan.first_scratch() + used), count, bytes_each: plan.scratch_bytes })
}

pub(crate) fn left_out(candidates: &[Candidate], assembly: &Assembly) -> Vec<LeftOut> {
    let used = |verdict: &Verdict| matches!(verdict, Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare);
    let all = candidates.iter().zip(&assembly.verdicts);
    let out = all.filter(|(_, verdict)| !used(verdict));
    out.map(|(candidate, &verdict)| LeftOut { name: candidate.drive.clone(), verdict }).collect()
}
