//! Which copy is read, and how much of it: streams and depth are spread over the copies so that no
//! member jumps without need.
//!
//! Each copy has a price: when its member would be done, by what it is at and by what its reads
//! have taken so far ([`super::traffic`]). The least one is read; of prices that hardly differ,
//! that of the member whose head is nearest.
//!
//! A member that ended where the copy begins *goes on*, and jumps for nothing. To take a sequence
//! from it costs a jump, now and when it comes back, and where disks are concerned most of what is
//! saved. So while one goes on,
//!
//! * another that has *nothing to do*, and its copy at the same place, takes over once the one that
//!   goes on has as much to do as the other would have with all that is still to come of the
//!   request, after [`TAKE_OVER_JUMPS`]. So a long read is halved even if it is alone, where a jump
//!   is cheap beside it, and stays with one disk where not;
//! * another that is *busy*, or has its copy at another place, takes over when it would be done
//!   earlier by [`RUN_JUMPS`], or by the transfer of [`RUN_BYTES`] if that is longer. So a deep
//!   queue is shared in runs of twice as much, and a jump is a small part of each; a faster member
//!   takes more.
//!
//! Copies in another part of their members (RAID10's far layout) never go on: in a sequence every
//! member goes on with the first copies of its chunks, and would have to come back from the others.
//!
//! A piece longer than two [`SHARE_BYTES`] is divided between the one that goes on and one with
//! nothing to do by the same rule, so that both are done at once.

use super::{Members, traffic::Traffic};
use crate::{Instant, Role};

/// A run on one member is worth so many jumps, at least,
const RUN_JUMPS: u64 = 8;
/// and the transfer of so many bytes.
const RUN_BYTES: u64 = 256 << 10;

/// Who has nothing to do takes a run over if that saves so many jumps.
const TAKE_OVER_JUMPS: u64 = 2;

/// Copies further apart than this are in other parts of their members.
const FAR_BYTES: u64 = 64 << 20;

/// Shares of a piece are multiples of this.
const SHARE_BYTES: u64 = 64 << 10;

/// Which bytes are wanted of one of several copies.
#[derive(Clone, Copy, Debug)]
pub(in crate::array) struct Wanted {
    pub(in crate::array) length: u64,
    /// With all that is still to come of the request from the same members; at least the length.
    pub(in crate::array) ahead: u64,
}

impl Wanted {
    /// A piece after which nothing comes.
    pub(in crate::array) fn alone(length: u64) -> Self {
        Self { length, ahead: length }
    }
}

/// What the copies have in common.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the first of them is.
    home: u64,
    /// All are at the same place of their members.
    is_one_place: bool,
    /// Some are far from the first.
    is_far: bool,
    /// The member of one of them ended where it begins.
    goes_on: bool,
}

/// What a copy costs.
#[derive(Clone, Copy, Debug)]
struct Price {
    ns: u64,
    /// Prices that differ by less are taken as equal.
    blur_ns: u64,
    /// From its member's head.
    distance: u64,
}

impl Price {
    fn is_less_than(self, other: Self) -> bool {
        let blur_ns = self.blur_ns.min(other.blur_ns);
        let is_alike = self.ns.abs_diff(other.ns) <= blur_ns;
        if is_alike { self.distance < other.distance } else { self.ns < other.ns }
    }
}

impl Members {
    /// The copy to read; always the first, if the copies are not known to agree.
    pub(super) fn choose(
        &self,
        copies: impl Iterator<Item = (Role, u64)> + Clone,
        wanted: Wanted,
        except: &[Role],
        is_synced: bool,
    ) -> Option<(Role, u64)> {
        let readable = || self.readable(copies.clone(), wanted.length, except);
        let first = readable().next()?;
        if !is_synced || copies.clone().nth(1).is_none() || readable().nth(1).is_none() {
            return Some(first);
        }
        let traffic = |role: Role| &self.traffic[role.index()];
        let home = copies.clone().next().map_or(first.1, |(_, offset)| offset);
        let goes_on = readable().any(|(role, offset)| traffic(role).read_end == offset);
        let run = Run {
            home,
            is_one_place: copies.clone().all(|(_, offset)| offset == home),
            is_far: copies.clone().any(|(_, offset)| offset.abs_diff(home) > FAR_BYTES),
            goes_on,
        };
        let mut best: Option<((Role, u64), Price)> = None;
        for (role, offset) in readable() {
            let price = traffic(role).price(offset, wanted, run);
            if best.is_none_or(|(_, least)| price.is_less_than(least)) {
                best = Some(((role, offset), price));
            }
        }
        best.map(|(copy, _)| copy)
    }

    /// How many bytes of its copy the chosen member reads at once; another one has the rest, as it
    /// has nothing to do.
    pub(in crate::array) fn share(
        &mut self,
        now: Instant,
        copies: &[(Role, u64)],
        chosen: (Role, u64),
        wanted: Wanted,
    ) -> u64 {
        self.passed_over(now, copies, chosen.0);
        if wanted.length < 2 * SHARE_BYTES || wanted.ahead > wanted.length || !self.are_all_brisk() {
            return wanted.length;
        }
        let others = self.readable(copies.iter().copied(), wanted.length, &[]);
        let others = others.filter(|(role, _)| *role != chosen.0 && self.traffic[role.index()].is_idle());
        let own = &self.traffic[chosen.0.index()];
        let shares = others.map(|(role, _)| own.share_with(chosen.1, &self.traffic[role.index()], wanted.length));
        shares.min().unwrap_or(wanted.length)
    }
}

impl Traffic {
    fn price(&self, offset: u64, wanted: Wanted, run: Run) -> Price {
        let (pace, jump_ns) = (self.pace, self.pace.jump_ns());
        let is_far = offset.abs_diff(run.home) > FAR_BYTES;
        let own_ns = self.queued_ns + pace.transfer_ns(wanted.length);
        let ns = match self.read_end == offset {
            true if !is_far => own_ns,
            _ if run.is_far && offset == run.home => own_ns + jump_ns,
            _ if !(run.goes_on || is_far && wanted.ahead > wanted.length) => own_ns + jump_ns,
            _ if run.is_one_place && self.is_idle() => TAKE_OVER_JUMPS * jump_ns + pace.transfer_ns(wanted.ahead),
            _ => own_ns + pace.transfer_ns(RUN_BYTES).max(RUN_JUMPS * jump_ns),
        };
        Price { ns, blur_ns: jump_ns / 2, distance: self.read_end.abs_diff(offset) }
    }

    /// How much of `length` bytes from `offset` to read here if another, which has nothing to do,
    /// is to be done with the rest at the same time; all, if that gains less than two jumps.
    fn share_with(&self, offset: u64, other: &Self, length: u64) -> u64 {
        let own_jump_ns = if self.read_end == offset { 0 } else { self.pace.jump_ns() };
        let (own_ns, all_ns) = (self.queued_ns + own_jump_ns, self.pace.transfer_ns(length));
        let other_all_ns = other.pace.jump_ns() + other.pace.transfer_ns(length);
        let both_ns = all_ns.saturating_add(other.pace.transfer_ns(length)).max(1);
        let own_bytes = u128::from(length) * u128::from(other_all_ns.saturating_sub(own_ns)) / u128::from(both_ns);
        let own_bytes = u64::try_from(own_bytes).unwrap_or(length) / SHARE_BYTES * SHARE_BYTES;
        let own_bytes = own_bytes.max(SHARE_BYTES);
        if own_bytes >= length {
            return length;
        }
        let gained_ns = all_ns - self.pace.transfer_ns(own_bytes).min(all_ns);
        if gained_ns > TAKE_OVER_JUMPS * other.pace.jump_ns() { own_bytes } else { length }
    }
}

#[cfg(test)]
mod tests;
