//! Whether all members of an array are there that its freshest member counts on.
//!
//! An array that is known to lack a member, since one failed and was written off, has nothing to
//! wait for. One whose freshest member names others that are not there yet has.

use std::collections::BTreeSet;

use shoal_array::Role;
use shoal_md::{AssembleError, Candidate, MemberUse, assemble};

/// How many numbers a table of roles has at most: it ends with its superblock.
const NUMBERS: u32 = 2048;

/// The roles that are taken, by the freshest of these members, and whose members are not among
/// them. An error where these make no array.
pub fn absent(candidates: &[Candidate]) -> Result<Vec<Role>, AssembleError> {
    let assembly = assemble(candidates)?;
    let taken =
        |role: Role| (0..NUMBERS).any(|number| assembly.superblock.member_use(number) == MemberUse::Active(role));
    let empty = assembly.slots.iter().enumerate().filter(|(_, slot)| slot.candidate.is_none());
    let roles = empty.filter_map(|(index, _)| u16::try_from(index).ok().map(Role));
    Ok(roles.filter(|&role| taken(role)).collect())
}

/// Whether a member is being replaced, by the freshest of these: two numbers have one role then. An
/// error where these make no array.
pub fn is_replacing(candidates: &[Candidate]) -> Result<bool, AssembleError> {
    let superblock = assemble(candidates)?.superblock;
    let mut taken = BTreeSet::new();
    let is_second = |number| matches!(superblock.member_use(number), MemberUse::Active(role) if !taken.insert(role));
    Ok((0..NUMBERS).any(is_second))
}
