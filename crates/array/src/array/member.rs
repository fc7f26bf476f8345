//! The members: their states, and what follows from them. They change by one table ([`changes`]).
//!
//! Nothing else in the engine writes a member's state. The array's health, whether a member can be
//! read or written at a place, and whether it may be failed out are derived here from the states,
//! every time they are asked for.

mod brisk;
mod changes;
mod choice;
mod traffic;

use alloc::vec::Vec;
use core::ops::Range;

use super::{Health, MemberState, Resync, guide::Guide};
use crate::{Geometry, Level, Role};
use changes::next;
use traffic::Traffic;

pub(super) use changes::Change;
pub(super) use choice::Wanted;
pub(super) use traffic::Flight;

/// How a level keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Once: linear, RAID0.
    None,
    /// In copies: RAID1, RAID10.
    Mirrors,
    /// With parity: RAID4, 5, 6.
    Parity,
}

impl Protection {
    pub(super) fn of(level: Level) -> Self {
        match level {
            Level::Linear | Level::Raid0(_) => Self::None,
            Level::Raid1 | Level::Raid10(_) => Self::Mirrors,
            Level::Raid4 | Level::Raid5(_) | Level::Raid6(_) => Self::Parity,
        }
    }
}

/// The members of one array.
#[derive(Debug)]
pub(super) struct Members {
    states: Vec<MemberState>,
    /// By role: what it does not hold, if it came back and is being filled.
    guides: Vec<Option<Guide>>,
    /// What copies and parity are not known to agree on.
    resync: Option<Resync>,
    traffic: Vec<Traffic>,
    /// Those with reads that were overtaken.
    stalled: Vec<Role>,
    protection: Protection,
    /// Members that may be lost in any combination.
    redundancy: usize,
    /// Mirrors: the sets of roles that hold the same bytes somewhere.
    groups: Vec<Vec<Role>>,
    /// Mirrors: how far each member is trusted; see [`Members::distrust`].
    trust: Vec<u32>,
    /// The trust of the member that is distrusted next.
    next_trust: u32,
    /// Members that refused a flush and stay; see [`Members::refused_flush`].
    perishable: Vec<Role>,
}

/// The trust in a member that never missed a write.
const FULL_TRUST: u32 = u32::MAX;

impl Members {
    pub(super) fn new(geometry: &Geometry, states: Vec<MemberState>) -> Self {
        let protection = Protection::of(geometry.shape().level);
        let groups = if protection == Protection::Mirrors { mirror_groups(geometry, states.len()) } else { Vec::new() };
        let traffic = states.iter().map(|_| Traffic::default()).collect();
        let trust = states.iter().map(|_| FULL_TRUST).collect();
        let guides = states.iter().map(|_| None).collect();
        Self {
            states,
            guides,
            resync: None,
            traffic,
            stalled: Vec::new(),
            protection,
            redundancy: geometry.redundancy(),
            groups,
            trust,
            next_trust: 0,
            perishable: Vec::new(),
        }
    }

    pub(super) fn protection(&self) -> Protection {
        self.protection
    }

    pub(super) fn states(&self) -> &[MemberState] {
        &self.states
    }

    pub(super) fn state(&self, role: Role) -> MemberState {
        self.states[role.index()]
    }

    pub(super) fn roles(&self) -> impl Iterator<Item = Role> + use<> {
        (0..self.states.len() as u16).map(Role)
    }

    /// Changes a member's state.
    ///
    /// # Panics
    /// If the table does not have the change: a bug in the engine.
    pub(super) fn change(&mut self, role: Role, change: Change) {
        let state = self.state(role);
        let next = next(state, change);
        self.states[role.index()] = next.unwrap_or_else(|| panic!("{role:?} is {state:?}: {change:?} cannot be"));
        match change {
            Change::Fail => {
                self.trust[role.index()] = FULL_TRUST;
                self.renewed(role);
                self.take_guide(role);
            }
            Change::Finish => {
                self.regain_trust(role);
                self.take_guide(role);
            }
            Change::Rebuild { .. } | Change::Advance { .. } => {}
        }
    }

    /// A member missed a write but is kept, as it has the last copy of something. Where its mirrors
    /// have what it missed, only they are read from now on, and none of them is taken out for
    /// errors either: each would be the last. Of several distrusted members the one that was
    /// trusted longest knows most.
    pub(super) fn distrust(&mut self, role: Role) {
        if self.trust[role.index()] == FULL_TRUST {
            self.trust[role.index()] = self.next_trust;
            self.next_trust += 1;
        }
    }

    /// The last copy of something has refused a flush, and is kept. What it had answered by then
    /// may go with its power, whatever later flushes say: a copy that is made of it agrees with it
    /// only until then.
    pub(super) fn refused_flush(&mut self, role: Role) {
        self.distrust(role);
        self.may_lose(role);
    }

    /// What the member has answered may go with its power, until it is renewed.
    pub(super) fn may_lose(&mut self, role: Role) {
        if !self.perishable.contains(&role) {
            self.perishable.push(role);
        }
    }

    /// Those that refused a flush and stay, and have not been renewed.
    pub(super) fn perishable(&self) -> &[Role] {
        &self.perishable
    }

    /// What the member may have lost was written to it again, or it is a member no more.
    pub(super) fn renewed(&mut self, role: Role) {
        self.perishable.retain(|other| *other != role);
    }

    /// The member `rebuilt` is a copy of its best mirror everywhere; where all that this one holds
    /// is mirrored there, the two agree again.
    fn regain_trust(&mut self, rebuilt: Role) {
        for role in self.roles().filter(|role| *role != rebuilt) {
            let was_source = |group: &Vec<Role>| {
                let mut others = group.iter().filter(|other| **other != rebuilt && self.is_in_sync(**other));
                group.contains(&rebuilt) && others.all(|other| self.trust[other.index()] <= self.trust[role.index()])
            };
            if self.groups.iter().filter(|group| group.contains(&role)).all(was_source) {
                self.trust[role.index()] = FULL_TRUST;
            }
        }
    }

    pub(super) fn is_working(&self, role: Role) -> bool {
        self.state(role) != MemberState::Missing
    }

    /// Whether the member holds its data everywhere in a range of its data area.
    pub(super) fn holds(&self, role: Role, range: Range<u64>) -> bool {
        let length = range.end - range.start;
        self.state(role) == MemberState::InSync || self.held_from(role, range.start, length) == length
    }

    /// How many bytes of its data the member holds from `offset` on, of at most `length`.
    pub(super) fn held_from(&self, role: Role, offset: u64, length: u64) -> u64 {
        let position = match self.state(role) {
            MemberState::InSync => return length,
            MemberState::Rebuilding { position } => position,
            MemberState::Missing => return 0,
        };
        let below = position.saturating_sub(offset).min(length);
        match self.guide(role) {
            Some(guide) if below < length => {
                let stale = guide.next_stale(role, offset + below..offset + length);
                stale.map_or(length, |run| run.start - offset)
            }
            _ => below,
        }
    }

    /// For how many of `length` bytes every one of these copies is held, or not, as it is at the
    /// start. Comparing more at once would leave out a copy that is held in part.
    pub(super) fn evenly_held(&self, copies: &[(Role, u64)], length: u64) -> u64 {
        let even =
            copies.iter().map(|&(role, offset)| match (self.held_from(role, offset, length), self.guide(role)) {
                (0, Some(guide)) => {
                    guide.next_stale(role, offset..offset + length).map_or(length, |run| run.end - offset)
                }
                (0, None) => length,
                (held, _) => held,
            });
        even.min().unwrap_or(length)
    }

    /// Whether the member holds any of its data in a range; it may be said to hold some where it
    /// does not.
    pub(super) fn may_hold_some(&self, role: Role, range: Range<u64>) -> bool {
        self.guide(role).is_some() || self.held_from(role, range.start, range.end - range.start) > 0
    }

    /// What a member that came back does not hold.
    pub(super) fn guide(&self, role: Role) -> Option<&Guide> {
        self.guides[role.index()].as_ref()
    }

    pub(super) fn take_guide(&mut self, role: Role) -> Option<Guide> {
        self.guides[role.index()].take()
    }

    pub(super) fn set_guide(&mut self, role: Role, guide: Option<Guide>) {
        self.guides[role.index()] = guide;
    }

    fn is_in_sync(&self, role: Role) -> bool {
        self.state(role) == MemberState::InSync
    }

    fn out_of_sync(&self) -> usize {
        self.states.iter().filter(|state| **state != MemberState::InSync).count()
    }

    pub(super) fn health(&self) -> Health {
        let out_of_sync = self.out_of_sync();
        let failed = match self.protection {
            Protection::Mirrors => self.groups.iter().any(|group| !group.iter().any(|role| self.is_in_sync(*role))),
            Protection::None | Protection::Parity => out_of_sync > self.redundancy,
        };
        match (failed, out_of_sync) {
            (true, _) => Health::Failed,
            (false, 0) => Health::Optimal,
            (false, _) => Health::Degraded,
        }
    }

    /// Whether taking the member out would lose mirrored data: errors are passed on then, and the
    /// member stays.
    pub(super) fn is_last_copy(&self, role: Role) -> bool {
        let trust = self.trust[role.index()];
        let is_as_good = |other: &Role| *other != role && self.is_in_sync(*other) && self.trust[other.index()] >= trust;
        self.is_in_sync(role) && self.groups.iter().any(|group| group.contains(&role) && !group.iter().any(is_as_good))
    }

    /// Whether everything that belongs on this member can be had from the others.
    pub(super) fn can_rebuild(&self, role: Role) -> bool {
        let is_source = |other: &Role| *other != role && self.is_in_sync(*other);
        match self.protection {
            Protection::None => false,
            Protection::Mirrors => {
                self.groups.iter().filter(|group| group.contains(&role)).all(|group| group.iter().any(is_source))
            }
            Protection::Parity => {
                let others_lost = self.roles().filter(|other| *other != role && !is_source(other)).count();
                others_lost < self.redundancy
            }
        }
    }

    /// Whether there is anything that could be compared.
    pub(super) fn can_scrub(&self) -> bool {
        match self.protection {
            Protection::None => false,
            Protection::Mirrors => {
                self.groups.iter().any(|group| group.iter().filter(|role| self.is_in_sync(**role)).count() > 1)
            }
            Protection::Parity => self.out_of_sync() < self.redundancy,
        }
    }

    /// Whether no two members hold the same bytes, nor will by a rebuild under way.
    pub(super) fn are_single_copies(&self) -> bool {
        let is_rebuilding = |state: &MemberState| matches!(state, MemberState::Rebuilding { .. });
        self.protection == Protection::Mirrors && !self.can_scrub() && !self.states.iter().any(is_rebuilding)
    }

    /// What is not known to be in sync.
    pub(super) fn resync(&self) -> Option<&Resync> {
        self.resync.as_ref()
    }

    /// More is not known to be in sync; returns below which position everything still is.
    pub(super) fn doubt(&mut self, resync: Resync) -> u64 {
        let resync = match self.resync.take() {
            Some(before) => before.merge(resync),
            None => resync,
        };
        self.resync.insert(resync).position
    }

    /// Everything below the position is in sync.
    pub(super) fn settle_up_to(&mut self, position: u64) {
        self.resync.iter_mut().for_each(|resync| resync.position = position);
    }

    /// Everything is in sync.
    pub(super) fn settle(&mut self) {
        self.resync = None;
    }

    /// Whether everything in a range of sync bytes is in sync.
    pub(super) fn is_synced(&self, range: Range<u64>) -> bool {
        self.resync.as_ref().is_none_or(|resync| resync.is_synced(range))
    }

    /// The copies that may be read: present, not excepted, and of members that are trusted as far
    /// as any that has one.
    pub(super) fn readable<'a>(
        &'a self,
        copies: impl Iterator<Item = (Role, u64)> + Clone + 'a,
        length: u64,
        except: &'a [Role],
    ) -> impl Iterator<Item = (Role, u64)> + 'a {
        let holders = copies.filter(move |(role, offset)| self.holds(*role, *offset..offset + length));
        let trust = match self.next_trust {
            0 => FULL_TRUST,
            _ => holders.clone().map(|(role, _)| self.trust[role.index()]).max().unwrap_or(FULL_TRUST),
        };
        holders.filter(move |(role, _)| self.trust[role.index()] >= trust && !except.contains(role))
    }
}

/// The sets of members that mirror each other. Layouts repeat after as many chunks as there are
/// members.
fn mirror_groups(geometry: &Geometry, member_count: usize) -> Vec<Vec<Role>> {
    let step = u64::from(geometry.shape().chunk_bytes.max(1));
    let mut groups: Vec<Vec<Role>> = Vec::new();
    for offset in (0..geometry.capacity_bytes()).step_by(step as usize).take(member_count) {
        let mut group: Vec<_> = geometry.piece(offset, 1).copies.iter().map(|(role, _)| *role).collect();
        group.sort_unstable();
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}
