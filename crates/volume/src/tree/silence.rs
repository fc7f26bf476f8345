//! Drives that do not answer: when a member is given up, and what becomes of what it was asked.
//!
//! A drive that fails says so, and the engine goes on without it. One that *hangs* says nothing: a
//! frozen file system, a stick whose controller has crashed, a bus that waits for a reset.
//! Everybody would wait with it: the requests that it has a part of, the superblocks that go to all
//! members, and whoever wants to take it out. And a stick that *stalls* looks the same for seconds,
//! and is to stay a member. Only time tells them apart, so there is a limit, and it is generous:
//! half of what clients have patience for, or [`SILENCE`]. Below it nothing fails; beyond it the
//! member has failed, if it can be spared.
//!
//! **Silence** is the time in which a drive has answered nothing at all although somebody waits for
//! it. A slow drive with a long queue is not silent: it answers one after the other. Two things are
//! not held against a drive:
//! * time in which this loop did not come round (the process was stopped, the machine suspended):
//!   its answers may lie there;
//! * silence that it shares with all others: what hangs then is what they have in common, a hub or
//!   the host, and taking members out would turn an outage into a loss. Some other member must have
//!   answered lately, or be asked nothing.
//!
//! | a silent drive is | others can do without it | it is given up | what becomes of it |
//! | --- | --- | --- | --- |
//! | a member | yes | beyond the limit | it fails, as by an error |
//! | a member of an inner array without redundancy to spare | the array around it can | beyond the limit | the inner array fails, as by errors |
//! | a member | no | never | its requests end at their clients' deadline, or when it answers |
//! | a replacement, or what is being replaced | by the rules of the [mirror](super::mirror) | beyond the limit | its I/O fails |
//! | a spare, a journal, a member that returns | yes | beyond the limit | it is out |
//! | out already, as somebody said so | | at once | nothing more |
//! | no member: asked by a command | | when that command's patience ends | the command fails |
//!
//! *Giving up* a drive answers everything that it has, for it, by "gone": so each waiter (an
//! engine, a record run, a bitmap run, a log) does what it does about a drive that fell off its
//! bus. The I/O itself cannot be taken back from the kernel. It is *left behind*: counted, and
//! heard by nobody when it ends. What it may still do is harmless:
//! * a late read lands in memory that no buffer is in any more ([`crate::homes`]). If there is no
//!   room to move a buffer to, that one I/O is waited for;
//! * a late write lands on a member that has failed, with the bytes that it was begun with: the
//!   memory that they are in is nobody else's until it has ended. It may be one that changes
//!   nothing (a block that was healed, a copy that is renewed): no bit of a bitmap stands for that,
//!   and a member that comes back would not be given what else had been written there. A member
//!   with anything left behind is asked for nothing and is not taken back.
//!
//! What waits in a drive's [elevator](crate::elevator), or for [its flush](super::order), is not
//! with the drive yet: it is taken back, and never done.
//!
//! | a wait | ends |
//! | --- | --- |
//! | a request, where redundancy allows | when its member is given up |
//! | a request, where it does not | at its client's deadline (`serve`); what it has is kept until the drive answers |
//! | a record, bitmap or log write | when its member is given up; of the last copy never, as a request |
//! | a command ([`Tree::wait_for`]) | when it is done, or nothing anywhere has ended for the limit and two looks; at once after a few seconds where clients wait as well |
//! | [`Tree::call`] | when it is answered, or after as long |
//! | whether a member is there of whose name another drive comes ([`Tree::read_if_it_answers`]) | after as long; the read is its silence from then on |

use std::time::Duration;

use rustix::io::Errno;
use shoal_array::{Instant, MemberState, Role};
use shoal_drive::DriveId;

use crate::VolumeError;
use crate::world::World;

use super::{Duty, Node, NodeId, Pending, Target, Tree, duration_ns};

/// How long a member may be silent, unless told otherwise. Sticks that stall do so for seconds; a
/// disk that tries hard to read a sector, and the kernel that resets it, for tens of seconds; and
/// to flush an image file that the page cache holds takes a slow file system longer still. Whoever
/// has clients with less patience gives half of theirs.
pub const SILENCE: Duration = Duration::from_secs(120);
/// How long a command may keep an owner who has clients as well.
const ERRAND: Duration = Duration::from_secs(5);
/// So many times within the limit it is looked whether anybody is silent.
const LOOKS: u64 = 4;

/// How long one waits for drives, and what came of it.
#[derive(Debug)]
pub(crate) struct Patience {
    /// How long a member may be silent; for ever, if there is no limit.
    pub(crate) limit: Option<Duration>,
    /// Others wait for whoever owns the tree, too.
    pub(crate) has_clients: bool,
    /// When it is to be looked for silent drives.
    look_due: Option<Instant>,
    /// Members that were given up, by name, and how long they had been silent: not told yet.
    pub(crate) given_up: Vec<(String, Duration)>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { limit: Some(SILENCE), has_clients: false, look_due: None, given_up: Vec::new() }
    }
}

impl Patience {
    fn look_ns(&self) -> Option<u64> {
        self.limit.map(|limit| (duration_ns(limit) / LOOKS).max(1))
    }

    /// How long a command waits while nothing moves: until whoever is silent has been given up,
    /// which may be a look after the limit.
    fn errand(&self) -> Option<Duration> {
        let most = self.has_clients.then_some(ERRAND);
        let given_up = self.limit.zip(self.look_ns()).map(|(limit, ns)| limit + Duration::from_nanos(2 * ns));
        given_up.into_iter().chain(most).min()
    }
}

impl Node {
    /// Whether everything can be had without this member.
    fn can_spare(&self, role: Role) -> bool {
        let is_missing = self.array.member_states()[role.index()] == MemberState::Missing;
        is_missing || !(self.cannot_spare(role) || self.array.is_last_copy(role))
    }
}

impl<W: World> Tree<W> {
    /// When to look for silent drives: not while nobody waits for any.
    pub(super) fn silence_due(&self) -> Option<Instant> {
        self.patience.look_due.filter(|_| self.flights.are_awaited())
    }

    /// Somebody begins to wait for a drive.
    pub(super) fn expect_answer(&mut self, now: Instant) {
        if !self.flights.are_awaited() || self.patience.look_due.is_none() {
            self.patience.look_due = self.patience.look_ns().map(|ns| now.after_ns(ns));
        }
    }

    /// Gives up the drive that has been silent for longest, if that is too long. One at a time:
    /// without it others may go on. One that was given up and still keeps an I/O, for which there
    /// was no room to move its buffer, is passed over.
    pub(super) fn look_for_silence(&mut self, now: Instant) {
        let (Some(due), Some(look_ns), Some(limit)) =
            (self.silence_due(), self.patience.look_ns(), self.patience.limit)
        else {
            return;
        };
        if now < due {
            return;
        }
        self.patience.look_due = Some(now.after_ns(look_ns));
        let away_ns = now.since_ns(due);
        if away_ns > look_ns {
            return self.flights.forgive_ns(away_ns);
        }
        let limit_ns = duration_ns(limit);
        for drive in self.flights.awaited_drives() {
            let silence_ns = self.flights.silence_ns(now, drive);
            if silence_ns < limit_ns || !self.can_give_up(now, drive, limit_ns) {
                continue;
            }
            let is_news =
                self.slot_on(drive).is_some_and(|(node, slot)| self.nodes[node.0].slots[slot].duty != Duty::Out);
            if self.give_up(now, drive) {
                if is_news {
                    self.patience.given_up.push((self.world.facts(drive).name, Duration::from_nanos(silence_ns)));
                }
                return;
            }
        }
    }

    /// The slot that a drive is in.
    fn slot_on(&self, drive: DriveId) -> Option<(NodeId, usize)> {
        let place_in = |node: &Node| node.slots.iter().position(|slot| slot.place.target == Target::Drive(drive));
        (0..).map(NodeId).zip(&self.nodes).find_map(|(id, node)| Some((id, place_in(node)?)))
    }

    fn can_give_up(&self, now: Instant, drive: DriveId, limit_ns: u64) -> bool {
        let Some((node, slot)) = self.slot_on(drive) else { return false };
        let is_alone = || {
            !self.nodes.iter().flat_map(|node| &node.slots).any(|other| match other.place.target {
                Target::Drive(other_drive) if other_drive != drive && other.duty != Duty::Out => {
                    self.flights.silence_ns(now, other_drive) < limit_ns / 2
                }
                _ => false,
            })
        };
        match self.nodes[node.0].slots[slot].duty {
            Duty::Out => true,
            Duty::Spare | Duty::Journal(_) | Duty::Replacement(_) | Duty::Returning(_) => !is_alone(),
            Duty::Member(role) => self.can_lose(node, role) && !is_alone(),
        }
    }

    /// Whether everything can be had without a member, from its array or from one around it.
    fn can_lose(&self, node: NodeId, role: Role) -> bool {
        let it = &self.nodes[node.0];
        // A copy that is whole stands in for the drive that is being replaced.
        let is_copied = it.mirror(role).is_some_and(|mirror| mirror.takes_io() && !mirror.needs_original());
        is_copied || it.can_spare(role) || self.outer(node).is_some_and(|(outer, role)| self.can_lose(outer, role))
    }

    /// The member of another array that an array is.
    fn outer(&self, inner: NodeId) -> Option<(NodeId, Role)> {
        let role_in = |node: &Node| {
            node.slots.iter().find_map(|slot| match slot.duty {
                Duty::Member(role) if slot.place.target == Target::Node(inner) => Some(role),
                _ => None,
            })
        };
        (0..).map(NodeId).zip(&self.nodes).find_map(|(id, node)| Some((id, role_in(node)?)))
    }

    /// Goes on without a drive: what it does fails. Says whether that changed anything.
    fn give_up(&mut self, now: Instant, drive: DriveId) -> bool {
        let is_out = self.slot_on(drive).is_some_and(|(node, slot)| match self.nodes[node.0].slots[slot].duty {
            // Refused of a last copy, in an array that another one can do without: its I/O fails
            // all the same.
            Duty::Member(role) if self.nodes[node.0].mirror(role).is_none() => {
                self.nodes[node.0].array.fail_member(now, role).is_ok()
            }
            Duty::Spare | Duty::Journal(_) | Duty::Returning(_) => {
                self.drop_slot(now, node, slot);
                true
            }
            // A mirror finds out by its I/O.
            Duty::Member(_) | Duty::Replacement(_) | Duty::Out => false,
        });
        self.leave(now, drive) || is_out
    }

    /// Answers for a drive, by "gone", what it has not answered; it is left behind with that. Says
    /// whether there was any.
    pub(crate) fn leave(&mut self, now: Instant, drive: DriveId) -> bool {
        let mut has_left = false;
        for token in self.flights.awaited_of(drive) {
            if self.is_unsent(drive, token) || !self.clear_the_way(token) {
                continue;
            }
            has_left = true;
            self.flights.leave(token);
            let Some(pending) = self.pending.entry_mut(token) else { continue };
            let pending = std::mem::replace(pending, Pending::Forgotten);
            self.io_ended(now, pending, Err(&Errno::NODEV.into()));
        }
        self.answer_unsent(now, drive) || has_left
    }

    /// Moves the buffer that an I/O was begun in, so that nobody minds when it ends, and a late
    /// write takes along nothing that came later; `false` if there is no room for that.
    pub(super) fn clear_the_way(&mut self, token: u64) -> bool {
        let Some(flight) = self.flights.get(token) else { return true };
        let Some((span, memory)) = flight.memory else { return true };
        // Notes and logs are not given to anybody else.
        if !self.plan.can_move(span.buffer) || self.homes.memory(span) != memory {
            return true;
        }
        let has_room = self.homes.can_move(span.buffer);
        if has_room {
            let flights = &self.flights;
            self.homes.relocate(self.world.arena(), span.buffer, |place| flights.count_in(place));
        }
        has_room
    }

    /// Turns the loop until `done`, but not for ever: fails if nothing anywhere has ended, and no
    /// drive was given up, for longer than a member may be silent, or, where clients wait as well,
    /// if it takes long. What was begun goes on.
    pub(crate) fn wait_for(&mut self, done: impl Fn(&Self) -> bool) -> Result<(), VolumeError> {
        loop {
            let answers = self.flights.answers();
            let deadline = self.patience.errand().map(|patience| self.world.now().after_ns(duration_ns(patience)));
            self.run_until(deadline, &done)?;
            let is_over = deadline.is_some_and(|deadline| self.world.now() >= deadline);
            if done(self) || !is_over {
                return Ok(());
            }
            if self.patience.has_clients || self.flights.answers() == answers {
                return Err(self.silent());
            }
        }
    }

    /// The error that tells who is waited for.
    fn silent(&self) -> VolumeError {
        let drives: Vec<_> = self.flights.awaited_drives().into_iter().map(|it| self.world.facts(it).name).collect();
        VolumeError::Silent { drives: drives.join(", ") }
    }

    /// Whether a drive has kept somebody waiting for as long as a single small I/O is waited for.
    pub(crate) fn keeps_waiting(&self, target: Target) -> bool {
        let Target::Drive(drive) = target else { return false };
        let silence = Duration::from_nanos(self.flights.silence_ns(self.world.now(), drive));
        self.patience.errand().is_some_and(|patience| silence >= patience)
    }

    /// How long a single small I/O is waited for.
    pub(super) fn call_deadline(&self, now: Instant) -> Option<Instant> {
        self.patience.errand().map(|patience| now.after_ns(duration_ns(patience)))
    }

    /// Nobody waits for a small I/O any more. A write that its drive was not given is never done.
    pub(super) fn leave_call(&mut self, now: Instant, token: u64, has_notes: bool) {
        self.flights.leave(token);
        if !self.take_back_one(now, token) {
            self.stop_listening(token, has_notes);
        }
    }

    /// What comes of a small I/O is nobody's any more. If it has the small notes, others take their
    /// part until it has ended.
    pub(super) fn stop_listening(&mut self, token: u64, has_notes: bool) {
        if let Some(pending) = self.pending.entry_mut(token) {
            *pending = Pending::Forgotten;
        }
        if !has_notes {
            return;
        }
        if let Some(notes) = self.small.take() {
            self.stuck_notes.push((token, notes));
            self.small = self.free_notes();
        }
    }

    /// The notes of a slot that is given up are nobody's until its drive has ended what it has of
    /// them.
    pub(crate) fn keep_notes(&mut self, drive: DriveId, notes: u32) {
        for token in self.flights.left_on(drive) {
            self.stuck_notes.push((token, notes));
        }
    }

    /// A drive has ended what nobody waited for.
    pub(super) fn release_notes(&mut self, token: u64) {
        self.stuck_notes.retain(|(stuck, _)| *stuck != token);
        if self.small.is_none() {
            self.small = self.free_notes();
        }
    }
}
