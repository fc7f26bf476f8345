//! What a plan cannot save.

use std::fmt;

use shoal_md::Choice;
use shoal_volume::{Health, Role};

use crate::plan::Plan;

/// Something that is missing, or may be wrong, once a plan is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The array cannot run.
    Missing {
        /// The array's name.
        array: String,
        /// The members that it lacks.
        roles: Vec<Role>,
    },
    /// A member is used that the array went on without.
    Forced {
        /// The member.
        member: String,
    },
    /// Parity may not agree with the data of stripes that were being written.
    WriteHole {
        /// The array's name.
        array: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { array, roles } => {
                let roles = roles.iter().map(|role| role.0.to_string()).collect::<Vec<_>>().join(", ");
                write!(formatter, "array {array} cannot run: members {roles} are missing; look for them elsewhere")
            }
            Self::Forced { member } => write!(
                formatter,
                "what was written after {member} had left: blocks that lie on it are old, and parity over them is wrong"
            ),
            Self::WriteHole { array } => write!(
                formatter,
                "array {array} was being written when it stopped, and members are missing: blocks of those in stripes that \
                 were under way may be wrong"
            ),
        }
    }
}

/// What a plan cannot save, array by array.
pub fn losses(plan: &Plan) -> Vec<Loss> {
    let mut losses = Vec::new();
    for group in &plan.groups {
        let Ok(proposal) = &group.proposal else { continue };
        let array = || proposal.assembly.name();
        if proposal.health == Health::Failed {
            losses.push(Loss::Missing { array: array(), roles: proposal.assembly.missing_roles() });
        }
        let is_forced = |index| matches!(group.choice(index), Some(Choice::Force { .. }));
        let forced = (0..).zip(&group.members).filter(|(index, _)| is_forced(*index));
        losses.extend(forced.map(|(_, member)| Loss::Forced { member: member.name.clone() }));
        if proposal.mended.is_empty() && proposal.assembly.is_dirty_and_degraded() {
            losses.push(Loss::WriteHole { array: array() });
        }
    }
    losses
}
