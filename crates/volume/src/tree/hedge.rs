//! Slow members: reads that are begun elsewhere too, and members that people should look at.
//!
//! A stick that stalls for seconds is still a member, and what it is asked to write waits for it.
//! But what it is asked to read can be had from the others. Each read of an array with redundancy
//! is given the time in which 99 of 100 reads of the member's peers are done; by then it is begun
//! at the others as well ([`Array::overtake`](shoal_array::Array::overtake)), and the first answer
//! wins. A long read takes longer, and one behind others: each is given what its bytes take at 20
//! MB/s on top, and as much for each that its drive has already. That costs a healthy array a
//! hundredth of its reads, and makes the time that a read takes that of the peers, twice, however
//! long one member takes.
//!
//! | what is learnt from | limit of a read |
//! | --- | --- |
//! | the reads of the peers' last minutes: the median of their 99th percentiles | that, but not less than a millisecond |
//! | nothing yet: fewer than a hundred reads of any peer | a tenth of a second |
//! | no peers with the same content in the array | none: it is waited for |
//!
//! A race that cannot begin (its other runners are late themselves, there is no room) or that came
//! to nothing is tried again when the read has taken twice as long. The read's buffer moves when
//! the race begins ([`crate::homes`]): so the late answer of a member that has been overtaken
//! reaches nobody, and one that comes in time is copied. If there is no room to move it to, the
//! read is waited for; room that is needed when a drive is given up is not taken for a race.
//!
//! A member is *suspect* whose 99th percentile is many times its peers', or many times its own of
//! before while theirs are not, or that is silent now while they answer.

use shoal_array::{Instant, Role};
use shoal_drive::{DriveId, IoKind};

use crate::world::World;

use super::latency::{Course, has_slowed};
use super::{Duty, EngineId, Node, NodeId, Pending, Target, Tree};

/// The least time that a read is given.
const FLOOR_NS: u64 = 1_000_000;
/// The time that a read is given as long as nothing is known of the peers.
const UNKNOWN_NS: u64 = 100_000_000;
/// On top for each byte of a read, and again for each read that its drive has: 20 MB/s.
const NS_PER_BYTE: u64 = 50;
/// A member is suspect if it is so many times as slow as its peers,
const SUSPECT_TIMES: u64 = 8;
/// and not fast either.
const SUSPECT_NS: u64 = 100_000_000;
/// A member is suspect, too, if it has been silent for so long.
const SUSPECT_SILENCE_NS: u64 = 1_000_000_000;

impl Node {
    /// The drives of the other members.
    fn peers(&self, drive: DriveId) -> impl Iterator<Item = DriveId> {
        self.slots.iter().filter_map(move |slot| match (slot.duty, slot.place.target) {
            (Duty::Member(_), Target::Drive(other)) if other != drive => Some(other),
            _ => None,
        })
    }
}

impl<W: World> Tree<W> {
    /// A member was asked for something by an engine: if it is a read, it is to be raced in time.
    pub(super) fn time_read(&mut self, now: Instant, engine: EngineId, token: u64) {
        let it = &self.nodes[engine.node.0];
        let Some(flight) = self.flights.get(token) else { return };
        let IoKind::Read(memory) = flight.kind else { return };
        if engine.mirror.is_some() || it.array.geometry().redundancy() == 0 || it.peers(flight.drive).next().is_none() {
            return;
        }
        let known = self.median_ns(engine.node, flight.drive, |tree, peer| tree.flights.read_p99_ns(peer));
        let queued_ns = u64::from(memory.length) * NS_PER_BYTE * self.flights.in_flight(flight.drive);
        self.flights.race_at(token, now.after_ns(queued_ns + known.map_or(UNKNOWN_NS, |ns| ns.max(FLOOR_NS))));
    }

    /// The median of what is known of a drive's peers.
    fn median_ns(&self, node: NodeId, drive: DriveId, of: impl Fn(&Self, DriveId) -> Option<u64>) -> Option<u64> {
        let mut known: Vec<u64> = self.nodes[node.0].peers(drive).filter_map(|peer| of(self, peer)).collect();
        known.sort_unstable();
        known.get(known.len().saturating_sub(1) / 2).copied()
    }

    /// Begins the reads elsewhere whose members have had their time.
    pub(super) fn race_late_reads(&mut self, now: Instant) {
        while let Some(token) = self.flights.take_late(now) {
            let Some(&mut Pending::Effect { engine, id, .. }) = self.pending.entry_mut(token) else { continue };
            let given_up = self.flights.drives_left_behind();
            let has_room = self.flights.get(token).and_then(|flight| flight.memory).is_some_and(|(span, memory)| {
                self.homes.memory(span) != memory || self.homes.can_race(span.buffer, given_up)
            });
            if has_room && self.engine(engine).overtake(now, id) {
                self.clear_the_way(token);
            }
            // What cannot be had elsewhere now may be a moment later; and a race may come to
            // nothing.
            if let Some(flight) = self.flights.get(token).filter(|_| !self.is_overtaken(token)) {
                self.flights.race_at(token, now.after_ns(now.since_ns(flight.since).max(FLOOR_NS)));
            }
        }
    }

    /// Whether a member deserves a look: it is much slower than its peers, or than it was.
    pub(crate) fn is_suspect(&self, node: NodeId, role: Role) -> bool {
        let it = &self.nodes[node.0];
        let Some(Target::Drive(drive)) = it.place(role).map(|place| place.target) else { return false };
        let now = self.world.now();
        let is_slow = |of: fn(&Self, DriveId) -> Option<u64>| {
            let (own, others) = (of(self, drive), self.median_ns(node, drive, of));
            own.zip(others).is_some_and(|(own, others)| own >= SUSPECT_NS && own / SUSPECT_TIMES >= others)
        };
        let has_slowed = |of: fn(&Self, DriveId) -> Option<Course>| {
            let peers: Vec<_> = it.peers(drive).filter_map(|peer| of(self, peer)).collect();
            of(self, drive).is_some_and(|own| own.now_ns >= SUSPECT_NS && has_slowed(own, &peers))
        };
        let is_silent = |drive| self.flights.silence_ns(now, drive) >= SUSPECT_SILENCE_NS;
        let is_alone = it.peers(drive).next().is_some() && !it.peers(drive).any(is_silent);
        is_slow(|tree, drive| tree.flights.read_p99_ns(drive))
            || is_slow(|tree, drive| tree.flights.write_p99_ns(drive))
            || has_slowed(|tree, drive| tree.flights.read_course(drive))
            || has_slowed(|tree, drive| tree.flights.write_course(drive))
            || is_silent(drive) && is_alone
    }
}
