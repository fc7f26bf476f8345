//! Members of which a part is not there: images that were cut off, or copied with holes.

use crate::array::{ArrayDocument, HealthDocument, MemberStateDocument};

/// What of an array's content can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Not all of it.
    Part,
}

impl ArrayDocument {
    /// The array as it is with members that are not all there. `is_incomplete` says it of a drive.
    ///
    /// Such a member becomes [`MemberStateDocument::Incomplete`]. An array with one has a drive
    /// less to spare and is degraded, as is one around it; it has failed if only a part of the
    /// content can be had.
    #[must_use]
    pub fn with_incomplete(mut self, is_incomplete: &impl Fn(&str) -> bool, content: Extent) -> Self {
        for member in &mut self.members {
            if let Some(inner) = member.array.take() {
                // A part that is lost out here may be the loss of any array inside: that can be
                // told of one without redundancy.
                let of_inner = if inner.redundancy == 0 { content } else { Extent::Whole };
                member.array = Some(Box::new(inner.with_incomplete(is_incomplete, of_inner)));
            }
            if member.state == MemberStateDocument::InSync && member.drive.as_deref().is_some_and(is_incomplete) {
                member.state = MemberStateDocument::Incomplete;
            }
        }
        let incomplete = self.incomplete_count();
        if incomplete > 0 {
            self.drives_to_spare = self.drives_to_spare.saturating_sub(incomplete);
            self.health = match (self.health, content) {
                (HealthDocument::Optimal, Extent::Whole) => HealthDocument::Degraded,
                (health, Extent::Whole) => health,
                (_, Extent::Part) => HealthDocument::Failed,
            };
        }
        self
    }

    /// Of how many members a part is not there, here and in arrays inside.
    pub fn incomplete_count(&self) -> u32 {
        let is_incomplete = |state| u32::from(state == MemberStateDocument::Incomplete);
        let own: u32 = self.members.iter().map(|member| is_incomplete(member.state)).sum();
        own + self.inner_arrays().map(Self::incomplete_count).sum::<u32>()
    }
}
