//! The outermost array's write-back window, between requests from outside and the engine.
//!
//! What lies on a window is only the outside's: superblocks, bitmaps and logs never pass it, nor
//! does what an outer array asks of one inside it.

use std::collections::VecDeque;

use shoal_array::{Command, Completion, Geometry, Health, Instant, Level, Request, RequestError, Span};

use crate::VolumeError;
use crate::compute::Bytes;
use crate::ppl::has_logs;
use crate::world::World;
use crate::write_back::{Content, Layout, Purpose, Step, WriteBack};

use super::{Node, NodeId, Pending, Target, Tree, own_id};

/// What mirrors and linear arrays have for a row: what drives write in one go without being slower
/// for it.
const ROW_OF_MIRROR_BYTES: u64 = 512 << 10;

/// What is taken for the erase unit of drives of which nobody says it: most sticks and cards have 4
/// MiB.
const ERASE_UNIT_BYTES: u64 = 4 << 20;

/// How full a write-back window is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBackState {
    /// What it holds at most.
    pub window_bytes: u64,
    /// What was answered and is not on its way to the members.
    pub dirty_bytes: u64,
}

/// A window, and whose it is.
#[derive(Debug)]
pub(crate) struct OfNode {
    node: NodeId,
    window: WriteBack,
    /// Answers that take the host some time yet, in their order.
    answers: VecDeque<(Instant, Completion)>,
}

impl Content for Bytes<'_> {
    fn read(&self, span: Span, bytes: &mut [u8]) {
        self.arena.read(self.homes.memory(span), bytes);
    }

    fn write(&self, span: Span, bytes: &[u8]) {
        self.arena.write(self.homes.memory(span), bytes);
    }
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

/// Whether a request lies within an array, in whole blocks, and is no discard of a level with
/// parity: others are the engine's, which refuses them.
fn is_sound(node: &Node, request: &Request) -> bool {
    let geometry = node.array.geometry();
    let (offset, length) = match request.command {
        Command::Read { offset, span } | Command::Write { offset, span } => (offset, u64::from(span.length)),
        Command::Discard { .. } if geometry.data_count() > 0 => return false,
        Command::Discard { offset, length } => (offset, length),
        Command::Flush => return true,
    };
    let block_bytes = u64::from(node.logical_block_bytes);
    let is_within = offset.checked_add(length).is_some_and(|end| end <= geometry.capacity_bytes());
    length > 0 && is_within && offset.is_multiple_of(block_bytes) && length.is_multiple_of(block_bytes)
}

/// From how many dirty runs on a group is guessed to go better as a stretch: where the drives would
/// copy twice as many erase units, one for each run, its P and its Q, as there are in the group.
/// Only groups of levels with parity are a unit of each member.
fn stretch_runs(geometry: &Geometry) -> Option<u64> {
    let members = geometry.shape().member_bytes.len() as u64;
    match geometry.data_count() as u64 {
        0 => None,
        data => Some((2 * members).div_ceil(members - data + 1)),
    }
}

impl<W: World> Tree<W> {
    /// Gives an array the window that there is memory for, if it is written to.
    pub(crate) fn begin_write_back(&mut self, node: NodeId) {
        let window_bytes = u64::from(self.plan.write_back_bytes);
        if window_bytes == 0 || !self.nodes[node.0].writable {
            return;
        }
        let buffers: Vec<Span> = self.plan.destage_spans().collect();
        let layout = self.layout(node, window_bytes);
        let window = WriteBack::new(layout, window_bytes, &buffers);
        self.write_back = Some(OfNode { node, window, answers: VecDeque::new() });
    }

    /// What rows are in the content of an array.
    fn layout(&self, node: NodeId, window_bytes: u64) -> Layout {
        let array = &self.nodes[node.0].array;
        let chunk_bytes = u64::from(array.geometry().shape().chunk_bytes);
        let own = self.row_bytes(node, window_bytes);
        let chunk_bytes = if chunk_bytes == 0 { own } else { chunk_bytes };
        Layout {
            row_bytes: own,
            chunk_bytes,
            group_rows: (ERASE_UNIT_BYTES / chunk_bytes).max(1),
            stretch_runs: stretch_runs(array.geometry()).filter(|_| !has_logs(&self.nodes[node.0].facts)),
            stretches: self.plan.stretches,
            capacity_bytes: array.geometry().capacity_bytes(),
        }
    }

    /// Bytes of content of which a write, begun at a multiple of them, makes no array here or
    /// inside read anything: as far as so much finds room in half of the window.
    fn row_bytes(&self, node: NodeId, window_bytes: u64) -> u64 {
        let node = &self.nodes[node.0];
        let shape = node.array.geometry().shape();
        let inner = node.slots.iter().find_map(|slot| match slot.place.target {
            Target::Node(inner) => Some(self.row_bytes(inner, window_bytes)),
            Target::Drive(_) => None,
        });
        let members = shape.member_bytes.len() as u64;
        let across = match (shape.level, inner) {
            (Level::Linear | Level::Raid1, _) => return inner.unwrap_or(ROW_OF_MIRROR_BYTES),
            // A chunk is a row by itself where nothing is computed from several.
            (Level::Raid0(_) | Level::Raid10(_), None) => 1,
            (Level::Raid0(_), Some(_)) => members,
            (Level::Raid10(layout), Some(_)) => (members / layout.copies() as u64).max(1),
            (Level::Raid4 | Level::Raid5(_) | Level::Raid6(_), _) => node.array.geometry().data_count() as u64,
        };
        let chunk_bytes = u64::from(shape.chunk_bytes);
        let own = chunk_bytes * across;
        // Each inner array gets whole chunks, and whole rows of its own.
        let whole =
            inner.map_or(own, |inner| across * (inner / greatest_common_divisor(inner, chunk_bytes) * chunk_bytes));
        if whole <= window_bytes / 2 { whole } else { own }
    }

    /// Takes a request from outside in: through the window, if the array has one.
    pub(super) fn submit_through(&mut self, now: Instant, node: NodeId, request: Request) {
        let Self { world, homes, nodes, write_back, .. } = self;
        match write_back {
            Some(it) if it.node == node && is_sound(&nodes[node.0], &request) => {
                let content = Bytes { arena: world.arena(), homes };
                it.window.submit(now, request, &content);
                self.tend_write_back(now);
            }
            _ => self.submit_to(now, node, request),
        }
    }

    /// Does what the window wants to be done.
    pub(super) fn tend_write_back(&mut self, now: Instant) -> bool {
        let mut moved = false;
        loop {
            let Self { world, homes, nodes, write_back, .. } = self;
            let Some(it) = write_back else { return moved };
            let node = it.node;
            it.window.set_whole(nodes[node.0].array.health() == Health::Optimal);
            let Some(step) = it.window.next_step(&Bytes { arena: world.arena(), homes }) else { return moved };
            moved = true;
            match step {
                Step::Pass(request) => self.submit_to(now, node, request),
                Step::Answer(completion) => self.answer_from_memory(now, completion),
                Step::Submit(purpose, command) => {
                    let id = own_id(self.pending.insert(Pending::WriteBack(purpose)));
                    self.submit_to(now, node, Request { id, command });
                }
            }
        }
    }

    fn answer_from_memory(&mut self, now: Instant, completion: Completion) {
        let takes_ns = self.world.answer_from_memory_ns();
        match &mut self.write_back {
            Some(it) if takes_ns > 0 => {
                let free = it.answers.back().map_or(now, |(last, _)| now.max(*last));
                it.answers.push_back((free.after_ns(takes_ns), completion));
            }
            _ => self.answer_outside(completion),
        }
    }

    /// The engine has done something for the window.
    pub(super) fn write_back_ended(&mut self, now: Instant, purpose: Purpose, result: Result<(), RequestError>) {
        let Self { world, homes, write_back, .. } = self;
        if let Some(it) = write_back {
            it.window.ended(now, purpose, result, &Bytes { arena: world.arena(), homes });
        }
    }

    pub(super) fn write_back_due(&self) -> Option<Instant> {
        let it = self.write_back.as_ref()?;
        it.answers.front().map(|(at, _)| *at).into_iter().chain(it.window.due()).min()
    }

    pub(super) fn look_at_write_back(&mut self, now: Instant) {
        while let Some(it) = &mut self.write_back {
            let Some(&(_, completion)) = it.answers.front().filter(|(at, _)| *at <= now) else {
                return it.window.look(now);
            };
            it.answers.pop_front();
            self.answer_outside(completion);
        }
    }

    /// Waits until the members have all that was answered. What they refuse is forgotten: returns
    /// how many bytes.
    pub(crate) fn empty_write_back(&mut self) -> Result<u64, VolumeError> {
        if let Some(it) = &mut self.write_back {
            it.window.empty();
        }
        self.wait_for(|tree| tree.write_back.as_ref().is_none_or(|it| it.window.is_at_rest()))?;
        Ok(self.write_back.as_mut().map_or(0, |it| it.window.forget_refused()))
    }

    /// How full an array's window is; `None` if it has none.
    pub(crate) fn write_back_state_of(&self, node: NodeId) -> Option<WriteBackState> {
        let OfNode { window, .. } = self.write_back.as_ref().filter(|it| it.node == node)?;
        Some(WriteBackState { window_bytes: window.window_bytes(), dirty_bytes: window.dirty_bytes() })
    }
}
