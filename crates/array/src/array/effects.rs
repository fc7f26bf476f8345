//! Effects: given out, remembered until answered, and told to whoever asked for them.

use alloc::{collections::VecDeque, vec::Vec};

use super::{
    Array,
    member::Flight,
    op::Op,
    races::Race,
    requests::Active,
    slab::{Key, Slab},
};
use crate::{Compute, Effect, EffectId, Fault, MemberIo, Outcome, PartialParity, Role};

/// Why an effect was given out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A piece of a request, straight to a member.
    Piece {
        request: Key<Active>,
        /// First array byte.
        offset: u64,
        length: u64,
    },
    /// A piece that is also being read from the others.
    Raced(Key<Race>),
    /// A read that the others have answered for.
    Overtaken,
    /// A flush of one member.
    Flush(Key<Active>),
    /// The flush at the end of the member's rebuild.
    Rebuilt,
    /// The operation's present phase; the number is the transfer's place in the plan.
    Op(Key<Op>, usize),
    /// The log's entries for the operation's present phase.
    Log(Key<Op>),
    /// The member states as of this many changes.
    Record(u64),
}

/// An effect that was given out.
#[derive(Debug)]
pub(super) struct Pending {
    purpose: Purpose,
    /// Member I/O: whose, and what.
    member: Option<(Role, MemberIo)>,
    /// What is to be told to the members when it ends.
    flight: Option<Flight>,
}

/// The effects in flight, and those that the driver has not fetched yet.
#[derive(Debug)]
pub(super) struct Effects {
    pending: Slab<Pending>,
    out: VecDeque<Effect>,
    /// Reads of known bad blocks: nobody outside is asked.
    bad_reads: VecDeque<EffectId>,
    /// Of those in flight: nobody waits for them.
    overtaken: usize,
}

impl Effects {
    pub(super) fn new() -> Self {
        Self { pending: Slab::new(), out: VecDeque::new(), bad_reads: VecDeque::new(), overtaken: 0 }
    }

    pub(super) fn poll(&mut self) -> Option<Effect> {
        self.out.pop_front()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Those that somebody waits for.
    pub(super) fn awaited(&self) -> usize {
        self.in_flight() - self.overtaken
    }

    /// Why an effect in flight was given out, and what it is if it is a member's.
    pub(super) fn purpose(&self, id: EffectId) -> Option<(Purpose, Option<(Role, MemberIo)>)> {
        self.pending.find(Key::from_number(id.0)).map(|pending| (pending.purpose, pending.member))
    }

    /// Gives an effect in flight another purpose.
    pub(super) fn set_purpose(&mut self, id: EffectId, purpose: Purpose) {
        self.overtaken += usize::from(matches!(purpose, Purpose::Overtaken));
        self.pending[Key::from_number(id.0)].purpose = purpose;
    }

    fn remember(&mut self, purpose: Purpose) -> EffectId {
        EffectId(self.pending.insert(Pending { purpose, member: None, flight: None }).to_number())
    }

    pub(super) fn compute(&mut self, op: Key<Op>, step: usize, compute: Compute) {
        let id = self.remember(Purpose::Op(op, step));
        self.out.push_back(Effect::Compute { id, compute });
    }

    pub(super) fn log(&mut self, op: Key<Op>, role: Role, entries: Vec<PartialParity>) -> EffectId {
        let id = self.remember(Purpose::Log(op));
        self.out.push_back(Effect::Log { id, role, entries });
        id
    }

    pub(super) fn record(&mut self, epoch: u64) {
        let id = self.remember(Purpose::Record(epoch));
        self.out.push_back(Effect::Record { id });
    }
}

impl Array {
    pub(super) fn issue_io(&mut self, role: Role, io: MemberIo, purpose: Purpose) {
        let flight = self.members.io_started(self.now, role, io);
        let pending = Pending { purpose, member: Some((role, io)), flight };
        let id = EffectId(self.effects.pending.insert(pending).to_number());
        self.unflushed.begins(role, io, id);
        if self.is_known_bad(role, io) {
            self.effects.bad_reads.push_back(id);
        } else {
            self.effects.out.push_back(Effect::Io { id, role, io });
        }
    }

    /// Answers a read of known bad blocks; false if there is none.
    pub(super) fn answer_bad_read(&mut self) -> bool {
        let Some(id) = self.effects.bad_reads.pop_front() else { return false };
        self.effect_ended(id, Outcome::Failed(Fault::Unreadable));
        true
    }

    pub(super) fn effect_ended(&mut self, id: EffectId, outcome: Outcome) {
        let pending = self.effects.pending.take(Key::from_number(id.0));
        let pending = pending.unwrap_or_else(|| panic!("outcome of {id:?}, which is not in flight: {outcome:?}"));
        if let Some((role, io)) = pending.member {
            self.members.io_ended(self.now, role, pending.flight, outcome == Outcome::Done);
            self.unflushed.ended(role, io, id, &outcome);
            if outcome == Outcome::Done {
                self.made_good(role, io);
            }
        }
        match (pending.purpose, pending.member.map(|(role, _)| role)) {
            (Purpose::Piece { request, offset, length }, Some(role)) => {
                self.piece_ended(request, offset, length, role, &outcome);
            }
            (Purpose::Raced(race), _) => self.raced_read_ended(race, &outcome),
            (Purpose::Overtaken, Some(role)) => {
                self.effects.overtaken -= 1;
                self.overtaken_ended(role, &outcome);
            }
            (Purpose::Flush(request), Some(role)) => self.flush_ended(request, role, &outcome),
            (Purpose::Rebuilt, Some(role)) => self.rebuild_flushed(role, &outcome),
            (Purpose::Op(op, place), Some(_)) => self.op_transfer_ended(op, place, &outcome),
            (Purpose::Op(op, step), None) => self.op_step_ended(op, step, outcome),
            (Purpose::Log(op), _) => self.log_ended(op, &outcome),
            (Purpose::Record(epoch), _) => self.record_ended(epoch, &outcome),
            (Purpose::Piece { .. } | Purpose::Overtaken | Purpose::Flush(_) | Purpose::Rebuilt, None) => {
                unreachable!("pieces and flushes are member I/O")
            }
        }
    }
}
