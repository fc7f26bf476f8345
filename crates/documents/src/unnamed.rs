//! Members that nobody named, of an array that is shown: nothing is known of them, so nothing is
//! said of them.

use shoal_volume::Role;

use crate::array::{ArrayDocument, HealthDocument, MemberDocument, MemberStateDocument};

impl ArrayDocument {
    /// The array as it is known when only some drives were named and no others were looked for.
    /// `is_counted_on` says of a role of the array with a UUID whether the drives that were named
    /// count on a member there.
    ///
    /// A missing member that is counted on becomes [`MemberStateDocument::NotNamed`], and an array
    /// with such a member is of [`HealthDocument::Unknown`]; so is one around it. A member that
    /// failed stays missing.
    #[must_use]
    pub fn with_unnamed(mut self, is_counted_on: &impl Fn(&str, Role) -> bool) -> Self {
        for member in &mut self.members {
            if let Some(inner) = member.array.take() {
                member.array = Some(Box::new(inner.with_unnamed(is_counted_on)));
            }
        }
        self.unattached = self.unattached.into_iter().map(|array| array.with_unnamed(is_counted_on)).collect();
        let is_unknown = |inner: &Self| inner.health == HealthDocument::Unknown;
        let is_unnamed = |member: &MemberDocument| match (&member.array, &member.drive) {
            (Some(inner), _) => member.state == MemberStateDocument::Missing && is_unknown(inner),
            (None, Some(_)) => false,
            (None, None) => {
                member.state == MemberStateDocument::Missing && is_counted_on(&self.uuid, Role(member.role))
            }
        };
        let unnamed: Vec<bool> = self.members.iter().map(is_unnamed).collect();
        for (member, _) in self.members.iter_mut().zip(&unnamed).filter(|(_, is_unnamed)| **is_unnamed) {
            member.state = MemberStateDocument::NotNamed;
        }
        if unnamed.contains(&true) || self.inner_arrays().any(is_unknown) {
            self.health = HealthDocument::Unknown;
        }
        self
    }

    /// The array with what drives were called that are not in it now, as far as `last_seen` knows,
    /// by the UUID of their array and their role.
    #[must_use]
    pub fn with_last_seen(mut self, last_seen: &impl Fn(&str, Role) -> Option<String>) -> Self {
        for member in &mut self.members {
            match member.array.take() {
                Some(inner) => member.array = Some(Box::new(inner.with_last_seen(last_seen))),
                None if member.drive.is_none() => member.last_seen = last_seen(&self.uuid, Role(member.role)),
                None => {}
            }
        }
        self
    }

    /// How many drives it takes, here and in arrays inside; an array inside that is not there
    /// counts as one.
    pub fn drive_count(&self) -> usize {
        self.members.iter().map(|member| member.array.as_deref().map_or(1, Self::drive_count)).sum()
    }
}
