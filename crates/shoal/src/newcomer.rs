//! Drives that are to come to an array and lose what they hold: never one whose content the array counts on, whatever is forced.

use std::path::{Path, PathBuf};

use shoal_md::{Candidate, MemberUse, Superblock, counts_on};
use shoal_volume::ManageError;

use crate::args::ArrayArgs;
use crate::drives::{given_twice, same_file};
use crate::exit::Failure;
use crate::look::{self, Seen};

/// What a drive says of itself, if it carries a superblock that can be read.
pub(crate) fn candidate(path: &Path) -> Option<Candidate> {
    look::member(path).map(|seen| seen.candidate())
}

/// The same of a superblock that was read.
pub(crate) fn candidate_at(path: &Path, superblock: Superblock) -> Candidate {
    Candidate { drive: path.display().to_string(), superblock }
}

/// Refuses a drive that is to come to an array at rest and is an active member of it: of the array that is named, whose members
/// are at `members`.
pub(crate) fn refuse_active(args: &ArrayArgs, members: &[PathBuf], newcomer: &Path) -> Result<(), Failure> {
    let Some(candidate) = self::candidate(newcomer) else { return Ok(()) };
    let given = args.drives.iter().find(|given| same_file(given, newcomer));
    if let Some(given) = given.filter(|_| candidate.superblock.own_use() != MemberUse::Spare) {
        return Err(given_twice(given, newcomer));
    }
    let others: Vec<_> = members.iter().filter(|member| !same_file(member, newcomer)).cloned().collect();
    let others: Vec<_> = look::members(&others).iter().map(Seen::candidate).collect();
    refuse_counted_on(&others, &candidate)
}

/// Refuses a drive on which the array of `members` counts.
pub(crate) fn refuse_counted_on(members: &[Candidate], newcomer: &Candidate) -> Result<(), Failure> {
    if !counts_on(members, newcomer) {
        return Ok(());
    }
    let Candidate { drive, superblock } = newcomer;
    Err(active_member(drive, &superblock.name()))
}

/// What such a drive is told.
pub(crate) fn active_member(drive: &str, array: &str) -> Failure {
    let error = ManageError::ActiveMember { drive: drive.to_owned(), array: array.to_owned() };
    Failure::Refused(error.to_string())
}
