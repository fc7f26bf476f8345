//! Puts an array together from the drives of a world, and arrays from arrays.
//!
//! Assembly goes up in rounds. A round groups what it is given (first the drives) by the array that
//! their superblocks name, and makes a node of each group. If a node's content carries a superblock
//! again, it is a member itself, and the nodes go through another round; if not, and there is only
//! one, it is the array. An inner array that has failed counts as missing.

mod behind;
mod error;
mod incomplete;
mod left_out;
mod replacements;
mod resync;
mod stranger;

use shoal_array::{Array, BadBlocks, Config, Fault, Health, Instant, Role, Scratch, Shape};
use shoal_md::{Assembly, Candidate, Membership, Superblock};

use crate::OpenOptions;
use crate::bad_blocks::read_bad_blocks;
use crate::bitmap::{KeptBitmap, guided_engine, kept_bitmap};
use crate::inspect::split_members;
use crate::journal::{open_journal, settle_journal};
use crate::memory::Admitted;
use crate::ppl::{Replayed, has_logs, open_logs, sync_first_columns};
use crate::superblocks::{ProbeError, read_superblock};
use crate::tree::{
    Activity, BitmapCopy, Checkpoint, Duty, JournalLog, Logs, Node, NodeId, Place, Recorder, RestDelay, Slot, Target,
    Tree,
};
use crate::world::World;

use behind::behind;
pub use error::{OpenError, WayOut};
pub(crate) use incomplete::refuse_incomplete;
pub(crate) use left_out::unused;
use left_out::without_unlisted_blocks;
pub use left_out::{Cause, LeftOut};
use replacements::{begins_anew, has_copies_anew, replacements};
use resync::resync;
use stranger::refuse_stranger;

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
            refuse_stranger(tree, &members, &next, &rest)?;
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
        tree.admit_together(&nodes)?;
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
            // Too little of one array, or too many of them, and something else beside it: the
            // mix-up is the better explanation.
            Err(OpenError::Shape(_) | OpenError::TooManyNodes { .. }) if members.len() < candidates.len() => {
                shoal_md::assemble(&candidates)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(nodes)
}

/// Those of one array that may take part, and what md makes of them.
struct Elected {
    members: Vec<(Target, Superblock)>,
    /// The members, one by one, in md's words.
    candidates: Vec<Candidate>,
    assembly: Assembly,
    shape: Shape,
    left_out: Vec<LeftOut>,
}

/// Asks the memory who may take part and the members which blocks they lack, then md what becomes
/// of them.
fn elect<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    options: &OpenOptions,
) -> Result<Elected, OpenError> {
    let admitted = tree.admit(members, options)?;
    let Admitted { members, mut left_out } = without_unlisted_blocks(tree, admitted)?;
    let candidates = candidates(tree, &members);
    let assembly = shoal_md::assemble(&candidates)?;
    let shape = assembly.shape()?;
    left_out.extend(unused(&candidates, &assembly));
    Ok(Elected { members, candidates, assembly, shape, left_out })
}

/// Makes a node of the members of one array.
pub(crate) fn add_node<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    options: &OpenOptions,
) -> Result<NodeId, OpenError> {
    let Elected { members, candidates, assembly, shape, left_out } = elect(tree, members, options)?;
    let options = &options_for(&assembly, options)?;
    let journal = open_journal(tree, &members, &assembly, &shape, options)?;
    let bitmap = kept_bitmap(tree, &members, &assembly, &shape, options)?;
    let membership = Membership::of_assembly(&assembly, &candidates);
    let slots = slots(tree, &members, &assembly, &membership, bitmap.as_ref())?;
    let engine = open_engine(tree, &members, &assembly, &shape, &slots, bitmap.as_ref(), options)?;
    let node = tree.seat(Node {
        updates_due: updates_due(&engine, &membership, &assembly, &candidates, options),
        activity: activity(&assembly, &engine.array, tree.world.now()),
        logical_block_bytes: logical_block_bytes(tree, &slots),
        recorder: Recorder::of_assembled(&engine.array, slots_of(&slots, engine.array.refused_flush())),
        behind: behind(&members, &assembly, &candidates, engine.array.refused_flush()),
        array: engine.array,
        slots,
        mirrors: Vec::new(),
        filled: Vec::new(),
        membership,
        left_out,
        facts: assembly.superblock.clone(),
        rest_delay: options.safe_mode_delay.map(RestDelay::new),
        logs: engine.logs,
        replayed: engine.replayed,
        intent: bitmap.filter(|_| options.writable).map(|kept| kept.into_intent(tree.world.now())),
        scratch: engine.scratch,
        background: options.background,
        checkpoint: Checkpoint::default(),
        scrub: None,
        is_renamed: false,
        writable: options.writable,
    });
    resume_replacements(tree, node, &assembly)?;
    journal.filter(|_| options.writable).map_or(Ok(()), |journal| settle_journal(tree, node, journal))?;
    Ok(node)
}

/// The slots of the members with these roles.
fn slots_of(slots: &[Slot], roles: &[Role]) -> Vec<usize> {
    let is_one = |slot: &Slot| matches!(slot.duty, Duty::Member(role) if roles.contains(&role));
    slots.iter().enumerate().filter(|(_, slot)| is_one(slot)).map(|(index, _)| index).collect()
}

/// An engine that is ready to run, and what it was given.
struct Engine {
    array: Array,
    scratch: Scratch,
    logs: Logs,
    replayed: Replayed,
    /// Members have less than their superblocks say.
    has_rebuilds_anew: bool,
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
    let scratch = scratch(tree, shape.member_bytes.len(), members.len())?;
    let logs = open_logs(tree, (members, slots), assembly, shape, options)?;
    let resync = logs.in_doubt_from.and_then(|position| resync(position, assembly, shape, bitmap, options));
    let mut refused_flush = tree.refused_flush(members, assembly);
    refused_flush.extend(&logs.refused_flush);
    let config = Config {
        logical_block_bytes: logical_block_bytes(tree, slots),
        background: options.background,
        writable: options.writable,
        partial_parity_log: logs.room,
        bad_blocks: bad_blocks(slots, members, assembly),
        refused_flush,
        resync,
        ..Config::new(shape.clone(), logs.member_states(assembly), scratch)
    };
    let array = guided_engine(config, assembly, bitmap, tree.world.now());
    let array = array.map_err(|cause| OpenError::Geometry { name: assembly.name(), cause })?;
    let has_rebuilds_anew = logs.has_rebuilds_anew();
    Ok(Engine { array, scratch, logs: logs.logs, replayed: logs.replayed, has_rebuilds_anew })
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

/// Updates after which nobody who has not seen them is taken for a member in sync. One would not
/// do: power may be cut when a single member has it, and that member is then as fresh as the others
/// are after their first update without it.
pub(crate) const UPDATES_APART: u32 = 2;

/// How many updates have to say what was found before the array is written: who is absent, from
/// where on an array with partial parity logs is in doubt, whose rebuild begins anew, and who is
/// copied to anew. All that has to be known before logs are made empty: what they hold fits those
/// that are there now. None where no flush can be answered, or no member can be missed. An array of
/// which too little is there is left as it is: no flush of it succeeds, and those that are absent
/// may be all that can bring it back.
fn updates_due(
    engine: &Engine,
    membership: &Membership,
    assembly: &Assembly,
    candidates: &[Candidate],
    options: &OpenOptions,
) -> u32 {
    let array = &engine.array;
    let keeps_flushed = options.writable && array.geometry().redundancy() > 0 && array.health() != Health::Failed;
    match keeps_flushed {
        true if membership.says_more(assembly, candidates) => UPDATES_APART,
        true => {
            let is_in_doubt = has_logs(&assembly.superblock) && array.resync_position().is_some();
            u32::from(is_in_doubt || engine.has_rebuilds_anew || has_copies_anew(assembly))
        }
        false => 0,
    }
}

/// Makes durable on all members what was found when their arrays were put together, before anything
/// else is written. Members that are one update behind are brought up to the others. Those that
/// refused a flush are written to again. The first columns of an array with logs that is to be
/// resynced are made to agree. Then, if the superblocks do not say yet who is absent, they are made
/// to say so; whoever is, is stale from then on. Last, logs whose entries were replayed are made
/// empty: until then the replay can be done again. The innermost arrays come first, as the others
/// lie on them.
pub(crate) fn record_assembly<W: World>(tree: &mut Tree<W>) -> Result<(), OpenError> {
    for index in 0..tree.nodes.len() {
        tree.level_members(NodeId(index))?;
        if let Some(&slot) = tree.renew_members(NodeId(index))?.first() {
            let it = &tree.nodes[index];
            let (name, drive) = (it.facts.name(), tree.name(it.slots[slot].place.target));
            return Err(OpenError::NotRenewed { name, drive });
        }
        sync_first_columns(tree, NodeId(index))?;
        while tree.nodes[index].updates_due > 0 {
            tree.nodes[index].updates_due -= 1;
            record_or_refuse(tree, NodeId(index))?;
        }
        tree.clear_found_logs(NodeId(index))?;
    }
    Ok(())
}

/// Makes what is known of an array durable on its members, without which it is not opened.
pub(crate) fn record_or_refuse<W: World>(tree: &mut Tree<W>, node: NodeId) -> Result<(), OpenError> {
    let recorded = tree.record_now(node)?;
    recorded.map_err(|_| OpenError::NotRecorded { name: tree.nodes[node.0].facts.name() })
}

/// An array that has lost too much is only read, whoever asks, so that whatever is left of it stays
/// as it was found. One that must not be written to is refused to who wants that.
fn options_for(assembly: &Assembly, options: &OpenOptions) -> Result<OpenOptions, OpenError> {
    let options = OpenOptions { writable: options.writable && assembly.health() != Health::Failed, ..*options };
    if !options.writable {
        return Ok(options);
    }
    if let Some(&reason) = assembly.read_only.first() {
        return Err(OpenError::ReadOnly { name: assembly.name(), reason });
    }
    // Logs can save it; they are looked at later.
    if assembly.is_dirty_and_degraded() && !options.force && !has_logs(&assembly.superblock) {
        return Err(OpenError::DirtyDegraded { name: assembly.name() });
    }
    Ok(options)
}

/// Goes on filling replacements where that stood.
fn resume_replacements<W: World>(tree: &mut Tree<W>, node: NodeId, assembly: &Assembly) -> Result<(), OpenError> {
    let now = tree.world.now();
    for (role, replacement) in replacements(assembly) {
        let slots = &tree.nodes[node.0].slots;
        let slot = slots.iter().position(|slot| slot.duty == Duty::Replacement(role)).expect("it got one");
        let position_bytes = if begins_anew(assembly, &replacement) { 0 } else { replacement.position_bytes };
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
    membership: &Membership,
    bitmap: Option<&KeptBitmap>,
) -> Result<Vec<Slot>, OpenError> {
    let roles = (0..).map(Role).zip(&assembly.slots);
    let seated = roles.filter_map(|(role, slot)| Some((slot.candidate?, Duty::Member(role))));
    let spares = assembly.spares().into_iter().map(|index| (index, Duty::Spare));
    let replacements =
        replacements(assembly).map(|(role, replacement)| (replacement.candidate, Duty::Replacement(role)));
    let journal = assembly.journal().map(|index| (index, Duty::Journal(JournalLog::Unreplayed)));
    let duties: Vec<_> = seated.chain(spares).chain(replacements).chain(journal).collect();
    let buffers = tree.promise_notes(duties.len());
    let buffers = buffers.ok_or(OpenError::TooManyNodes { nodes: tree.nodes.len() + 1 })?;
    let mut slots = Vec::new();
    for (buffer, (index, duty)) in buffers.into_iter().zip(duties) {
        let (target, superblock) = &members[index];
        let place = Place::of(*target, superblock);
        let bitmap = bitmap.map_or(BitmapCopy::Due, |kept| kept.copy(index));
        let bad_blocks = read_bad_blocks(tree, *target, superblock)?;
        let number = membership.number_of(superblock);
        let number = number.expect("whoever is seated, a spare or the journal is a member, and nobody else");
        slots.push(Slot { place, number, duty, buffer, bad_blocks, bitmap });
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

/// The next free scratch buffers: enough for several stripes in flight, the least that works if few
/// are left. Members that are not given need none, but for one that may be added.
fn scratch<W: World>(tree: &Tree<W>, member_count: usize, given: usize) -> Result<Scratch, OpenError> {
    let least = Scratch::least_count(member_count);
    let in_use = u32::try_from(member_count.min(given + 1)).expect("members are counted in 16 bits");
    let wanted = least.max(8 * in_use);
    tree.free_scratch(least, wanted).ok_or(OpenError::TooManyNodes { nodes: tree.nodes.len() + 1 })
}
