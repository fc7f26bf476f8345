//! Reads go round members that have stalled, see [`crate::array::races`], and round those that are
//! to be renewed.

use alloc::vec::Vec;

use super::{Members, Wanted};
use crate::Role;

impl Members {
    /// [`Self::choose`], and a member that refused a flush only if there is no other: what it lost
    /// with its power since is not known, so nobody may see it before the member is renewed from
    /// the others.
    pub(in crate::array) fn choose_brisk(
        &self,
        copies: impl Iterator<Item = (Role, u64)> + Clone,
        wanted: Wanted,
        except: &[Role],
        is_synced: bool,
    ) -> Option<(Role, u64)> {
        let lasting = || {
            let around: Vec<Role> = self.perishable.iter().chain(except).copied().collect();
            self.choose_around_stalled(copies.clone(), wanted, &around, is_synced)
        };
        let lasting = if self.perishable.is_empty() { None } else { lasting() };
        lasting.or_else(|| self.choose_around_stalled(copies, wanted, except, is_synced))
    }

    /// [`Self::choose`], and a member that has stalled only if there is no other.
    fn choose_around_stalled(
        &self,
        copies: impl Iterator<Item = (Role, u64)> + Clone,
        wanted: Wanted,
        except: &[Role],
        is_synced: bool,
    ) -> Option<(Role, u64)> {
        if self.stalled.is_empty() || !is_synced {
            return self.choose(copies, wanted, except, is_synced);
        }
        let around: Vec<Role> = self.stalled.iter().chain(except).copied().collect();
        let brisk = self.choose(copies.clone(), wanted, &around, is_synced);
        brisk.or_else(|| self.choose(copies, wanted, except, is_synced))
    }

    /// A read of the member was overtaken.
    pub(in crate::array) fn has_stalled(&mut self, role: Role) {
        self.traffic[role.index()].overtaken += 1;
        if !self.is_stalled(role) {
            self.stalled.push(role);
        }
    }

    /// A read that was overtaken is answered.
    pub(in crate::array) fn has_answered(&mut self, role: Role) {
        let traffic = &mut self.traffic[role.index()];
        traffic.overtaken -= 1;
        if traffic.overtaken == 0 {
            self.stalled.retain(|stalled| *stalled != role);
        }
    }

    /// Whether the member has not answered since it was overtaken.
    pub(in crate::array) fn is_stalled(&self, role: Role) -> bool {
        self.stalled.contains(&role)
    }

    /// Whether nobody has stalled, and nobody is to be renewed.
    pub(super) fn are_all_brisk(&self) -> bool {
        self.stalled.is_empty() && self.perishable.is_empty()
    }

    /// The first of these members that has stalled.
    pub(in crate::array) fn stalled_among(&self, mut roles: impl Iterator<Item = Role>) -> Option<Role> {
        if self.stalled.is_empty() { None } else { roles.find(|role| self.is_stalled(*role)) }
    }
}
