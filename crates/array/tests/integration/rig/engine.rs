//! One engine of a rig, with what its driver remembers of it, and the rules that hold at every
//! step:
//! * effects in flight at the same time never touch the same bytes, of a buffer or of a member,
//!   unless all only read;
//! * an effect writes only to scratch buffers and to the spans of reads that are not answered yet;
//! * a missing member gets no I/O;
//! * a request is answered once, with none of its bytes in use any more;
//! * a write that a failed member missed is answered only after the failure is recorded;
//! * a flush has flushed every member that works.

use std::ops::Range;

use shoal_array::{
    Array, Background, Config, Effect, EffectId, Level, LogRoom, MemberIo, MemberState, RequestId, Role, Scratch,
    Shape, Span,
};

use super::disk::{DiscardSupport, Disk, range_of};
use super::memory::{Memory, overlap, spans_of};
use super::model::BLOCK;

/// What stands behind a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// The disk of this number.
    Disk(usize),
    /// The engine of this number.
    Engine(usize),
}

/// Who asked for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The story.
    Story,
    /// An effect of the engine of this number.
    Effect(usize, EffectId),
}

/// A request that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) id: RequestId,
    pub(crate) io: MemberIo,
    pub(crate) origin: Origin,
    pub(crate) submitted_at: u64,
    /// Flushes: by role, how many flushes each member had done before; none for those that were
    /// missing.
    flushes_before: Vec<Option<u64>>,
}

/// An effect that is not answered yet.
#[derive(Debug, Default)]
struct InFlight {
    id: Option<EffectId>,
    targets: Vec<Span>,
    sources: Vec<Span>,
    /// Member I/O: who and where.
    member: Option<(Role, Range<u64>)>,
    /// First bytes of the member's blocks that it changes. Others it may write as they are: what
    /// could not be read is written anew, and gaps between small writes are filled. Reads may go on
    /// there meanwhile.
    changes: Vec<u64>,
    /// Flushes: whose.
    flushes: Option<Role>,
    /// Records: the members that were missing when it was given out.
    records: Vec<Role>,
}

/// How an engine is set up, apart from its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Scratch buffers beyond the fewest.
    pub(crate) scratch_extra: u32,
    pub(crate) scratch_bytes: u32,
    pub(crate) background: Background,
    /// RAID5 keeps a partial parity log.
    pub(crate) log: Option<LogRoom>,
}

/// An engine and its driver's memory of it.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) array: Array,
    pub(crate) stores: Vec<Store>,
    scratch: Range<u32>,
    pub(crate) open: Vec<Open>,
    in_flight: Vec<InFlight>,
    /// By role: its failure is recorded, if it failed.
    recorded: Vec<bool>,
    /// By role: the step in which it failed last.
    pub(crate) failed_at: Vec<u64>,
    /// By role: how often it was flushed.
    flushes: Vec<u64>,
    /// Mirrors may differ, as some have taken a write or a discard that others have not: a healing
    /// then changes what is read meanwhile.
    pub(crate) mirrors_may_differ: bool,
    /// Copies may be read for nobody while they are written: such a read has lost its race.
    pub(crate) reads_for_nobody: bool,
}

impl Engine {
    pub(crate) fn new(
        shape: Shape,
        members: Vec<MemberState>,
        stores: Vec<Store>,
        setup: &Setup,
        memory: &mut Memory,
    ) -> Self {
        let count = Scratch::least_count(stores.len()) + setup.scratch_extra;
        let first = memory.add(count, setup.scratch_bytes);
        let recorded = members.iter().map(|state| *state == MemberState::Missing).collect();
        let config = Config {
            logical_block_bytes: BLOCK as u32,
            background: setup.background,
            partial_parity_log: setup.log.filter(|_| matches!(shape.level, Level::Raid5(_))),
            ..Config::new(shape, members, Scratch { first, count, bytes_each: setup.scratch_bytes })
        };
        let array = Array::new(config).expect("the rig's shapes are arrays");
        let flushes = vec![0; stores.len()];
        let scratch = first.0..first.0 + count;
        Self {
            failed_at: vec![0; stores.len()],
            array,
            stores,
            scratch,
            open: Vec::new(),
            in_flight: Vec::new(),
            recorded,
            flushes,
            mirrors_may_differ: false,
            reads_for_nobody: false,
        }
    }

    /// Whether a discard that cannot be done may have been done by some of the drives. With parity
    /// nothing is even begun.
    pub(crate) fn discards_in_part(&self, disks: &[Disk]) -> bool {
        let level = self.array.geometry().shape().level;
        let has_parity = matches!(level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_));
        !has_parity && disks.iter().any(|disk| disk.discard_support == DiscardSupport::Zeroes)
    }

    pub(crate) fn state(&self, role: Role) -> MemberState {
        self.array.member_states()[role.index()]
    }

    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> + use<> {
        (0..self.stores.len() as u16).map(Role)
    }

    /// The disk behind a role, for engines whose members are disks.
    pub(crate) fn disk(&self, role: Role) -> Option<usize> {
        match self.stores[role.index()] {
            Store::Disk(disk) => Some(disk),
            Store::Engine(_) => None,
        }
    }

    /// A request is about to be submitted.
    pub(crate) fn note_request(&mut self, id: RequestId, io: MemberIo, origin: Origin, step: u64) {
        let flushes_before =
            self.roles().map(|role| (self.state(role) != MemberState::Missing).then_some(self.flushes[role.index()]));
        let flushes_before = flushes_before.collect();
        self.open.push(Open { id, io, origin, submitted_at: step, flushes_before });
    }

    /// The engine gave an effect out, which changes these blocks of its member.
    pub(crate) fn note_effect(&mut self, effect: &Effect, changes: Vec<u64>) {
        let effect = InFlight { changes, ..self.in_flight_of(effect) };
        for target in &effect.targets {
            let is_read = |open: &Open| matches!(open.io, MemberIo::Read { span, .. } if overlap(span, *target));
            let is_allowed = self.scratch.contains(&target.buffer.0) || self.open.iter().any(is_read);
            assert!(is_allowed, "an effect writes to {target:?}, which is neither scratch nor that of a read");
            assert!(!effect.sources.iter().any(|source| overlap(*source, *target)), "{target:?} is also a source");
        }
        for other in &self.in_flight {
            effect.assert_buffers_apart(other);
            if !self.mirrors_may_differ && !self.reads_for_nobody {
                effect.assert_members_apart(other);
            }
        }
        self.in_flight.push(effect);
    }

    fn in_flight_of(&self, effect: &Effect) -> InFlight {
        let mut result = InFlight::default();
        match effect {
            Effect::Io { id, role, io } => {
                assert_ne!(self.state(*role), MemberState::Missing, "I/O to a missing member: {io:?}");
                let (offset, length) = range_of(*io);
                assert!(offset + length <= self.array.geometry().used_bytes(*role), "{io:?} beyond the used part");
                result.id = Some(*id);
                result.flushes = (*io == MemberIo::Flush).then_some(*role);
                result.member = Some((*role, offset..offset + length));
                match io {
                    MemberIo::Read { span, .. } => result.targets.push(*span),
                    MemberIo::Write { span, .. } => result.sources.push(*span),
                    MemberIo::Flush | MemberIo::Discard { .. } => {}
                }
            }
            Effect::Compute { id, compute } => {
                (result.targets, result.sources) = spans_of(compute);
                result.id = Some(*id);
                let mut spans = result.targets.iter().chain(&result.sources);
                let length = spans.next().map(|span| span.length);
                assert!(spans.all(|span| Some(span.length) == length), "spans of unequal length: {compute:?}");
            }
            Effect::Record { id } => {
                result.id = Some(*id);
                result.records = self.roles().filter(|role| self.state(*role) == MemberState::Missing).collect();
            }
            Effect::Log { id, role, entries } => {
                assert_ne!(self.state(*role), MemberState::Missing, "a missing member is to keep a log: {entries:?}");
                result.id = Some(*id);
                result.sources.extend(entries.iter().filter_map(|entry| entry.parity));
            }
        }
        result
    }

    /// A read is raced: its span is not its own any more, and what it reads may be written before
    /// it ends.
    pub(crate) fn note_race(&mut self, id: EffectId) {
        let effect = self.in_flight.iter_mut().find(|effect| effect.id == Some(id));
        let effect = effect.expect("what is raced is in flight");
        effect.targets.clear();
        effect.member = None;
    }

    /// An effect is about to be answered.
    pub(crate) fn note_outcome(&mut self, id: EffectId, succeeded: bool) {
        let index = self.in_flight.iter().position(|effect| effect.id == Some(id)).expect("an effect is answered once");
        let effect = self.in_flight.swap_remove(index);
        if let (Some(role), true) = (effect.flushes, succeeded) {
            self.flushes[role.index()] += 1;
        }
        for role in effect.records {
            self.recorded[role.index()] = true;
        }
    }

    /// A drive has taken a missing member's place.
    pub(crate) fn note_rebuild(&mut self, role: Role) {
        self.recorded[role.index()] = false;
        for open in &mut self.open {
            open.flushes_before[role.index()] = None;
        }
    }

    /// The engine answered a request.
    pub(crate) fn note_answer(&mut self, id: RequestId, succeeded: bool, disks: &[Disk]) -> Open {
        let index = self.open.iter().position(|open| open.id == id).expect("a request is answered once");
        let open = self.open.swap_remove(index);
        if let MemberIo::Read { span, .. } | MemberIo::Write { span, .. } = open.io {
            let uses =
                |effect: &&InFlight| effect.targets.iter().chain(&effect.sources).any(|used| overlap(*used, span));
            let user = self.in_flight.iter().find(uses);
            assert!(user.is_none(), "{open:?} is answered, but its bytes are still in use by {user:?}");
        }
        if succeeded && open.io == MemberIo::Flush {
            for (role, before) in self.roles().zip(&open.flushes_before) {
                let is_flushed = before.is_none_or(|before| self.flushes[role.index()] > before);
                let is_missing = self.state(role) == MemberState::Missing;
                assert!(is_flushed || is_missing, "a flush is answered, but {role:?} was not flushed");
            }
        }
        if let (true, MemberIo::Write { .. }) = (succeeded, open.io) {
            self.assert_recorded(&open, disks);
        }
        open
    }

    /// Every member that failed without its failure being recorded had done its part of this write
    /// before.
    fn assert_recorded(&self, open: &Open, disks: &[Disk]) {
        for role in self.roles() {
            if self.state(role) != MemberState::Missing || self.recorded[role.index()] {
                continue;
            }
            let Some(disk) = self.disk(role) else { continue };
            for range in self.written_ranges(open, role) {
                for block in range.start / BLOCK..range.end / BLOCK {
                    let is_written = disks[disk].written_at[block as usize] >= open.submitted_at;
                    assert!(is_written, "{open:?} is answered; {role:?} missed it, and nothing says that it failed");
                }
            }
        }
    }

    /// What a request changes on a member: data, and parity in the same columns.
    fn written_ranges(&self, open: &Open, role: Role) -> Vec<Range<u64>> {
        let (offset, length) = range_of(open.io);
        let geometry = self.array.geometry();
        let mut ranges = Vec::new();
        for piece in geometry.pieces(offset, length) {
            let position = geometry.position(piece.offset);
            let stripe = position.and_then(|position| geometry.stripe(position.row));
            let parity = stripe.iter().flat_map(|stripe| [Some(stripe.p), stripe.q]).flatten();
            let parity = parity.map(|role| (role, piece.copies[0].1));
            for (holder, member_offset) in piece.copies.iter().copied().chain(parity) {
                if holder == role {
                    ranges.push(member_offset..member_offset + piece.length);
                }
            }
        }
        ranges
    }

    /// How many effects are not answered.
    pub(crate) fn effects_in_flight(&self) -> usize {
        self.in_flight.len()
    }
}

impl InFlight {
    fn assert_buffers_apart(&self, other: &Self) {
        let clash = |targets: &[Span], spans: &[Span]| {
            targets.iter().any(|target| spans.iter().any(|span| overlap(*target, *span)))
        };
        let buffers_clash = clash(&self.targets, &other.targets)
            || clash(&self.targets, &other.sources)
            || clash(&self.sources, &other.targets);
        assert!(!buffers_clash, "two effects use the same bytes of a buffer: {self:?} and {other:?}");
    }

    fn assert_members_apart(&self, other: &Self) {
        if let (Some((role, range)), Some((other_role, other_range))) = (&self.member, &other.member) {
            let clash = self.changes.iter().any(|block| other_range.contains(block))
                || other.changes.iter().any(|block| range.contains(block));
            let members_clash = role == other_role && clash;
            assert!(!members_clash, "two effects touch the same bytes of a member: {self:?} and {other:?}");
        }
    }
}
