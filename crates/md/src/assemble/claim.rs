//! Whether an array counts on what a drive holds that is to come to it as a spare.

use super::{Candidate, assemble};
use crate::superblock::MemberUse;

/// Whether `newcomer` would be used for its data if the array were put together of `members` and
/// it: by the freshest table of all of them, whichever has it. Members of other arrays do not
/// matter; if there is none of the newcomer's array, or one of them is the same member, the answer
/// is no.
///
/// Where tables of one number contradict each other what the newcomer says of itself counts: it may
/// hold what the others do not, and those may be about to be written.
pub fn counts_on(members: &[Candidate], newcomer: &Candidate) -> bool {
    let own = &newcomer.superblock;
    let of_its_array = members.iter().filter(|member| member.superblock.array_uuid == own.array_uuid);
    let mut together: Vec<_> = of_its_array.cloned().collect();
    let is_copy = together.iter().any(|member| member.superblock.device_uuid == own.device_uuid);
    if together.is_empty() || is_copy {
        return false;
    }
    together.push(newcomer.clone());
    let says_so = matches!(own.own_use(), MemberUse::Active(_) | MemberUse::Journal);
    match assemble(&together) {
        Ok(assembly) => {
            let is_used = assembly.verdicts.last().is_some_and(|verdict| verdict.holds_data());
            is_used || says_so && own.events == assembly.superblock.events
        }
        Err(_) => says_so,
    }
}
