//! An array that runs, as a volume, with everything that is done to it while it runs.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_array::{Background, CommandError, Completion, Event, Health, Instant, JobProgress, Request, ScrubMode};
use shoal_drive::{Arena, DriveId, Memory};
use shoal_parity::Parity;

use crate::assemble::{OpenError, assemble_tree, record_assembly, refuse_incomplete};
use crate::create::{CreateError, CreateOptions, create_tree};
use crate::manage_error::ManageError;
use crate::status::{ArrayStatus, array_status, outermost_status};
use crate::tree::{Duty, Node, NodeId, SAFE_MODE_DELAY, SILENCE, Slot, Target, Tree};
use crate::world::World;
use crate::{BufferPlan, HostMemory, LiveVolume, MemberTraffic, Volume, VolumeError};

/// How an array is to be run.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Write to it, mark it active, heal, rebuild. If not, nothing is written to any drive.
    pub writable: bool,
    /// Write to an array that is degraded and was not shut down cleanly.
    pub force: bool,
    /// What is done with an array that has lost more members than its level survives.
    pub incomplete: Incomplete,
    /// Rate of rebuilds and scrubs.
    pub background: Background,
    /// The instructions that compute parity.
    pub parity: Parity,
    /// How long after its last write the array is marked clean at the earliest, as md's
    /// safe_mode_delay; if none, only when it is closed.
    pub safe_mode_delay: Option<Duration>,
    /// How long a member may be silent until it is taken out, where it can be spared; for ever, if
    /// there is no limit.
    pub silence: Option<Duration>,
}

/// What is done with an array that has lost more members than its level survives, so that there is
/// a hole in every few blocks of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// It is not opened.
    Refused,
    /// It is opened for reading only, and what its members hold can be read.
    Read,
}

impl OpenOptions {
    /// For reading only, as much as there is.
    pub fn read_only() -> Self {
        Self { writable: false, incomplete: Incomplete::Read, ..Self::writable() }
    }

    /// For reading and writing, with md's default rates (md(4): 1 to 200 MB/s), and no upper limit.
    pub fn writable() -> Self {
        let background = Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: u64::MAX, depth: 4 };
        let safe_mode_delay = Some(SAFE_MODE_DELAY);
        let (parity, incomplete, silence) = (Parity::best(), Incomplete::Refused, Some(SILENCE));
        Self { writable: true, force: false, incomplete, background, parity, safe_mode_delay, silence }
    }
}

/// Something that happened in an array or in an array inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The array's name.
    pub array: String,
    /// What happened.
    pub event: Event,
}

/// An array that runs over the drives of a world.
pub struct ArrayVolume<W> {
    pub(crate) tree: Tree<W>,
    pub(crate) root: NodeId,
}

impl<W: World> ArrayVolume<W> {
    /// Runs the array that `drives` are members of. `plan` says how the world's arena is cut.
    pub fn open(world: W, plan: BufferPlan, drives: &[DriveId], options: &OpenOptions) -> Result<Self, OpenError> {
        Self::open_in(Tree::new(world, plan, options.parity), drives, options)
    }

    /// The same on a host that remembers its arrays. What it knows decides who takes part, or that
    /// nothing is started; what the array becomes is remembered.
    pub fn open_remembered(
        world: W,
        plan: BufferPlan,
        drives: &[DriveId],
        options: &OpenOptions,
        memory: Option<HostMemory>,
    ) -> Result<Self, OpenError> {
        Self::open_in(Tree::new(world, plan, options.parity).with_memory(memory), drives, options)
    }

    fn open_in(mut tree: Tree<W>, drives: &[DriveId], options: &OpenOptions) -> Result<Self, OpenError> {
        let root = Self::start(&mut tree, drives, options)?;
        Ok(Self { tree, root })
    }

    /// Makes the array of drives in a tree that has none. Until it is known that there will be one
    /// nothing is rebuilt or marked clean, not even arrays inside that are there, however long
    /// their drives take.
    pub(crate) fn start(tree: &mut Tree<W>, drives: &[DriveId], options: &OpenOptions) -> Result<NodeId, OpenError> {
        let (background, rest_delay) = (options.background, options.safe_mode_delay);
        let held = Background { depth: 0, ..background };
        let options = &OpenOptions { background: held, safe_mode_delay: None, ..*options };
        tree.patience.limit = options.silence;
        let targets: Vec<_> = drives.iter().copied().map(Target::Drive).collect();
        let mut root = assemble_tree(tree, targets.clone(), options)?;
        let has_lost_too_much = array_status(tree, root).health == Health::Failed;
        if options.writable && tree.nodes.len() > 1 && has_lost_too_much {
            // What is left of it is read: nor is anything written to the arrays inside that are
            // whole.
            tree.forget_nodes()?;
            root = assemble_tree(tree, targets, &OpenOptions { writable: false, ..*options })?;
        }
        if options.incomplete == Incomplete::Refused {
            refuse_incomplete(tree, root, drives)?;
        }
        tree.remember_writable();
        // Else a crash would leave members that are ahead of what is remembered, as if another host
        // had run them.
        tree.settle_memory()?;
        record_assembly(tree)?;
        tree.set_background(background);
        tree.set_rest_delay(rest_delay);
        tree.settle()?; // spares are given their roles
        tree.begin_write_back(root);
        Ok(root)
    }

    /// Makes an array of `drives`, in the order given, and runs it. What the drives hold is lost.
    pub fn create(
        world: W,
        plan: BufferPlan,
        drives: &[DriveId],
        create: &CreateOptions,
        options: &OpenOptions,
    ) -> Result<Self, CreateError> {
        let mut tree = Tree::new(world, plan, options.parity);
        tree.patience.limit = options.silence;
        let targets: Vec<_> = drives.iter().copied().map(Target::Drive).collect();
        let root = create_tree(&mut tree, &targets, create, options)?;
        tree.begin_write_back(root);
        Ok(Self { tree, root })
    }

    /// What the array is and how it is.
    pub fn status(&self) -> ArrayStatus {
        ArrayStatus { traffic: self.member_traffic(), ..outermost_status(&self.tree, self.root) }
    }

    /// Whether mirrors or parity, here or in an array inside, may disagree with the data: a resync
    /// is under way, or waits until the array is open for writing and has the redundancy for it.
    pub fn needs_resync(&self) -> bool {
        self.tree.nodes.iter().any(|node| node.array.resync_position().is_some())
    }

    /// Whether the superblocks say, durably, what the array is: no change of it is being recorded,
    /// or waits for that.
    pub fn is_recorded(&self) -> bool {
        self.tree.nodes.iter().all(|node| node.recorder.is_idle())
    }

    /// Whether all of a member that refused a flush is still to be renewed: a power cut may lose
    /// what it had answered by then, whatever flushes say meanwhile.
    pub fn renews_whole_members(&self) -> bool {
        self.tree.nodes.iter().any(|node| node.array.renews_whole_members())
    }

    /// The world under it.
    pub fn world(&self) -> &W {
        &self.tree.world
    }

    /// The world under it, to take drives in and give back those that no array uses.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.tree.world
    }

    /// What has happened since the last call.
    pub fn take_news(&mut self) -> Vec<News> {
        let nodes = &self.tree.nodes;
        let named = |news: crate::tree::News| News { array: nodes[news.node.0].facts.name(), event: news.event };
        self.tree.news.drain(..).map(named).collect()
    }

    /// Starts a scrub of the array, and of the arrays inside it, each that has redundancy of its
    /// own; of none if one of them cannot be scrubbed now. All go on at the same time, and each
    /// compares what its members answer at that moment: what is wrong on a drive may be told by the
    /// array inside and, where its content shows it, by the outer one as well; what an array inside
    /// mends too late for the outer one to see is told by that one as it was.
    pub fn scrub(&mut self, mode: ScrubMode) -> Result<(), ManageError> {
        let now = self.tree.world.now();
        let refused =
            |name: String, why| ManageError::Refused { what: format!("array {name} cannot be scrubbed"), why };
        let has_redundancy = |node: &&mut Node| node.array.geometry().redundancy() > 0;
        let mut nodes: Vec<&mut Node> = self.tree.nodes.iter_mut().filter(has_redundancy).collect();
        for node in &nodes {
            node.array.can_scrub(mode).map_err(|why| refused(node.facts.name(), why))?;
        }
        for node in &mut nodes {
            node.array.scrub(now, mode).expect("it was asked whether it can be scrubbed");
            node.scrub = Some(mode);
            if let (ScrubMode::Repair, Some(intent)) = (mode, &mut node.intent) {
                intent.begin_repair();
            }
        }
        if nodes.is_empty() {
            return Err(refused(self.status().name, CommandError::NoRedundancy));
        }
        Ok(())
    }

    /// Whether a scrub of any of these arrays is under way.
    pub fn is_scrubbing(&self) -> bool {
        self.tree.nodes.iter().any(|node| node.scrub.is_some())
    }

    /// Stops scrubs under way.
    pub fn stop_scrub(&mut self) {
        let now = self.tree.world.now();
        for node in &mut self.tree.nodes {
            node.array.stop_scrub(now);
        }
    }

    /// What the drive that gives least to content gives; none of an array without drives.
    pub fn drive_content_bytes(&self) -> Option<u64> {
        let of_node = |node: &Node| {
            let of_slot = |slot: &Slot| match (slot.duty, slot.place.target) {
                (Duty::Member(role), Target::Drive(_)) => Some(node.array.geometry().used_bytes(role)),
                _ => None,
            };
            node.slots.iter().filter_map(of_slot).min()
        };
        self.tree.nodes.iter().filter_map(of_node).min()
    }

    /// Changes the rate of background work.
    pub fn set_background(&mut self, background: Background) {
        self.tree.set_background(background);
    }

    /// Progress of background work: of the array that has most left to do.
    pub fn progress(&self) -> Option<JobProgress> {
        self.tree.nodes.iter().flat_map(Node::works).max_by_key(|progress| progress.total_bytes - progress.done_bytes)
    }

    /// Lets rebuilds and scrubs go on for so long. Returns whether there is more to do.
    pub fn run_background(&mut self, patience: Duration) -> Result<bool, VolumeError> {
        let busy = |tree: &Tree<W>| tree.nodes.iter().any(Node::is_busy);
        let deadline = self.tree.world.now().after_ns(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        loop {
            self.tree.run_until(Some(deadline), |tree| !busy(tree))?;
            // Its time is over, or it waits for something that does not come by itself.
            let is_stopped = busy(&self.tree);
            self.settle()?;
            // Who fails while the end is recorded gives a spare something to do.
            if is_stopped || !busy(&self.tree) {
                return Ok(busy(&self.tree));
            }
        }
    }

    /// For how long nothing happens by itself: no time while anything is in flight; without end
    /// (none) if only a request can change anything.
    pub fn quiet_for(&self) -> Option<Duration> {
        if self.tree.in_flight > 0 || self.tree.world.pending() > 0 {
            return Some(Duration::ZERO);
        }
        let now = self.tree.world.now();
        self.tree.timer().map(|wake| Duration::from_nanos(wake.since_ns(now)))
    }

    pub(crate) fn refused(&self, target: Target, what: &str, why: CommandError) -> ManageError {
        ManageError::Refused { what: format!("{} {what}", self.tree.name(target)), why }
    }
}

impl<W: World> Volume for ArrayVolume<W> {
    fn size_bytes(&self) -> u64 {
        let block = u64::from(self.logical_block_bytes());
        self.tree.size_bytes(Target::Node(self.root)) / block * block
    }

    fn logical_block_bytes(&self) -> u32 {
        self.tree.nodes[self.root.0].logical_block_bytes
    }

    fn arena(&self) -> &Arena {
        self.tree.world.arena()
    }

    fn request_buffers(&self) -> u32 {
        self.tree.plan.request_count
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.tree.plan.request_bytes
    }

    fn request_memory(&self, buffer: u32) -> Memory {
        self.tree.request_memory(buffer)
    }

    fn submit(&mut self, request: Request) {
        self.tree.submit(self.root, request);
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        self.tree.run(at_least, timeout)?;
        completions.append(&mut self.tree.completions);
        Ok(())
    }

    fn now(&self) -> Instant {
        self.tree.world.now()
    }

    fn is_degraded(&self) -> bool {
        self.status().health != Health::Optimal
    }

    fn member_traffic(&self) -> Option<MemberTraffic> {
        Some(self.tree.sequence.traffic())
    }
}

impl<W: World> LiveVolume for ArrayVolume<W> {
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError> {
        self.tree.turn(patience)?;
        completions.append(&mut self.tree.completions);
        Ok(())
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError> {
        self.tree.patience.has_clients = true;
        Ok(self.tree.world.watch(file)?)
    }
}
