//! What a plan cannot save.

use std::fmt;

use shoal_md::{Choice, Features};
use shoal_volume::{Health, Role};

use crate::plan::{Group, RecoveryPlan};
use crate::unreadable::Content;

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
    /// No member has some of the content.
    Unreadable {
        /// Bytes that cannot be had.
        bytes: u64,
        /// In how many ranges.
        ranges: usize,
        /// Where the first one starts.
        first: u64,
        /// Bytes of content.
        size_bytes: u64,
    },
    /// The array has two shapes at once.
    Reshaping {
        /// Its name.
        array: String,
    },
    /// A member is used that the array went on without.
    Forced {
        /// The member.
        member: String,
    },
    /// A member is used whose file has lost content.
    Spoilt {
        /// The member.
        member: String,
    },
    /// Of a member there are two images, equally fresh, of a time when the array was written to.
    Twins {
        /// The one that is used.
        used: String,
        /// The one that is left out.
        other: String,
    },
    /// Parity may not agree with the data of stripes that were being written.
    WriteHole {
        /// The array's name.
        array: String,
    },
}

/// What is to be done about an array in two shapes.
const GROW_ON: &str =
    "`shoal grow --continue` goes on with that, with --degraded if a member is gone; it is not read before";

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reshaping { array } => write!(formatter, "array {array} is being reshaped: {GROW_ON}"),
            Self::Missing { array, roles } => {
                let roles = roles.iter().map(|role| role.0.to_string()).collect::<Vec<_>>().join(", ");
                write!(formatter, "array {array} cannot run: members {roles} are missing; look for them elsewhere")
            }
            Self::Unreadable { bytes, ranges, first, size_bytes } => {
                let place = match ranges {
                    1 => format!("all at byte {first}"),
                    _ => format!("in {ranges} ranges, the first at byte {first}"),
                };
                write!(
                    formatter,
                    "{bytes} of {size_bytes} bytes of content cannot be had, {place}: no member that was found has them; \
                     look for whole copies of those that are damaged, and for those that are missing"
                )
            }
            Self::Forced { member } => write!(
                formatter,
                "what was written after {member} had left: blocks that lie on it are old, and parity over them is wrong"
            ),
            Self::Spoilt { member } => {
                write!(formatter, "what {member} held where it was cut short while the array ran")
            }
            Self::Twins { used, other } => write!(
                formatter,
                "perhaps what is on {other} alone: {used} is used, and it is a copy of {other}, or {other} of it, made perhaps \
                 while the array was written to: if they differ (`cmp`), give only the right one"
            ),
            Self::WriteHole { array } => write!(
                formatter,
                "array {array} was being written when it stopped, and members are missing: blocks of those in stripes that \
                 were under way may be wrong"
            ),
        }
    }
}

fn loss_of(content: &Content) -> Option<Loss> {
    let first = content.unreadable.first()?.start;
    let (bytes, ranges) = (content.unreadable_bytes(), content.unreadable.len());
    Some(Loss::Unreadable { bytes, ranges, first, size_bytes: content.size_bytes })
}

/// What a plan cannot save: array by array, and of its content, if it has any.
pub fn losses(plan: &RecoveryPlan, content: Option<&Content>) -> Vec<Loss> {
    let mut losses: Vec<_> = content.and_then(loss_of).into_iter().collect();
    for group in &plan.groups {
        let Ok(proposal) = &group.proposal else { continue };
        let array = || proposal.assembly.name();
        let missing = proposal.assembly.missing_roles();
        let is_enough = missing.len() <= proposal.assembly.level.redundancy(proposal.assembly.slots.len());
        if is_enough && proposal.assembly.superblock.features.any_of(Features::RESHAPE_ACTIVE) {
            losses.push(Loss::Reshaping { array: array() });
        } else if proposal.health == Health::Failed {
            losses.push(Loss::Missing { array: array(), roles: missing });
        }
        let is_forced = |index| matches!(group.choice(index), Some(Choice::Force { .. }));
        let forced = (0..).zip(&group.members).filter(|(index, _)| is_forced(*index));
        losses.extend(forced.map(|(_, member)| Loss::Forced { member: member.name.clone() }));
        let spoilt = group.used().into_iter().filter(|(member, _)| member.is_spoilt);
        losses.extend(spoilt.map(|(member, _)| Loss::Spoilt { member: member.name.clone() }));
        losses.extend(twins(group));
        if proposal.mended.is_empty() && proposal.assembly.is_dirty_and_degraded() {
            losses.push(Loss::WriteHole { array: array() });
        }
    }
    losses
}

/// Members of which another image is as good a choice.
fn twins(group: &Group) -> impl Iterator<Item = Loss> + '_ {
    let members = &group.members;
    members.iter().enumerate().filter_map(|(index, member)| {
        let Some(Choice::CopyOf(used)) = group.choice(index) else { return None };
        let (used, own) = (&members[used], &member.superblock);
        let may_differ = own.events == used.superblock.events && !(own.is_clean() && used.superblock.is_clean());
        may_differ.then(|| Loss::Twins { used: used.name.clone(), other: member.name.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_member_has_is_counted_and_placed() {
        let content = |unreadable| Content { size_bytes: 1 << 20, unreadable };
        assert_eq!(loss_of(&content(Vec::new())), None);
        let text = |unreadable| loss_of(&content(unreadable)).map(|loss| loss.to_string()).unwrap_or_default();
        let one = text(vec![4096..8192, 9216..9728]);
        assert!(
            one.starts_with("4608 of 1048576 bytes of content cannot be had, in 2 ranges, the first at byte 4096:")
        );
        assert!(text(vec![512..1024]).contains("512 of 1048576 bytes of content cannot be had, all at byte 512:"));
    }
}
