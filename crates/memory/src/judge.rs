//! Holds what is there against what is remembered.

mod copies;
mod doubt;
mod standing;

use shoal_array::{Geometry, Health, Role};
use shoal_md::{Candidate, MemberUse, Superblock, Uuid, Verdict};

use crate::book::{Book, Left, Member, Refusal, Sight};
use crate::limits::MEMBERS_MAX;
use crate::table::{Acquaintance, Count, Decision, History, decide};

pub use doubt::{Doubt, Run, Suspicion};
pub use standing::Standing;

/// A drive, or inner array, with a superblock of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What people call it, and what its superblock says.
    pub candidate: Candidate,
    /// What it lies on, by something that stays when it is plugged in elsewhere; none if nothing
    /// does.
    pub hardware: Option<String>,
}

impl Sight {
    /// An array as its drives say that it is: by what md makes of those that were found. None if
    /// that is nothing.
    pub fn of_found(found: &[Found]) -> Option<Self> {
        let candidates: Vec<_> = found.iter().map(|found| found.candidate.clone()).collect();
        let assembly = shoal_md::assemble(&candidates).ok()?;
        let Superblock { array_uuid: array, events, .. } = assembly.superblock;
        let mut sight = Self { array, events, members: Vec::new(), others: Vec::new() };
        for (found, verdict) in found.iter().zip(&assembly.verdicts) {
            let Found { candidate: Candidate { drive, superblock }, hardware } = found.clone();
            let role = match verdict {
                Verdict::InSync(role) | Verdict::Rebuilding { role, .. } => Some(role.0),
                _ => None,
            };
            let member = Member { uuid: superblock.device_uuid, hardware, drive, role, refusal: None };
            match verdict {
                _ if role.is_some() => sight.members.push(member),
                Verdict::Spare | Verdict::Journal | Verdict::Replacement { .. } => sight.members.push(member),
                _ => sight.others.push(Left { member, events: superblock.events }),
            }
        }
        Some(sight)
    }
}

/// What is to be made of the drives that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Who takes no part, by index, and why.
    pub left_out: Vec<(usize, Suspicion)>,
    /// Why the others should not be started without a word from somebody.
    pub doubt: Option<Doubt>,
}

/// Holds what is there against what is remembered of the array; all that was found is of one array.
/// The crate's documentation says by which rules. What md itself refuses is left to md.
pub fn judge(book: Option<&Book>, found: &[Found]) -> Judgement {
    match book {
        Some(book) => Known { book, found }.judge(),
        None => Judgement { left_out: Vec::new(), doubt: degraded(found, Run::NeverHere) },
    }
}

/// Whether all members are there that the freshest one counts on.
fn degraded(found: &[Found], run: Run) -> Option<Doubt> {
    let candidates: Vec<_> = found.iter().map(|found| found.candidate.clone()).collect();
    let assembly = shoal_md::assemble(&candidates).ok()?;
    let has_redundancy = Geometry::new(assembly.shape().ok()?).is_ok_and(|geometry| geometry.redundancy() > 0);
    let counts_on =
        |role| (0..MEMBERS_MAX as u32).any(|number| assembly.superblock.member_use(number) == MemberUse::Active(role));
    let missing = assembly.missing_roles().into_iter().filter(|&role: &Role| counts_on(role)).count();
    // Whether it is degraded or whole, or what is left of it can be had at all, is for md to say.
    let can_run = assembly.health() != Health::Failed;
    (has_redundancy && can_run && missing > 0).then_some(Doubt::Degraded {
        missing,
        members: assembly.slots.len(),
        run,
    })
}

/// What was found of an array that is known.
struct Known<'a> {
    book: &'a Book,
    found: &'a [Found],
}

/// What the known members that are there tell.
#[derive(Clone, Copy)]
struct Basis {
    /// The highest count of those with data.
    events: u64,
    history: History,
}

impl Known<'_> {
    fn judge(&self) -> Judgement {
        let mut left_out = match self.copies() {
            Ok(copies) => copies,
            Err(doubt) => return Judgement { left_out: Vec::new(), doubt: Some(doubt) },
        };
        let is_in = |index: &usize, out: &[(usize, Suspicion)]| out.iter().all(|(other, _)| other != index);
        let originals: Vec<_> = (0..self.found.len()).filter(|index| is_in(index, &left_out)).collect();
        let basis = self.basis(&originals);
        let (mut rivals, mut moved) = (Vec::new(), None);
        for &index in &originals {
            match self.decide(basis, index) {
                Decision::Take => {}
                Decision::LeaveOut => left_out.push((index, self.suspicion(index))),
                Decision::Doubt => moved = moved.or(Some(index)),
                Decision::Rival => rivals.push(index),
            }
        }
        let spoilt = self.take_indispensable(basis, &mut left_out);
        let absent = self.absent(&originals);
        let doubt = match (rivals.iter().max_by_key(|&&index| self.events(index)), basis) {
            (Some(_), Some(Basis { history: History::AsSeen, .. })) if absent.is_empty() => {
                left_out.extend(rivals.iter().map(|&index| (index, self.suspicion(index))));
                None
            }
            (Some(&rival), _) => Some(self.rival(rival, absent)),
            (None, Some(Basis { history: History::AsSeen, .. })) => None,
            (None, Some(Basis { history: History::GoneOn, .. })) => {
                let taken = (0..self.found.len()).filter(|index| is_in(index, &left_out));
                let taken: Vec<_> = taken.map(|index| self.found[index].clone()).collect();
                degraded(&taken, Run::ElsewhereSince)
            }
            (None, None) if moved.is_some() => None,
            (None, None) => self.older(&originals, &left_out),
        };
        let doubt = doubt.or_else(|| moved.map(|index| self.other_hardware(index)));
        let doubt = self.doubt_about(spoilt, doubt);
        left_out.sort_by_key(|(index, _)| *index);
        Judgement { left_out, doubt }
    }

    /// With what speaks against a member that cannot be missed. Who has lost content is told before
    /// all else: no other drive mends that.
    fn doubt_about(&self, spoilt: Option<usize>, other: Option<Doubt>) -> Option<Doubt> {
        match spoilt {
            Some(index) if self.acquaintance(index) == Acquaintance::CutShort => {
                Some(Doubt::LostContent { drive: self.drive(index) })
            }
            spoilt => other.or_else(|| spoilt.map(|index| self.lost_updates(index))),
        }
    }

    /// Takes those back in that lost updates or content, if there is no array without them. Gives
    /// the first of them, and of those that lost content before others.
    fn take_indispensable(&self, basis: Option<Basis>, left_out: &mut Vec<(usize, Suspicion)>) -> Option<usize> {
        let first = |who| left_out.iter().map(|(index, _)| *index).find(|index| self.acquaintance(*index) == who);
        let cut_short = first(Acquaintance::CutShort);
        let spoilt = cut_short.or_else(|| first(Acquaintance::Lossy))?;
        let rest = (0..self.found.len()).filter(|index| left_out.iter().all(|(out, _)| out != index));
        let rest: Vec<_> = rest.map(|index| self.found[index].candidate.clone()).collect();
        // What runs without one that nobody else has seen the last of is an older state.
        let knows_all = cut_short.is_none() || basis.is_some();
        if knows_all && shoal_md::assemble(&rest).is_ok_and(|assembly| assembly.health() != Health::Failed) {
            return None;
        }
        left_out.retain(|(index, _)| !self.acquaintance(*index).is_spoilt());
        Some(spoilt)
    }

    fn superblock(&self, index: usize) -> &Superblock {
        &self.found[index].candidate.superblock
    }

    fn events(&self, index: usize) -> u64 {
        self.superblock(index).events
    }

    /// Whether it has seen an update that this host has not, nor has tried to make.
    fn is_ahead(&self, index: usize) -> bool {
        let Superblock { events, update_time, .. } = *self.superblock(index);
        events > self.book.events() && !self.book.has_given_up(events, update_time)
    }

    fn uuid(&self, index: usize) -> Uuid {
        self.superblock(index).device_uuid
    }

    fn drive(&self, index: usize) -> String {
        self.found[index].candidate.drive.clone()
    }

    fn acquaintance(&self, index: usize) -> Acquaintance {
        let is_ahead = self.is_ahead(index);
        let is_moved = |known: &Member| known.is_on_other(self.found[index].hardware.as_deref());
        let uuid = self.uuid(index);
        // It holds nothing that could be old.
        let is_spare = self.superblock(index).own_use() == MemberUse::Spare;
        match (self.book.member(uuid), self.book.one_that_left(uuid)) {
            (Some(_), _) if is_spare && !is_ahead => Acquaintance::Member,
            (Some(member), _) if !is_moved(member) && member.refusal == Some(Refusal::LostContent) => {
                Acquaintance::CutShort
            }
            (Some(member), _) if !is_moved(member) && self.events(index) < self.book.flushed_events() => {
                Acquaintance::Lossy
            }
            (Some(member), _) if !is_moved(member) => Acquaintance::Member,
            (Some(_), _) if !is_ahead && self.superblock(index).is_clean() => Acquaintance::MovedAtRest,
            (Some(_), _) if !is_ahead => Acquaintance::MovedInUse,
            (None, Some(left)) if self.events(index) <= left.events && !is_moved(&left.member) => Acquaintance::Former,
            (None, Some(left)) if !is_ahead || !is_moved(&left.member) => Acquaintance::Left,
            _ => Acquaintance::Stranger,
        }
    }

    /// None if no member with data is there that has seen what this host has.
    fn basis(&self, originals: &[usize]) -> Option<Basis> {
        let is_member = |index: usize| match self.acquaintance(index) {
            Acquaintance::Member => true,
            // One below proves nothing of a copy: the update may have ended after it was made.
            Acquaintance::MovedAtRest => self.events(index) == self.book.events(),
            Acquaintance::Lossy
            | Acquaintance::CutShort
            | Acquaintance::MovedInUse
            | Acquaintance::Former
            | Acquaintance::Left
            | Acquaintance::Stranger => false,
        };
        let members = || originals.iter().filter(|&&index| is_member(index));
        let has_data = |index: &&usize| matches!(self.superblock(**index).own_use(), MemberUse::Active(_));
        let events = members().filter(has_data).map(|&index| self.events(index)).max()?;
        let has_gone_on = members().any(|&index| self.is_ahead(index));
        let history = if has_gone_on { History::GoneOn } else { History::AsSeen };
        let has_seen_all = members().filter(has_data).any(|&index| self.events(index) >= self.least_events(index));
        has_seen_all.then_some(Basis { events, history })
    }

    /// What a member says at least that has seen all that this host has.
    fn least_events(&self, index: usize) -> u64 {
        // One below: the last update was announced, and did not end.
        let announced = self.book.events().saturating_sub(1);
        let refused_flush = self.book.member(self.uuid(index)).is_some_and(|member| member.refusal.is_some());
        match self.book.flushed_events() {
            // What it had not flushed went with its power. If it was a last copy, nobody else has
            // it.
            flushed @ 1.. if refused_flush => flushed.min(announced),
            _ => announced,
        }
    }

    fn decide(&self, basis: Option<Basis>, index: usize) -> Decision {
        let who = self.acquaintance(index);
        let (history, count) = match (basis, who) {
            // It has gone on without the known one, which had it beside itself.
            (Some(Basis { history: History::GoneOn, .. }), Acquaintance::Left) if self.is_counted_on(index) => {
                (History::GoneOn, Count::Level)
            }
            // Its own update of that number was given up.
            (Some(Basis { history: History::AsSeen, .. }), Acquaintance::Former) if self.is_denied(index) => {
                (History::AsSeen, Count::Ahead)
            }
            (Some(Basis { events, history }), _) => (history, Count::of(self.events(index), events, history)),
            // There is nothing to hold them against: who is known may be old, who is not known
            // would win.
            (None, Acquaintance::Stranger) => (History::AsSeen, Count::Ahead),
            (None, Acquaintance::Left) if self.is_ahead(index) => (History::AsSeen, Count::Ahead),
            (None, _) => (History::AsSeen, Count::Behind),
        };
        decide(who, history, count)
    }

    /// Whether a member that this host knows says, as the freshest of them, that the drive has its
    /// role.
    fn is_counted_on(&self, index: usize) -> bool {
        let known = (0..self.found.len()).filter(|&known| self.acquaintance(known) == Acquaintance::Member);
        let with_data = known.filter(|&known| matches!(self.superblock(known).own_use(), MemberUse::Active(_)));
        let own = self.superblock(index);
        let says_so = |known: usize| {
            let told = self.superblock(known).member_use(own.dev_number);
            matches!(told, MemberUse::Active(_)) && told == own.own_use()
        };
        with_data.max_by_key(|&known| self.events(known)).is_some_and(says_so)
    }

    /// Whether the drive and a member have the last number that was announced, and the drive's
    /// superblock does not count that member in: its update was announced before, and cut short,
    /// and it was away when the next one was announced.
    fn is_denied(&self, index: usize) -> bool {
        let announced = self.book.events();
        let has_it =
            |known: &usize| self.acquaintance(*known) == Acquaintance::Member && self.events(*known) == announced;
        let counts_on = |known: usize| {
            let number = self.superblock(known).dev_number;
            matches!(self.superblock(index).member_use(number), MemberUse::Active(_))
        };
        let is_with_data = |known: &usize| matches!(self.superblock(*known).own_use(), MemberUse::Active(_));
        let mut members = (0..self.found.len()).filter(has_it).filter(is_with_data);
        self.events(index) == announced && members.any(|known| !counts_on(known))
    }

    fn suspicion(&self, index: usize) -> Suspicion {
        match self.acquaintance(index) {
            Acquaintance::Former => Suspicion::GivenUp,
            Acquaintance::Left => Suspicion::RunApart,
            Acquaintance::Lossy => {
                let (events, flushed_events) = (self.events(index), self.book.flushed_events());
                Suspicion::LostUpdates { events, flushed_events }
            }
            Acquaintance::CutShort => Suspicion::LostContent,
            _ => Suspicion::NeverSeen,
        }
    }

    /// Members with data that are not there, as they were called.
    fn absent(&self, originals: &[usize]) -> Vec<String> {
        let is_here = |member: &Member| {
            let has_seen_it = |index: usize| {
                let who = self.acquaintance(index);
                who != Acquaintance::Stranger && !who.is_spoilt()
            };
            originals.iter().any(|&index| self.uuid(index) == member.uuid && has_seen_it(index))
        };
        let with_data = self.book.members().iter().filter(|member| member.role.is_some());
        with_data.filter(|member| !is_here(member)).map(|member| member.drive.clone()).collect()
    }

    fn rival(&self, index: usize, absent: Vec<String>) -> Doubt {
        Doubt::Rival {
            drive: self.drive(index),
            events: self.events(index),
            seen_events: self.book.events(),
            was_member: self.acquaintance(index) == Acquaintance::Left,
            absent,
        }
    }

    fn lost_updates(&self, index: usize) -> Doubt {
        let (events, flushed_events) = (self.events(index), self.book.flushed_events());
        Doubt::LostUpdates { drive: self.drive(index), events, flushed_events }
    }

    fn other_hardware(&self, index: usize) -> Doubt {
        let known = self.book.member(self.uuid(index));
        Doubt::OtherHardware {
            drive: self.drive(index),
            was: known.map_or_else(String::new, |member| member.drive.clone()),
        }
    }

    fn older(&self, originals: &[usize], left_out: &[(usize, Suspicion)]) -> Option<Doubt> {
        let taken = originals.iter().filter(|index| left_out.iter().all(|(other, _)| other != *index));
        let &freshest = taken.max_by_key(|&&index| self.events(index))?;
        let with_data = self.book.members().iter().filter(|member| member.role.is_some());
        Some(Doubt::Older {
            drive: self.drive(freshest),
            events: self.events(freshest),
            update_time_unix_s: self.superblock(freshest).update_time.seconds(),
            seen_events: self.book.events(),
            with: with_data.map(|member| member.drive.clone()).collect(),
        })
    }
}

#[cfg(test)]
mod tests;
