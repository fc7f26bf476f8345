//! What members are at and how fast they read, as far as their answers tell.
//!
//! Nobody says whether a member is a disk, a stick, or an array of its own, nor how fast it is; so
//! that is learned from what it answers, on levels with copies, where somebody has to choose. It is
//! taken to serve one I/O after the other: what an answer took is the time since the one before it,
//! or since the read was given to it. Of a read that goes on where the one before ended, all of
//! that is *transfer*; of any other, what is left of it is the *jump*: a seek and half a turn, a
//! lookup in a map, or nothing. Both are means that rise slowly, as a drive that stalls has not
//! changed, and fall faster. What was learned of a member that is not asked any more is forgotten
//! in some seconds, so that it is tried again.

use super::{Members, Protection};
use crate::{Instant, MemberIo, Role};

/// What is shorter is command more than transfer; and what is at least so long is nearly all
/// transfer, for who knows nothing yet.
const LONG_BYTES: u64 = 64 << 10;

/// What a member's reads take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// None before the first long read is answered.
    transfer_ns_per_mib: Option<Mean>,
    jump_ns: Mean,
}

/// What is thought of a member that has not answered yet: it is fast, so that it is tried.
const FAST_NS_PER_MIB: u64 = 1_000_000;
const FAST_JUMP_NS: u64 = 50_000;

/// What the first long read counts at most: 10 MiB/s.
const FIRST_MAX_NS_PER_MIB: u64 = 100_000_000;

impl Default for Pace {
    fn default() -> Self {
        Self { transfer_ns_per_mib: None, jump_ns: Mean(FAST_JUMP_NS) }
    }
}

/// A mean in which the latest sample counts most. It falls faster than it rises, as what delays an
/// answer is often something else.
#[derive(Clone, Copy, Debug)]
struct Mean(u64);

impl Mean {
    /// A lower sample counts a quarter; a higher one an eighth, and is taken for at most four times
    /// the value.
    fn add(&mut self, sample: u64) {
        let most = self.0.saturating_mul(4).saturating_add(1000);
        if sample < self.0 {
            self.0 -= (self.0 - sample) / 4;
        } else {
            self.0 += (sample.min(most) - self.0) / 8;
        }
    }

    fn forget(&mut self) {
        self.0 -= self.0 / 4;
    }
}

impl Pace {
    pub(super) fn transfer_ns(self, bytes: u64) -> u64 {
        let ns_per_mib = self.transfer_ns_per_mib.map_or(FAST_NS_PER_MIB, |mean| mean.0);
        u64::try_from((u128::from(bytes) * u128::from(ns_per_mib)) >> 20).unwrap_or(u64::MAX)
    }

    pub(super) fn jump_ns(self) -> u64 {
        self.jump_ns.0
    }

    fn learn(&mut self, sample: Sample) {
        let is_long = sample.bytes >= LONG_BYTES;
        // A jump takes time, or none: the transfer is no longer than all.
        let is_bound = self.transfer_ns_per_mib.is_none() || sample.ns < self.transfer_ns(sample.bytes);
        if is_long && (sample.jumps == 0 || is_bound) {
            let ns_per_mib = sample.ns.saturating_mul(1 << 20) / sample.bytes;
            match &mut self.transfer_ns_per_mib {
                Some(mean) => mean.add(ns_per_mib),
                none => *none = Some(Mean(ns_per_mib.min(FIRST_MAX_NS_PER_MIB))),
            }
        } else if let Some(jump_ns) = sample.ns.saturating_sub(self.transfer_ns(sample.bytes)).checked_div(sample.jumps)
        {
            self.jump_ns.add(jump_ns);
        }
    }

    /// The member has not been asked for a while though it could have been: what was learned of it
    /// is believed less.
    fn forget(&mut self) {
        self.jump_ns.forget();
        self.transfer_ns_per_mib.iter_mut().for_each(Mean::forget);
    }
}

/// Answers, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    ns: u64,
    bytes: u64,
    jumps: u64,
}

/// What was learned of a member is believed less after so long without a jump.
const FORGET_NS: u64 = 1_000_000_000;

/// What is remembered of an I/O until it is answered.
#[derive(Clone, Copy, Debug)]
pub(in crate::array) struct Flight {
    begun: Instant,
    /// What it was thought to take.
    cost_ns: u64,
    /// Of a read; none of anything else.
    read_bytes: u64,
    is_jump: bool,
}

/// What goes on at one member.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    pub(super) in_flight: u32,
    /// Of these, others than reads.
    changes: u32,
    /// Reads that were overtaken, and have not been answered.
    pub(super) overtaken: u32,
    /// What is in flight will take so long, one after the other.
    pub(super) queued_ns: u64,
    /// Where the last read that it was given ends: the next one from there goes on.
    pub(super) read_end: u64,
    answered: Instant,
    pub(super) pace: Pace,
    /// When it jumped last, or what was learned of that was believed less.
    jumped: Instant,
    /// Of answers that came in one moment.
    sample: Sample,
}

impl Traffic {
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    fn started(&mut self, now: Instant, io: MemberIo) -> Flight {
        let (bytes, is_read) = match io {
            MemberIo::Read { span, .. } => (u64::from(span.length), true),
            MemberIo::Write { span, .. } => (u64::from(span.length), false),
            MemberIo::Flush | MemberIo::Discard { .. } => (0, false),
        };
        let is_jump = match io {
            MemberIo::Read { offset, .. } => core::mem::replace(&mut self.read_end, offset + bytes) != offset,
            _ => false,
        };
        let cost_ns = self.pace.transfer_ns(bytes) + if is_jump { self.pace.jump_ns() } else { 0 };
        self.queued_ns += cost_ns;
        self.changes += u32::from(!is_read);
        Flight { begun: now, cost_ns, read_bytes: if is_read { bytes } else { 0 }, is_jump }
    }

    fn ended(&mut self, now: Instant, flight: Flight, is_done: bool) {
        self.queued_ns -= flight.cost_ns;
        self.changes -= u32::from(flight.read_bytes == 0);
        let before = core::mem::replace(&mut self.answered, now);
        let is_sample = is_done && flight.read_bytes > 0 && self.changes == 0;
        if !is_sample {
            self.sample = Sample::default();
            return;
        }
        if flight.is_jump {
            self.jumped = now;
        }
        if now > before {
            self.pace.learn(self.sample);
            self.sample = Sample { ns: now.since_ns(before.max(flight.begun)), ..Sample::default() };
        }
        self.sample.bytes += flight.read_bytes;
        self.sample.jumps += u64::from(flight.is_jump);
    }
}

impl Members {
    /// A member is given an I/O. What is returned goes to [`Self::io_ended`].
    pub(in crate::array) fn io_started(&mut self, now: Instant, role: Role, io: MemberIo) -> Option<Flight> {
        let traffic = &mut self.traffic[role.index()];
        traffic.in_flight += 1;
        (self.protection == Protection::Mirrors).then(|| traffic.started(now, io))
    }

    /// A member has answered.
    pub(in crate::array) fn io_ended(&mut self, now: Instant, role: Role, flight: Option<Flight>, is_done: bool) {
        let traffic = &mut self.traffic[role.index()];
        traffic.in_flight -= 1;
        if let Some(flight) = flight {
            traffic.ended(now, flight, is_done);
        }
    }

    pub(in crate::array) fn io_in_flight(&self, role: Role) -> u32 {
        self.traffic[role.index()].in_flight
    }

    /// Of these copies, this one is read: what the others would have had to jump for is believed a
    /// little less.
    pub(super) fn passed_over(&mut self, now: Instant, copies: &[(Role, u64)], chosen: Role) {
        for (role, _) in copies.iter().filter(|(role, _)| *role != chosen) {
            let traffic = &mut self.traffic[role.index()];
            if traffic.is_idle() && now.since_ns(traffic.jumped) >= FORGET_NS {
                traffic.pace.forget();
                traffic.jumped = now;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferId, Span};

    const MIB: u64 = 1 << 20;

    fn read(mib: u64) -> MemberIo {
        MemberIo::Read { offset: mib * MIB, span: Span { buffer: BufferId(0), offset: 0, length: MIB as u32 } }
    }

    #[test]
    fn transfer_and_jump_are_learned_from_answers_and_a_stall_is_not_believed() {
        let mut traffic = Traffic::default();
        let mut now = Instant { ns: 1 };
        // A mebibyte takes 10 ms, a jump 5 ms; two reads are in flight at a time.
        let mut last = traffic.started(now, read(0));
        for number in 1..200 {
            let place = number + number / 4 * 100;
            let next = traffic.started(now, read(place));
            now = now.after_ns(10_000_000 + if last.is_jump { 5_000_000 } else { 0 });
            traffic.ended(now, last, true);
            last = next;
        }
        let learned = (traffic.pace.transfer_ns(MIB) / 100_000, traffic.pace.jump_ns() / 100_000);
        assert!((99..=101).contains(&learned.0) && (48..=52).contains(&learned.1), "{learned:?}");
        assert_eq!(traffic.queued_ns, last.cost_ns);
        traffic.ended(now.after_ns(1_000_000_000), last, true);
        assert!(traffic.pace.transfer_ns(MIB) < 15_000_000 && traffic.pace.jump_ns() < 8_000_000);
    }
}
