//! What an array is and how it is, for people.

use shoal_array::{Health, JobProgress, Level, MemberState, Role};
use shoal_md::{Features, Superblock};

use crate::assemble::{Cause, LeftOut};
use crate::interface::MemberTraffic;
use crate::tree::{Duty, Mirror, NodeId, Slot, Target, Tree, WriteBackState};
use crate::world::World;

/// An array's state at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayStatus {
    /// `homehost:name`, or `name`.
    pub name: String,
    /// As md prints it.
    pub uuid: String,
    /// Level and layout.
    pub level: Level,
    /// 0 for RAID1 and linear.
    pub chunk_bytes: u32,
    /// Bytes of content; 0 if a `problem` hides it.
    pub capacity_bytes: u64,
    /// How many members may be lost in any combination.
    pub redundancy: usize,
    /// Derived from the members, and from theirs if they are arrays.
    pub health: Health,
    /// How mirrors or parity are made to agree with the data after a crash; `None` without
    /// redundancy.
    pub consistency: Option<Consistency>,
    /// Mirrors and parity, here or in an array inside, may disagree with the data until a resync
    /// has gone over all of it.
    pub needs_resync: bool,
    /// The superblocks' count of updates.
    pub events: u64,
    /// When the superblocks were last written, in seconds since 1970.
    pub update_time_unix_s: u64,
    /// In role order.
    pub members: Vec<MemberStatus>,
    /// Drives that wait.
    pub spares: Vec<String>,
    /// Drives that belong to the array and are not used.
    pub left_out: Vec<LeftOut>,
    /// The rebuild or scrub under way.
    pub progress: Option<JobProgress>,
    /// How full its write-back window is; `None` if it has none.
    pub write_back: Option<WriteBackState>,
    /// What its drives were asked since it was opened, those of arrays inside it as well; `None`
    /// for an array inside another one, and where the kernel runs it.
    pub traffic: Option<MemberTraffic>,
    /// Why the content can be neither read nor written, beside members that have failed.
    pub problem: Option<String>,
    /// Arrays given along that may be members, but have too few members themselves to be read.
    pub unattached: Vec<Self>,
}

/// What a crash leaves to be done before mirrors or parity agree with the data; mdadm's
/// `--consistency-policy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// All of the array is gone over.
    Resync,
    /// The parts that the write-intent bitmap names are.
    Bitmap,
    /// The rows that the partial parity log holds are.
    Ppl,
    /// What the write journal holds is written.
    Journal {
        /// The journal's drive; `None` if it is not there.
        drive: Option<String>,
    },
}

/// One member's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its place in the array.
    pub role: Role,
    /// How it is.
    pub state: MemberState,
    /// What it lies on; none if it is missing.
    pub on: Option<MemberOn>,
    /// What it is being copied to, to be replaced.
    pub replacement: Option<ReplacementStatus>,
    /// It works, and is much slower than its peers, or silent while they answer.
    pub suspect: bool,
}

impl MemberStatus {
    /// It is an array in which mirrors or parity may disagree with the data.
    fn needs_resync(&self) -> bool {
        matches!(&self.on, Some(MemberOn::Array(inner)) if inner.needs_resync)
    }
}

/// A drive that is being filled, to take a member's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacementStatus {
    /// The drive, by its path.
    pub drive: String,
    /// Bytes of the member that are copied.
    pub position: u64,
}

/// What a member lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberOn {
    /// A drive, by its path.
    Drive(String),
    /// Another array.
    Array(Box<ArrayStatus>),
}

/// The state of the array at `node`, and of the arrays in it.
pub(crate) fn array_status<W: World>(tree: &Tree<W>, node: NodeId) -> ArrayStatus {
    let it = &tree.nodes[node.0];
    let geometry = it.array.geometry();
    let newest = it.membership.superblocks().iter().max_by_key(|superblock| superblock.events).unwrap_or(&it.facts);
    let spares = it.slots.iter().filter(|slot| slot.duty == Duty::Spare);
    let members = (0..).map(Role).zip(it.array.member_states()).map(|(role, &state)| {
        let state = it.recorded_state(role, state);
        let place = it.place(role).or_else(|| it.returning(role));
        let replacement = replacement_status(tree, node, role);
        let suspect = tree.is_suspect(node, role);
        MemberStatus { replacement, suspect, ..member_status(tree, role, state, place.map(|place| place.target)) }
    });
    let members: Vec<_> = members.collect();
    let is_filling = members.iter().any(|member| matches!(member.state, MemberState::Rebuilding { .. }));
    let own_health = match it.array.health() {
        Health::Optimal if is_filling => Health::Degraded,
        health => health,
    };
    ArrayStatus {
        name: it.facts.name(),
        uuid: it.facts.array_uuid.to_string(),
        level: geometry.shape().level,
        chunk_bytes: geometry.shape().chunk_bytes,
        capacity_bytes: geometry.capacity_bytes(),
        redundancy: geometry.redundancy(),
        health: overall_health(own_health, geometry.redundancy(), &members),
        consistency: (geometry.redundancy() > 0).then(|| consistency(newest, journal_name(tree, node))),
        needs_resync: it.array.resync_position().is_some() || members.iter().any(MemberStatus::needs_resync),
        events: newest.events,
        update_time_unix_s: newest.update_time.seconds(),
        members,
        spares: spares.map(|slot| tree.name(slot.place.target)).collect(),
        left_out: it.left_out.iter().cloned().chain(drives_out(tree, node)).collect(),
        progress: it.array.progress(),
        write_back: tree.write_back_state_of(node),
        traffic: None,
        problem: None,
        unattached: Vec::new(),
    }
}

/// The same of the outermost array, with arrays that were given along and that none uses.
pub(crate) fn outermost_status<W: World>(tree: &Tree<W>, root: NodeId) -> ArrayStatus {
    let nodes = (0..tree.nodes.len()).map(NodeId);
    let unused = nodes.filter(|&node| node != root && !tree.is_used(Target::Node(node)));
    ArrayStatus { unattached: unused.map(|node| array_status(tree, node)).collect(), ..array_status(tree, root) }
}

/// Drives that are out and have not been removed. One that was added again is what it has become.
fn drives_out<W: World>(tree: &Tree<W>, node: NodeId) -> impl Iterator<Item = LeftOut> {
    let slots = &tree.nodes[node.0].slots;
    let is_out = |slot: &&Slot| {
        let is_another = |other: &Slot| other.place.target == slot.place.target && other.duty != Duty::Out;
        slot.duty == Duty::Out && !slots.iter().any(is_another)
    };
    slots.iter().filter(is_out).map(|slot| LeftOut { name: tree.name(slot.place.target), cause: Cause::Out })
}

/// By what the superblock says.
pub(crate) fn consistency(superblock: &Superblock, journal: Option<String>) -> Consistency {
    let has = |features| superblock.features.any_of(features);
    match () {
        () if has(Features::JOURNAL) => Consistency::Journal { drive: journal },
        () if has(Features::PPL | Features::MULTIPLE_PPLS) => Consistency::Ppl,
        () if has(Features::BITMAP) => Consistency::Bitmap,
        () => Consistency::Resync,
    }
}

fn journal_name<W: World>(tree: &Tree<W>, node: NodeId) -> Option<String> {
    let is_journal = |slot: &&Slot| matches!(slot.duty, Duty::Journal(_));
    let slot = tree.nodes[node.0].slots.iter().find(is_journal)?;
    Some(tree.name(slot.place.target))
}

/// An array is no better than its members allow: one that has failed is as good as missing.
fn overall_health(own: Health, redundancy: usize, members: &[MemberStatus]) -> Health {
    let unwell = |member: &MemberStatus| match &member.on {
        Some(MemberOn::Array(inner)) => inner.health,
        Some(MemberOn::Drive(_)) | None => Health::Optimal,
    };
    let lost = |member: &&MemberStatus| member.state == MemberState::Missing || unwell(member) == Health::Failed;
    let inner_lost = members.iter().any(|member| unwell(member) == Health::Failed);
    match own {
        Health::Failed => Health::Failed,
        _ if inner_lost && members.iter().filter(lost).count() > redundancy => Health::Failed,
        Health::Optimal if members.iter().all(|member| unwell(member) == Health::Optimal) => Health::Optimal,
        Health::Optimal | Health::Degraded => Health::Degraded,
    }
}

/// The state of one member on what it lies on, if that is there.
pub(crate) fn member_status<W: World>(
    tree: &Tree<W>,
    role: Role,
    state: MemberState,
    target: Option<Target>,
) -> MemberStatus {
    let target = target.filter(|_| state != MemberState::Missing);
    let on = target.map(|target| match target {
        Target::Drive(_) => MemberOn::Drive(tree.name(target)),
        Target::Node(inner) => MemberOn::Array(Box::new(array_status(tree, inner))),
    });
    MemberStatus { role, state, on, replacement: None, suspect: false }
}

fn replacement_status<W: World>(tree: &Tree<W>, node: NodeId, role: Role) -> Option<ReplacementStatus> {
    let it = &tree.nodes[node.0];
    let slot = it.slots.iter().find(|slot| slot.duty == Duty::Replacement(role))?;
    let position = it.mirror(role).map_or(0, Mirror::position);
    Some(ReplacementStatus { drive: tree.name(slot.place.target), position })
}
